"""Puts the processes of a measurement on cores, and reads the time of the session's server.

The cost of a packet between two processes depends on whether the processes share a core. So all
pairs of processes that are compared are placed on cores in the same way.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from peerlane import _core

if TYPE_CHECKING:
    from types import TracebackType

ONE, TWO = "1 core", "2 cores"
"""The names of placements: both processes on one core, or each process on a core of its own."""

_ATTEMPTS = 100_000
"""The most attempts to connect to the process at the other end of the bare socket."""

_ECHO = """
import signal
import sys
from peerlane import _core

signal.signal(signal.SIGINT, signal.SIG_IGN)
print(flush=True)
_core.send_back(sys.argv[1])
"""
"""The program at the other end of the bare socket, with the path of the socket as its argument. It
ignores Ctrl-C: the benchmark ends it."""


class Echo:
    """A process that sends back all data that it receives over a bare socket."""

    def __init__(self, path: Path) -> None:
        self.path = path
        command = [sys.executable, "-c", _ECHO, str(path)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.process = self._process.pid

    def __enter__(self) -> Self:
        """Waits until the process accepts connections.

        Raises:
            RuntimeError: The process does not start.
        """
        # In a session a sleep would take simulated time, but a read of a pipe waits in real time.
        if self._process.stdout and self._process.stdout.readline():
            for _ in range(_ATTEMPTS):
                with suppress(OSError):
                    _core.bench_socket(str(self.path), 0)
                    return self
        self.__exit__(None, None, None)
        raise RuntimeError("the process at the other end of the bare socket does not start")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.communicate()


class Cores:
    """The cores on which this program, the server of its session and an `Echo` process run."""

    def __init__(self, echo: int) -> None:
        self._all = sorted(os.sched_getaffinity(0))
        self._echo = echo

    def placements(self) -> tuple[str, ...]:
        """The placements for which the machine has enough cores."""
        return (ONE, TWO) if len(self._all) > 1 else (ONE,)

    def place(self, placement: str) -> None:
        """Puts this program on a core, and the server and the echo on the same or another core."""
        other = self._all[-1 if placement == TWO else 0]
        self._put([self._all[0]], [other])

    def free(self) -> None:
        """Lets all processes run on all cores again."""
        self._put(self._all, self._all)

    def _put(self, own: list[int], others: list[int]) -> None:
        for process, cores in (
            (os.getpid(), own),
            (os.getppid(), others),
            (self._echo, others),
        ):
            for thread in _threads(process):
                # A thread that has ended needs no core.
                with suppress(ProcessLookupError):
                    os.sched_setaffinity(thread, cores)


def server_time() -> int:
    """The processor time of the process that serves the session, in nanoseconds."""
    total = 0
    for thread in _threads(os.getppid()):
        with suppress(OSError):
            spent = Path(f"/proc/{os.getppid()}/task/{thread}/schedstat").read_text().split()
            total += int(spent[0])
    return total


def _threads(process: int) -> list[int]:
    return [int(task.name) for task in Path(f"/proc/{process}/task").iterdir()]
