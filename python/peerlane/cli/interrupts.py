"""The signals that end a command: Ctrl-C, and the SIGTERM of a batch system whose time is over.

Both raise `KeyboardInterrupt`, so that what was measured is printed; the exit status has the number
of the signal, as shells have it.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

# The module typing takes longer to load than the command to be ready for an interrupt.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

ENDING = (signal.SIGINT, signal.SIGTERM)

_received = [signal.SIGINT]
"""The signals that came, the last one at the end. A program that says that it was interrupted is an
interrupt without a signal."""


def handled() -> list[signal.Signals]:
    """The signals that end this process, and that nobody else handles or ignores."""
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
    with suppress(OSError):  # nobody may read it
        print(message or "interrupted", file=sys.stderr, flush=True)
    # A second interrupt while the interpreter winds down would be a traceback.
    os._exit(128 + _received[-1])
