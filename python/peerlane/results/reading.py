"""Files that earlier commands wrote: one reader for each format, which says where a file is wrong.

Each number of a document is finite in double precision, so that comparisons and plots need not
check it again.
"""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerlane import _core
from peerlane.results.document import FORMS, check

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

_MOST_BYTES = 1 << 30


class FileError(ValueError):
    """A file does not have its format; the message gives the file, the place and the reason."""


def text_of(path: str | PathLike[str]) -> str:
    """The text of a file.

    Raises:
        OSError: The file cannot be read.
        FileError: The file is too long, or is not text in UTF-8.
    """
    with Path(path).open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise FileError(f"{path} is longer than {_MOST_BYTES >> 30} GiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileError(f"{path} is not text in UTF-8: line {line}, byte {error.start}") from None


def json_of(text: str, source: str) -> Any:  # noqa: ANN401 - any JSON
    """A value in JSON, whose numbers are finite.

    Raises:
        FileError: The text is not JSON, or a number is not finite; the message names `source`.
    """

    def refuse(literal: str) -> float:
        line = text.count("\n", 0, max(text.find(literal), 0)) + 1
        shown = literal if len(literal) <= _SHOWN else f"{literal[:_SHOWN]}..."
        raise FileError(f"{source}: line {line}: {shown} is no number of a result, which is finite")

    def number(literal: str) -> float:
        value = float(literal)
        return value if math.isfinite(value) else refuse(literal)

    def integer(literal: str) -> float:
        return int(literal) if len(literal) <= _DIGITS else refuse(literal)

    try:
        return json.loads(text, parse_constant=refuse, parse_float=number, parse_int=integer)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise FileError(f"{source} is not JSON: {where}: {error.msg.lower()}") from None
    except RecursionError:
        raise FileError(f"{source} is not JSON of a result: it is nested too deep") from None


_SHOWN = 24
_DIGITS = 300
"""The most digits of an integer that is finite in double precision."""


@dataclass(frozen=True, slots=True)
class _Point:
    """A point of a sweep over keys."""

    settings: dict[str, Any]
    seed: int | None
    status: str
    error: str | None
    metrics: dict[str, float | bool | str | None]


@dataclass(frozen=True, slots=True)
class _Points:
    """The fields of a sweep over keys that commands read."""

    name: str
    keys: list[str]
    metrics: list[str]
    points: list[_Point]


@dataclass(frozen=True, slots=True)
class _Loads:
    """The fields of a sweep of loads that commands read."""

    name: str
    points: list[dict[str, Any]]


FORMS |= {"peerlane-points/1": _Points, "peerlane-sweep/1": _Loads}


def document_of(text: str, source: str) -> dict[str, Any]:
    """A document that `--json` wrote. A document of this version is checked against its form.

    Raises:
        FileError: The text is not a document; the message names `source`.
    """
    document = json_of(text, source)
    if not isinstance(document, dict):
        raise FileError(f"{source} is no result")
    schema = FORMS.get(str(document.get("schema")))
    if schema is not None and document.get("version") in {None, _core.__version__}:
        wrong = check(schema, text)
        if wrong is not None:
            raise FileError(f"{source}: {wrong}")
    for place, histogram in _histograms(document):
        try:
            _core.histogram_buckets(histogram)
        except (ValueError, TypeError):
            raise FileError(f"{source}: {place}: it is no whole histogram") from None
    return document


def _histograms(part: object, place: str = "") -> Iterator[tuple[str, Any]]:
    """All histograms of a document, with their paths."""
    entries: dict[Any, Any] = dict(enumerate(part)) if isinstance(part, list) else {}
    if isinstance(part, dict):
        entries = part
    for key, value in entries.items():
        here = f"{place}.{key}" if place else str(key)
        if key == "histogram_ps":
            yield here, value
        elif isinstance(value, dict | list):
            yield from _histograms(value, here)


def csv_of(text: str, source: str) -> tuple[list[str], list[list[str]]]:
    """The columns and the rows of a table, all of whose rows have a cell for each column.

    Raises:
        FileError: The text is not a table; the message names `source`.
    """
    usual = csv.field_size_limit(sys.maxsize)  # cells may be long, as in what csv writes
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[list[str]] = []
    try:
        for row in reader:
            if rows and len(row) != len(rows[0]):
                raise FileError(
                    f"{source}: line {reader.line_num}: {len(row)} cells for "
                    f"{len(rows[0])} columns; name a table that Peerlane wrote"
                )
            rows.append(row)
    except csv.Error as error:
        raise FileError(f"{source}: line {reader.line_num}: {error}") from None
    finally:
        csv.field_size_limit(usual)
    head, *rest = rows or [[]]
    if len(set(head)) != len(head):
        again = next(name for number, name in enumerate(head) if name in head[:number])
        raise FileError(f"{source}: line 1: the column {again!r} is there twice")
    return head, rest


def lines_of(path: str | PathLike[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The numbers and the objects of the lines of a trace.

    Raises:
        OSError: The file cannot be read.
        FileError: A line is not an object in JSON.
    """
    with Path(path).open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                entry = json_of(line.decode(), "the line")
            except (ValueError, RecursionError):
                entry = None
            if not isinstance(entry, dict):
                raise FileError(
                    f"{path}:{number}: no line of a packet trace, which is an object in JSON; "
                    "write a file that 'peerlane run --trace' wrote"
                )
            yield number, entry
