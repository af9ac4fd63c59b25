"""Makes the table of a sweep of keys: a row for each point, or a column if rows are too wide."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from peerlane.cli.tables.sheet import GAP, Sheet
from peerlane.figures.headings import headings
from peerlane.figures.intervals import Interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console, ConsoleOptions, RenderResult

    from peerlane.figures.headings import Heading
    from peerlane.varying.sweep import Sweep

MOST_ROWS = 40
"""The most rows that are shown; a file of --out and JSON have all rows."""
MOST_REASONS = 5
"""The most reasons of failed points that are shown; a file of --out and JSON have all reasons."""


MOST_ALIKE = 8
"""If more metrics than this are alike, only the least, the median and the greatest are shown."""
_OF_MANY = ("least", "median", "most")
_NUMBER = re.compile(r"\d+")
_PLUS_MINUS = "\N{PLUS-MINUS SIGN}"
_LEAST = 2
"""The least number of points side by side; if fewer fit into the terminal, points are rows again.
"""


def points(outcome: Sweep, *, each: bool = False) -> RenderableType:
    """A row for each point with keys, metrics and errors; `each` shows all metrics that are alike.

    Repeated points are one row, with the mean of each metric and its confidence interval.
    """
    columns = list(_columns(outcome, each=each))
    groups = _repeated(outcome)
    table = _Table(
        [heading for column in columns for heading in column.headings],
        [
            [_Cell(cell) for column in columns for cell in column.cells(rows)]
            for rows in groups[:MOST_ROWS]
        ],
        keys=len(outcome.keys),
    )
    if outcome.wrong:
        table.heads.append("status")
        for rows, cells in zip(groups, table.rows, strict=False):
            status = next((row["status"] for row in rows if row["status"] != "ok"), "ok")
            cells.append(_Cell(str(status), is_wrong=status != "ok"))
    parts: list[RenderableType] = [Text(_title(outcome), style="bold"), table]
    if outcome.repeats > 1:
        has_intervals = any(_PLUS_MINUS in cell.text for row in table.rows for cell in row)
        runs = _runs(outcome, has_intervals=has_intervals)
        parts.append(Text(f"{outcome.repeats} runs for each point{runs}"))
    if any(len(column.names) > 1 for column in columns):
        parts.append(Text("* stands for any number: --all shows each", "dim"))
    if (more := len(groups) - MOST_ROWS) > 0:
        parts.append(Text(f"and {more:,} more; --out FILE or --json FILE has them"))
    return Group(*parts, *_reasons(outcome))


def why_fixed(*, is_random: bool) -> str:
    """The reason why all runs have the same numbers, although they have different seeds."""
    if is_random:
        return "no random event happened in these runs"
    return "nothing in this scenario is random"


def _runs(outcome: Sweep, *, has_intervals: bool) -> str:
    """A note on the runs of a point: what `±` means, or why all runs have the same numbers."""
    if has_intervals:
        return f"; {_PLUS_MINUS}: half of the 95 % confidence interval of the mean"
    if outcome.is_fixed:
        is_random = any(point.is_random for point in outcome.points)
        return f" have the same numbers: {why_fixed(is_random=is_random)}"
    return ""


def _title(outcome: Sweep) -> str:
    seeds = sorted({point.seed for point in outcome.points})
    if "seed" in outcome.keys or not seeds:
        return outcome.name
    which = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    return f"{outcome.name}: {which}"


def _repeated(outcome: Sweep) -> list[Sequence[Mapping[str, object]]]:
    """The rows of each point of a sweep: one row for each seed."""
    rows = outcome.rows()
    return [rows[at : at + outcome.repeats] for at in range(0, len(rows), outcome.repeats)]


@dataclass(frozen=True, slots=True)
class _Cell:
    text: str
    is_wrong: bool = False

    @property
    def styled(self) -> Text:
        return Text(self.text, "bold red" if self.is_wrong else "")


@dataclass(slots=True)
class _Table:
    """A row for each point if the terminal is wide enough, otherwise a column for each point."""

    heads: list[str]
    rows: list[list[_Cell]]
    keys: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        upright = self._sheet()
        beside = list(self._beside(width))
        few = min(map(len, beside[:-1] or beside), default=0) < min(_LEAST, len(self.rows))
        yield from [upright] if upright.fits(width) or few else map(self._exchanged, beside)

    def _sheet(self) -> Sheet:
        sheet = Sheet()
        sheet.numbers(*self.heads)
        for row in self.rows:
            sheet.add_row(*(cell.styled for cell in row))
        return sheet

    def _beside(self, width: int) -> Iterator[list[list[_Cell]]]:
        """Divides the points into groups, each of which fits side by side into one table."""
        own = max(map(cell_len, self.heads), default=0)
        found: list[list[_Cell]] = []
        used = own
        for row in self.rows:
            needed = GAP + max(cell_len(cell.text) for cell in row)
            if found and used + needed > width:
                yield found
                found, used = [], own
            found.append(row)
            used += needed
        if found:
            yield found

    def _exchanged(self, points_: Sequence[Sequence[_Cell]]) -> Sheet:
        """A table with a column for each point, whose heading is the value of the first key."""
        sheet = Sheet(self.heads[0])
        sheet.numbers(*(row[0].text for row in points_))
        for number, head in enumerate(self.heads[1:], 1):
            sheet.add_row(head, *(row[number].styled for row in points_))
        return sheet


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the sweep, or many that are alike, which are shown as three columns."""

    names: list[str]
    words: Heading
    head: str

    @property
    def headings(self) -> list[str]:
        if len(self.names) == 1:
            return [self.head]
        return [f"{self.head} {word}" for word in _OF_MANY]

    def cells(self, rows: Sequence[Mapping[str, object]]) -> list[str]:
        """The cells of a point, calculated from the rows of its runs."""
        if len(self.names) == 1:
            return [self._mean([row[self.names[0]] for row in rows])]
        values = [row[name] for name in self.names for row in rows]
        found = sorted(value for value in values if isinstance(value, float | int))
        if not found:
            return ["-"] * len(_OF_MANY)
        return [self.words.text(found[n]) for n in (0, len(found) // 2, -1)]

    def _mean(self, values: Sequence[object]) -> str:
        numbers = [float(one) for one in values if _is_number(one)]  # type: ignore[arg-type]
        if len(numbers) < 2 or len(set(numbers)) == 1:  # noqa: PLR2004 - an interval needs two
            known = [value for value in values if value is not None]
            return self.words.text(known[0] if known else None)
        found = Interval.of(numbers)
        mean, half = self.words.text(found.mean), self.words.text(found.half_width)
        return f"{mean} {_PLUS_MINUS}{half}"


def _is_number(value: object) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool)


def _columns(outcome: Sweep, *, each: bool) -> Iterator[_Column]:
    """The columns of keys and metrics; metrics that are alike are at the position of the first."""
    words = headings((*outcome.keys, *outcome.metrics))
    forms = {name: _NUMBER.sub("*", name) for name in outcome.metrics}
    counted = Counter(forms.values())
    many = {form for form, count in counted.items() if count > MOST_ALIKE and not each}
    shown = set()
    for name, one in words.items():
        form = forms.get(name, name)
        if form not in many:
            yield _Column([name], one, one.head)
        elif form not in shown:
            shown.add(form)
            alike = [one for one in outcome.metrics if forms[one] == form]
            yield _Column(alike, one, _NUMBER.sub("*", one.head))


def _reasons(outcome: Sweep) -> Iterator[Text]:
    """Yields the reasons of failed points, the most frequent reason first."""
    counted = Counter((point.status, point.error or "") for point in outcome.wrong)
    for (status, reason), count in counted.most_common(MOST_REASONS):
        points_ = "1 point" if count == 1 else f"{count:,} points"
        yield Text.assemble((f"{status}, {points_}: ", "bold red"), reason)
    if (more := len(counted) - MOST_REASONS) > 0:
        yield Text(f"and {more:,} other reasons; --out FILE or --json FILE has them")
