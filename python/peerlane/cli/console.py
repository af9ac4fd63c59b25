"""Where the command line prints: tables and JSON to standard output, the rest to standard error."""

from __future__ import annotations

import json
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from peerlane.fabric.simulation import ScenarioWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import RenderableType

WIDE = 160
"""Columns when standard output is not a terminal, so that no cell is folded."""


def emit(document: object, table: RenderableType, json_to: str | None) -> None:
    """Prints the table, or the JSON alone when it goes to standard output."""
    if json_to is not None:
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        if json_to == "-":
            sys.stdout.write(text)
            return
        Path(json_to).write_text(text, encoding="utf-8")
    out().print(table)


def out() -> Console:
    """Standard output."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)


def say(message: str) -> None:
    """One line on standard error."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text(message))


def complain(message: str) -> None:
    """One line on standard error that begins with `error:`; what cannot be printed is escaped."""
    _mark(message, "error:", "bold red")


def warn(message: str) -> None:
    """One line on standard error that begins with `warning:`, as `complain` writes it."""
    _mark(message, "warning:", "bold yellow")


@contextmanager
def warnings_on_one_line() -> Iterator[None]:
    """Prints each warning about a scenario once, by `warn`, instead of as Python does."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", ScenarioWarning)
        as_usual = warnings.showwarning

        def show(  # noqa: PLR0913, PLR0917 - as Python calls it
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, ScenarioWarning):
                warn(str(message))
            else:
                as_usual(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield


def _mark(message: str, word: str, style: str) -> None:
    printable = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in message)
    line = Text.assemble((word, style), " ", printable)
    Console(stderr=True, highlight=False, soft_wrap=True).print(line)


@contextmanager
def progress(what: str) -> Iterator[Callable[[str, float], None]]:
    """A bar on standard error while work lasts, and only where somebody can see it."""
    if not sys.stderr.isatty():
        yield lambda _what, _fraction: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda now, fraction: bar.update(task, description=now, completed=fraction)
