"""The parts of every table: empty tables, and numbers with their units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from peerlane.cli.tables.sheet import Sheet

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console, ConsoleOptions, RenderResult

    from peerlane.results.workload import Unit

STYLE = {True: "green", False: "bold red"}


def blank(*names: str, title: str | None = None) -> Sheet:
    """A table without rows, whose first columns are names."""
    return Sheet(*names, title=title)


def numbers(table: Sheet, *columns: str) -> None:
    """Adds columns of numbers."""
    for column in columns:
        table.add_column(column, "number")


def number(value: float | None) -> str:
    """Four significant digits, or all of an integer part that has more."""
    if value is None:
        return "-"
    if value == int(value):
        return str(int(value))
    return f"{value:.1f}" if abs(value) >= 1000 else f"{value:.4g}"  # noqa: PLR2004


def amount(value: float | None) -> str:
    """A number of things in four digits: 1.469 M for 1468875.7."""
    if value is None:
        return "-"
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= max(scale, 1e4):
            return f"{value / scale:.4g} {unit}"
    return number(value)


def duration(ns: float | None) -> str:
    """A time in the unit that suits it."""
    if ns is None:
        return "-"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.4g} {unit}"
    return f"{ns:.4g} ns"


def wall_time(seconds: float) -> str:
    """A time of this machine, in its two largest units."""
    whole = max(round(seconds), 0)
    hours, minutes = whole // 3600, whole // 60 % 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"


def size(count: int | None) -> str:
    """A number of bytes in the largest binary unit that keeps it readable."""
    if count is None:
        return "-"
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= scale:
            return f"{count / scale:.4g} {unit}"
    return f"{count} B"


def gigabytes(rate: float | None) -> str:
    """A rate in GB/s."""
    return "-" if rate is None else f"{rate / 1e9:.4g}"


def times(found: tuple[int, float] | None) -> str:
    """A number of things, and the mean time of each."""
    return f"{found[0]} of {duration(found[1])}" if found else ""


def word(value: object) -> str:
    """A word; nothing where there is none."""
    return "" if value is None else str(value)


_CELLS: dict[Unit, Callable[[Any], str]] = {
    "name": str,
    "word": word,
    "count": str,
    "amount": amount,
    "bytes": size,
    "rate": gigabytes,
    "time": duration,
    "times": times,
    "number": number,
}


def cell(value: object, unit: Unit) -> str:
    """A value of a column with this unit."""
    return _CELLS[unit](value)


class Phrases:
    """Lines of phrases, which a narrow terminal breaks between phrases rather than within one.

    Args:
        lines: The phrases of each line; those of one line are two spaces apart.
    """

    def __init__(self, *lines: Sequence[str | Text]) -> None:
        self._lines = lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for phrases in self._lines:
            line = Text()
            for phrase in phrases:
                if line and line.cell_len + 2 + cell_len(str(phrase)) > options.max_width:
                    yield line
                    line = Text("  ")
                line = Text.assemble(line, "  " if line.plain.strip() else "", phrase)
            yield line


def stack(parts: Sequence[RenderableType]) -> RenderableType:
    """Several tables, one below the other."""
    return Group(*parts)
