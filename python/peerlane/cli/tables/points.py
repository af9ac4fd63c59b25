"""The table of a sweep over any keys: a row for each point."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from peerlane.cli.tables.sheet import Sheet
from peerlane.formats import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from peerlane.varying.sweep import Sweep

MOST_ROWS = 40
"""Rows that are shown; a file or JSON has all."""
MOST_REASONS = 5
"""Reasons of points that went wrong which are shown; a file or JSON has all."""


MOST_ALIKE = 8
"""Metrics that are alike are shown as the least, the median and the most, where there are more."""
_OF_MANY = ("least", "median", "most")
_NUMBER = re.compile(r"\d+")


def points(outcome: Sweep, *, each: bool = False) -> RenderableType:
    """A row for each point: its keys, its metrics, and what went wrong; `each` folds no metrics."""
    columns = list(_columns(outcome, each=each))
    rows = Sheet()
    rows.numbers(*(heading for column in columns for heading in column.headings))
    rows.add_column("status")
    for point, row in zip(outcome.points[:MOST_ROWS], outcome.rows(), strict=False):
        wrong = Text(point.status, style="bold red" if point.status != "ok" else "")
        rows.add_row(*(cell for column in columns for cell in column.cells(row)), wrong)
    parts: list[RenderableType] = [Text(outcome.name, style="bold"), rows]
    if any(len(column.names) > 1 for column in columns):
        parts.append(Text("* stands for any number: --all shows each", "dim"))
    if (more := len(outcome) - MOST_ROWS) > 0:
        parts.append(Text(f"and {more:,} more; --out FILE or --json FILE has them"))
    return Group(*parts, *_reasons(outcome))


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the sweep, or several alike ones, which are shown as three."""

    names: list[str]
    form: str

    @property
    def headings(self) -> list[str]:
        if len(self.names) == 1:
            return self.names
        return [f"{self.form} {word}" for word in _OF_MANY]

    def cells(self, row: Mapping[str, object]) -> list[str]:
        if len(self.names) == 1:
            return [_cell(row[self.names[0]])]
        values = [row[name] for name in self.names]
        found = sorted(value for value in values if isinstance(value, float | int))
        if not found:
            return ["-"] * len(_OF_MANY)
        return [number(found[n]) for n in (0, len(found) // 2, -1)]


def _columns(outcome: Sweep, *, each: bool) -> Iterator[_Column]:
    """The columns: keys, metrics and seed; metrics that are alike where the first of them is."""
    forms = {name: _NUMBER.sub("*", name) for name in outcome.metrics}
    counted = Counter(forms.values())
    many = {form for form, count in counted.items() if count > MOST_ALIKE and not each}
    shown = set()
    for name in outcome.columns[:-2]:
        form = forms.get(name, name)
        if form not in many:
            yield _Column([name], name)
        elif form not in shown:
            shown.add(form)
            yield _Column([one for one in outcome.metrics if forms[one] == form], form)


def _reasons(outcome: Sweep) -> Iterator[Text]:
    """The reasons why points went wrong, the most frequent first."""
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
