"""Many pieces of work at once, on every processor of this machine.

`peerlane.varying.cluster` has the same for a Dask cluster, and `peerlane.varying.crew` has either.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from threading import Event, Lock
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Watch = Callable[[float], object]

_SPARE = 1
"""Threads beyond the processors: one that waits for Python's lock leaves none idle."""

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")


class Crew(Protocol):
    """Workers that do pieces of work."""

    count: int
    """The pieces that are done at once."""

    def each(
        self,
        work: Callable[[S, T, Watch | None], R],
        shared: S,
        pieces: Sequence[T],
        lost: Callable[[S, T, str], R],
    ) -> Iterator[tuple[int, R]]:
        """Each piece by its number, and what came of it, in the order in which they are done.

        Closing the iterator ends the work that is under way.

        Args:
            work: Called with `shared`, a piece, and a function to call while it works.
            shared: The same for every piece.
            pieces: All of them.
            lost: Makes what comes of a piece whose workers did not come back, and why.
        """


class Processors:
    """Threads of this process, as the simulator does not hold Python's lock while it runs."""

    def __init__(self) -> None:
        self.count = _processors()

    def each(
        self,
        work: Callable[[S, T, Watch | None], R],
        shared: S,
        pieces: Sequence[T],
        lost: Callable[[S, T, str], R],  # noqa: ARG002 - a thread always comes back
    ) -> Iterator[tuple[int, R]]:
        """As `Crew.each`; an exception of a piece ends all of them and is passed on."""
        left = iter(enumerate(pieces))
        one_at_a_time = Lock()
        done: SimpleQueue[tuple[int, R] | BaseException] = SimpleQueue()
        stopped = Event()

        def watch(_share: float) -> None:
            if stopped.is_set():
                raise _StoppedError

        def serve() -> None:
            try:
                while not stopped.is_set():
                    with one_at_a_time:
                        number, piece = next(left)
                    done.put((number, work(shared, piece, watch)))
            except StopIteration:
                pass
            except BaseException as error:  # noqa: BLE001 - told where the work is waited for
                done.put(error)

        threads = min(self.count + _SPARE, len(pieces))
        pool = ThreadPoolExecutor(max(threads, 1))
        try:
            for _ in range(threads):
                pool.submit(serve)
            for _ in pieces:
                outcome = done.get()
                if isinstance(outcome, BaseException):
                    raise outcome
                yield outcome
        finally:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)


class _StoppedError(Exception):
    """Nobody waits for the work any more."""


def _processors() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
