"""Shows long output in a terminal, one screen at a time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from rich.text import Text

from peerlane.cli.console import out
from peerlane.cli.interrupts import is_terminated

if TYPE_CHECKING:
    from rich.console import RenderableType


def show(shown: RenderableType) -> None:
    """Prints to standard output, through a pager if the terminal is too short.

    The pager is the program in the variable PAGER, or `less`, or `more`.
    """
    console = out()
    pager = _pager() if sys.stdin.isatty() and sys.stdout.isatty() else None
    if pager is None:
        console.print(shown)
        return
    with console.capture() as captured:
        console.print(shown)
    text = captured.get()
    if text.count("\n") < console.height:
        sys.stdout.write(text)
    else:
        _page(text if "less" in pager else Text.from_ansi(text).plain, pager)


def _pager() -> str | None:
    """The command of the pager; `None` if the terminal cannot move its cursor."""
    if os.environ.get("TERM") in {None, "dumb"}:
        return None
    found = shutil.which("less") or shutil.which("more")
    return os.environ.get("PAGER") or found


def _page(text: str, pager: str) -> None:
    # The option -R of less shows colours; the user's own options of less have priority.
    environment = {"LESS": "-R"} | os.environ
    process = subprocess.Popen(  # noqa: S602 - a pager is a command of the user's shell
        pager, shell=True, stdin=subprocess.PIPE, env=environment, text=True, encoding="utf-8"
    )
    # If the user leaves the pager, the rest of the output is not needed.
    with suppress(BrokenPipeError, KeyboardInterrupt):
        process.communicate(text)
    while process.poll() is None:
        if is_terminated():
            process.terminate()
            raise KeyboardInterrupt
        with suppress(KeyboardInterrupt):
            process.wait()
