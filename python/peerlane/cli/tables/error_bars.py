"""Makes the table of error bars: each number with its range, and the defaults that cause it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from peerlane.cli.tables.sheet import Sheet
from peerlane.figures.headings import headings
from peerlane.formats import counted
from peerlane.results.bottleneck import joined
from peerlane.results.error_bar import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from peerlane.results.error_bar import ErrorBar, ErrorBars

MOST_ROWS = 16
"""The most numbers that are shown; JSON has all numbers."""

MOST_CHOICES = 8
"""The most defaults that are shown; JSON has all defaults."""

_SPEED = {"links.generation", "links.lanes"}


def bars(outcome: ErrorBars) -> RenderableType:
    """A row for each number with its range, and one for each default on which a number depends."""
    words = headings(outcome.bars)
    numbers = Sheet("number")
    numbers.numbers("value", "from", "to", "%")
    numbers.add_column("most by")
    for path, bar in list(outcome.bars.items())[:MOST_ROWS]:
        add_range(numbers, (words[path].head,), words[path].text, bar)
    head = Text(f"{outcome.name}: {title(outcome)}", "bold")
    parts: list[RenderableType] = [head, *unset(outcome), numbers]
    if len(outcome.bars) > MOST_ROWS:
        parts.append(Text(f"and {len(outcome.bars) - MOST_ROWS} more numbers; JSON has all", "dim"))
    moves_any = any(bar.causes for bar in outcome.bars.values())
    still = Text("no such default moves any number by 0.2 %")
    parts.append(choices(outcome) if moves_any else still)
    if outcome.refused:
        parts.append(
            Text(f"{counted(len(outcome.refused), 'value')} refused; JSON says why", "dim")
        )
    return Group(*parts)


def title(outcome: ErrorBars) -> str:
    """The number of defaults that were moved, and the number of runs."""
    moved = counted(len(outcome.moved), "default")
    return f"{moved} without a document moved, {outcome.runs} runs"


def unset(outcome: ErrorBars) -> Iterator[Text]:
    """A line about the speed of links, if the scenario does not set it and its defaults moved."""
    keys = [key for key in map(key_of, outcome.moved) if key in _SPEED]
    if keys:
        settings = " ".join(f"--set {key}=N" for key in keys)
        yield Text(
            f"The scenario does not set {joined(keys)}, so the ranges include other links. Write"
            f" the links of the machine, or add {settings}."
        )


def add_range(
    sheet: Sheet, names: tuple[str, ...], text: Callable[[float], str], bar: ErrorBar
) -> None:
    """Adds a row: its names, and a number with its range and the default that moves it most.

    Args:
        sheet: A table with columns for the names, and for value, from, to, % and "most by".
        names: The names of the number.
        text: A function from a number to its text.
        bar: The number with its range.
    """
    down, up = (100 * (end - bar.value) / bar.value for end in (bar.low, bar.high))
    share = f"{down:+.1f} {up:+.1f}" if bar.causes else "0"
    most = bar.causes[0] if bar.causes else None
    why = f"{most.key} = {most.to}" if most else ""
    sheet.add_row(*names, text(bar.value), text(bar.low), text(bar.high), share, why)


def choices(outcome: ErrorBars) -> Sheet:
    """The defaults on which a number depends, each with its largest effect, the largest first."""
    strongest: dict[str, tuple[float, str]] = {}
    values: dict[str, str] = {}
    for path, bar in outcome.bars.items():
        words = headings([path])[path]
        for cause in bar.causes:
            change = 100 * (cause.number - bar.value) / bar.value
            values[cause.name] = cause.value
            if abs(change) > abs(strongest.get(cause.name, (0.0, ""))[0]):
                strongest[cause.name] = (change, f"{words.head} {change:+.1f} %")
    sheet = Sheet("our choice")
    sheet.numbers("is", "moved to")
    sheet.add_column("at most")
    for name in sorted(strongest, key=lambda name: -abs(strongest[name][0]))[:MOST_CHOICES]:
        ends = ", ".join(outcome.moved[name])
        sheet.add_row(key_of(name), values[name], ends, strongest[name][1])
    return sheet
