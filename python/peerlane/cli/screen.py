"""Consoles for terminals, which print only printable characters, and a progress bar."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn

from peerlane.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.console import ConsoleOptions, RenderableType
    from rich.segment import Segment


class Printable(Console):
    """A console that escapes all characters that are not printable, and prints markup as text."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - those of Console
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Renders as the class `Console` does, but with printable characters only."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield segment._replace(text=printable(segment.text, keep="\n"))


class Errors(Printable):
    """The console for standard error; if the reader of a pipe closes it, output is discarded."""

    def __init__(self) -> None:
        super().__init__(stderr=True, soft_wrap=True)

    def on_broken_pipe(self) -> None:
        """Continues, because messages are no result of the command; Rich would end the process."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


@contextmanager
def bar() -> Iterator[Callable[[str, float, str], None]]:
    """A progress bar on standard error: the name of the work, the share that is done, its state."""
    columns = (TextColumn("{task.description}"), BarColumn(20), TextColumn("{task.fields[state]}"))
    console = Printable(stderr=True)
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as shown:
        task = shown.add_task("", total=1.0, state="")

        def update(now: str, share: float, state: str) -> None:
            shown.update(task, description=escape(printable(now)), completed=share, state=state)
            shown.refresh()

        yield update
