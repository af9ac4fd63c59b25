"""Ends accelerators in Python that do not return from a call after the end of the program."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from peerlane._core import UnitError

if TYPE_CHECKING:
    import threading
    from types import CodeType

PATIENCE = 2.0
"""The seconds in which an accelerator must return after a signal has ended the program, and again
after an exception was raised in the accelerator."""


class StuckUnitError(UnitError):
    """An accelerator in Python does not return from a library's call, and its thread cannot end.

    When the interpreter ends, the thread would abort the process; `os._exit` ends the process
    without an abort.
    """


def end_unit(server: threading.Thread, serve: CodeType, patience: float | None) -> UnitError | None:
    """Waits for the end of a session's thread; raises an exception in a unit that does not return.

    Args:
        server: The thread, which already has a request to end.
        serve: The code of the thread's function, which calls the units (accelerators in Python).
        patience: The seconds in which a unit must return; `None` means no limit.

    Returns:
        The error to raise for a unit that was ended.

    Raises:
        StuckUnitError: The unit does not end, because the exception takes effect only in Python
            code.
    """
    server.join(patience)
    if not server.is_alive():
        return None
    message = f"the accelerator does not return from {_call(server, serve)}"
    thread = ctypes.c_ulong(server.ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(KeyboardInterrupt))
    server.join(PATIENCE)
    if server.is_alive():
        raise StuckUnitError(message)
    return UnitError(message)


def _call(server: threading.Thread, serve: CodeType) -> str:
    """The method of a unit that a thread is executing, with its current line, as text."""
    frame = sys._current_frames().get(server.ident or 0)  # noqa: SLF001 - its documented name
    where = "a call"
    while frame is not None and frame.f_code is not serve:
        file = Path(frame.f_code.co_filename).name
        where = f"{frame.f_code.co_qualname} ({file}, line {frame.f_lineno})"
        frame = frame.f_back
    return where
