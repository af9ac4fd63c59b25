"""A table of a page: columns with their kinds, and rows of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["name", "words", "number", "kind"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `name`s stay on one line, `number`s are right-aligned, `kind`s get their mark."""

    title: str
    kind: Kind = "words"


@dataclass(frozen=True, slots=True)
class Line:
    """A row, which a link of the same page can name; a `wrong` one is marked.

    `links` are the words and the anchors of links to other rows, in a last cell of their own.
    """

    cells: tuple[str, ...]
    links: tuple[tuple[str, str], ...] = ()
    anchor: str = ""
    note: int | None = None
    wrong: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table, and the notes of its rows, which are counted from 1."""

    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    caption: str = ""

    @property
    def has_notes(self) -> bool:
        """Whether any row has a note."""
        return any(line.note is not None for line in self.lines)


def columns(*titles: str, numbers: tuple[str, ...] = ()) -> tuple[Column, ...]:
    """Columns of names, and some of numbers."""
    return tuple(Column(title, "number" if title in numbers else "name") for title in titles)
