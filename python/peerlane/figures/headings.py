"""Makes headings from keys and metrics: "fpga0 GB/s" for `flows.fpga0.bytes_per_second`."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from peerlane.charts.lines import Axis
from peerlane.dotted import split_path
from peerlane.formats import NONE, duration, gigabytes, number, size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_PARTS = {"min", "mean", "max", "p50", "p90", "p99", "p999"}
"""The fields of a latency, such as "p99" in "latency_ns.p99"."""
_PLACES = {"directions": "", "upstream": "uplink"}
"""Parts of paths that have another word in a heading, or no word."""
_SHARES = {"utilisation": "used", "full": "full"}
"""The fields of links whose values are shares, with their words in headings."""
_EVERY = "*"
_UNIT = re.compile(r"(.+) \[(.+)\]")


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a column, and the form of its values.

    Args:
        of: The owner of the value, such as a flow or a direction of a link; empty for the whole
            run.
        quantity: The name of the quantity, such as "rate".
        unit: The unit of the quantity in figures.
        factor: The number by which a value of the column is multiplied to be in this unit.
        short: The quantity and its unit for the heading of a column, as in `peerlane run`.
        cell: A function that converts a value of the column to text.
    """

    of: str
    quantity: str
    unit: str = ""
    factor: float = 1.0
    short: str = ""
    cell: Callable[[float], str] = number

    @property
    def head(self) -> str:
        """The heading above the column."""
        return f"{self.of} {self.short or self.quantity}".strip()

    @property
    def axis(self) -> Axis:
        """The axis of a figure for the values of the column."""
        return Axis(f"{self.of} {self.quantity}".strip(), self.unit)

    def text(self, value: object) -> str:
        """A value of the column, in the form of a table."""
        if value is None:
            return NONE
        if isinstance(value, bool):
            return str(value).lower()
        return self.cell(value) if isinstance(value, float | int) else str(value)


def heading(column: str) -> Heading:
    """The heading of a column, from its name, or from the path of a key or metric."""
    if (found := _UNIT.fullmatch(column)) is not None:
        key = heading(found[1])
        return Heading(key.of, key.quantity, found[2], short=f"{key.head} {found[2]}".strip())
    parts = list(split_path(column)) if "." in column else [column]
    last = [parts.pop()]
    if last[0] in _PARTS and parts:
        last.insert(0, parts.pop())
    field, *part = last
    of = " ".join(_PLACES.get(one, _words(one)) for one in parts[1:]).strip()
    if _EVERY in parts[1:]:
        of = f"all {_words(parts[0])}"
    elif len(parts) == 1 and not _is_measured(field):  # a default, such as links.generation
        of = _words(parts[0])
    return _of_field(of, field, " ".join(part))


def headings(columns: Iterable[str]) -> dict[str, Heading]:
    """The headings of some columns; columns that would have equal headings keep their paths."""
    found = {column: heading(column) for column in columns}
    heads = Counter(one.head for one in found.values())
    return {
        column: one
        if heads[one.head] == 1
        else Heading("", column, one.unit, one.factor, column, one.cell)
        for column, one in found.items()
    }


def _is_measured(field: str) -> bool:
    return field.endswith(("_per_second", "_ns", "utilisation", "bytes"))


def _of_field(of: str, field: str, part: str) -> Heading:
    """The heading for a field of results or a key; `part` is a field of a latency, such as p99."""
    if field.endswith("bytes_per_second"):
        which = _words(field.removesuffix("bytes_per_second"))
        short = f"{which} GB/s".strip()
        return Heading(of, f"{which} rate".strip(), "GB/s", 1e-9, short, gigabytes)
    if field.endswith("_per_second"):
        which = _words(field.removesuffix("_per_second"))
        return Heading(of, which, "1/s", short=f"{which}/s")
    if (share_of := _SHARES.get(field)) is not None:
        short = f"{share_of} %"
        return Heading(of, share_of, "%", 100.0, short, lambda share: f"{100 * share:.1f}")
    if field.endswith("_ns"):
        which = _words(field.removesuffix("_ns"))
        short = part if which == "latency" and part else f"{which} {part}".strip()
        return Heading(of, f"{which} {part}".strip(), "ns", 1.0, short, duration)
    if field.endswith("bytes"):
        which = _words(field.removesuffix("_bytes"))
        return Heading(of, which, "B", 1.0, which, size)
    return Heading(of, f"{_words(field)} {part}".strip())


def _words(name: str) -> str:
    return name.strip("_").replace("_", " ")
