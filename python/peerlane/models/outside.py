"""Defines devices that are controlled by programs outside the simulation."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Literal, Protocol, cast

from peerlane import _core
from peerlane.errors import RequestError
from peerlane.formats import duration
from peerlane.models.arguments import (
    answer_bytes,
    data_bytes,
    operand_bytes,
    wrong_number,
)
from peerlane.models.device import Device
from peerlane.models.spelling import refuse_misspelt
from peerlane.programs.access import Access

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator
    from typing import Self

    from peerlane.models.engine import Signal


class Simulated(Protocol):
    """The part of `peerlane.Simulation` that an `OutsideDevice` uses."""

    def collect(self) -> None:
        """Stores the outcome of each access that has ended."""

    @property
    def core(self) -> _core.Simulation:
        """The simulation object of the compiled core."""


class BarAccess:
    """An access of software or of another device to a BAR of an `OutsideDevice`.

    `kind` is "read" or "write", and `tag` is the number of the access. `bar`, `offset` and `length`
    (in bytes) name the accessed registers, `data` has the bytes of a write, and `time_ns` is the
    simulated time at which the access arrived.
    """

    def __init__(
        self, device: OutsideDevice, kind: Literal["read", "write"], place: tuple[int, int, int]
    ) -> None:
        self.kind = kind
        self.bar, self.offset, self.length = place
        self.data = b""
        self.time_ns = device.now_ns
        self.tag = 0
        self.is_answered = kind == "write"
        self.value: bytes | None = None
        self.signal: Signal | None = None
        self._device = device

    def answer(self, value: int | bytes) -> None:
        """Completes a read, immediately or later, with bytes or an integer (little-endian).

        Raises:
            TypeError: The value is neither bytes nor an integer.
            ValueError: The access is not a waiting read, or the value has another length.
        """
        self._device.answer(self.tag, value)

    def refuse(self) -> None:
        """Refuses a read: with Unsupported Request in the callback, with Completer Abort later.

        Raises:
            ValueError: The access is not a waiting read.
        """
        self._device.refuse(self.tag)


class OutsideDevice(Device):
    """A device that is controlled by a program outside the simulation, and may answer reads later.

    Class attributes declare the device in the same way as a `Device`, and `Fabric.device(NAME, TO,
    model=OBJECT)` puts it into a fabric. Each access to its BARs is a `BarAccess`. If `on_access`
    is set, it is called with the access; otherwise the access is added to `accesses`. The program
    can answer a read in the callback or at any later time. `begin_read` and similar methods begin
    requests, between runs of the simulation or in callbacks.

    An exception in the callback ends the run with a `ModelError`, whose cause is the exception.
    """

    on_access: Callable[[BarAccess], object] | None = None
    """The callback for accesses: a function or method that is called with each `BarAccess`."""
    accesses: deque[BarAccess]
    """The accesses that have arrived without a callback, the oldest first."""

    _open: dict[int, BarAccess]
    _in_flight: dict[int, Access[bytes] | AtomicAccess]
    _work: list[Callable[[], None]]
    _simulation: Simulated | None
    _is_on: bool
    """Whether the device has had its first reset, after power-on."""

    def __init_subclass__(cls, **arguments: object) -> None:
        """Refuses names that are almost names of the interface, such as `on_acces`."""
        super().__init_subclass__(**arguments)
        refuse_misspelt(cls, OutsideDevice, ["on_access"])

    def __new__(cls, *args: object, **values: object) -> OutsideDevice:  # noqa: PYI034 - as `Device`
        """Creates the private parts, so that the `__init__` of a class need not call `super()`."""
        device = super().__new__(cls, *args, **values)
        parts: dict[str, object] = {"accesses": deque(), "_work": [], "_open": {}, "_in_flight": {}}
        vars(device).update(parts, _simulation=None, _is_on=False)
        return cast("OutsideDevice", device)

    def attach(self, simulation: Simulated, known_as: str) -> None:
        """Connects the device with a simulation, which calls this method while it is created."""
        self._simulation, self._known_as = simulation, known_as
        self._is_on = False
        self._open.clear()
        self._in_flight.clear()
        self.accesses.clear()

    def on_read(
        self, bar: int, offset: int, length: int
    ) -> int | bytes | Awaitable[int | bytes] | None:
        """Creates the `BarAccess` for a read, and calls `on_access` with it if this is set."""
        access = BarAccess(self, "read", (bar, offset, length))
        access.tag = self._tasks.tag()
        self._open[access.tag] = access
        self._arrive(access)
        if access.is_answered:
            return access.value
        access.signal = self.signal()
        return self._later(access)

    def on_write(self, bar: int, offset: int, data: bytes) -> None:
        """Creates the `BarAccess` for a write, and calls `on_access` with it if this is set."""
        access = BarAccess(self, "write", (bar, offset, len(data)))
        access.tag = self._tasks.tag()
        access.data = data
        self._arrive(access)

    def answer(self, tag: int, value: int | bytes) -> None:
        """Completes the read with this tag, in the same way as `BarAccess.answer`."""
        access = self._waiting(tag)
        self._end(access, answer_bytes(value, access.length))

    def refuse(self, tag: int) -> None:
        """Refuses the read with this tag, in the same way as `BarAccess.refuse`."""
        self._end(self._waiting(tag), None)

    def next_access(self) -> NextAccess:
        """Returns an object for `await` in a program, which waits for the next access."""
        return NextAccess(self)

    def begin_read(self, address: int, length: int) -> Access[bytes]:
        """Begins to read 1 byte to 16 MiB of memory, or of another device.

        Raises:
            TypeError: The address or the length is no whole number.
            ValueError: The address or the length is not possible, or too many requests are waiting.
        """
        if wrong := wrong_number(address=address, length=length):
            raise wrong
        return self._begin_access(
            f"the read of {length} bytes at {address:#x}",
            lambda tag: self._shell.read(tag, address, length, 0),
        )

    def begin_write(self, address: int, data: bytes) -> Access[bytes]:
        """Begins a write after all earlier writes. The write ends when its last packet has left.

        Raises:
            TypeError: The address is no whole number, or the data is not bytes.
            ValueError: The address or the length is not possible, or too many requests are waiting.
        """
        if wrong := wrong_number(address=address):
            raise wrong
        written = data_bytes(data)
        return self._begin_access(
            f"the write of {len(written)} bytes at {address:#x}",
            lambda tag: self._shell.write(tag, address, written, 0),
        )

    def begin_fetch_add(self, address: int, value: int, *, size: int = 8) -> Access[int]:
        """Begins to add `value` to a word of `size` bytes (4 or 8); the result is the old value.

        Raises:
            TypeError: An argument is no whole number.
            ValueError: The address, the size or a number is not possible, or too many requests are
                waiting.
        """
        return self._begin_atomic("fetch_add", address, size, value)

    def begin_swap(self, address: int, value: int, *, size: int = 8) -> Access[int]:
        """Begins to write `value` to a word of `size` bytes (4 or 8); the result is the old value.

        Raises the same errors as `begin_fetch_add`.
        """
        return self._begin_atomic("swap", address, size, value)

    def begin_compare_and_swap(
        self, address: int, expected: int, value: int, *, size: int = 8
    ) -> Access[int]:
        """Begins to write `value` if memory has `expected`; the result is the old value.

        `size` is 4, 8 or 16.

        Raises the same errors as `begin_fetch_add`.
        """
        return self._begin_atomic("compare_and_swap", address, size, expected, value)

    def interrupt(self, vector: int = 0) -> None:
        """Sends an interrupt after all earlier writes; a masked interrupt stays pending.

        Raises:
            TypeError: The vector is no whole number.
            ValueError: The device does not have the vector.
        """
        self._act(lambda: Device.interrupt(self, vector))

    def _begin_atomic(self, operation: str, address: int, size: int, *operands: int) -> Access[int]:
        if wrong := wrong_number(address=address):
            raise wrong
        data = operand_bytes(operation, size, *operands)
        access = AtomicAccess(self._simulation, f"the {operation} at {address:#x}")
        self._ask(access, lambda tag: self._shell.atomic(tag, operation, address, data, 0))
        return access

    def _begin_access(self, what: str, ask: Callable[[int], None]) -> Access[bytes]:
        access: Access[bytes] = Access(self._simulation, what)
        self._ask(access, ask)
        return access

    def _ask(self, access: Access[bytes] | AtomicAccess, ask: Callable[[int], None]) -> None:
        if not self._is_on and self._simulation is not None:
            _core.call_model(self._simulation.core, self._known_as, 0)
        tag = self._tasks.tag()
        # The access is stored before the call, because a write may end during the call.
        self._in_flight[tag] = access
        try:
            self._act(lambda: ask(tag))
        except Exception:
            self._in_flight.pop(tag, None)
            raise

    def _waiting(self, tag: int) -> BarAccess:
        access = self._open.get(tag)
        if access is None:
            raise ValueError(f"no read with tag {tag} waits for an answer; answer each read once")
        return access

    def _arrive(self, access: BarAccess) -> None:
        if self.on_access is not None:
            self.on_access(access)
        else:
            self.accesses.append(access)
        _core.notice()

    def _end(self, access: BarAccess, value: bytes | None) -> None:
        del self._open[access.tag]
        access.is_answered, access.value = True, value
        if access.signal is not None:
            self._act(access.signal.set)

    async def _later(self, access: BarAccess) -> bytes:
        if access.signal is not None:
            await access.signal
        # The simulator completes a read without a value as Completer Abort.
        return cast("bytes", access.value)

    def _act(self, work: Callable[[], None]) -> None:
        """Calls `work` while the simulator calls the device: in the present call, or in a new call.

        If `work` raises an exception, this method raises it, and the simulation can continue.
        """
        if self._is_called():
            work()
            return
        if self._simulation is None:
            raise RuntimeError("the device is in no simulation yet; make one of its fabric")
        failed: list[Exception] = []

        def careful() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - raised below
                failed.append(error)

        self._work.append(careful)
        _core.call_model(self._simulation.core, self._known_as, 0)
        if failed:
            raise failed[0]

    def _activity(self) -> list[str]:
        lines = [f"{len(self.accesses)} accesses wait in its accesses"] if self.accesses else []
        for read in self._open.values():
            where = f"{read.length} bytes at {read.offset:#x} of BAR {read.bar}"
            when = duration(read.time_ns)
            lines.append(f"its program has not answered the read of {where} that came at {when}")
        return lines or ["its program has taken each access and answered each read"]

    def _is_called(self) -> bool:
        try:
            return self._shell.now_fs >= 0
        except RuntimeError:
            return False

    def _reset(self, function: int) -> None:
        for access in self._in_flight.values():
            access.end(self.now_ns, None, RequestError("reset", "the device was reset"))
        self._in_flight.clear()
        self._open.clear()
        self.accesses.clear()
        self._is_on = True
        super()._reset(function)

    def _completed(self, tag: int, outcome: bytes | str | tuple[()]) -> None:
        if tag == CALL:
            work, self._work = self._work, []
            for one in work:
                one()
            return
        access = self._in_flight.pop(tag, None)
        if access is None:
            super()._completed(tag, outcome)
            return
        if isinstance(outcome, str):
            access.end(self.now_ns, None, RequestError(outcome))
        elif isinstance(access, AtomicAccess):
            access.end(self.now_ns, int.from_bytes(outcome, "little"))
        else:
            access.end(self.now_ns, bytes(outcome))
        _core.notice()


class AtomicAccess(Access[int]):
    """An atomic operation in flight, whose result is a number."""


CALL = 0
"""The number of the timer with which the simulator calls the device on request of the program."""


class NextAccess:
    """An object for `await`, which waits for the next access to an `OutsideDevice`."""

    until_ns: None = None

    def __init__(self, device: OutsideDevice) -> None:
        self._device = device

    @property
    def simulation(self) -> object | None:
        """The simulation of the device; `None` if the device is on a test bench."""
        return self._device._simulation  # noqa: SLF001 - of this file

    def __repr__(self) -> str:
        return f"<the next access to {self._device!r}>"

    @property
    def is_done(self) -> bool:
        """Whether an access has arrived."""
        return bool(self._device.accesses)

    def __await__(self) -> Generator[Self, None, BarAccess]:
        while not self.is_done:
            yield self
        return self._device.accesses.popleft()
