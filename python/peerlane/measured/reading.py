"""Reads a file of measured numbers in any of the known forms."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from peerlane.measured import columns, fio, matrices, own
from peerlane.results.reading import FileError, json_of, text_of
from peerlane.varying.reading import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from peerlane.measured.point import Point
    from peerlane.measured.row import Row

_JSON = {"jobs": fio.rows, "nvbandwidth": matrices.of_json}
"""The keys that identify JSON documents of measuring tools."""
_TEXT = (
    (matrices.MARK, matrices.of_text),
    (columns.NCCL, columns.of_nccl),
    (columns.PERFTEST, columns.of_perftest),
)
TOOLS = "fio (JSON), nvbandwidth, p2pBandwidthLatencyTest, nccl-tests or perftest"
_RIGHT = f"write a table (.csv), points in TOML (.toml), or name what {TOOLS} has written"


def measured(path: str | PathLike[str]) -> list[Point] | list[Row]:
    """The points of a .csv, .parquet or .toml file, or the rows of a measuring tool's file.

    Raises:
        FileError: The file has none of these forms, is empty, or is cut off.
        OSError: The file cannot be read.
    """
    source = str(path)
    found: list[Point] | list[Row]
    if Path(path).suffix == ".toml":
        found = own.of_toml(source, rows_of)
    elif Path(path).suffix in TABLES:
        found = own.of_table(source)
    else:
        return rows_of(source)
    if not found:
        raise FileError(f"{source} has no measured number; {_RIGHT}")
    return found


def rows_of(path: str) -> list[Row]:
    """The rows of the output of a measuring tool.

    Raises:
        FileError: The file is not from a known tool, is empty, or is cut off.
    """
    text = text_of(path)
    if not text.strip():
        raise FileError(f"{path} is empty; {_RIGHT}")
    found = _reader(text, path)()
    if not found:
        raise FileError(f"{path} has no number above 0: the tool measured nothing, or was stopped")
    return found


def _reader(text: str, source: str) -> Callable[[], list[Row]]:
    for mark, read in _TEXT:
        if mark.search(text):
            return partial(read, text, source)
    # fio writes warnings before the JSON document.
    begin = 0 if text.lstrip().startswith("{") else text.find("\n{") + 1
    if text[begin:].lstrip().startswith("{"):
        document = json_of(text[begin:], source)
        for key, read_json in _JSON.items():
            if key in document:
                return partial(read_json, document, source)
    raise FileError(f"{source} has no form that is known; {_RIGHT}")
