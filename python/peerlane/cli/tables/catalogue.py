"""Makes the tables of `peerlane list`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from peerlane.cli.tables.sheet import Sheet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_PROSE = ("where", "help", "source", "settings", "title")


def catalogue(title: str, entries: Iterable[Mapping[str, Any]], *columns: str) -> Sheet:
    """A table with a row for each entry and the given columns; the first column is a name."""
    name, *others = columns
    table = Sheet(name, title=title)
    for column in others:
        table.add_column(column, "prose" if column in _PROSE else "value")
    for entry in entries:
        table.add_row(*(_cell(entry.get(column)) for column in columns))
    return table


def _cell(value: object) -> str:
    """A value of the catalogue as text; each setting of a profile has a line of its own."""
    if isinstance(value, list):
        return "\n".join(f"{setting['key']} = {setting['value']}" for setting in value)
    return str(value or "")
