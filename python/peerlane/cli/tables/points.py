"""The table of a sweep over any keys: a row for each point."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from peerlane.cli.tables.cells import blank, number, numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerlane.varying.sweep import Points

MOST_ROWS = 40
"""Rows that are shown; a file or JSON has all."""
MOST_REASONS = 5
"""Reasons of points that went wrong which are shown; a file or JSON has all."""


def points(outcome: Points) -> RenderableType:
    """A row for each point: its keys, its metrics, and what went wrong."""
    rows = blank()
    numbers(rows, *outcome.columns[:-2])
    rows.add_column("status")
    for point, row in zip(outcome.points[:MOST_ROWS], outcome.rows(), strict=False):
        wrong = Text(point.status, style="bold red" if point.status != "ok" else "")
        rows.add_row(*(_cell(row[name]) for name in outcome.columns[:-2]), wrong)
    parts: list[RenderableType] = [Text(outcome.name, style="bold"), rows]
    if (more := len(outcome) - MOST_ROWS) > 0:
        parts.append(Text(f"and {more:,} more; --out FILE or --json FILE has them"))
    return Group(*parts, *_reasons(outcome))


def _reasons(outcome: Points) -> Iterator[Text]:
    """The reasons why points went wrong, those of most points first."""
    counted = Counter((point.status, point.error or "") for point in outcome.wrong)
    for (status, reason), count in counted.most_common(MOST_REASONS):
        points_ = "1 point" if count == 1 else f"{count:,} points"
        yield Text.assemble((f"{status}, {points_}: ", "bold red"), reason)
    if (more := len(counted) - MOST_REASONS) > 0:
        yield Text(f"and {more:,} other reasons; --out FILE or --json FILE has them")


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float | int):
        return number(value)
    return str(value)
