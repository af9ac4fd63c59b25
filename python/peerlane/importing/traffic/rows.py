"""Reads the requests of a table (CSV, Parquet), one in each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from peerlane.importing.traffic.request import Ends, Recording, Request, amount
from peerlane.results.reading import FileError, csv_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_TIMES = {"time": "", "time_ns": "ns", "time_us": "us", "time_ms": "ms", "time_s": "s"}
"""The columns of times, each with the unit of plain numbers."""
_PLACES = ("offset", "address")
_SIZES = ("size", "bytes", "length")
_READS = {"read": True, "r": True, "mrd": True, "write": False, "w": False, "mwr": False}


def read(rows: Iterable[Mapping[str, Any]], source: str, ends: Ends, recording: Recording) -> None:
    """Adds the requests of a table to a recording.

    Raises:
        FileError: A column is missing, or a cell has no valid value.
    """
    for line, row in enumerate(rows, 2):
        try:
            recording.requests.append(_request(row, ends))
        except ValueError as error:
            raise FileError(f"{source}:{line}: {error}") from None


def of_csv(text: str, source: str) -> list[dict[str, str]]:
    """The rows of a CSV file. Cells stay texts, so that long numbers stay exact."""
    head, rows = csv_of(text.rstrip(), source)
    return [dict(zip(head, row, strict=True)) for row in rows]


def _request(row: Mapping[str, Any], ends: Ends) -> Request:
    time = next((name for name in _TIMES if name in row), None)
    place = _column(row, _PLACES)
    direction = str(row[_column(row, ("direction",))])
    if direction.lower() not in _READS:
        raise ValueError(f"direction: {direction!r} is not a direction; write read or write")
    size = _amount(row, _column(row, _SIZES), "B")
    if size == 0:
        raise ValueError("size: 0 B moves nothing; write 1 B at least")
    return Request(
        None if time is None else _amount(row, time, _TIMES[time]),
        ends.source or _node(row, "from"),
        ends.target or _node(row, "to"),
        _READS[direction.lower()],
        _amount(row, place, "B"),
        size,
        has_address=place == "address",
    )


def _column(row: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """The first of these columns that the table has."""
    found = next((name for name in names if name in row), None)
    if found is None:
        raise ValueError(f"there is no column {' or '.join(names)}; add one to the table")
    return found


def _node(row: Mapping[str, Any], column: str) -> str:
    if row.get(column) in {None, ""}:
        raise ValueError(
            f"there is no node in a column {column}; write one, or add --{column} NODE"
        )
    return str(row[column])


def _amount(row: Mapping[str, Any], column: str, unit: str) -> int:
    try:
        return amount(row[column], unit)
    except ValueError as error:
        raise ValueError(f"{column}: {error}") from None
