"""How a published system is judged."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

import pytest
from pydantic import ValidationError

from peerlane.reproduction.calibration import moved, quantity, setting
from peerlane.reproduction.catalogue import system_fabric, systems
from peerlane.reproduction.expected import Expected, ExpectedRow
from peerlane.reproduction.report import Report, Row
from peerlane.reproduction.reproduce import _error_percent, reproduce

ROW: dict[str, Any] = {
    "id": "f/1",
    "what": "",
    "unit": "ns",
    "tolerance_percent": 2,
    "kind": "predicted",
}


def row(**fields: Any) -> Row:
    more = {"figure": "f", "note": "", "published": 100, "published_range": None}
    return Row(**(ROW | more | {"simulated": 101, "error_percent": 1} | fields))


def expected(*rows: dict[str, Any], **more: Any) -> Expected:
    figures = [{"name": "f", "rows": [ROW | one for one in rows]}]
    return Expected.model_validate({"title": "t", "source": "s", "figures": figures} | more)


def test_a_row_within_its_tolerance_passes() -> None:
    assert row(error_percent=-2).passes
    assert not row(error_percent=2.01).passes


def test_a_gap_never_fails() -> None:
    assert row(kind="gap", simulated=None, error_percent=None).passes


def test_a_row_without_a_published_value_passes_when_it_was_simulated() -> None:
    assert row(published=None, error_percent=None).passes
    assert not row(published=None, error_percent=None, simulated=None).passes


def test_the_error_of_a_range_is_the_way_to_its_nearer_end() -> None:
    ranged = ExpectedRow(**ROW, published_range=(100, 200))
    assert _error_percent(ranged, 150) == 0
    assert _error_percent(ranged, 90) == -10
    assert _error_percent(ranged, 220) == 10


def test_a_value_and_a_range_exclude_each_other() -> None:
    with pytest.raises(ValidationError, match="not both"):
        ExpectedRow(**ROW, published=1, published_range=(1, 2))


def test_ids_do_not_repeat() -> None:
    with pytest.raises(ValidationError, match="repeat"):
        expected({"id": "f/1"}, {"id": "f/1"})


def test_a_calibrated_row_names_what_came_from_it() -> None:
    with pytest.raises(ValidationError, match="calibrated"):
        expected({"kind": "calibrated"})


def test_a_quantity_is_a_number_and_a_unit() -> None:
    assert quantity("166 ns") == (166, "ns")
    assert quantity(0.5) == (0.5, "1")


@pytest.mark.parametrize("name", systems())
def test_every_calibration_stands_in_the_scenario(name: str) -> None:
    folder = files("peerlane.systems") / name
    scenario = tomllib.loads((folder / "scenario.toml").read_text(encoding="utf-8"))
    for entry in Expected.load(folder).calibration:
        values = {setting(scenario, where) for where in entry.where}
        assert len(values) == 1
        assert quantity(values.pop())[0] > 0


def test_rosta_has_every_published_row() -> None:
    rows = {
        row.id
        for figure in Expected.load(files("peerlane.systems") / "rosta").figures
        for row in figure.rows
    }
    payloads = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
    links = [f"gen{generation}-x{lanes}" for generation in (1, 2, 3) for lanes in (1, 2, 4, 8)]
    cases = ("1", "2", "3", "4", "8.1", "8.2")
    assert {f"table1/{payload}" for payload in payloads} <= rows
    assert {f"table2/{link}/{payload}" for link in links for payload in (128, 256)} <= rows
    assert {f"table3/{payload}/{case}" for payload in (128, 256) for case in cases} <= rows
    assert {"latency/1-switch", "latency/3-switches"} <= rows

    assert {f"fig3/{p}/{timer}" for p in (8, 16, 32, 64, 128) for timer in ("hard", "app")} <= rows
    assert {f"{figure}/{count}" for figure in ("fig4", "fig5") for count in range(1, 9)} <= rows
    assert {"chain", "loopback/4KB", "loopback/4MB"} <= rows


@pytest.mark.parametrize(
    "figure",
    ["chain", "fetch", "fig3", "fig4", "fig5", "latency", "loopback", "table1", "table2"],
)
def test_a_figure_of_rosta_holds(figure: str) -> None:
    assert reproduce("rosta", only=figure, sensitivity=False).passes


def test_rosta_table3_holds(table3: Report) -> None:
    assert [row.id for row in table3.rows if not row.passes] == []


def test_rosta_is_mostly_predicted() -> None:
    expected = Expected.load(files("peerlane.systems") / "rosta")
    rows = [row for figure in expected.figures for row in figure.rows]
    published = [row for row in rows if row.kind == "predicted" and row.published is not None]
    measured = ("fig", "table3", "chain", "loopback")
    assert sum(row.id.startswith(measured) for row in published) >= 18
    assert len(expected.calibration) <= 9


def test_each_predicted_row_says_how_it_depends_on_each_fitted_parameter() -> None:
    report = reproduce("rosta", only="peer_read")
    names = {entry.name for entry in report.calibration}
    assert report.rows
    for row in report.rows:
        assert row.sensitivity is not None
        assert row.sensitivity.keys() == names
    sensitivity = {row.id: row.sensitivity or {} for row in report.rows}
    one, three = (
        sensitivity[f"peer-read/{far}/4-kib-fifo"]["switch latency"]
        for far in ("1-switch", "3-switches")
    )
    assert three < 2 * one < 0
    assert all(abs(values["register write"]) < 0.05 for values in sensitivity.values())


def test_a_parameter_is_moved_by_a_tenth_or_to_the_next_whole_number() -> None:
    with moved("160 ns", ("profiles.plx-switch.latency",), 0.1) as share:
        assert share == pytest.approx(0.1)
        assert system_fabric("rosta").to_toml().count('latency = "176 ns"') == 1
    with moved(1, ("profiles.virtex7.idle_cycles",), 0.1) as share:
        assert share == 1
        assert "idle_cycles = 2" in system_fabric("rosta").to_toml()
    assert "idle_cycles = 1" in system_fabric("rosta").to_toml()
