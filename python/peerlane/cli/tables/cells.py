"""Makes the parts that several tables use, such as numbers with their units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.text import Text

from peerlane.formats import amount, duration, gigabytes, number, size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console, ConsoleOptions, RenderResult

    from peerlane.results.workload import Unit

STYLE = {True: "green", False: "bold red"}


def times(found: tuple[int, float] | None) -> str:
    """A number of items and the mean time of an item, as text."""
    return f"{found[0]} of {duration(found[1])}" if found else ""


def share(part: float | None) -> str:
    """A share in percent, without the percent sign, which is in the heading."""
    return "" if part is None else f"{100 * part:.1f}"


def word(value: object) -> str:
    """A value as text; an empty cell if there is no value."""
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
    "share": share,
}


def cell(value: object, unit: Unit) -> str:
    """The text for a value in a column with this unit."""
    return _CELLS[unit](value)


class Phrases:
    """Lines of phrases; in a narrow terminal a line is broken only between two phrases.

    Args:
        lines: The phrases of each line; phrases of one line are two spaces apart.
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
