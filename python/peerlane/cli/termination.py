"""A SIGTERM is an exception where a command has something to save."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator


class Terminated(SystemExit):
    """The process was asked to end, as batch systems do before the time of a job is over."""

    def __init__(self) -> None:
        """Gives the process the status that shells show for a SIGTERM."""
        super().__init__(128 + signal.SIGTERM)


@contextmanager
def termination_raised() -> Iterator[None]:
    """Raises `Terminated` in the block at a SIGTERM that nobody else handles."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _raise(_number: int, _frame: object) -> NoReturn:
    raise Terminated
