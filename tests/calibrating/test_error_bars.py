"""Error bars: how far rates and latencies may be off, because of defaults without a document."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from conftest import beside
from peerlane.calibrating.error_bars import error_bars
from peerlane.charts import vega
from peerlane.cli import error_bars as cli
from peerlane.cli.application import run_command_line
from peerlane.cli.tables.error_bars import unset
from peerlane.explaining.explain import explain
from peerlane.results.error_bar import ErrorBar, ErrorBars, MovedDefault

if TYPE_CHECKING:
    from pathlib import Path

READER = beside(__file__, "reader.toml")
RATE = "flows.f.bytes_per_second"


@pytest.fixture(scope="module")
def found() -> ErrorBars:
    return error_bars(READER)


def rate(found: ErrorBars) -> ErrorBar:
    return found.bars[RATE]


def test_the_latency_of_the_host_moves_the_rate_of_reads_with_few_tags(found: ErrorBars) -> None:
    bar = rate(found)
    causes = {(cause.name, cause.to): cause.number for cause in bar.causes}
    slow, fast = (causes["default:hosts.latency", to] for to in ("200 ns", "50 ns"))
    assert slow < bar.value < fast
    # The strongest single changes are within the bar, and other defaults widen it.
    assert bar.low < slow
    assert bar.high > fast


def test_a_value_that_the_scenario_writes_is_no_cause(found: ErrorBars) -> None:
    known = {"hosts.h.latency": "100 ns", "hosts.h.memory_read_latency": "80 ns"}
    narrow = rate(error_bars(READER, settings=known))
    assert narrow.value == rate(found).value
    assert rate(found).low < narrow.low <= narrow.value <= narrow.high < rate(found).high


def test_flags_choices_workloads_and_documented_values_stay(found: ErrorBars) -> None:
    moved = {name.rpartition(".")[2] for name in found.moved}
    assert "latency" in moved
    assert not moved & {"iommu", "peer_to_peer", "direction", "max_read_request"}


def test_what_the_scenario_refuses_is_named_and_moves_nothing(found: ErrorBars) -> None:
    assert "default:hosts.iommu_page=2048 B" in found.refused
    assert "2048 B" not in {cause.to for cause in rate(found).causes}


def moves(**numbers: float) -> list[MovedDefault]:
    """The moves of defaults, such as b3 of b to 3, and the number that each leads to."""
    return [MovedDefault(f"default:*.{to[0]}", "1", to[1:], now) for to, now in numbers.items()]


def test_changes_of_different_defaults_are_added_in_quadrature() -> None:
    bar = ErrorBar.of(100.0, moves(a2=97.0, a3=103.0, b2=104.0, b3=96.5, c2=100.1))
    assert bar.high == pytest.approx(100 + 5)
    assert bar.low == pytest.approx(100 - (3**2 + 3.5**2) ** 0.5)
    assert [cause.key for cause in bar.causes] == ["b", "b", "a", "a"]


def test_the_bar_of_several_flows_adds_what_one_move_does_to_each() -> None:
    first = ErrorBar.of(10.0, moves(a2=9.0, a3=11.0))
    second = ErrorBar.of(20.0, moves(a2=18.0, b2=24.0))
    bars = {
        f"flows.{name}.bytes_per_second": bar
        for name, bar in zip("fg", (first, second), strict=True)
    }
    both = ErrorBars("x", bars, {}, {}, 1).of_flows(["f", "g", "too-short"])
    assert both is not None
    assert (both.value, both.low) == (30.0, 27.0)
    assert both.high == pytest.approx(30 + (1 + 4**2) ** 0.5)
    assert both.said(str).endswith(": `b` is our choice")
    assert ErrorBars("x", bars, {}, {}, 1).of_flows(["too-short"]) is None


def test_a_number_that_no_default_moves_is_said_to_be_so() -> None:
    assert ErrorBar.of(1.0, []).said(str) == "no default of ours moves it by 0.2 %"


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        (["hosts.latency"], ""),
        (["links.lanes", "hosts.latency"], "does not set links.lanes, so"),
        (["links.generation", "links.lanes"], "--set links.generation=N --set links.lanes=N."),
    ],
)
def test_links_that_the_scenario_does_not_set_are_named(keys: list[str], told: str) -> None:
    moved = {f"default:{key}": ("1", "2") for key in keys}
    said = "".join(line.plain for line in unset(ErrorBars("x", {}, moved, {}, 3)))
    assert told in said
    assert bool(said) == bool(told)


def test_run_prints_the_range_and_its_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "reader.toml"
    file.write_text(READER, encoding="utf-8")
    assert run_command_line(["run", str(file), "--error-bars", "--json", "-"]) == 0
    bar = json.loads(capsys.readouterr().out)["bars"][RATE]
    assert bar["low"] < bar["value"] < bar["high"]
    assert run_command_line(["run", str(file), "--error-bars", "--repeat", "3"]) == 2
    assert "leave out --error-bars" in capsys.readouterr().err


def test_explain_and_the_page_of_a_run_have_the_range_and_its_cause(
    found: ErrorBars,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cli, "error_bars", lambda *_, **__: found)
    monkeypatch.setattr(vega, "svg", lambda _: "")
    monkeypatch.setattr(vega, "png", lambda _: b"")
    file = tmp_path / "reader.toml"
    file.write_text(READER, encoding="utf-8")
    assert run_command_line(["explain", str(file), "--error-bars", "--json", "-"]) == 0
    (place,) = json.loads(capsys.readouterr().out)["bottlenecks"]
    low, high = (f"{place['error_bar'][end] / 1e9:.3g}" for end in ("low", "high"))
    report = tmp_path / "report"
    assert run_command_line(["run", str(file), "--error-bars", "--report", str(report)]) == 0
    page = (report / "reader.html").read_text(encoding="utf-8")
    assert f"({low} to {high}: hosts.latency is our choice)" in page
    row = page[page.index(">error bar</th>") :]
    assert ": hosts.latency is our choice" in row[: row.index("</table>")]


GPUS = """\
hosts.h = {}
devices.g0 = { model = "gpu", upstream = "h" }
devices.g1 = { model = "gpu", upstream = "h" }
schedules = [{ id = "sum", devices = ["g0", "g1"], size = "8 KiB" }]
"""


def test_a_schedule_has_a_range_of_its_time_and_of_its_bus_bandwidth() -> None:
    found = error_bars(GPUS)
    time, rate = (found.bars[f"schedules.sum.{key}"] for key in ("time_ns", "bus_bytes_per_second"))
    assert len(found.bars) == 2
    (kernel,) = (
        one for one in time.causes if one.key.endswith("kernel_latency") and one.to == "5 us"
    )
    assert kernel.number - time.value == pytest.approx(3000, abs=50)
    slower = next(one for one in rate.causes if (one.name, one.to) == (kernel.name, kernel.to))
    assert slower.number * kernel.number == pytest.approx(rate.value * time.value)
    place = explain(GPUS, what_if=False).with_error_bars(found).bottlenecks[0]
    assert place.error_bar is not None
    assert (place.error_bar.low, place.error_bar.high) == pytest.approx((rate.low, rate.high))
    assert " GB/s (" in place.sentence
