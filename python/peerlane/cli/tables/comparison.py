"""Makes the table of a comparison of two results: a row for each change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from peerlane.cli.tables.sheet import Sheet
from peerlane.formats import number as number_of

if TYPE_CHECKING:
    from peerlane.varying.comparison import Change, Comparison

MOST_ROWS = 30
"""The most rows that are shown without --all."""
MOST_ALONE = 5
"""The most points that are named without --all, of the points that only one of two sweeps has."""


def comparison(outcome: Comparison, names: tuple[str, str], *, every: bool) -> RenderableType:
    """A row for each change, and the number of equal values."""
    alone = [
        Text(f"only in {name}: {point}")
        for name, points in zip(names, (outcome.only_before, outcome.only_after), strict=True)
        for point in _first(points, every=every)
    ]
    if not outcome.changes:
        where = " in what both have" if alone else ""
        told = f"no change{where}: all {outcome.same} values are the same"
        return Group(*alone, Text(told, style="bold"))
    rows = Sheet("value")
    rows.numbers(*names, "change")
    shown = outcome.changes if every else outcome.changes[:MOST_ROWS]
    for change in shown:
        rows.add_row(change.path, _cell(change.before), _cell(change.after), _change(change))
    more = len(outcome.changes) - len(shown)
    counted = f"{len(outcome.changes)} values changed, {outcome.same} are the same"
    counted += f"; {more} of less weight: --all" if more else ""
    return Group(rows, *alone, Text(counted, "bold"))


def _first(points: tuple[str, ...], *, every: bool) -> tuple[str, ...]:
    """The points that are shown, and the number of points that are not."""
    more = 0 if every else len(points) - MOST_ALONE
    return (*points[:MOST_ALONE], f"{more:,} more points: --all") if more > 0 else points


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
