"""Reads tables with a row for each size: the output of nccl-tests and of perftest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from peerlane.measured.row import LATENCY, PERCENTILES, RATE, Row, number
from peerlane.results.reading import FileError

if TYPE_CHECKING:
    from collections.abc import Iterator

NCCL = re.compile(r"^#\s+size\s.*\balgbw\s+busbw\b.*$", re.MULTILINE)
PERFTEST = re.compile(r"^ *#bytes\s+.*#iterations\s.*$", re.MULTILINE)
"""The headings of the columns of nccl-tests and of perftest."""
_HALF = ("time", "algbw", "busbw", "wrong")
_NCCL_FIELDS = {"time": ("time_ns", 1e3), "algbw": (RATE, 1e9), "busbw": (f"bus_{RATE}", 1e9)}
_COLUMN = re.compile(r"#\w+|tps average|[^\s#][^\[#]*\[[^\]]+\]")
_PERFTEST_UNITS = {"MB/sec": 2**20, "MiB/sec": 2**20, "Gb/sec": 125e6, "usec": 1e3, "nsec": 1.0}
"""The units of perftest: its megabyte has 2^20 bytes, and its gigabit 10^9 bits."""
_PERFTEST_FIELDS = {
    "BW average": RATE,
    "t_min": f"{LATENCY}.min",
    "t_max": f"{LATENCY}.max",
    "t_typical": f"{LATENCY}.p50",
    "t_avg": f"{LATENCY}.mean",
    **{f"{share}% percentile": f"{LATENCY}.{name}" for share, name in PERCENTILES.items()},
}


def of_nccl(text: str, source: str) -> list[Row]:
    """The rows of nccl-tests: time and rates for each size, out of place and in place.

    Raises:
        FileError: The table is cut off.
    """
    found: list[Row] = []
    named = re.search(r"test starting: (\w+)|(\w+_perf)\b", text)
    test = (named[1] or named[2]) if named else "nccl"
    for place, cells in _lines(text, NCCL):
        last = cells[-2 * len(_HALF) :]
        if len(cells) <= len(last) or not cells[0].isdigit():
            raise _cut(source, place, f"{len(cells)} cells; a size and twice {', '.join(_HALF)}")
        for which, half in (("out-of-place", last[:4]), ("in-place", last[4:])):
            name = f"{test} {cells[0]} B {which}"
            for column, cell in zip(_HALF[:3], half, strict=False):
                field, scale = _NCCL_FIELDS[column]
                if value := number(cell):
                    found.append(Row(name, field, value * scale, int(cells[0])))
    if not re.search(r"^# Avg bus bandwidth", text, re.MULTILINE):
        raise _cut(source, text.count("\n") + 1, "no line '# Avg bus bandwidth' ends the table")
    return found


def of_perftest(text: str, source: str) -> list[Row]:
    """The rows of perftest: for each size the average rate, or the latencies.

    Raises:
        FileError: The table is cut off, or has an unknown unit.
    """
    found: list[Row] = []
    head = PERFTEST.search(text)
    columns = _COLUMN.findall(head[0]) if head else []
    named = re.search(r"^\s*(\w.*) Test\s*$", text, re.MULTILINE)
    test = named[1].strip() if named else "perftest"
    direction = "read" if "Read" in test else "write"
    for place, cells in _lines(text, PERFTEST):
        if len(cells) != len(columns) or not cells[0].isdigit():
            raise _cut(source, place, f"{len(cells)} cells for {len(columns)} columns")
        for column, cell in zip(columns, cells, strict=True):
            what, _, unit = column.rstrip("]").partition("[")
            if (field := _PERFTEST_FIELDS.get(what)) is None:
                continue
            if unit not in _PERFTEST_UNITS:
                known = ", ".join(_PERFTEST_UNITS)
                raise FileError(f"{source}: {column} has an unknown unit; there are {known}")
            if value := number(cell):
                name = f"{test} {cells[0]} B"
                value *= _PERFTEST_UNITS[unit]
                found.append(Row(name, field, value, int(cells[0]), direction))
    before = text[: head.start()].splitlines() if head else []
    if before and before[-1].startswith("---") and not re.search(r"\n---", text[head.end() :]):  # type: ignore[union-attr]
        raise _cut(source, text.count("\n") + 1, "no line of dashes ends the table")
    return found


def _lines(text: str, head: re.Pattern[str]) -> Iterator[tuple[int, list[str]]]:
    """For each line of numbers below the headings, the number of the line and its cells."""
    found = head.search(text)
    first = text.count("\n", 0, found.start()) + 1 if found else 0
    for place, line in enumerate(text.splitlines()[first:], first + 1):
        if re.match(r"\s*\d+\s", line):
            yield place, line.split()


def _cut(source: str, place: int, what: str) -> FileError:
    return FileError(f"{source}: line {place}: {what}; the file is cut off: write it again")
