"""Reads matrices of GPUs from nvbandwidth, as text or JSON, and from p2pBandwidthLatencyTest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from peerlane.measured.row import LATENCY, RATE, Row, number
from peerlane.results.reading import FileError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MARK = re.compile(r"^Running \w+\.$|Matrix \((?:GB/s|us)\)", re.MULTILINE)
"""A line that only the output of nvbandwidth and of p2pBandwidthLatencyTest has."""
_UNIT = re.compile(r"\((GB/s|us|ns)\)")
_SCALES = {"GB/s": (RATE, 1e9), "us": (f"{LATENCY}.mean", 1e3), "ns": (f"{LATENCY}.mean", 1.0)}
_HEAD = re.compile(r"\s*(D\\D|GPU|CPU)?((?:\s+\d+)+)\s*")
_END = re.compile(r"^(?:sum|waived|error)\b", re.MULTILINE | re.IGNORECASE)
"""The last line of a test of nvbandwidth."""
_AGAIN = "the file is cut off; write it again"


def of_json(document: Mapping[str, Any], source: str) -> list[Row]:
    """The rows of `nvbandwidth --json`.

    Raises:
        FileError: A test does not have the form of nvbandwidth, or no test has numbers.
    """
    found: list[Row] = []
    try:
        for test in document["nvbandwidth"]["testcases"]:
            if "bandwidth_matrix" in test:
                unit = _UNIT.search(test["bandwidth_description"])
                cells = [list(map(str, line)) for line in test["bandwidth_matrix"]]
                for place, line in enumerate(cells):
                    found += _cells(test["name"], unit[1] if unit else "GB/s", place, line)
    except (KeyError, TypeError, AttributeError):
        raise FileError(
            f"{source}: nvbandwidth: testcases: a test is not as nvbandwidth writes it, with name,"
            " bandwidth_description and bandwidth_matrix; write the file again"
        ) from None
    return found


def of_text(text: str, source: str) -> list[Row]:
    """The rows of all matrices of a text.

    Raises:
        FileError: A matrix is cut off.
    """
    found: list[Row] = []
    lines = text.splitlines()
    test = ""
    for place, line in enumerate(lines):
        if (begun := re.fullmatch(r"Running (\w+)\.?", line.strip())) is not None:
            test = begun[1]
            rest = "\n".join(lines[place:]).partition("\nRunning ")[0]
            if not _END.search(rest):
                raise FileError(f"{source}: line {place + 1}: {test} has no SUM; {_AGAIN}")
        elif not line.startswith("#") and (unit := _UNIT.search(line)) is not None:
            title = test or line.partition(" Matrix")[0].strip()
            found += _matrices(lines, place + 1, title, unit[1], source)
    return found


def _matrices(lines: Sequence[str], at: int, title: str, unit: str, source: str) -> Iterator[Row]:
    """The cells of the matrices below a title: one matrix, or a matrix of GPUs and one of CPUs."""
    wanted = 0
    while at < len(lines) and (head := _HEAD.fullmatch(lines[at])) is not None:
        count, first = len(head[2].split()), at
        name = f"{title} CPU" if head[1] == "CPU" else title
        at += 1
        while at < len(lines) and re.match(r"\s*\d+\s+(?:[\d.]|N/A)", lines[at]):
            row, *cells = lines[at].split()
            if len(cells) != count:
                raise FileError(
                    f"{source}: line {at + 1}: {len(cells)} numbers for {count} columns; {_AGAIN}"
                )
            yield from _cells(name, unit, int(row), cells)
            at += 1
        wanted = count if head[1] else 1
        if at - first - 1 < wanted:
            raise FileError(
                f"{source}: line {at}: the matrix has {at - first - 1} of {wanted} rows; {_AGAIN}"
            )
        while at < len(lines) and not lines[at].strip():
            at += 1
    if not wanted:
        raise FileError(f"{source}: line {at}: no matrix follows {title!r}; {_AGAIN}")


def _cells(name: str, unit: str, row: int, cells: Sequence[str]) -> Iterator[Row]:
    field, scale = _SCALES[unit]
    way = re.search(r"read|write", name.lower())
    for column, cell in enumerate(cells):
        if value := number(cell):
            labels = {"row": str(row), "column": str(column)}
            direction = way[0] if way else None
            yield Row(f"{name} {row}-{column}", field, value * scale, None, direction, labels)
