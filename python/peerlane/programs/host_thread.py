"""Runs programs, such as drivers, on simulated hosts; each program has a thread of its own.

A program is an `async` function that uses a `HostThread`. Simulated time passes only while the
program awaits a call of its `HostThread`. Calculations of the program take no simulated time unless
the program calls `HostThread.work`.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from operator import index
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from peerlane import _core
from peerlane.errors import RequestError
from peerlane.figures.quantities import nanoseconds
from peerlane.programs.access import Source, refuse_foreign
from peerlane.programs.standstill import Devices, Wait, standstill

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterator,
        Callable,
        Coroutine,
        Generator,
        Iterator,
        Sequence,
    )
    from typing import Any, NoReturn

    from peerlane.programs.access import Waitable

_Result = TypeVar("_Result")

PAGE = 4096
"""The bytes of a page of memory of a host."""


class Machine(Devices, Source, Protocol):
    """The part of `peerlane.Simulation` that a host thread uses."""

    @property
    def now_ns(self) -> float:
        """The current simulated time, in nanoseconds."""

    @property
    def core(self) -> _core.Simulation:
        """The simulation object of the compiled core."""


class HostThread:
    """A thread of a simulated host; `SimulatedNode.thread` creates it.

    The thread occupies a core of the host while it loads, stores or works, and waits in a queue if
    all cores are busy. At all other times it occupies no core.
    """

    def __init__(self, simulation: Machine, host: str, core: _core.HostThread) -> None:
        self._simulation = simulation
        self._host = host
        self._core = core
        self._costs = dict(core.costs())
        self._is_awaited = False

    def __repr__(self) -> str:
        return f"<HostThread of {self._host}>"

    @property
    def now_ns(self) -> float:
        """The current simulated time, in nanoseconds."""
        return self._simulation.now_ns

    async def load(self, address: int, length: int = 8, *, strict: bool = False) -> int:
        """Loads a little-endian number of 1 to 64 bytes by one read request; all ones if it fails.

        Args:
            address: The address of the first byte.
            length: The number of bytes.
            strict: Whether a failed load raises an error instead of returning all ones.

        Raises:
            RequestError: `strict` is set and the load failed, for example by a completion timeout.
            ValueError: A core cannot make this access.
        """
        loaded = await self._done(lambda: self._core.begin_load(address, length))
        if strict and (failure := self._core.load_failure(address)):
            raise RequestError(*failure.split(": ", 1))
        return int.from_bytes(loaded, "little")

    async def store(self, address: int, value: int, length: int = 8) -> None:
        """Stores a little-endian number of 1 to 64 bytes by one posted write, which may stall."""
        data = number_bytes(value, length)
        await self._done(lambda: self._core.begin_store(address, data))

    async def work(self, time: float | str) -> None:
        """Occupies the core for a number of nanoseconds, or for a time such as "10 us"."""
        ns = nanoseconds(time)
        await self._done(lambda: self._core.begin_work(ns))

    async def system_call(self) -> None:
        """Occupies the core for the time of a system call, the key `system_call` of the host."""
        await self.work(self._costs["system_call"])

    async def put(self, address: int, data: bytes) -> None:
        """Copies `data` to the host's memory, in the time of whole pages at `buffer_write_rate`."""
        self.set(address, data)
        await self._charge(address, len(data), "write_page")

    async def take(self, address: int, length: int) -> bytes:
        """Copies bytes from the host's memory, in the time of whole pages at `buffer_read_rate`."""
        await self._charge(address, length, "read_page")
        return self.look(address, length)

    def look(self, address: int, length: int) -> bytes:
        """Returns bytes of the host's memory; takes no simulated time."""
        return self._simulation.core.memory(self._host, address, length)

    def set(self, address: int, data: bytes) -> None:
        """Sets bytes of the host's memory; takes no simulated time."""
        self._simulation.core.fill(self._host, address, data)

    async def _charge(self, address: int, length: int, cost: str) -> None:
        pages = (address + length - 1) // PAGE - address // PAGE + 1
        await self.work(pages * self._costs[cost])

    async def written(self, address: int) -> None:
        """Polls a byte until a device writes it; one write ends one call of this method."""
        wait = Wait(self._host, self.now_ns, address=address)
        await self._done(lambda: self._core.begin_written(address), wait)
        await self.work(self._costs["poll"])

    async def interrupt(self, message: int) -> None:
        """Makes a system call that sleeps until an interrupt with this message arrives."""
        if not hasattr(message, "__index__"):
            right = "give a whole number, such as simulation.node(DEVICE).vector(NUMBER).message"
            raise TypeError(f"the message of an interrupt is {message!r}; {right}")
        await self.system_call()
        wait = Wait(self._host, self.now_ns, message)
        await self._done(lambda: self._core.begin_interrupt(message), wait)
        await self.work(self._costs["interrupt_latency"])

    @asynccontextmanager
    async def pinned(self, size: int, alignment: int = PAGE) -> AsyncIterator[int]:
        """Allocates and pins memory of the host for devices in this context; returns its address.

        Raises:
            ValueError: The host has no `size` contiguous bytes left.
        """
        address = self._simulation.core.allocate(self._host, size, alignment)
        try:
            pages = -(-size // PAGE)
            await self.work(self._costs["system_call"] + pages * self._costs["page_pin"])
            yield address
        finally:
            self._simulation.core.free(self._host, address, size)

    async def _done(self, begin: Callable[[], None], wait: Wait | None = None) -> bytes:
        """Begins an operation and waits for its end; cancels it if the program is closed."""
        if self._is_awaited:
            right = "make a thread for each program: Simulation.node(HOST).thread()"
            raise RuntimeError(f"another program awaits this thread of {self._host}; {right}")
        begin()
        self._is_awaited = True
        try:
            return await _Done(self._core, wait)
        finally:
            self._is_awaited = False
            self._core.withdraw()

    def run(self, program: Coroutine[Any, Any, _Result]) -> _Result:
        """Runs a program of this thread to its end; returns its value."""
        return run_programs(self._simulation, [program])[0]


def number_bytes(value: int, length: int) -> bytes:
    """A little-endian number of `length` bytes.

    Raises:
        TypeError: The value is no whole number.
        ValueError: The value has more bytes, or is negative.
    """
    if not hasattr(value, "__index__"):
        right = 'give a whole number, such as int.from_bytes(data, "little")'
        raise TypeError(f"the value is {value!r}; {right}")
    value = index(value)
    try:
        return value.to_bytes(length, "little")
    except OverflowError:
        right = "give a larger length, or the value without its upper bits"
        if value < 0:
            right = f"give value % (1 << {8 * length})"
        raise ValueError(f"{value:#x} is not a number of {length} bytes; {right}") from None


class _Done:
    """An object for `await`, which waits for the end of a host thread's current operation.

    `wait` describes the event that ends the operation, if a device must cause the event.
    """

    def __init__(self, core: _core.HostThread, wait: Wait | None) -> None:
        self.core = core
        self.wait = wait

    def __await__(self) -> Generator[_Done, bytes, bytes]:
        return (yield self)


def _check(programs: Sequence[object]) -> None:
    if hasattr(programs, "send"):
        raise TypeError("one program is given; give a list of programs, or use HostThread.run")
    for number, program in enumerate(programs):
        if not hasattr(program, "send"):
            right = "give the call of an async function, such as thread.run(driver())"
            raise TypeError(f"{program!r} is no program; {right}")
        if any(program is other for other in programs[:number]):
            right = "call the async function once for each program"
            raise ValueError(f"{program!r} is given twice; {right}")


def run_programs(
    simulation: Machine,
    programs: Sequence[Coroutine[Any, Any, _Result]],
    *,
    watch: Coroutine[Any, Any, NoReturn] | None = None,
) -> list[_Result]:
    """Runs programs at the same time; returns their values.

    A program awaits calls of its own `HostThread`, accesses in flight (`SimulatedNode.begin_read`
    and others), `Simulation.sleep` and `OutsideDevice.next_access`.

    Args:
        simulation: The simulation of the hosts.
        programs: The programs.
        watch: An additional program, which is closed when all `programs` have ended, and which can
            end them by an exception.

    Raises:
        RuntimeError: A program waits, and no event is left; or two programs use one thread at the
            same time.
        TypeError: A program is not the call of an async function, or awaits something else.
        ValueError: A program is given twice, or awaits something of another simulation.
    """
    _check(programs)
    started = programs if watch is None else [*programs, watch]
    running = _Running(simulation, started)
    try:
        for number in range(len(started)):
            # A coroutine cannot receive a value before its first `await`.
            running.go_on(number, None)
        while len(running.results) < len(programs):
            if running.go_on_all():
                continue
            threads = [waited.core for waited in running.threads.values()]
            more = _core.advance_to(simulation.core, threads, running.until_ns())
            if not more and not running.go_on_all():
                raise RuntimeError(standstill(simulation, running.waiting()))
    finally:
        for program in started:
            program.close()
    return [running.results[number] for number in range(len(programs))]


class _Running(Generic[_Result]):
    """The programs of `run_programs`, and the object for which each of them waits."""

    def __init__(
        self, simulation: Machine, programs: Sequence[Coroutine[Any, Any, _Result]]
    ) -> None:
        self.simulation = simulation
        self.programs = programs
        self.results: dict[int, _Result] = {}
        self.threads: dict[int, _Done] = {}
        self.others: dict[int, Waitable] = {}

    def until_ns(self) -> float | None:
        """The earliest time for which a program waits."""
        times = (one.until_ns for one in self.others.values())
        return min((time for time in times if time is not None), default=None)

    def waiting(self) -> Iterator[tuple[object, object]]:
        """The programs that have not ended, each with the object that it awaits."""
        awaited: dict[int, object] = {
            number: waited.wait or "its host thread" for number, waited in self.threads.items()
        }
        for number, one in sorted((awaited | self.others).items()):
            yield self.programs[number], one

    def go_on(self, number: int, answer: bytes | None) -> None:
        """Resumes a program, which then runs until it waits again or ends."""
        try:
            waited = self.programs[number].send(answer)
        except StopIteration as end:
            self.results[number] = end.value
            return
        if hasattr(waited, "is_done"):
            refuse_foreign(waited, self.simulation)
            self.others[number] = waited
        elif isinstance(waited, _Done):
            self.threads[number] = waited
        else:
            right = "await a HostThread, an access in flight or Simulation.sleep"
            raise TypeError(f"a program awaits {waited!r}; {right}")

    def go_on_all(self) -> bool:
        """Resumes all programs whose wait has ended; returns false if there is no such program."""
        ready: dict[int, bytes | None] = {
            number: None for number, waited in self.others.items() if waited.is_done
        }
        for number, thread in self.threads.items():
            answer = thread.core.take()
            if answer is not None:
                ready[number] = answer
        for number, answer in ready.items():
            self.others.pop(number, None)
            self.threads.pop(number, None)
            self.go_on(number, answer)
        return bool(ready)
