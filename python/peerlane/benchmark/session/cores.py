"""Where the processes of a measurement run, and how long the session's server works.

The cost of a packet between two processes depends on whether they share a core, so all pairs that
are compared are placed in the same way.
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
"""Placements: both processes on one core, or each on its own."""

_ATTEMPTS = 100_000
"""Most attempts to connect to the other end of the bare socket, after its start."""

_ECHO = """
import signal
import sys
from peerlane import _core

signal.signal(signal.SIGINT, signal.SIG_IGN)
print(flush=True)
_core.send_back(sys.argv[1])
"""
"""The program of the process at the other end of the bare socket: the path is its argument. After
Ctrl-C, the program of the benchmark ends it."""


class Echo:
    """A process that sends back what comes over a bare socket."""

    def __init__(self, path: Path) -> None:
        self.path = path
        command = [sys.executable, "-c", _ECHO, str(path)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.process = self._process.pid

    def __enter__(self) -> Self:
        """Waits until it answers.

        Raises:
            RuntimeError: It does not start.
        """
        # A read of a pipe is a real wait, which a sleep of a program in a session is not.
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
        """Ends it."""
        self._process.kill()
        self._process.communicate()


class Cores:
    """The cores on which this program, the server of its session and an echo run."""

    def __init__(self, echo: int) -> None:
        self._all = sorted(os.sched_getaffinity(0))
        self._echo = echo

    def placements(self) -> tuple[str, ...]:
        """The placements that the machine allows."""
        return (ONE, TWO) if len(self._all) > 1 else (ONE,)

    def place(self, placement: str) -> None:
        """Puts this program on a core, and the others on the same one or on another one."""
        other = self._all[-1 if placement == TWO else 0]
        self._put([self._all[0]], [other])

    def free(self) -> None:
        """Lets all of them run on all cores again."""
        self._put(self._all, self._all)

    def _put(self, own: list[int], others: list[int]) -> None:
        for process, cores in (
            (os.getpid(), own),
            (os.getppid(), others),
            (self._echo, others),
        ):
            for thread in _threads(process):
                # A thread that ends needs no core.
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
