"""Sweeps over any keys: their values, their points, their metrics, and the files they leave."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from conftest import PAIR, rows_of, wait_until, without_progress
from peerlane import Fabric, _core
from peerlane.cli.tables.points import points
from peerlane.fabric.simulation import Simulation
from peerlane.figures.headings import heading
from peerlane.figures.intervals import Interval
from peerlane.figures.metrics import UnknownMetricError, check, expanded, numbers, values_at
from peerlane.figures.quantities import in_unit
from peerlane.formats import number
from peerlane.progress import Progress
from peerlane.reproduction.reproduce import reproduce
from peerlane.results.document import schema_of
from peerlane.results.run import RunResult
from peerlane.varying.axes import Axis
from peerlane.varying.journal import CompleteError
from peerlane.varying.points import Sample, combinations
from peerlane.varying.sweep import sweep_points

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from conftest import Outcome, Run, Write

RATE = "flows.a-to-b.bytes_per_second"


@pytest.mark.parametrize(("spec", "values"), rows_of(__file__, "sweep.toml", "values"))
def test_a_spec_is_ranges_and_lists(spec: str, values: list[object]) -> None:
    found = Axis.of("key", spec).grid()
    assert list(map(repr, found)) == list(map(repr, values))


@pytest.mark.parametrize(("spec", "message"), rows_of(__file__, "sweep.toml", "wrong_values"))
def test_a_wrong_spec_says_what_is_right(spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Axis.of("key", spec).grid()


def test_a_factor_just_over_one_makes_many_values_soon() -> None:
    values = Axis.of("key", "1..1000*1.001").grid()
    assert len(values) == 6912
    assert values[-1] == pytest.approx(1.001**6911)


@given(st.integers(1, 1 << 30), st.integers(0, 1 << 30), st.integers(1, 1 << 20))
def test_a_range_of_sizes_is_the_range_of_its_bytes(low: int, more: int, step: int) -> None:
    high = low + more % (50 * step)
    found = Axis.of("size", f"{low} B..{high} B+{step} B").grid()
    assert [_core.read_size(size) for size in found] == list(range(low, high + 1, step))


@pytest.mark.parametrize("unit", ["B", "kB", "KiB", "MB", "MiB", "GB", "GiB"])
def test_the_units_are_those_of_the_simulator(unit: str) -> None:
    assert in_unit(f"3 {unit}", "B") == _core.read_size(f"3 {unit}")
    if unit != "B":
        assert in_unit(f"3 {unit}/s", "B/s") == _core.read_bandwidth(f"3 {unit}/s")


def test_every_combination_is_a_point() -> None:
    axes = [Axis.of("a", "1,2"), Axis.of("b", "3..5+1")]
    points = combinations(axes)
    assert [(point["a"], point["b"]) for point in points] == [
        *((1, 3), (1, 4), (1, 5)),
        *((2, 3), (2, 4), (2, 5)),
    ]


@given(st.integers(1, 40), st.integers(0, 1000))
def test_a_latin_hypercube_draws_once_from_each_part_of_each_axis(count: int, seed: int) -> None:
    axes = [Axis.of("a", f"1..{count}"), Axis.of("b", [str(n) for n in range(count)])]
    points = Sample("lhs", count).points(axes, seed)
    assert sorted(point["a"] for point in points) == list(range(1, count + 1))
    assert sorted(int(point["b"]) for point in points) == list(range(count))
    assert points == Sample("lhs", count).points(axes, seed)


@given(st.integers(0, 1000))
def test_a_random_sample_stays_within_its_span(seed: int) -> None:
    axes = [Axis.of("a", "3..7"), Axis.of("b", "1 us..2 us")]
    for point in Sample("random", 20).points(axes, seed):
        assert 3 <= point["a"] <= 7
        assert 1000 <= (in_unit(point["b"], "ns") or 0) <= 2000


def result() -> tuple[dict[str, Any], dict[str, Any]]:
    """A result before its run, and after it."""
    simulation = Simulation(PAIR)
    before = simulation.result().to_json()
    return before, simulation.run().to_json()


def test_every_value_of_a_result_is_found_by_its_path() -> None:
    before, after = result()
    schema = schema_of(RunResult)
    values = numbers(after)
    assert {RATE, "links.h0-s0.up.utilisation", "simulated_ns", "seed"} <= values.keys()
    for path, value in values.items():
        assert values_at(after, [path]) == {path: value}
        check(before, schema, path)
    p50 = "flows.a-to-b.latency_ns.p50"
    assert values_at(before, [p50]) == {p50: None}


@pytest.mark.parametrize(("path", "advice"), rows_of(__file__, "sweep.toml", "wrong_metrics"))
def test_an_unknown_metric_is_refused_with_the_nearest(path: str, advice: str) -> None:
    before, _ = result()
    with pytest.raises(UnknownMetricError, match=advice):
        check(before, schema_of(RunResult), path)


def test_a_sweep_has_a_row_for_each_combination(peerlane: Run, scenario: Write) -> None:
    outcome = peerlane(
        *("sweep", scenario(), "--vary", "links.generation=2,3", "--metric", RATE),
        *("--vary", "flows.a-to-b.size=8 KiB..16 KiB*2", "--set", "seed=7", "--json", "-"),
    )
    document = json.loads(outcome.out)
    points = document["points"]
    assert [tuple(point["settings"].values()) for point in points] == [
        *((2, "8 KiB"), (2, "16 KiB")),
        *((3, "8 KiB"), (3, "16 KiB")),
    ]
    assert {(point["seed"], point["status"], point["error"]) for point in points} == {
        (7, "ok", None)
    }
    for point in points:
        text = PAIR.replace(
            "generation = 2", f"generation = {point['settings']['links.generation']}"
        )
        text = text.replace("16 KiB", point["settings"]["flows.a-to-b.size"])
        assert point["metrics"] == {RATE: Simulation(text).run().flows[0].bytes_per_second}


def test_points_that_fail_are_told_and_the_others_go_on(peerlane: Run, scenario: Write) -> None:
    file = scenario()
    outcome = peerlane("sweep", file, "--vary", "links.lanes=1,3,4", "--out", "o.csv")
    assert outcome.status == 1
    assert "1 of 3 points failed; --allow-failures takes them" in outcome.err
    assert "error, 1 point: links.lanes: there is no link of 3 lanes" in outcome.out
    rows = list(csv.DictReader(Path("o.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["status"] for row in rows] == ["ok", "error", "ok"]
    assert "there is no link of 3 lanes" in rows[1]["error"]
    assert rows[0].keys() == {"links.lanes", RATE, "seed", "status", "error"}
    peerlane("sweep", file, "--vary", "links.lanes=1,3,4", "--allow-failures").succeeds()
    outcome = peerlane("sweep", file, "--vary", "links.lanes=3,5", "--allow-failures")
    assert outcome.status == 1
    assert "every point failed" in outcome.err


def test_a_run_with_errors_is_a_failed_point(peerlane: Run, scenario: Write) -> None:
    outcome = peerlane(
        *("sweep", scenario(), "--vary", "links.s0-b.fails_at=1 us,1 s", "--json", "-"),
    )
    points = json.loads(outcome.out)["points"]
    assert [point["status"] for point in points] == ["failed", "ok"]
    assert "did not complete" in points[0]["error"]


def test_a_sweep_refuses_what_cannot_be(peerlane: Run, scenario: Write) -> None:
    file = scenario()
    sweep = ("sweep", file, "--vary", "seed=1,2")
    peerlane("sweep", file, "--vary", "devices.a.tgas=1,2").refuses("did you mean", "tags")
    peerlane("sweep", file, "--vary", "devices.c.tags=1,2").refuses("there are a, b")
    peerlane("sweep", file, "--vary", "devices.a*.tags=1,2").refuses("write devices.*.tags")
    peerlane(*sweep, "--metric", "flows.a-to-b.byts").refuses("did you mean flows.a-to-b.bytes")
    peerlane(*sweep, "--vary", "seed=3").refuses("varied twice")
    peerlane(*sweep, "--set", "seed=3").refuses("seed is varied; leave out --set seed")
    for key, other in (
        ("devices.*.tags", "devices.a.tags"),
        ("links.s0-b.lanes", "devices.b.upstream.lanes"),
    ):
        peerlane("sweep", file, "--vary", f"{key}=1,2", "--set", f"{other}=4").refuses(
            f"{key} is varied; leave out --set {other}"
        )
    peerlane(*sweep, "--sample", "lhs:0").refuses("write random:N or lhs:N")
    peerlane(*sweep, "--out", "o.txt").refuses("ends with .csv or .parquet")
    peerlane(*sweep, "--resume").refuses("--resume needs --out")
    peerlane(*sweep, "--loads", "1 GB/s").refuses("--loads is for loads")
    peerlane("sweep", file).refuses("has no [[traffic]] to sweep", "--vary devices.a.tags=8..64*2")
    peerlane("sweep", file, "--metric", RATE).refuses("--metric needs --vary")
    peerlane(*sweep, "--scheduler", "tcp://127.0.0.1:1").refuses("no Dask scheduler", status=1)
    peerlane(*sweep, "--scheduler", "nonsense").refuses("no Dask scheduler", status=1)
    file.rename("fabric.csv")
    peerlane("sweep", "fabric.csv", "--vary", "seed=1,2", "--out", "fabric.csv").refuses("reads")
    peerlane(
        *("sweep", "fabric.csv", "--vary", "seed=1,2", "--out", "o.csv"), "--json", "o.csv"
    ).refuses("--json")
    assert not Path("o.csv").exists()


def test_parquet_has_numbers_and_texts(scenario: Write, tmp_path: Path) -> None:
    out = tmp_path / "o.parquet"
    vary = {"links.lanes": [1, 3], "devices.a.clock": "100 MHz,200 MHz"}
    found = sweep_points(scenario().read_text(), vary, [RATE, "flows.a-to-b.completed"], out=out)
    table = pd.read_parquet(out)
    assert list(table.columns[:3]) == ["links.lanes", "devices.a.clock [MHz]", RATE]
    assert [str(kind) for kind in table.dtypes[:3]] == ["int64", "int64", "float64"]
    assert table["status"].tolist() == ["ok", "ok", "error", "error"]
    assert table[RATE].isna().tolist() == [False, False, True, True]
    assert table[RATE][0] == found.points[0].metrics[RATE]
    pd.testing.assert_frame_equal(table, found.to_pandas())


def test_a_star_in_a_metric_stands_for_every_name() -> None:
    before, _ = result()
    for every in ("flows.*.bytes_per_second", "flows.a-*.bytes_per_second"):
        assert expanded(before, every) == [RATE]
    assert len(expanded(before, "links.*.*.utilisation")) == 6
    assert expanded(before, "flows.*.latency_ns.p99") == ["flows.a-to-b.latency_ns.p99"]
    for path in ("*", "flows.a-to-b.*", "traffic.*.bytes"):
        with pytest.raises(UnknownMetricError, match="stands for the names of entries"):
            expanded(before, path)
    with pytest.raises(UnknownMetricError, match=r"flows has no 'b\*'; there are a-to-b"):
        expanded(before, "flows.b*.bytes")


def test_the_link_above_a_card_is_found_by_the_card_wherever_it_is() -> None:
    fabric = Fabric("moves").host("h").switch("s", "h").device("card", "s")
    fabric.flow("card", "h", size="64 KiB")
    paths = ["devices.card.upstream.up.utilisation", "devices.c*.upstream.*.tlps"]
    found = fabric.sweep({"devices.card.upstream": ["s", "h"]}, paths)
    both = tuple(f"devices.card.upstream.{direction}.tlps" for direction in ("down", "up"))
    assert found.metrics == (paths[0], *both)
    for point, link in zip(found, ("s-card", "h-card"), strict=True):
        run = Fabric.from_toml(fabric.to_toml())
        run.override("devices.card.upstream", point.settings["devices.card.upstream"])
        assert point.metrics[paths[0]] == run.run().links[link, "up"].utilisation
    for wrong, message in (
        ("hosts.*.upstream.up.tlps", "no hosts below a link"),
        ("devices.b*.upstream.up.tlps", r"no devices like b\* below a link"),
        ("a..b", "not the path of a metric"),
    ):
        with pytest.raises(UnknownMetricError, match=message):
            fabric.sweep({"seed": [1]}, wrong)
    with pytest.raises(UnknownMetricError, match=r'there is no .crad.; did you mean "card"\?'):
        fabric.sweep({"seed": [1]}, "devices.crad.upstream.up.utilisation")
    with pytest.raises(UnknownMetricError, match=r"did you mean links\.s-card\.up\.utilisation"):
        fabric.sweep({"seed": [1]}, "devices.card.upstream.up.utilisatoin")


def test_a_repeated_point_has_a_run_for_each_seed_and_a_row_with_its_mean(
    peerlane: Run, scenario: Write
) -> None:
    file = scenario(("generation = 2", "generation = 2\nbit_error_rate = 1e-5"))
    sweep = ("sweep", file, "--vary", "links.s0-b.lanes=1,2", "--metric", "links.*.down.replays")
    outcome = peerlane(*sweep, "--repeat", "3", "--seed", "5", "--out", "o.csv").succeeds()
    rows = list(csv.DictReader(Path("o.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["seed"] for row in rows] == ["5", "6", "7"] * 2
    values = [float(row["links.s0-b.down.replays"]) for row in rows[:3]]
    found = Interval.of(values)
    assert found.half_width
    mean = f"{number(found.mean)} \N{PLUS-MINUS SIGN}{number(found.half_width)}"
    assert mean in outcome.out
    assert "3 runs for each point; \N{PLUS-MINUS SIGN}" in outcome.out
    fixed = peerlane("sweep", scenario(), "--vary", "links.lanes=1,2", "--repeat", "3").out
    assert "3 runs for each point have the same numbers: nothing in this scenario is" in fixed
    assert "\N{PLUS-MINUS SIGN}" not in fixed
    assert peerlane(*sweep, "--repeat", "3", "--seed", "5", "--out", "o.csv", "--resume").out == ""
    peerlane("sweep", file, "--vary", "seed=1,2", "--repeat", "2").refuses("leave out --repeat")


def test_quantities_are_numbers_in_a_table_with_their_unit_above(tmp_path: Path) -> None:
    vary = {"flows.a-to-b.request_size": "64 B..128 B*2", "devices.a.upstream.lanes": "1,2"}
    found = sweep_points(PAIR, vary, [RATE], out=tmp_path / "o.csv")
    rows = list(csv.DictReader((tmp_path / "o.csv").read_text("utf-8").splitlines()))
    assert [row["flows.a-to-b.request_size [B]"] for row in rows] == ["64", "64", "128", "128"]
    assert [row["devices.a.upstream.lanes"] for row in rows] == ["1", "2", "1", "2"]
    assert [point.settings["flows.a-to-b.request_size"] for point in found][:2] == ["64 B"] * 2
    with pytest.raises(CompleteError):
        sweep_points(PAIR, vary, [RATE], out=tmp_path / "o.csv", resume=True)


def test_a_table_that_is_too_wide_has_a_column_for_each_point() -> None:
    """The heads are those of `peerlane run`."""
    metrics = [
        *("flows.*.bytes_per_second", "flows.*.latency_ns.p50", "flows.*.latency_ns.p99"),
        *("links.*.up.utilisation", "links.*.down.payload_bytes"),
    ]
    outcome = Fabric.from_toml(PAIR).sweep({"links.s0-b.lanes": "1..8*2"}, metrics)
    lines = printed(points(outcome), width=58)
    assert lines[1].split() == ["s0-b", "lanes", "1", "2", "4", "8"]
    heads = [line.strip().partition("  ")[0] for line in lines[3:12]]
    assert heads[:4] == ["a-to-b GB/s", "a-to-b p50", "a-to-b p99", "h0-s0 up used %"]
    assert all(len(line.split()) >= 6 and len(line) <= 58 for line in lines[3:12])
    assert printed(points(outcome), width=240)[1].split()[:4] == ["s0-b", "lanes", "a-to-b", "GB/s"]
    # What does not fit side by side goes on below.
    many = printed(points(Fabric.from_toml(PAIR).sweep({"seed": range(30)}, metrics)), width=60)
    assert max(map(len, many)) <= 60
    assert sum(line.startswith("seed ") for line in many) > 3


@pytest.mark.parametrize(("field", "head"), [("utilisation", "used %"), ("full", "full %")])
def test_a_share_of_a_link_is_in_percent(field: str, head: str) -> None:
    words = heading(f"links.h-s.up.{field}")
    assert (words.head, words.text(0.9807)) == (f"h-s up {head}", "98.1")


def printed(shown: RenderableType, *, width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO())
    console.print(shown)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return [line for line in text.splitlines() if line.strip()]


def test_another_executor_changes_no_result() -> None:
    tags = {"devices.a.tags": "1..8*2"}
    reads = 'size = "16 KiB"\ndirection = "read"'
    fabric = Fabric.from_toml(PAIR.replace('size = "16 KiB"', reads))
    with ProcessPoolExecutor(2, get_context("spawn")) as processes:
        found = fabric.sweep(tags, executor=processes)
        assert (found, found.workers) == (fabric.sweep(tags), 2)
        assert fabric.explain(executor=processes) == fabric.explain()
        shares: list[Progress] = []
        with patch.object(processes, "submit", wraps=processes.submit) as submitted:
            known = reproduce("rosta", only="latency", executor=processes, progress=shares.append)
        assert (known, submitted.call_count) == (reproduce("rosta", only="latency"), 1)
        assert float(shares[-1]) == 1
    with pytest.raises(ValueError, match="scheduler and executor exclude each other"):
        fabric.sweep(tags, executor=processes, scheduler="tcp://127.0.0.1:1")


def test_a_sweep_that_is_interrupted_before_its_first_point_counts_none(
    peerlane: Run, scenario: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("peerlane.varying.sweep.sweep_points", interrupted)
    with pytest.raises(KeyboardInterrupt) as told:
        peerlane("sweep", scenario(), "--vary", "seed=1,2")
    assert str(told.value) == ""


@pytest.mark.seconds(4)
def test_an_interrupted_sweep_goes_on(
    peerlane_process: Run, scenario: Write, tmp_path: Path
) -> None:
    file = scenario(('size = "16 KiB"', 'size = "24 MiB"\nwindow = "64 KiB"'))
    sweep = ("sweep", file, "--vary", "seed=1..24+1", "--out", "o.csv")
    process = subprocess.Popen(
        [sys.executable, "-m", "peerlane", *map(str, sweep)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    journal = tmp_path / "o.csv.journal"
    wait_until(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 3, process)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    err = without_progress(err)
    assert (process.returncode, out, len(err.splitlines())) == (143, "", 1)
    assert "--resume goes on" in err
    assert not (tmp_path / "o.csv").exists()
    kept = journal.read_bytes()
    journal.write_bytes(kept + b'{"settings": {"se')  # the line that a crash tears
    peerlane_process(*sweep).refuses("points of an interrupted sweep", "--resume")
    peerlane_process(*sweep, "--resume", "--metric", "simulated_ns").refuses("another metrics")
    assert peerlane_process(*sweep, "--resume").status == 0
    rows = list(csv.DictReader((tmp_path / "o.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["seed"] for row in rows] == [str(seed) for seed in range(1, 25)]
    assert {row["status"] for row in rows} == {"ok"}
    assert {path.name for path in tmp_path.iterdir()} == {"fabric.toml", "o.csv"}
    again = peerlane_process(*sweep, "--resume")
    assert (again.status, again.out) == (0, "")
    assert "o.csv is complete" in again.err


def test_points_that_are_there_are_not_run_again(scenario: Write, tmp_path: Path) -> None:
    class EnoughError(Exception):
        """The sweep is interrupted."""

    def interrupt(share: Progress) -> None:
        if share == Progress.of(3, 8, "points"):
            raise EnoughError

    text, out = scenario().read_text(), tmp_path / "o.csv"
    vary: dict[str, Any] = {"seed": list(range(1, 9))}
    with pytest.raises(EnoughError):
        sweep_points(text, vary, out=out, progress=interrupt)
    heard: list[Progress] = []
    found = sweep_points(text, vary, out=out, resume=True, progress=heard.append)
    assert found.resumed == 3
    assert [one.now for one in heard] == [f"{done} of 8 points" for done in range(4, 9)]
    assert found == sweep_points(text, vary)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_finished_table_is_complete_for_its_own_sweep_alone(
    peerlane: Run, scenario: Write, ending: str
) -> None:
    file, out = scenario(), f"o.{ending}"
    vary = ("--vary", "links.lanes=1,2", "--vary", "flows.a-to-b.size=4 KiB,8 KiB")

    def resumed(*given: str) -> Outcome:
        return peerlane("sweep", file, *given, "--out", out, "--resume")

    assert peerlane("sweep", file, *vary, "--out", out).status == 0
    complete = resumed(*vary)
    assert (complete.status, complete.out) == (0, "")
    assert f"{out} is complete" in complete.err
    resumed("--vary", "links.lanes=1,4", *vary[2:]).refuses(
        "point 3 has links.lanes=2; asked for is links.lanes=4", "leave out --resume", "another"
    )
    resumed("--vary", "links.lanes=1,2,4", *vary[2:]).refuses("4 points; asked for are 6")
    resumed(*vary[:2]).refuses("it has the columns links.lanes, flows.a-to-b.size")
    resumed(*vary, "--metric", "simulated_ns").refuses("asked for are", "simulated_ns")
    resumed(*vary, "--seed", "7").refuses("has seed=1; asked for is seed=7")
    Path(out).write_bytes(b"\xff\xfe")
    resumed(*vary).refuses("it is no table")


def test_a_list_is_gone_through_as_often_for_many_paths_as_for_one() -> None:
    class Counted(list[dict[str, object]]):
        times = 0

        def __iter__(self) -> Iterator[dict[str, object]]:
            self.times += 1
            return super().__iter__()

    def times(count: int) -> int:
        flows = Counted({"id": f"up{number}", "requests": number} for number in range(16))
        paths = [f"flows.up{number}.requests" for number in range(count)]
        assert list(values_at({"flows": flows}, paths).values()) == list(range(count))
        return flows.times

    assert times(16) == times(1) > 0
