"""The table of a comparison: a row for each change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from peerlane.cli.tables.cells import blank, numbers
from peerlane.cli.tables.cells import number as number_of

if TYPE_CHECKING:
    from peerlane.varying.comparison import Change, Comparison

MOST_ROWS = 30
"""Rows that are shown without --all."""


def comparison(outcome: Comparison, names: tuple[str, str], *, every: bool) -> RenderableType:
    """A row for each change, and how many values are the same."""
    if not outcome.changes:
        return Text(f"no change: all {outcome.same} values are the same", style="bold")
    rows = blank("value")
    numbers(rows, *names, "change")
    shown = outcome.changes if every else outcome.changes[:MOST_ROWS]
    for change in shown:
        rows.add_row(change.path, _cell(change.before), _cell(change.after), _change(change))
    more = len(outcome.changes) - len(shown)
    counted = f"{len(outcome.changes)} values changed, {outcome.same} are the same"
    return Group(rows, Text(counted + (f"; {more} of less weight: --all" if more else ""), "bold"))


def _cell(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number_of(value)
    if isinstance(value, bool):
        return str(value).lower()
    return "-" if value is None else str(value)


def _change(change: Change) -> str:
    if change.relative is None:
        return ""
    return f"{100 * change.relative:+.2f} %"
