"""Finds lines of the user's code at which coroutines wait or exceptions were raised."""

from __future__ import annotations

import linecache
import os
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import CodeType, TracebackType

_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"


_LIBRARY = f"{Path(os.__file__).parent}{os.sep}"
"""The folder of Python's standard library."""


def is_own(file: str) -> bool:
    """Whether a file belongs to Peerlane, and not to the user."""
    return file.startswith(_PACKAGE)


def _is_foreign(file: str) -> bool:
    """Whether a file belongs to Python or to an installed package."""
    return file.startswith((_LIBRARY, "<")) or "site-packages" in file


def raised_at(traceback: TracebackType | None) -> str | None:
    """The last line of the user's code in the traceback of an exception: file, number and text.

    The line is from another package only if the traceback has no line in a file of the user.
    """
    lines = [(frame.f_code, line) for frame, line in walk_tb(traceback)]
    lines = [one for one in lines if not is_own(one[0].co_filename)]
    users = [one for one in lines if not _is_foreign(one[0].co_filename)]
    return next((_shown(*one) for one in reversed(users or lines)), None)


def name(coroutine: object) -> str:
    """The name of the `async` function of a coroutine, without the names of outer functions."""
    own = str(getattr(coroutine, "__qualname__", coroutine))
    return own.rpartition("<locals>.")[2]


def place(coroutine: object) -> str | None:
    """The innermost line of the user's code at which a coroutine waits: file, number and text.

    The result is `None` if no function of the user waits, as in
    `thread.run(thread.interrupt(message))`.
    """
    found: tuple[CodeType, int] | None = None
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None)
        if frame is not None and not is_own(frame.f_code.co_filename):
            found = frame.f_code, frame.f_lineno
        coroutine = getattr(coroutine, "cr_await", None)
    return None if found is None else _shown(*found)


def _shown(code: CodeType, line: int) -> str:
    text = linecache.getline(code.co_filename, line).strip()
    return f"{code.co_filename}:{line}" + (f" ({text})" if text else "")
