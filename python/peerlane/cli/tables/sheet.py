"""Prints a table that fits into its terminal; less important columns are left out if needed.

Most tables are wider than a terminal of 80 columns. A table is printed in the first of these forms
that fits: headings on one line; headings with a word on each line; prose below its row; fewer
columns; names on a line above their values; each value after its heading. A note names the columns
that are left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.text import Text

from peerlane.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console, ConsoleOptions, RenderResult

GAP = 2
"""The spaces between two columns."""

INDENT = 4
"""The number of spaces before the second and later lines of a row."""

LEAST_PROSE = 30
"""The least width of a column of prose; a narrower column would not be readable."""

Kind = Literal["name", "value", "number", "prose"]

_WORD = re.compile(r"[^ ._]*[ ._]|[^ ._]+")
"""A part of a heading that is never broken. Headings of sweeps are long paths of keys, so a heading
may be broken after a dot or underscore, too."""

_VALUES = ("value", "number")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: numbers are on the right; only prose may have several lines."""

    heading: str
    kind: Kind


class Sheet:
    """A table to which rows are added; its first columns are names.

    Args:
        names: The headings of the columns of names.
        title: The line above the table.
        advice: A text that says how to see the columns that are left out.
    """

    def __init__(
        self,
        *names: str,
        title: str | None = None,
        advice: str = "widen the terminal or use --json",
    ) -> None:
        self.columns = [Column(printable(name), "name") for name in names]
        self._title = title and printable(title)
        self._advice = advice
        self._rows: list[list[Text]] = []
        self._widest: dict[int, int] = {}
        self._folds: list[str] = []

    def add_column(self, heading: str, kind: Kind = "value") -> None:
        """Adds a column on the right."""
        self.columns.append(Column(printable(heading), kind))

    def numbers(self, *headings: str) -> None:
        """Adds columns of numbers."""
        for heading in headings:
            self.add_column(heading, "number")

    def fold(self, *headings: str) -> None:
        """Defines the columns that are left out in a narrow terminal, the least important first."""
        headings = tuple(map(printable, headings))
        known = [column.heading for column in self.columns]
        self._folds += [heading for heading in headings if heading in known]

    def add_row(self, *cells: str | Text) -> None:
        """Adds a row, with a cell for each column."""
        if len(cells) != len(self.columns):
            raise ValueError(f"{len(cells)} cells for {len(self.columns)} columns")
        kinds = [column.kind for column in self.columns]
        row = [_printable(cell, kind) for cell, kind in zip(cells, kinds, strict=True)]
        self._rows.append(row)
        for number, cell in enumerate(row):
            width = max(map(cell_len, str(cell).split("\n")))
            self._widest[number] = max(width, self._widest.get(number, 0))

    def fits(self, width: int) -> bool:
        """Whether all columns fit side by side into a terminal that is `width` characters wide."""
        forms = (_Form(width), _Form(width, headings="stacked"))
        return any(_needed(self.columns, self._widest, form) <= width for form in forms)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        form = self._fitting(options.max_width)
        rule = "-" if options.ascii_only else "─"
        if self._title:
            yield _whole(Text(self._title, style="italic"))
        layout = _Layout(self.columns, self._rows, self._widest, form, console)
        for line in layout.lines(rule):
            line.rstrip()
            yield _whole(line)
        if left_out := [heading for heading in form.left_out if heading]:
            note = f"not shown at {form.width} columns: {', '.join(left_out)}; "
            yield from _wrapped(Text(note + self._advice, "dim"), form, console)
        yield Text("")

    def _fitting(self, width: int) -> _Form:
        """The first form of the table that fits into the terminal, or else the narrowest form."""
        form = _Form(width)
        for form in self._forms(width):
            if _needed(self.columns, self._widest, form) <= width:
                return form
        return form

    def _forms(self, width: int) -> Iterator[_Form]:
        plain = _Form(width)
        yield plain
        yield (stacked := replace(plain, headings="stacked"))
        if any(column.kind == "prose" for column in self.columns):
            yield replace(plain, prose="wrapped")
            yield replace(stacked, prose="wrapped")
        for base in (replace(plain, prose="below"), replace(plain, prose="below", names="above")):
            for count in range(len(self._folds) + 1):
                folded = replace(base, left_out=tuple(self._folds[:count]))
                yield folded
                yield replace(folded, headings="stacked")
        yield replace(plain, prose="below", names="above", values="listed")


@dataclass(frozen=True, slots=True)
class _Form:
    """A form of a table for a terminal that is `width` characters wide."""

    width: int
    headings: Literal["plain", "stacked"] = "plain"
    prose: Literal["plain", "wrapped", "below"] = "plain"
    names: Literal["beside", "above"] = "beside"
    values: Literal["aligned", "listed"] = "aligned"
    left_out: tuple[str, ...] = ()

    def heading(self, column: Column) -> list[Text]:
        """The lines of a heading."""
        words = [column.heading] if self.headings == "plain" else _WORD.findall(column.heading)
        return [Text(word.rstrip(), style="bold") for word in words or [""]]

    def is_aligned(self, column: Column) -> bool:
        """Whether the cells of a column are printed below each other, as a column."""
        if column.heading in self.left_out or self.values == "listed":
            return False
        if column.kind == "name":
            return self.names == "beside"
        return column.kind != "prose" or self.prose != "below"


def _needed(columns: Sequence[Column], widest: Mapping[int, int], form: _Form) -> int:
    """The width in characters that a form of the table needs."""
    shown = [number for number, column in enumerate(columns) if form.is_aligned(column)]
    widths = [_least(columns[number], widest.get(number, 0), form) for number in shown]
    indent = INDENT if form.names == "above" else 0
    return indent + sum(widths) + GAP * max(len(widths) - 1, 0)


def _least(column: Column, widest: int, form: _Form) -> int:
    natural = _natural(column, widest, form)
    return min(natural, LEAST_PROSE) if _wraps(column, form) else natural


def _natural(column: Column, widest: int, form: _Form) -> int:
    """The width of a column whose cells are not broken; `widest` is the widest cell's width."""
    return max(widest, *(line.cell_len for line in form.heading(column)))


def _wraps(column: Column, form: _Form) -> bool:
    return column.kind == "prose" and form.prose == "wrapped"


class _Layout:
    """Makes the lines of a table in one form."""

    def __init__(
        self,
        columns: Sequence[Column],
        rows: Sequence[Sequence[Text]],
        widest: Mapping[int, int],
        form: _Form,
        console: Console,
    ) -> None:
        self._columns = columns
        self._rows = rows
        self._widest = widest
        self._form = form
        self._console = console
        self._aligned = [n for n, column in enumerate(columns) if form.is_aligned(column)]
        above = form.names == "above"
        self._above = [n for n, one in enumerate(columns) if above and one.kind == "name"]
        below = form.prose == "below"
        self._below = [n for n, one in enumerate(columns) if below and one.kind == "prose"]
        listed = form.values == "listed"
        self._listed = [n for n, one in enumerate(columns) if listed and one.kind in _VALUES]
        self._indent = " " * INDENT * above
        self._widths = {
            number: _least(columns[number], widest.get(number, 0), form) for number in self._aligned
        }
        self._widen_prose()

    def lines(self, rule: str) -> Iterator[Text]:
        """Yields the lines of the headings, a horizontal rule, and the lines of the rows."""
        if self._above:
            yield self._joined([Text(self._columns[n].heading, style="bold") for n in self._above])
        headings = [self._form.heading(self._columns[number]) for number in self._aligned]
        tallest = max(map(len, headings), default=0)
        # Headings are aligned at their last lines.
        bottom = [[Text("")] * (tallest - len(lines)) + lines for lines in headings]
        above = list(self._beside(bottom))
        rows = [line for cells in self._rows for line in self._row(cells)]
        width = max(line.cell_len for line in above + rows)
        yield from above
        yield Text(rule * min(width, self._form.width), style="dim")
        yield from rows

    def _row(self, cells: Sequence[Text]) -> Iterator[Text]:
        if self._above:
            yield from self._cut(self._joined([cells[number] for number in self._above]), 0)
        if self._aligned:
            beside = [self._cell(cells[number], number) for number in self._aligned]
            yield from self._beside(beside)
        values = [f"{self._columns[n].heading} {cells[n]}" for n in self._listed if cells[n].plain]
        if values:
            yield from self._cut(Text(", ".join(values)), INDENT)
        for number in self._below:
            for line in cells[number].split("\n"):
                if line.cell_len:
                    yield from self._cut(line, INDENT)

    def _beside(self, cells: Sequence[Sequence[Text]]) -> Iterator[Text]:
        """Yields the lines of the cells of one row, side by side."""
        for parts in zip_longest(*cells, fillvalue=Text("")):
            pieces: list[str | Text] = [self._indent]
            for number, part in zip(self._aligned, parts, strict=True):
                space = " " * max(self._widths[number] - part.cell_len, 0)
                right = self._columns[number].kind == "number"
                pieces += [*((space, part) if right else (part, space)), " " * GAP]
            line = Text.assemble(*pieces)
            line.rstrip()
            yield line

    def _cell(self, cell: Text, number: int) -> list[Text]:
        lines = cell.split("\n", allow_blank=True) if "\n" in cell.plain else [cell]
        if not _wraps(self._columns[number], self._form):
            return list(lines)
        return [part for line in lines for part in line.wrap(self._console, self._widths[number])]

    def _cut(self, text: Text, indent: int) -> Iterator[Text]:
        return _wrapped(text, self._form, self._console, indent)

    def _joined(self, cells: Sequence[Text]) -> Text:
        return Text(" " * GAP).join(cells)

    def _widen_prose(self) -> None:
        """Gives the remaining width to columns of prose, to each at most what its cells need."""
        wrapping = [n for n in self._aligned if _wraps(self._columns[n], self._form)]
        gaps = GAP * max(len(self._aligned) - 1, 0)
        left = self._form.width - gaps - sum(self._widths.values())
        for place, number in enumerate(wrapping):
            widest = self._widest.get(number, 0)
            natural = _natural(self._columns[number], widest, self._form)
            more = min(left // (len(wrapping) - place), natural - self._widths[number])
            self._widths[number] += max(more, 0)
            left -= max(more, 0)


def _printable(cell: str | Text, kind: Kind) -> Text:
    """A cell in which characters that are not printable are escaped; a name has no line ends."""
    keep = "" if kind == "name" else "\n"
    if isinstance(cell, str):
        return Text(printable(cell, keep))
    return cell if printable(cell.plain, keep) == cell.plain else Text(printable(cell.plain, keep))


def _wrapped(text: Text, form: _Form, console: Console, indent: int = 0) -> Iterator[Text]:
    """Text on as many lines as needed; a word is broken only if it is longer than a line."""
    for line in text.wrap(console, max(form.width - indent, 1)):
        line.rstrip()
        yield Text.assemble(" " * indent, line)


def _whole(line: Text) -> Text:
    """A line that the console must not break."""
    line.no_wrap = True
    line.overflow = "ignore"
    return line
