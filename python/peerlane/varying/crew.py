"""Defines the workers of a sweep: processors of this machine, an executor, or a Dask cluster."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from queue import SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, Protocol, TypeVar

from peerlane.varying.cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Executor, Future

    from peerlane.varying.cluster import Watch

_SPARE = 1
"""The number of threads in addition to the number of processors, so that no processor is idle while
a thread waits for Python's lock."""

_MOST_AT_ONCE = 512
"""The largest number of pieces of work that an executor has at once."""

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")


class Crew(Protocol):
    """Workers that do pieces of work."""

    count: int
    """The number of pieces that are done at once."""

    def each(
        self,
        work: Callable[[S, T, Watch | None], R],
        shared: S,
        pieces: Sequence[T],
        lost: Callable[[S, T, str], R],
    ) -> Iterator[tuple[int, R]]:
        """Does all pieces of work; yields the index and the outcome of each piece when it ends.

        Closing the iterator ends the work that is in progress.

        Args:
            work: The function for a piece, which is called with `shared`, a piece, and a function
                to call during the work.
            shared: The value that is the same for every piece.
            pieces: All pieces.
            lost: A function that makes the outcome of a piece whose workers died, from the reason.
        """


class Pool:
    """The workers of an executor, such as threads, processes or `distributed.Client.get_executor`.

    The simulator does not hold Python's lock during a run, so threads are enough on one machine.
    """

    def __init__(self, executor: Executor, count: int) -> None:
        self._executor = executor
        self.count = count

    def each(
        self,
        work: Callable[[S, T, Watch | None], R],
        shared: S,
        pieces: Sequence[T],
        lost: Callable[[S, T, str], R],  # noqa: ARG002 - an executor without its workers fails
    ) -> Iterator[tuple[int, R]]:
        """Does all pieces, as `Crew.each` does; an exception of a piece ends all and is raised."""
        stopped = Event()

        def watch(_share: float) -> None:
            if stopped.is_set():
                raise _StoppedError

        is_here = isinstance(self._executor, ThreadPoolExecutor)
        left = iter(enumerate(pieces))
        running: dict[Future[R], int] = {}
        done: SimpleQueue[Future[R]] = SimpleQueue()
        try:
            for _ in pieces:
                for number, piece in islice(left, _MOST_AT_ONCE - len(running)):
                    given = (shared, piece, watch if is_here else None)
                    future = self._executor.submit(work, *given)
                    running[future] = number
                    future.add_done_callback(done.put)
                future = done.get()
                yield running.pop(future), future.result()
        finally:
            stopped.set()
            for future in running:
                future.cancel()


class _StoppedError(Exception):
    """Ends a piece of work, because no caller waits for it any longer."""


@contextmanager
def crew(scheduler: str | None = None, executor: Executor | None = None) -> Iterator[Crew]:
    """The workers of an executor or of a Dask scheduler, or the processors of this machine.

    Args:
        scheduler: The address of the scheduler, such as "tcp://10.0.0.1:8786".
        executor: The executor, which stays open.

    Raises:
        ClusterError: The scheduler cannot be reached, or its workers cannot do the work.
        ValueError: Both a scheduler and an executor are given.
    """
    if scheduler is not None and executor is not None:
        raise ValueError("scheduler and executor exclude each other; give one of them")
    if scheduler is not None:
        cluster = Cluster(scheduler)
        try:
            yield cluster
        finally:
            cluster.close()
    else:
        with executor_of(executor) as (pool, count):
            yield Pool(pool, count)


@contextmanager
def executor_of(given: Executor | None) -> Iterator[tuple[Executor, int]]:
    """An executor and the number of pieces it does at once: the given executor, or new threads.

    Leaving the context does not wait for the threads, and leaves the given executor open.
    """
    if given is not None:
        yield given, getattr(given, "_max_workers", None) or processors()
        return
    threads = ThreadPoolExecutor(processors() + _SPARE)
    try:
        yield threads, processors()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def processors() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
