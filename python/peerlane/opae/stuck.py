"""Units in Python that do not return from a call after a signal has ended the program."""

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
"""The seconds in which a unit must return after the end of the program, and after an exception."""


class StuckUnitError(UnitError):
    """A unit does not return from a call of a library, and its thread does not end.

    The thread would abort the process when the interpreter ends; `os._exit` ends the process
    without this.
    """


def end_unit(server: threading.Thread, serve: CodeType, patience: float | None) -> UnitError | None:
    """Waits for the thread of a session; ends it by an exception in a unit that does not return.

    Args:
        server: The thread, which has been requested to end.
        serve: The code of the thread's function, which calls units.
        patience: The seconds in which a unit must return; `None` for no limit.

    Returns:
        The error to raise for a unit that was ended.

    Raises:
        StuckUnitError: The unit does not end; an exception reaches only code in Python.
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
    """The method of a unit that a thread is executing, and its present line."""
    frame = sys._current_frames().get(server.ident or 0)  # noqa: SLF001 - its documented name
    where = "a call"
    while frame is not None and frame.f_code is not serve:
        file = Path(frame.f_code.co_filename).name
        where = f"{frame.f_code.co_qualname} ({file}, line {frame.f_lineno})"
        frame = frame.f_back
    return where
