"""Output of the command line: tables and JSON to standard output, the rest to standard error."""

from __future__ import annotations

import json
import sys
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from peerlane.fabric.simulation import ScenarioWarning

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from rich.console import RenderableType

UNLIMITED = 1 << 20
"""Columns when standard output is not a terminal: what is written there is as wide as it is."""


def emit(document: object, table: RenderableType, json_to: str | None) -> None:
    """Prints the table, or the JSON alone when it goes to standard output."""
    if json_to is not None:
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        if json_to == "-":
            sys.stdout.write(text)
            return
        write(json_to, text.encode())
    out().print(table)


def write(path: str | PathLike[str], content: bytes) -> None:
    """Writes a file.

    Raises:
        OSError: The file could not be written; the error has its name.
    """
    try:
        Path(path).write_bytes(content)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def out() -> Console:
    """Standard output."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else UNLIMITED)


def say(message: str) -> None:
    """One line on standard error."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text(message))


def complain(message: str) -> None:
    """One line on standard error that begins with `error:`; what cannot be printed is escaped."""
    _mark(message, "error:", "bold red")


def warn(message: str) -> None:
    """One line on standard error that begins with `warning:`, as `complain` writes it."""
    _mark(message, "warning:", "bold yellow")


class InterruptedWorkError(Exception):
    """Work that the user interrupted; the message says what is there of it."""


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


class Bar(Protocol):
    """A bar that work moves."""

    def __call__(self, now: str, share: float, remaining_s: float | None = None, /) -> None:
        """Shows the name of the work, the share that is done, and the time left where known."""


@contextmanager
def progress(what: str, *, lines: bool = False) -> Iterator[Bar]:
    """A bar on standard error while work lasts.

    Where nobody can see a bar, nothing is shown; with `lines`, a line every few seconds.
    """
    if not sys.stderr.isatty():
        yield _lines() if lines else lambda _now, _share, _remaining_s=None: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=1.0, left="")

        def update(now: str, share: float, remaining_s: float | None = None) -> None:
            bar.update(task, description=now, completed=share, left=_left(remaining_s))

        yield update


EVERY_S = 5.0
"""Seconds between two lines of progress."""


def _lines() -> Bar:
    last = time.monotonic()

    def line(now: str, share: float, remaining_s: float | None = None) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY_S:
            last = time.monotonic()
            left = _left(remaining_s)
            say(f"{now}: {100 * share:.0f} % done" + (f", {left}" if left else ""))

    return line


def _left(remaining_s: float | None) -> str:
    """The time left in words."""
    if remaining_s is None:
        return ""
    minutes, seconds = divmod(round(remaining_s), 60)
    return f"about {minutes} min {seconds} s left" if minutes else f"about {seconds} s left"
