"""Reads measured points in Peerlane's own forms: a table with the columns of a sweep, or TOML."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerlane._core import read_value
from peerlane.figures.headings import heading
from peerlane.formats import shortened
from peerlane.measured.point import Point
from peerlane.results.document import Document
from peerlane.results.reading import FileError, read_toml
from peerlane.varying.reading import keys_of, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from peerlane.measured.row import Row

_UNIT = re.compile(r"(.+) \[(.+)\]")
_SHOWN = 12
_OTHERS = {"name", "metric", "value", "held_back", "seed", "status", "error"}
"""The columns that are neither keys nor metrics."""


@dataclass(frozen=True, slots=True)
class Entry(Document):
    """An entry of `[[points]]`, with a value, or with the row of a tool's file that has it."""

    metric: str
    value: float | str | None = None
    set: dict[str, Any] = field(default_factory=dict)
    held_back: bool = False
    file: str | None = None
    row: str | None = None


@dataclass(frozen=True, slots=True)
class File(Document):
    """The form of a TOML file of measured points."""

    points: tuple[Entry, ...]


def of_table(path: str) -> list[Point]:
    """The points of a table with the columns of `peerlane sweep --out`.

    Columns whose names are keys of scenarios are settings. Each cell of another column is a point.
    In a table with the columns `metric` and `value`, each row is a point.

    Raises:
        FileError: The file is no table of this form.
    """
    rows = rows_of(path)
    keys = [key for key in keys_of(rows) if key != "name"]
    found = []
    for line, row in enumerate(rows, 2):
        if row.get("status") not in {None, "ok"}:
            continue
        given = {key: row[key] for key in keys if row[key] is not None}
        settings = dict(_setting(key, value) for key, value in given.items())
        cells = {name: row[name] for name in row if name not in {*keys, *_OTHERS}}
        if "metric" in row:
            cells = {str(row["metric"]): row.get("value")}
        for name, value in cells.items():
            if value is not None:
                metric, unit = _split(name)
                where = f"{path}: line {line}"
                has_unit = unit and not isinstance(value, str)
                written = f"{value} {unit}" if has_unit else value
                held = row.get("held_back") in {True, "yes"}
                found.append(Point(metric, written, settings, held, where))
    return found


def of_toml(path: str, rows: Callable[[str], list[Row]]) -> list[Point]:
    """The points of a TOML file with `[[points]]`.

    Args:
        path: The file.
        rows: A function that reads the file of a measuring tool that a point names.

    Raises:
        FileError: The file does not have this form.
    """
    source = str(path)
    entries = read_toml(File, Path(path).read_bytes(), source).points
    return list(_points(entries, Path(path).parent, source, rows))


def _points(
    entries: tuple[Entry, ...], folder: Path, source: str, rows: Callable[[str], list[Row]]
) -> Iterator[Point]:
    for number, one in enumerate(entries, 1):
        where = f"{source}: points: {number}"
        value = one.value
        if (one.file is None) == (value is None) or (one.file is None) != (one.row is None):
            raise FileError(f"{where}: write either value, or file and row of a measuring tool")
        if one.file is not None:
            value = _of_tool(one, rows(str(folder / one.file)), where)
        yield Point(one.metric, value or 0, one.set, one.held_back, where)


def _of_tool(entry: Entry, rows: list[Row], where: str) -> str:
    """The number of a row, with its unit.

    Raises:
        FileError: The row does not exist, or has no number of the metric.
    """
    same = [row for row in rows if row.name == entry.row]
    for row in same:
        if entry.metric.endswith((row.field, f" {heading(row.field).head}")):
            return f"{row.value} {'B/s' if row.quantity == 'rate' else 'ns'}"
    if same:
        there = ", ".join(row.field for row in same)
        raise FileError(f"{where}: row {entry.row!r} has no {entry.metric}; it has {there}")
    names = shortened(list(dict.fromkeys(row.name for row in rows)), _SHOWN)
    there = ", ".join(names)
    raise FileError(f"{where}: {entry.file} has no row {entry.row!r}; there are {there}")


def _split(column: str) -> tuple[str, str]:
    found = _UNIT.fullmatch(column)
    return (found[1], found[2]) if found else (column, "")


def _setting(column: str, value: object) -> tuple[str, Any]:
    """The key and the value for a cell; the value gets the unit in the name of the column."""
    key, unit = _split(column)
    if unit and not isinstance(value, str):
        return key, f"{value} {unit}"
    return key, read_value(value) if isinstance(value, str) else value
