"""Keys of a scenario that are fitted to measured points."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from conftest import beside
from peerlane import Calibration, MissingPackageError, calibrate
from peerlane.calibrating.key import CalibrationError
from peerlane.fabric.variant import parsed, variant
from peerlane.measured.point import Point

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conftest import Run

LAB = beside(__file__, "lab.toml")

RATE, LATENCY = "flows.x.bytes_per_second", "flows.x.latency_ns.mean"
SIZE, TAGS = "flows.x.request_size", "devices.d.tags"
READ = {"flows.x.direction": "read"}

WRITES = [(RATE, {SIZE: f"{size} B"}) for size in (64, 128, 256)]
READS = [(LATENCY, {**READ, SIZE: f"{size} B", TAGS: 1}) for size in (64, 256)]
OUTSTANDING = [(RATE, {**READ, SIZE: "64 B", TAGS: 4})]
TRUTH = {"devices.d.datapath": "16 B", "devices.d.idle_cycles": 11, "hosts.h.latency": "230 ns"}
KEYS = "devices.d.idle_cycles,hosts.h.latency"


def points(
    truth: Mapping[str, Any], wanted: Sequence[tuple[str, Mapping[str, Any]]], noise: float = 0.0
) -> list[Point]:
    """What is measured of a scenario with keys that are known, with noise."""
    random = Random(1)
    found: list[Point] = []
    for metric, settings in wanted:
        result = variant(parsed(LAB, "lab"), {**truth, **settings}, warns=False).run()
        value: Any = result.flows["x"]
        for field in metric.split(".")[2:]:
            value = getattr(value, field)
        noisy = value * (1 + noise * random.gauss(0, 1))
        found.append(Point(metric, noisy, settings, where=f"point {len(found) + 1}"))
    return found


def refused(found: Calibration) -> set[frozenset[str]]:
    return {frozenset(one.keys) for one in found.refused}


def test_datapath_idle_cycles_and_latency_are_found_from_six_noisy_points() -> None:
    measured = points(TRUTH, [*WRITES, *READS, *OUTSTANDING], 0.01)
    found = calibrate(LAB, measured, ["devices.d.datapath=8 B,16 B,32 B", KEYS])
    assert found.refused == ()
    width, idle, latency = found.values
    assert (width.value, idle.value) == ("16 B", 11)
    assert float(str(latency.value).removesuffix(" ns")) == pytest.approx(230, rel=0.03)
    assert float(str(latency.low).removesuffix(" ns")) < 230
    assert float(str(latency.high).removesuffix(" ns")) > 230
    assert [near.value for near in idle.neighbours] == [10, 12]
    assert all(near.misfit_percent > 2 * found.misfit_percent for near in idle.neighbours)
    assert found.predicted_percent is not None
    assert found.misfit_percent < found.predicted_percent < 3


def test_two_latencies_of_one_way_are_refused_by_name() -> None:
    pair = {"hosts.h.latency", "hosts.h.memory_read_latency"}
    found = calibrate(LAB, points(TRUTH, [*READS, *OUTSTANDING], 0.01), ",".join(sorted(pair)))
    assert refused(found) == {frozenset(pair)}
    assert found.settings == {}
    reason = found.refused[0].reason
    assert "hosts.h.latency and hosts.h.memory_read_latency cannot be distinguished" in reason


def test_a_key_that_moves_no_point_is_refused_and_the_others_are_not() -> None:
    found = calibrate(LAB, points(TRUTH, READS), "hosts.h.latency,hosts.h.peer_latency")
    assert refused(found) == {frozenset({"hosts.h.peer_latency"})}
    assert "hosts.h.peer_latency moves no point" in found.refused[0].reason
    assert list(found.settings) == ["hosts.h.latency"]


def test_a_choice_that_another_key_makes_up_for_is_refused_with_it() -> None:
    free = ["devices.d.datapath=8 B,16 B", "devices.d.idle_cycles"]
    found = calibrate(LAB, points(TRUTH, WRITES[:1] * 3, 0.01), free)
    assert refused(found) == {frozenset({"devices.d.datapath", "devices.d.idle_cycles"})}
    assert "datapath 8 B, idle_cycles 6" in found.refused[0].reason


def test_choices_are_found_without_any_number() -> None:
    found = calibrate(LAB, points({"links.lanes": 4}, WRITES, 0.01), "links.lanes=2,4,8")
    assert found.settings == {"links.lanes": 4}
    assert [near.value for near in found.values[0].neighbours] == [2, 8]


def test_a_whole_number_within_what_a_link_hides_is_refused() -> None:
    found = calibrate(LAB, points({}, WRITES, 0.001), "devices.d.idle_cycles=0..8")
    assert refused(found) == {frozenset({"devices.d.idle_cycles"})}


def test_points_that_are_held_back_judge_the_fit() -> None:
    free, measured = "hosts.h.latency=100ns..400ns", points(TRUTH, READS)
    measured.append(Point(LATENCY, 1300.0, READS[0][1], where="point 3"))
    found = calibrate(LAB, measured, free, hold_back=[3])
    assert [one.held_back for one in found.points] == [False, False, True]
    assert found.misfit_percent < 2
    assert found.predicted_percent is not None
    assert found.predicted_percent == pytest.approx(abs(found.points[2].error_percent))
    assert found.predicted_percent > 30


def test_any_workers_find_the_same_values() -> None:
    def fitted(workers: int) -> list[Any]:
        with ThreadPoolExecutor(workers) as pool:
            measured = points(TRUTH, [*WRITES[:1], *READS], 0.01)
            free = "devices.d.idle_cycles=0..16", "hosts.h.latency"
            return [calibrate(LAB, measured, free, executor=pool)]

    assert fitted(1) == fitted(3)


@pytest.mark.parametrize(
    ("free", "count", "message"),
    [
        ((), 3, "no key is free"),
        ("hosts.h.latency,hosts.h.latency", 3, "free twice"),
        ("links.generation", 3, "or --free links.generation=1,2,4"),
        ("hosts.h.latency=400ns..50ns", 3, "write the lower end first"),
        ("devices.d.idle_cycles=3", 3, "is one value"),
        ("links.lanes=33,34", 3, "point 1: no run has its flows.x.bytes_per_second; with links"),
        ("devices.*.tags", 5, "point 4: the point sets devices.*.tags, which is free"),
        ("devices.d.idle_cycles,hosts.h.latency", 1, "1 points cannot determine 2 keys"),
    ],
)
def test_a_calibration_that_cannot_be_made_says_why(free: Any, count: int, message: str) -> None:
    measured = [
        Point(*one[:1], 1e9, one[1], where=f"point {n + 1}") for n, one in enumerate(WRITES)
    ]
    measured += [Point(LATENCY, 500.0, one[1], where="point 4") for one in READS]
    with pytest.raises(CalibrationError) as caught:
        calibrate(LAB, measured[:count], free)
    assert message in str(caught.value)


def test_without_scipy_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in sys.modules if one.startswith("peerlane.calibrating.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(MissingPackageError, match=r"SciPy: pip install 'peerlane\[calibrate\]'"):
        calibrate(LAB, [], "hosts.h.latency")


def test_the_profile_that_is_written_is_one_that_the_scenario_takes(peerlane: Run) -> None:
    Path("lab.toml").write_text(LAB)
    value = points(TRUTH, READS[:1])[0].value
    Path("m.csv").write_text(f"flows.x.direction,{SIZE} [B],{TAGS},x mean\nread,64,1,{value}\n")
    command = ("calibrate", "lab.toml", "--measured", "m.csv", "--free")
    outcome = peerlane(*command, "hosts.h.latency", "-o", "fit.toml", *SET).succeeds()
    assert "x mean, direction=read, request_size=64 B, tags=1" in outcome.out
    written = Path("fit.toml").read_text()
    assert "# Fitted by Peerlane" in written
    assert "--free hosts.h.latency" in written
    text = LAB.replace("[hosts.h]", '[hosts.h]\nprofile = "h"') + written
    latency = float(parsed(text, "lab").effective("hosts.h.latency")[0].removesuffix(" ns"))
    assert latency == pytest.approx(230, abs=1)
    peerlane(*command, "hosts.h.latency", "-o", "m.csv").refuses("m.csv is the file that the comm")
    outcome = peerlane(*command, "hosts.h.peer_latency", "-o", "no.toml")
    assert outcome.status == 1
    assert "error: no.toml is not written, as keys are refused" in outcome.err
    assert not Path("no.toml").exists()


SET = ("--set", "devices.d.datapath=16 B", "--set", "devices.d.idle_cycles=11")
