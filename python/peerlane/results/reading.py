"""Reads files that earlier commands wrote; each error names the file and the place.

Each number in a file is checked to be finite in double precision, so that comparisons and plots
need not check it again.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from peerlane import _core
from peerlane.errors import PeerlaneError
from peerlane.results.document import check, decode_strictly
from peerlane.results.forms import FORMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from os import PathLike

T = TypeVar("T")

_MOST_BYTES = 1 << 30


class FileError(PeerlaneError, ValueError):
    """A file does not have its format; the message has the file, the place and the reason."""


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
    return decoded(content, str(path))


def decoded(content: bytes, source: str) -> str:
    """Decodes the content of a file to text.

    Raises:
        FileError: The content is not text in UTF-8; the message names `source`.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileError(f"{source} is not text in UTF-8: line {line}, byte {error.start}") from None


def json_of(text: str, source: str) -> Any:  # noqa: ANN401 - any JSON
    """A value in JSON, whose numbers are finite.

    Raises:
        FileError: The text is not JSON, or a number is not finite; the message names `source`.
    """

    def refuse(literal: str) -> float:
        line = text.count("\n", 0, max(text.find(literal), 0)) + 1
        shown = literal if len(literal) <= _SHOWN else f"{literal[:_SHOWN]}..."
        raise FileError(f"{source}: line {line}: {shown} is not a finite number")

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
        raise FileError(f"{source} is not JSON of Peerlane: it is nested too deep") from None


_FORM = re.compile(r"peerlane-([a-z-]+)/1")
_SHOWN = 24
_DIGITS = 300
"""The largest number of digits with which an integer is accepted as finite in double precision."""


def read(kind: type[T], text: str, source: str) -> T:
    """Reads a dataclass from a text in JSON.

    Raises:
        FileError: The text is not JSON, or does not have the form of `kind`; the message names
            `source`.
    """
    json_of(text, source)
    try:
        return decode_strictly(kind, text)
    except ValueError as error:
        raise FileError(f"{source}: {error}") from None


def read_toml(kind: type[T], content: bytes, source: str) -> T:
    """Reads a dataclass from a text in TOML.

    Raises:
        FileError: The content is not TOML, or does not have the form of `kind`; the message names
            `source`.
    """

    def refuse(value: object) -> None:
        raise FileError(f"{source}: {value} is a date; write a text in quotes")

    try:
        written = json.dumps(tomllib.loads(decoded(content, source)), default=refuse)
    except RecursionError:
        raise FileError(f"{source} is nested too deep") from None
    except FileError:
        raise
    except ValueError as error:  # the text is not TOML, or has an integer of thousands of digits
        raise FileError(f"{source}: {error}") from None
    return read(kind, written, source)


def document_of(text: str, source: str, *kinds: str) -> dict[str, Any]:
    """Reads a document that `--json` wrote, and checks that it has the form of its kind.

    In a document of another version of Peerlane, fields may be missing or unknown.

    Args:
        text: The text of the document.
        source: The name of the document in messages.
        kinds: The permitted kinds of documents; all kinds, if none is given.

    Raises:
        FileError: The text is not a document of these kinds; the message names `source`.
    """
    wanted = [FORMS[kind] for kind in kinds or ("result",)]
    commands = " or ".join(f"`{form.command} {form.option}`" for form in wanted)
    advice = f"name a file that {commands} has written"
    try:
        document = json_of(text, source)
    except FileError as error:
        raise FileError(f"{error}; {advice}") from None
    if not isinstance(document, dict):
        raise FileError(f"{source}: its JSON is not an object; {advice}")
    if "schema" not in document:
        raise FileError(f"{source} has no key 'schema', as each document of --json has; {advice}")
    kind = kind_of(document)
    if kind is None:
        raise FileError(
            f"{source}: schema: Peerlane {_core.__version__} does not read the form"
            f" {str(document['schema'])[:_SHOWN]!r}; write it again with this version"
        )
    if kinds and kind not in kinds:
        raise FileError(f"{source} is of `{FORMS[kind].command}`; {advice}")
    version = document.get("version")
    is_of_other = version is not None and version != _core.__version__
    form = FORMS["reports" if kind == "report" and "systems" in document else kind].kind()
    try:
        check(form, text, is_of_other_version=is_of_other)
    except ValueError as error:
        told = f"; it is of Peerlane {str(version)[:_SHOWN]}" if is_of_other else ""
        raise FileError(f"{source}: {error}{told}") from None
    return document


def kind_of(document: Mapping[str, Any]) -> str | None:
    """The kind of a document, such as "result", from its `schema`; `None` for an unknown kind."""
    found = _FORM.fullmatch(str(document.get("schema")))
    return found[1] if found and found[1] in FORMS else None


def csv_of(text: str, source: str) -> tuple[list[str], list[list[str]]]:
    """The columns and the rows of a table; each row must have a cell for each column.

    Raises:
        FileError: The text is not a table; the message names `source`.
    """
    usual = csv.field_size_limit(sys.maxsize)  # without this, long cells are errors
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


def lines_of(kind: type[T], lines: Iterable[bytes], source: str, key: str) -> Iterator[T]:
    """Reads the lines of a packet trace that have a given key as dataclasses.

    Raises:
        FileError: A line is not an object in JSON, or does not have the form of `kind`; the message
            names `source`.
    """
    for number, line in enumerate(lines, 1):
        try:
            entry = json_of(text := line.decode(), "the line")
            if not isinstance(entry, dict):
                raise FileError("the line is not an object")
            if key in entry:
                yield decode_strictly(kind, text)
        except ValueError as error:  # a line that is not UTF-8 is also a ValueError
            raise FileError(
                f"{source}:{number}: no line of a packet trace: {error}; name a file that"
                " `peerlane run --trace` has written"
            ) from None
