"""The tables of `peerlane list`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from peerlane.cli.tables.cells import blank

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.table import Table


def catalogue(title: str, entries: Iterable[Mapping[str, Any]], *columns: str) -> Table:
    """One line for each entry, in the given columns."""
    table = blank(*columns)
    table.title = title
    table.title_justify = "left"
    for entry in entries:
        table.add_row(*(_cell(entry.get(column)) for column in columns))
    return table


def _cell(value: object) -> str:
    """A catalogue's value; a profile's settings stand below one another."""
    if isinstance(value, list):
        return "\n".join(f"{setting['key']} = {setting['value']}" for setting in value)
    return str(value or "")
