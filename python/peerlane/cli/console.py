"""Output of the command line: tables and JSON to standard output, the rest to standard error."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from peerlane.cli.tables.cells import wall_time
from peerlane.printable import json_text, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

    from rich.console import ConsoleOptions, RenderableType
    from rich.segment import Segment

UNLIMITED = 1 << 20
"""Columns when standard output is not a terminal: what is written there is as wide as it is."""


def emit(
    document: object,
    table: RenderableType,
    json_to: str | None,
    *,
    show: Callable[[RenderableType], object] | None = None,
) -> None:
    """Prints the table, by `show` if given, or the JSON alone when it goes to standard output."""
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
        OSError: The file could not be written; the error has its name.
    """
    try:
        Path(path).write_bytes(content)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


class _Printable(Console):
    """A console that escapes all characters that are not printable, and shows markup as text."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - those of Console
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Renders as Console does, to segments whose texts are printable."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield segment._replace(text=printable(segment.text, keep="\n"))


def out() -> Console:
    """Standard output."""
    return _Printable(width=None if sys.stdout.isatty() else UNLIMITED)


class _Errors(_Printable):
    """Standard error. Where nobody reads it any more, it is the null device from then on."""

    def __init__(self) -> None:
        super().__init__(stderr=True, soft_wrap=True)

    def on_broken_pipe(self) -> None:
        """Goes on, where Rich would end the process: messages are no result of the command."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def say(message: str) -> None:
    """One line on standard error."""
    _Errors().print(Text(printable(message)))


def complain(message: str) -> None:
    """One line on standard error that begins with `error:`."""
    _mark(message, "error:", "bold red")


def warn(message: str) -> None:
    """One line on standard error that begins with `warning:`, as `complain` writes it."""
    _mark(message, "warning:", "bold yellow")


class InterruptedWorkError(Exception):
    """Work that the user interrupted; the message says what is there of it."""


def _mark(message: str, word: str, style: str) -> None:
    _Errors().print(Text.assemble((word, style), " ", printable(message)))


_clock = time.monotonic


class Bar(Protocol):
    """A bar that work moves."""

    def __call__(self, now: str, share: float, remaining_s: float | None = None, /) -> None:
        """Shows the name of the work, the share that is done, and the time left where known."""


@contextmanager
def progress(what: str) -> Iterator[Bar]:
    """Shows on standard error how far long work is, and the time that is left.

    A terminal has a bar, anything else a line every few seconds. Short work shows nothing.
    """
    work = _Work(what)
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
        yield work.update
    finally:
        over.set()
        teller.join()


class _Work:
    """What is being done, and how far it was when it was last heard of."""

    def __init__(self, what: str) -> None:
        self.now = what
        self.share = 0.0
        self._remaining_s: float | None = None
        self._began_s = self._heard_s = _clock()

    def update(self, now: str, share: float, remaining_s: float | None = None) -> None:
        """Takes news of the work, as a `Bar` does."""
        self.now, self.share, self._remaining_s = now, share, remaining_s
        self._heard_s = _clock()

    def state(self) -> str:
        """The share done and the time left, by the pace so far where nobody knows better."""
        remaining_s = self._remaining_s
        if remaining_s is None and self.share > 0:
            remaining_s = (self._heard_s - self._began_s) * (1 - self.share) / self.share
        if remaining_s is None:
            return f"{wall_time(_clock() - self._began_s)} so far"
        remaining = wall_time(remaining_s - (_clock() - self._heard_s))
        return f"{100 * self.share:.0f} %, {remaining} left"


@contextmanager
def _bar() -> Iterator[Callable[[_Work], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(20), TextColumn("{task.fields[state]}"))
    console = _Printable(stderr=True)
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=1.0, state="")

        def told(work: _Work) -> None:
            now, state = escape(printable(work.now)), work.state()
            bar.update(task, description=now, completed=work.share, state=state)
            bar.refresh()

        yield told


@contextmanager
def _lines() -> Iterator[Callable[[_Work], None]]:
    yield lambda work: say(f"{work.now}: {work.state()}")


class _Manner(NamedTuple):
    """A manner of showing progress, and the seconds before it begins and between two looks."""

    show: Callable[[], AbstractContextManager[Callable[[_Work], None]]]
    first_s: float
    every_s: float


BAR = _Manner(_bar, first_s=0.5, every_s=0.2)
LINES = _Manner(_lines, first_s=5.0, every_s=5.0)
