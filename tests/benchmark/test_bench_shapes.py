"""`peerlane bench shapes`: what it measures, what it stores, and what has changed since."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import needs_valgrind, wait_until, without_progress
from peerlane import _core
from peerlane.benchmark.shapes import baseline
from peerlane.benchmark.shapes import measure as shapes
from peerlane.benchmark.shapes.measure import Counted, Measured, machine, measure
from peerlane.cli.application import run_command_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Run

QUICK = ("bench", "shapes", "endpoint", "--quick", "--repeat", "1")
THREE = (*QUICK[:-1], "3")
"""As many runs as it takes to judge times."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A measurement as --save stores it."""
    path = tmp_path_factory.mktemp("saved") / "before.json"
    assert run_command_line([*QUICK, "--save", str(path)]) == 0
    return path.read_text(encoding="utf-8")


@pytest.fixture
def stored(saved: str) -> Callable[..., str]:
    """Stores a measurement, with some of its fields, or of its run, changed."""

    def store(run: dict[str, Any] | None = None, **fields: object) -> str:
        document = json.loads(saved)
        document["runs"][0] |= run or {}
        Path("before.json").write_text(json.dumps(document | fields), encoding="utf-8")
        return "before.json"

    return store


def test_a_shape_has_its_work_events_time_and_memory(peerlane: Run) -> None:
    names = ("endpoint", "torus-4x4")
    ran = peerlane("bench", "shapes", *names, "--quick", "--repeat", "2", "--json", "-").succeeds()
    document = json.loads(ran.out)
    assert (document["schema"], document["machine"]) == ("peerlane-shapes/1", machine())
    runs = document["runs"]
    assert [(run["shape"], run["unit"]) for run in runs] == [
        ("endpoint", "write"),
        (names[1], "hop"),
    ]
    assert runs[0]["work"] == 2**18 // 16
    assert runs[0]["events_per_unit"] == pytest.approx(runs[0]["events"] / runs[0]["work"])
    for run in runs:
        assert len(run["every_wall_seconds"]) == 2
        assert run["ns_per_unit"] == pytest.approx(1e9 / run["units_per_second"])
        assert run["ns_per_event"] == pytest.approx(1e9 * run["wall_seconds"] / run["events"])
        assert 0 < run["peak_bytes"] < 100 << 20
        assert run["instructions"] is None or run["instructions"] > 100 * run["events"]


def test_the_memory_of_a_larger_fabric_is_larger() -> None:
    few, many = (
        measure(name, 1, divisor=1024).peak_bytes for name in ("endpoint", "endpoints-512")
    )
    assert many > few + 512 * 10_000


def test_the_shapes_are_a_fixed_set() -> None:
    assert {"endpoint", "endpoints-512", "torus-32x32", "nics-16"} <= dict(
        _core.bench_shapes()
    ).keys()
    with pytest.raises(ValueError, match="no shape"):
        _core.bench_shape("ring", 1)


def test_a_measurement_compares_with_a_stored_one(
    peerlane: Run, stored: Callable[..., str]
) -> None:
    ran = peerlane(*QUICK, "--against", stored(), "--json", "now.json").succeeds()
    assert "ratio" in ran.out
    changes = json.loads(Path("now.json").read_text(encoding="utf-8"))["changes"]
    found = {change["quantity"]: change for change in changes}
    assert {"time", "events", "peak memory"} <= found.keys()
    assert (found["events"]["ratio"], found["events"]["is_noise"]) == (1, True)
    # What --json writes is a baseline, too.
    assert peerlane(*QUICK, "--against", "now.json").status == 0


def test_a_regression_is_marked_and_fails_if_asked(
    peerlane: Run, stored: Callable[..., str]
) -> None:
    times = {"every_wall_seconds": [1e-6] * 3, "peak_bytes": 100}
    ran = peerlane(*THREE, "--against", stored(times)).succeeds()
    assert "slower" in ran.out
    assert "more" in ran.out
    ran = peerlane(*THREE, "--against", "before.json", "--fail-above", "5%")
    assert ran.status == 1
    assert "error: more than before by over 5 %: endpoint time" in ran.err
    assert "endpoint peak memory" in ran.err
    assert "Traceback" not in ran.err


def test_a_better_measurement_does_not_fail(peerlane: Run, stored: Callable[..., str]) -> None:
    times = {"every_wall_seconds": [1e6] * 3, "peak_bytes": 1 << 40}
    ran = peerlane(*THREE, "--against", stored(times), "--fail-above", "0").succeeds()
    assert "faster" in ran.out


def test_other_work_is_not_compared(peerlane: Run, stored: Callable[..., str]) -> None:
    ran = peerlane(*QUICK, "--against", stored({"work": 163}))
    assert ran.status == 2
    assert "warning" not in ran.err
    assert "--against: the stored measurement of endpoint has 163 units of work" in ran.err


def test_what_is_not_compared_does_not_pass(peerlane: Run, stored: Callable[..., str]) -> None:
    other = ("bench", "shapes", "torus-4x4", "--quick", "--repeat", "1", "--against", stored())
    peerlane(*other).refuses("before.json does not have torus-4x4", "--save")
    peerlane(*other, "endpoint", "--fail-above", "5%").refuses("does not have torus-4x4")


def test_times_that_overlap_are_noise() -> None:
    def measured(*seconds: float) -> Measured:
        return Measured("endpoint", 10, 50, seconds, 1 << 20)

    def change(first: Measured, second: Measured) -> tuple[float, bool]:
        time_, *_ = baseline.changes({"endpoint": first}, [second])
        return time_.ratio, time_.is_noise

    assert change(measured(1, 2, 4), measured(3, 4, 5)) == (2, True)
    assert change(measured(1, 2, 3), measured(4, 4, 5)) == (2, False)
    assert change(measured(4, 4, 5), measured(1, 2, 3)) == (0.5, False)
    assert change(measured(1, 1), measured(4, 4, 4)) == (4, True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["not JSON"]),
        ("[]", ["its JSON is not an object", "bench shapes --save"]),
        ('{"schema": "peerlane-result/1"}', ["is of `peerlane run`", "bench shapes --save"]),
        ('{"schema": "peerlane-shapes/1"}', ["machine: field required"]),
    ],
)
def test_a_file_that_is_no_baseline_is_refused(peerlane: Run, text: str, words: list[str]) -> None:
    Path("before.json").write_text(text, encoding="utf-8")
    peerlane(*QUICK, "--against", "before.json").refuses("--against", *words)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ({"work": 0}, ["runs.0.work: input should be greater than 0"]),
        ({"events": -1}, ["runs.0.events: "]),
        ({"every_wall_seconds": [float("nan")]}, ["NaN is not a finite number"]),
        ({"valgrind": {"instructions": 1}}, ["runs.0.valgrind.l1_misses: "]),
    ],
)
def test_a_damaged_baseline_is_refused(
    peerlane: Run, stored: Callable[..., str], run: dict[str, Any], words: list[str]
) -> None:
    peerlane(*QUICK, "--against", stored(run)).refuses("before.json: ", *words)


def test_a_baseline_of_something_else_is_refused(peerlane: Run, stored: Callable[..., str]) -> None:
    other = machine() | {"processor": "abacus"}
    peerlane(*QUICK, "--against", stored(machine=other)).refuses("another machine", "abacus")
    peerlane(*QUICK, "--against", stored(runs=5)).refuses("runs: input should be a valid array")
    peerlane(*QUICK[:3], "--against", stored()).refuses("with --quick")


def test_a_build_of_another_profile_is_refused(peerlane: Run, stored: Callable[..., str]) -> None:
    other = "release" if _core.BUILD_PROFILE == "fast" else "fast"
    told = f"with a build of the profile '{other}', and this is one of '{_core.BUILD_PROFILE}'"
    peerlane(*QUICK, "--against", stored(build=other)).refuses("--against", told)
    ran = peerlane(*QUICK, "--against", stored(build=None)).succeeds()
    assert "does not say how the package was built" in ran.err


def test_a_busy_machine_is_told_behind_all_refusals(
    peerlane: Run, stored: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = stored({"work": 163})
    monkeypatch.setattr("os.getloadavg", lambda: (1e3, 1e3, 1e3))
    assert "busy machine" not in peerlane(*QUICK, "--against", path).err
    assert "warning: busy machine (load 1000.0" in peerlane(*QUICK).err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rings"], ["no shape 'rings'", "torus-4x4"]),
        (["--fail-above", "5%"], ["--against"]),
        (["--against", "x", "--fail-above", "much"], ["'much' is no percentage", "5%"]),
        (["--against", "x", "--save", "x"], ["--save", "the command reads"]),
        (["--save", "missing/x"], ["missing"]),
        (["--repeat", "0"], ["--repeat"]),
    ],
)
def test_wrong_use_of_shapes(peerlane: Run, arguments: list[str], words: list[str]) -> None:
    peerlane("bench", "shapes", *arguments).refuses(*words)


def test_an_interrupted_shape_is_one_line() -> None:
    command = [sys.executable, "-m", "peerlane", "bench", "shapes", "endpoint", "--repeat", "10000"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wait_until(lambda: children.read_text(encoding="utf-8"), process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    lines = without_progress(err).splitlines()
    lines = [line for line in lines if not line.startswith("warning: busy machine")]
    assert (process.returncode, out, lines) == (130, "", ["interrupted"])


def test_the_program_of_a_shape_ends_with_the_one_that_has_started_it() -> None:
    command = [sys.executable, "-m", "peerlane.benchmark.shapes.program", "endpoint", "64", "10000"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (1, b"the program that wants to know has ended\n")


def cached(count: Callable[[str, int], Any]) -> Callable[[str, int], Any]:
    """Counts of which those of the short run are kept."""
    short = cache(count)
    return lambda shape, divisor: (short if divisor == shapes.QUICK else count)(shape, divisor)


@needs_valgrind
def test_valgrind_counts_the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The long run each time, and the short one, from which it differs, once."""
    monkeypatch.setattr(shapes, "_under_valgrind", cached(shapes._under_valgrind))

    def counted() -> Counted:
        found = measure("endpoint", 1, divisor=16, valgrind=True).valgrind
        assert found is not None
        return found

    first, second = counted(), counted()
    if second.instructions != pytest.approx(first.instructions, rel=0.002):
        # Seldom, a whole process counts some million instructions more; why is not known.
        first = counted()
    assert second.instructions == pytest.approx(first.instructions, rel=0.002)
    assert 1000 < first.instructions < 10_000
    assert 0 < first.l2_misses <= first.l1_misses
