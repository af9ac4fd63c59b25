"""Writes the output of commands: results to standard output, messages to standard error."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from peerlane.formats import clipped, wall_time
from peerlane.printable import json_text, printable
from peerlane.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from rich.console import Console, RenderableType


def emit(
    document: object,
    table: RenderableType,
    json_to: str | None,
    *,
    show: Callable[[RenderableType], object] | None = None,
) -> None:
    """Writes the JSON if requested, and prints the table unless standard output has the JSON."""
    if json_to is not None:
        text = json_text(document) + "\n"
        if json_to == "-":
            sys.stdout.write(text)
            return
        write(json_to, text.encode())
    (show or out().print)(table)


def write(path: str | PathLike[str], content: bytes) -> None:
    """Writes a file.

    Raises:
        OSError: The file could not be written; the error has the file's name.
    """
    try:
        Path(path).write_bytes(content)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


UNLIMITED = 1 << 20
"""The width of lines if standard output is not a terminal, so that lines are never broken."""


def out() -> Console:
    """The console for standard output."""
    from peerlane.cli.screen import Printable

    return Printable(width=None if sys.stdout.isatty() else UNLIMITED)


def say(message: str) -> None:
    """Prints one line on standard error."""
    _print(message)


def complain(message: str) -> None:
    """Prints one line on standard error that begins with `error:`."""
    _print(message, ("error:", "bold red"), " ")


def warn(message: str) -> None:
    """Prints one line on standard error that begins with `warning:`."""
    _print(message, ("warning:", "bold yellow"), " ")


def _print(message: str, *marks: str | tuple[str, str]) -> None:
    from rich.text import Text

    from peerlane.cli.screen import Errors

    Errors().print(Text.assemble(*marks, clipped(printable(message))))


class InterruptedWorkError(Exception):
    """The user interrupted the work; the message states which results exist."""


_clock = time.monotonic

_LEAST_SHARE, _LEAST_S = 0.05, 2.0
"""The least share of the work and the least seconds from which the time left is estimated."""


@contextmanager
def progress(what: str) -> Iterator[ProgressBar]:
    """Shows on standard error the progress of long work, and the time that is left.

    A terminal shows a bar. Any other output gets a line every few seconds if the progress has
    changed. Short work shows nothing.
    """
    # The module is imported here, because an import in the thread would wait while the core of the
    # simulator holds Python's lock.
    from peerlane.cli import screen  # noqa: F401

    work = ProgressBar(what)
    over = threading.Event()
    manner = BAR if sys.stderr.isatty() else LINES

    def tell() -> None:
        if over.wait(manner.first_s):
            return
        with manner.show() as told:
            told(work)
            while not over.wait(manner.every_s):
                told(work)

    teller = threading.Thread(target=tell, name="progress", daemon=True)
    teller.start()
    try:
        yield work
    finally:
        over.set()
        teller.join()


class ProgressBar:
    """The name and the progress of some work; a bar can be a function's argument `progress`."""

    def __init__(self, what: str) -> None:
        self.now = self._what = what
        self.share = 0.0
        self._remaining_s: float | None = None
        self._began_s = self._heard_s = _clock()

    def __call__(self, share: float) -> None:
        """Sets the share that is done; a `Progress` also has the time left and a name."""
        known = share if isinstance(share, Progress) else Progress(share)
        self.now, self.share = known.now or self._what, float(known)
        self._remaining_s, self._heard_s = known.remaining_s, _clock()

    def state(self) -> str:
        """The share that is done and the time left, in words; an unknown time is estimated.

        Until an estimate is possible, the text has the elapsed time instead.
        """
        remaining_s, took_s = self._remaining_s, self._heard_s - self._began_s
        if remaining_s is None and self.share >= _LEAST_SHARE and took_s >= _LEAST_S:
            remaining_s = took_s * (1 - self.share) / self.share
        if remaining_s is None:
            known = f"{wall_time(_clock() - self._began_s)} so far"
        else:
            known = f"{wall_time(remaining_s - (_clock() - self._heard_s))} left"
        return f"{100 * self.share:.0f} %, {known}" if self.share else known


@contextmanager
def _bar() -> Iterator[Callable[[ProgressBar], None]]:
    from peerlane.cli.screen import bar

    with bar() as update:
        yield lambda work: update(work.now, work.share, work.state())


@contextmanager
def _lines() -> Iterator[Callable[[ProgressBar], None]]:
    told: tuple[str, int] | None = None

    def tell(work: ProgressBar) -> None:
        nonlocal told
        at = work.now, round(100 * work.share)
        if at != told:
            told = at
            say(f"{work.now}: {work.state()}")

    yield tell


class _Manner(NamedTuple):
    """A way to show progress, with the seconds before it starts and between two updates."""

    show: Callable[[], AbstractContextManager[Callable[[ProgressBar], None]]]
    first_s: float
    every_s: float


BAR = _Manner(_bar, first_s=0.5, every_s=0.2)
LINES = _Manner(_lines, first_s=5.0, every_s=5.0)
