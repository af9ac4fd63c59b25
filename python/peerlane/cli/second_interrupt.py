"""Ends the process at the second interrupt, because a model may be in a call that never returns.

Python handles an interrupt between two of its own instructions, but not during a call of a library.
So a separate thread receives the signals.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from peerlane.cli.interrupts import ENDING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATIENCE_S = 1.0
"""The time from the first interrupt to the advice to interrupt again, in seconds. An interrupted
command normally ends sooner."""

_OVER = 0
"""The byte that ends the thread; no signal has this number."""


@contextmanager
def second_interrupt_ends() -> Iterator[None]:
    """Ends the process at the second Ctrl-C or SIGTERM in this context, with its status."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    told, tell = os.pipe()
    os.set_blocking(tell, False)
    before = signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    thread = threading.Thread(target=_watch, args=(told,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.write(tell, bytes([_OVER]))
        thread.join()
        os.close(tell)
        os.close(told)


def _watch(told: int) -> None:
    interrupts: list[int] = []
    while True:
        if len(interrupts) == 1 and not select.select([told], [], [], _PATIENCE_S)[0]:
            print("a model does not return; interrupt once more to end it", file=sys.stderr)
        numbers = os.read(told, 64)
        if _OVER in numbers:
            return
        interrupts += [number for number in numbers if number in ENDING]
        if len(interrupts) > 1:
            print("interrupted", file=sys.stderr, flush=True)
            os._exit(128 + interrupts[-1])
