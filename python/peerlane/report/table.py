"""Defines the tables of pages: columns with their kinds, and rows of texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from peerlane.formats import percent, size
from peerlane.report.words import NONE, duration, number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from peerlane.results import workload
    from peerlane.results.workload import Unit

Kind = Literal["name", "words", "number", "kind"]

MOST_LINES = 400
"""The largest number of rows of a table of results; the JSON of the run has all rows."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    In a column of the kind `name` a text is never broken into lines, in a column `number` it is
    right-aligned, and in a column `kind` it has the mark of the row's kind.
    """

    title: str
    kind: Kind = "words"


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a table; links of the same page can point to it, and a `wrong` row is marked.

    `links` has the words and the anchors of links to other rows; they are in the last cell.
    """

    cells: tuple[str, ...]
    links: tuple[tuple[str, str], ...] = ()
    anchor: str = ""
    note: int | None = None
    wrong: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table, and notes about its rows; rows are counted from 1."""

    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    caption: str = ""

    @property
    def has_notes(self) -> bool:
        """Whether any row has a note."""
        return any(line.note is not None for line in self.lines)


def columns(*titles: str, numbers: tuple[str, ...] = ()) -> tuple[Column, ...]:
    """Makes columns of names, or of numbers for the titles in `numbers`."""
    return tuple(Column(title, "number" if title in numbers else "name") for title in titles)


def _times(found: tuple[int, float] | None) -> str:
    return f"{found[0]} of {duration(found[1])}" if found else NONE


_CELLS: dict[Unit, Callable[[Any], str]] = {
    "amount": number,
    "bytes": size,
    "rate": lambda value: number(None if value is None else value / 1e9),
    "time": duration,
    "times": _times,
    "number": number,
    "share": lambda value: NONE if value is None else percent(value),
}

_NUMBERS = frozenset[str](_CELLS) | {"count"}


def heads(kinds: Sequence[workload.Column]) -> list[Column]:
    """The columns of a table of results; the cells, and not the titles, have percent signs."""
    return [
        Column(one.title.removesuffix(" %"), "number" if one.unit in _NUMBERS else "name")
        for one in kinds
    ]


def cells(kinds: Sequence[workload.Column], row: object) -> list[str]:
    """The cells of a row of results."""
    return [_CELLS.get(one.unit, str)(one.value(row)) for one in kinds]


def plain(rows: Sequence[Any]) -> Table:
    """The table of results of one kind of workload, with all columns of this kind."""
    lines = tuple(Line(tuple(cells(one.COLUMNS, one))) for one in rows[:MOST_LINES])
    return Table(tuple(heads(rows[0].COLUMNS)), lines)
