"""The lines of the user's own code at which coroutines wait."""

from __future__ import annotations

import linecache
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import CodeType

_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"


def is_own(file: str) -> bool:
    """Whether a file of code belongs to Peerlane, and not to its user."""
    return file.startswith(_PACKAGE)


def name(coroutine: object) -> str:
    """The name of an `async` function by a coroutine of it, without the functions around it."""
    own = str(getattr(coroutine, "__qualname__", coroutine))
    return own.rpartition("<locals>.")[2]


def place(coroutine: object) -> str | None:
    """The last line of the user at which a coroutine waits: its file, number and text.

    `None` if no function of the user waits, as in `thread.run(thread.interrupt(message))`.
    """
    found: tuple[CodeType, int] | None = None
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None)
        if frame is not None and not is_own(frame.f_code.co_filename):
            found = frame.f_code, frame.f_lineno
        coroutine = getattr(coroutine, "cr_await", None)
    if found is None:
        return None
    code, line = found
    text = linecache.getline(code.co_filename, line).strip()
    return f"{code.co_filename}:{line}" + (f" ({text})" if text else "")
