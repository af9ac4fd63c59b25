"""How a published system is judged."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

import pytest
from pydantic import ValidationError

from peerlane.expected import Expected, ExpectedRow
from peerlane.reproduce import Report, Row, _error_percent, _quantity, reproduce, systems

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
    assert _quantity("166 ns") == (166, "ns")
    assert _quantity("0.5") == (0.5, "1")


@pytest.mark.parametrize("name", systems())
def test_every_calibration_stands_in_the_scenario(name: str) -> None:
    folder = files("peerlane.systems") / name
    scenario = tomllib.loads((folder / "scenario.toml").read_text(encoding="utf-8"))
    for entry in Expected.load(folder).calibration:
        table: Any = scenario
        for key in entry.where.split("."):
            table = table[key]
        assert isinstance(table, str | int | float)


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


@pytest.mark.parametrize("figure", ["table1", "table2"])
def test_rosta_analytic_tables_hold(figure: str) -> None:
    assert reproduce("rosta", only=figure).passes


def test_rosta_latency_holds() -> None:
    assert reproduce("rosta", only="latency").passes


def test_rosta_table3_holds(table3: Report) -> None:
    assert [row.id for row in table3.rows if not row.passes] == []


def test_rosta_table3_is_mostly_predicted(table3: Report) -> None:
    published = [row for row in table3.rows if row.id.startswith("table3/")]
    assert len(published) == 12
    assert sum(row.kind == "predicted" for row in published) >= 9
