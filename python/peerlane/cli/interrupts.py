"""Handles the signals that end a command: Ctrl-C, and the SIGTERM of a batch system.

Both signals raise `KeyboardInterrupt`, so that the numbers measured so far are printed; the exit
status is 128 plus the number of the signal, as in shells.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

# An import of the module typing would delay the time from which interrupts are handled.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

ENDING = (signal.SIGINT, signal.SIGTERM)

_received = [signal.SIGINT]
"""The signals that have arrived, in order; the first entry is for an interrupt without a signal."""


def handled() -> list[signal.Signals]:
    """The signals of `ENDING` that still have their default handlers in this process."""
    default = (signal.default_int_handler, signal.SIG_DFL)
    return [number for number in ENDING if signal.getsignal(number) in default]


def interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    """A handler that raises `KeyboardInterrupt`."""
    _received.append(signal.Signals(number))
    raise KeyboardInterrupt


def end_at_once(number: int, _frame: FrameType | None) -> NoReturn:
    """A handler that ends the process."""
    _received.append(signal.Signals(number))
    end_interrupted()


def is_terminated() -> bool:
    """Whether the last signal was a SIGTERM."""
    return _received[-1] == signal.SIGTERM


def end_interrupted(message: str = "") -> NoReturn:
    """Ends the process with a message and the status of the last signal."""
    with suppress(OSError):  # standard error may be closed
        print(message or "interrupted", file=sys.stderr, flush=True)
    # A second interrupt while the interpreter ends would print a traceback.
    os._exit(128 + _received[-1])
