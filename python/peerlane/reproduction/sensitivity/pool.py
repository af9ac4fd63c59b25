"""Processes that work on tasks, as many as there are processors."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from peerlane.reproduction.sensitivity.task import learn

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.pool import AsyncResult, Pool

K = TypeVar("K")

_TICK_S = 0.05


@dataclass(slots=True)
class _Running:
    work: Callable[..., Any]
    given: tuple[object, ...]
    most_s: float
    until: float
    result: AsyncResult[Any]


class Processes(Generic[K]):
    """Worker processes that run tasks, each with a key.

    A task changes modules while it runs, which threads of one process would share.

    Args:
        system: The system whose experiments they run.
    """

    def __init__(self, system: str) -> None:
        self.count = os.cpu_count() or 1
        self._system = system
        self._running: dict[K, _Running] = {}
        self._pool = self._new()

    def __enter__(self) -> Processes[K]:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        """Ends all processes, and frees what the system lent for talking to them."""
        self._pool.terminate()
        self._pool.join()
        del self._pool
        for one in self._running.values():
            del one.result
        gc.collect()

    @property
    def is_free(self) -> bool:
        """Whether another task would run at once."""
        return len(self._running) < self.count

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs."""
        return not self._running

    def begin(self, key: K, work: Callable[..., Any], *given: object, most_s: float) -> None:
        """Begins a task.

        Args:
            key: What `next` calls it.
            work: A function of a module.
            given: Its arguments.
            most_s: Seconds after which it is given up.
        """
        until = time.monotonic() + most_s
        result = self._pool.apply_async(work, given)
        self._running[key] = _Running(work, given, most_s, until, result)

    def next(self) -> tuple[K, Any]:
        """Waits for a task; what came of one that took too long is a `TimeoutError`."""
        while True:
            for key, one in self._running.items():
                if one.result.ready():
                    del self._running[key]
                    return key, one.result.get()
                if time.monotonic() > one.until:
                    del self._running[key]
                    self._restart()
                    return key, TimeoutError(f"it took longer than {one.most_s:.0f} s")
            time.sleep(_TICK_S)

    def _restart(self) -> None:
        """Ends all processes, since nothing else ends a task, and begins the others again."""
        self._end()
        self._pool = self._new()
        for key, one in list(self._running.items()):
            self.begin(key, one.work, *one.given, most_s=one.most_s)

    def _new(self) -> Pool:
        context = multiprocessing.get_context("spawn")
        return context.Pool(self.count, _begin, (self._system,))


def _begin(system: str) -> None:
    """Leaves Ctrl-C to the process that began this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    learn(system)
