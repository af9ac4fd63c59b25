"""Numbers that measuring tools wrote, and measured points of our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import cases_of
from peerlane.measured.point import Point, of_rows
from peerlane.measured.reading import measured, rows_of
from peerlane.results.reading import FileError

if TYPE_CHECKING:
    from conftest import Run, Write

RATE = "bytes_per_second"


TOOLS = cases_of(__file__, "tools.toml")
FIO = TOOLS["fio"]["text"]


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_a_row_of_a_tool_has_its_number_in_bytes_a_second_or_nanoseconds(
    tool: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "x").write_text(tool["text"])
    wanted = {(name, field): value for name, field, value in tool["rows"]}
    found = {(row.name, row.field): row.value for row in rows_of(str(tmp_path / "x"))}
    assert {key: found.get(key) for key in wanted} == pytest.approx(wanted)


def test_a_row_says_what_was_transferred(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(FIO)
    row = rows_of(str(tmp_path / "x"))[0]
    assert (row.size, row.direction, row.quantity) == (4096, "read", "rate")
    assert row.labels == {"rw": "randread", "iodepth": "32"}


CUT_OFF = [
    (tool["text"].partition(end)[0], message)
    for tool in TOOLS.values()
    for end, message in tool.get("cut_before", [])
]
NO_TABLES = [
    ("", "is empty; write a table"),
    ("some text", "has no form that is known; write a table"),
    (FIO.replace("bw_bytes", "bw"), "job 1 is not as fio 3 writes it"),
]


@pytest.mark.parametrize(("text", "message"), CUT_OFF + NO_TABLES)
def test_a_file_that_is_cut_off_empty_or_unknown_is_refused(
    text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "x").write_text(text)
    with pytest.raises(FileError, match=message):
        measured(tmp_path / "x")


def test_a_table_without_its_last_line_is_cut_off(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(TOOLS["perftest"]["text"][:-88])
    with pytest.raises(FileError, match="no line of dashes ends the table"):
        measured(tmp_path / "x")


def test_the_table_of_a_sweep_is_a_file_of_measured_points(peerlane: Run, scenario: Write) -> None:
    file, key = scenario(), "flows.a-to-b.request_size"
    out = ("--json", "s.json", "--out", "s.csv")
    assert peerlane("sweep", file, "--vary", f"{key}=64B,128B", *out).status == 0
    assert [point.settings for point in measured("s.csv")] == [{key: "64 B"}, {key: "128 B"}]  # type: ignore[union-attr]
    outcome = peerlane("compare", "s.json", "--measured", "s.csv", "--json", "-")
    pairs = json.loads(outcome.out)["pairs"]
    assert [pair["error_percent"] for pair in pairs] == [0.0, 0.0]


def test_a_point_in_toml_is_a_number_or_a_row_of_a_tool(peerlane: Run, scenario: Write) -> None:
    Path("fio.json").write_text(FIO)
    metric = "flows.a-to-b.bytes_per_second"
    points = f"""
        [[points]]
        metric = "a-to-b GB/s"
        value = 1.5
        [[points]]
        metric = "{metric}"
        value = "1400 MB/s"
        held_back = true
        [[points]]
        metric = "a-to-b GB/s"
        file = "fio.json"
        row = "a-to-b"
    """
    Path("m.toml").write_text(points)
    peerlane("run", scenario(), "--json", "r.json")
    outcome = peerlane("compare", "r.json", "--measured", "m.toml", "--json", "-")
    pairs = json.loads(outcome.out)["pairs"]
    assert [pair["measured"] for pair in pairs] == [1.5e9, 1.4e9, 2.95e9]
    assert {pair["metric"] for pair in pairs} == {metric}
    Path("m.toml").write_text(points.replace('row = "a-to-b"', 'row = "a"'))
    peerlane("compare", "r.json", "--measured", "m.toml").refuses(
        "m.toml: points: 3: fio.json has no row 'a'; there are a-to-b"
    )


def test_a_row_of_a_tool_stands_beside_the_workload_of_its_name(
    peerlane: Run, scenario: Write, tmp_path: Path
) -> None:
    peerlane("run", scenario(), "--json", "r.json")
    (tmp_path / "fio.json").write_text(FIO)
    outcome = peerlane("compare", "r.json", "--measured", "fio.json")
    assert "a-to-b GB/s      2.95" in outcome.out
    (tmp_path / "p2p.txt").write_text(TOOLS["p2pBandwidthLatencyTest"]["text"])
    outcome = peerlane("compare", "r.json", "--measured", "p2p.txt")
    assert "12 of 12 have no simulated number" in outcome.out


@pytest.mark.parametrize(
    ("point", "message"),
    [
        (Point("flows.f.rate", 1.0, where="m: 1"), "m: 1: 'flows.f.rate' is no metric of results"),
        (Point("f GB/s", "1 ns", where="m: 1"), "'1 ns' is no value of flows.f.bytes_per_second"),
        (Point("f GB/s", 0, where="m: 1"), "write a number above 0 in B/s, or with a unit"),
    ],
)
def test_a_point_without_a_metric_or_a_value_is_refused(point: Point, message: str) -> None:
    with pytest.raises(FileError, match=message):
        of_rows([point], [f"flows.f.{RATE}"], "m")
