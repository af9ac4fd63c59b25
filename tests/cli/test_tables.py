"""Tables in a terminal: whole names, no line that is too long, a note of what is left out."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from conftest import ROOT, SCENARIOS, figure
from peerlane import Simulation, _core
from peerlane.cli.list import COLUMNS, _everything, _having
from peerlane.cli.tables.catalogue import catalogue
from peerlane.cli.tables.cells import cell
from peerlane.cli.tables.fabric import tree as drawing
from peerlane.cli.tables.report import report, summary
from peerlane.cli.tables.run import MOST_FLOWS
from peerlane.cli.tables.run import run as tables
from peerlane.cli.tables.sheet import Sheet
from peerlane.report.table import cells
from peerlane.results.flows import LinkResult
from peerlane.results.networks import FibreResult
from peerlane.results.run import InterruptResult, IommuResult

if TYPE_CHECKING:
    from rich.console import RenderableType

    from conftest import Run, Write
    from peerlane import RunResult, Tree

NAMES = [path.stem for path in SCENARIOS]

ROWS = {
    IommuResult("h", 8, 3, 5, 4, 9, 2, 1, 120.0, 4500.0): (
        "I/O MMU of h; requests 8; hits % 37.5; walks 4; reads 9; "
        "invalidations 2; faults 1; wait mean 120 ns; longest 4.5 us"
    ),
    InterruptResult("d", 1, 2, 30, 4, 5, 6): (
        "interrupts of d; function 1; vector 2; sent 30; held 4; withdrawn 5; dropped 6"
    ),
    LinkResult(
        *("l", "up", 0.25, 9, 2048, 300, 40, 50, 64, 72, 3, 120.0),
        full=0.125,
        together_bytes_per_second=2e9,
    ): (
        "link l; direction up; used % 25.0; full % 12.5; GB/s together 2; payload 2 KiB; "
        "overhead 300 B; "
        "DLLPs 64 B; ordered sets 72 B; replays 3; stalled 120 ns"
    ),
    FibreResult("f", "a", "b", 0.25, 9, 2048, 300, 40, 64, 3, 120.0): (
        "fibre f; from a; to b; used % 25.0; frames 9; payload 2 KiB; "
        "overhead 300 B; control 64 B; replays 3; stalled 120 ns"
    ),
}
"""Rows of results, and the titles and the cells of their columns."""


@cache
def ran(name: str) -> tuple[RunResult, Tree]:
    """The result of a shipped scenario, and its fabric."""
    path = next(path for path in SCENARIOS if path.stem == name)
    simulation = Simulation.open(path)
    return simulation.run(), simulation.tree()


def lines(shown: RenderableType, width: int = 80) -> list[str]:
    """What a terminal of so many columns shows."""
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(shown)
    return captured.get().splitlines()


def holds(shown: list[str], *names: str) -> bool:
    """Whether all names stand in the lines, each on one line and with nothing beside it."""
    words = {word for line in shown for word in re.split(r"[\s,]+", line)}
    return set(names) <= words


@pytest.mark.parametrize("name", NAMES)
def test_names_are_whole_and_no_line_is_longer_than_80_columns(name: str) -> None:
    result, fabric = ran(name)
    shown = lines(tables(result, fabric))
    assert max(map(cell_len, shown)) <= 80
    for flow in result.flows[: None if len(result.flows) <= MOST_FLOWS else 0]:
        assert holds(shown, flow.id, flow.source, flow.target)
    for rows, keys in (
        (result.traffic, ("id", "network")),
        (result.collectives, ("id", "network")),
        (result.accesses, ("id", "by", "buffer")),
        (result.locks, ("id", "by", "buffer")),
        (result.transactions, ("id", "by", "buffer", "lock")),
    ):
        assert all(holds(shown, *(getattr(one, key) for key in keys)) for one in rows)
    if len(result.links) <= 32:
        assert holds(shown, *(link.id for link in result.links))
    if len(result.fibres) <= 32:
        assert holds(shown, *(fibre.id for fibre in result.fibres))
    drawn = lines(drawing(fabric))
    assert not any(re.search(r"(MPS|MRRS|loads of|port)\s*$", line) for line in drawn)
    assert max(map(cell_len, drawn)) <= 80
    assert holds(
        drawn, *(node.name for node in fabric.nodes[: 1 if len(fabric.nodes) > 32 else None])
    )


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_out_where_there_is_space(name: str) -> None:
    result, fabric = ran(name)
    shown = lines(tables(result, fabric), 1 << 20)
    assert not any("not shown" in line for line in shown)
    (headings,) = (line for line in shown if line.startswith("link "))
    for heading in ("used %", "payload", "overhead", "DLLPs", "ordered sets", "replays", "stalled"):
        assert heading in headings


def test_a_table_says_which_columns_it_leaves_out() -> None:
    shown = lines(tables(*ran("shared")))
    (note,) = (line for line in shown if "MiB/s" in line)
    assert note.startswith("not shown at 80 columns: MiB/s, max, bytes")
    assert "--json" in note


@pytest.mark.parametrize("topic", ["models", "profiles", "parameters"])
def test_the_catalogue_fits(topic: str) -> None:
    entries = json.loads(_core.catalogue())[topic]
    shown = lines(catalogue(topic, entries, *COLUMNS[topic]))
    assert max(map(cell_len, shown)) <= 80
    assert holds(shown, *(entry[COLUMNS[topic][0]] for entry in entries))
    assert not any("not shown" in line for line in shown)


def test_the_report_on_a_system_fits() -> None:
    outcome = figure("rosta", "table1")
    shown = lines(report(outcome, every=True)) + lines(summary([outcome]))
    assert max(map(cell_len, shown)) <= 80
    assert holds(shown, "rosta", *(row.id for row in outcome.rows))


NAME = st.text("abcdefghij-", min_size=1, max_size=30)
CELL = st.text("0123456789. ", max_size=12)


@given(
    st.lists(st.tuples(NAME, NAME, CELL, CELL, CELL), min_size=1, max_size=5),
    st.integers(min_value=34, max_value=140),
)
def test_a_sheet_keeps_names_and_stays_within_its_terminal(
    rows: list[tuple[str, ...]], width: int
) -> None:
    sheet = Sheet("one", "other")
    sheet.add_column("the first number", "number")
    sheet.add_column("second", "number")
    sheet.add_column("state")
    sheet.fold("second", "the first number")
    for row in rows:
        sheet.add_row(*row)
    shown = lines(sheet, width)
    assert max(map(cell_len, shown)) <= width
    for one, other, *_ in rows:
        assert any(one in line for line in shown)
        assert any(other in line for line in shown)


def test_a_name_that_no_line_can_hold_is_on_several_lines() -> None:
    sheet = Sheet("name")
    sheet.add_row("x" * 100)
    shown = lines(sheet, 40)
    assert max(map(cell_len, shown)) <= 40
    assert sum(line.count("x") for line in shown) == 100


def test_piped_output_is_as_wide_as_its_content(peerlane: Run, scenario: Write) -> None:
    name = "a-name-of-a-device-that-is-far-longer-than-any-terminal-is-wide" * 3
    path = scenario(("[devices.a]", f"[devices.{name}]"), ('from = "a"', f'from = "{name}"'))
    shown = peerlane("run", path).out.splitlines()
    (flow,) = (line for line in shown if line.startswith("a-to-b"))
    assert flow.split()[1] == name
    assert flow.endswith("intact")


def test_a_heading_that_is_a_path_is_on_several_lines() -> None:
    sheet = Sheet()
    for path in ("devices.a.tags", "flows.a-to-b.bytes_per_second", "links.h0-a.up.utilisation"):
        sheet.add_column(path, "number")
    sheet.add_row("8", "1.5e9", "0.9")
    *above, rule, row, _ = lines(sheet, 50)
    assert [line.split() for line in above] == [
        ["flows."],
        ["a-to-b.", "links."],
        ["devices.", "bytes_", "h0-a."],
        ["a.", "per_", "up."],
        ["tags", "second", "utilisation"],
    ]
    assert set(rule) == {"─"}
    assert row.split() == ["8", "1.5e9", "0.9"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: type(row).__name__)
def test_a_terminal_and_a_page_show_each_number_of_a_row(row: Any) -> None:
    titles = [one.title for one in row.COLUMNS]
    shown = [cell(one.value(row), one.unit) for one in row.COLUMNS]
    page = [text.removesuffix(" %").replace("µ", "u") for text in cells(row.COLUMNS, row)]
    for of_row in (shown, page):
        assert "; ".join(map(" ".join, zip(titles, of_row, strict=True))) == ROWS[row]


def test_both_directions_of_a_flow_have_rows_of_their_own() -> None:
    shown = lines(tables(*ran("shared")))
    place = next(place for place, line in enumerate(shown) if line.startswith("both-1 "))
    assert [line.split()[0] for line in shown[place + 1 : place + 3]] == ["writes", "reads"]


def test_a_column_without_a_heading_folds_away_without_a_word() -> None:
    sheet = Sheet("name")
    sheet.add_column("")
    sheet.fold("")
    sheet.add_row("a", "=" * 40)
    assert lines(sheet, 30) == ["name", "────", "a", ""]


def test_recipes_are_found_by_the_words_of_their_questions() -> None:
    pages = ROOT / "docs" / "recipes"
    index = (pages / "index.md").read_text(encoding="utf-8")
    recipes = _everything()["recipes"]
    assert {one["name"] for one in recipes} | {"index"} == {one.stem for one in pages.glob("*.md")}
    for one in recipes:
        assert f"| {one['question']} | [{one['name']}]({one['name']}.md) |" in index
    for word, recipe in (("steady", "steady"), ("uplink", "uplink"), ("bottleneck", "uplink")):
        found = _having(recipes, [word])
        assert [entry["name"] for entry in found] == [recipe]
    assert any(entry["key"] == "steady" for entry in _everything()["parameters"])
