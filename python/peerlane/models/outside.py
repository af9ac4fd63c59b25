"""Devices that are programs outside the simulation."""

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
    """The part of `peerlane.Simulation` that a device outside uses."""

    def collect(self) -> None:
        """Sets the outcomes of accesses that have ended."""

    @property
    def core(self) -> _core.Simulation:
        """The simulation in the core."""


class BarAccess:
    """An access of software or of another device to a BAR of an `OutsideDevice`.

    `kind` is "read" or "write", `tag` its number, `bar`, `offset` and `length` (in bytes) the
    place, `data` the bytes of a write, `time_ns` the simulated time of its arrival.
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
        """Answers a read, now or later, with bytes or with their little-endian number.

        Raises:
            TypeError: The value is neither bytes nor a number.
            ValueError: The access is no read that waits, or the value has another length.
        """
        self._device.answer(self.tag, value)

    def refuse(self) -> None:
        """Refuses a read: Unsupported Request in the callback of the read, later Completer Abort.

        Raises:
            ValueError: The access is no read that waits.
        """
        self._device.refuse(self.tag)


class OutsideDevice(Device):
    """A device that is a program outside the simulation, and answers accesses at any time.

    Class attributes declare it in the same way as a `Device`, and `Fabric.device(NAME, TO,
    model=OBJECT)` puts it into a fabric. Each access to its BARs is a `BarAccess`: if `on_access`
    is set, it is called with the access; otherwise the access waits in `accesses`. A read may be
    answered in the callback or at any later time. `begin_read` and similar methods begin requests
    between runs of the simulation, and in callbacks.

    An exception in the callback ends the run with a `ModelError`, and is the cause of this error.
    """

    on_access: Callable[[BarAccess], object] | None = None
    """The function or method that is called with each access."""
    accesses: deque[BarAccess]
    """The accesses that have arrived and that no callback has received, oldest first."""

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
        """Connects the device with its simulation, which calls this method when it is created."""
        self._simulation, self._known_as = simulation, known_as
        self._is_on = False
        self._open.clear()
        self._in_flight.clear()
        self.accesses.clear()

    def on_read(
        self, bar: int, offset: int, length: int
    ) -> int | bytes | Awaitable[int | bytes] | None:
        """Creates the access for a read, and passes it to `on_access` if this is set."""
        access = BarAccess(self, "read", (bar, offset, length))
        access.tag = self._tasks.tag()
        self._open[access.tag] = access
        self._arrive(access)
        if access.is_answered:
            return access.value
        access.signal = self.signal()
        return self._later(access)

    def on_write(self, bar: int, offset: int, data: bytes) -> None:
        """Creates the access for a write, and passes it to `on_access` if this is set."""
        access = BarAccess(self, "write", (bar, offset, len(data)))
        access.tag = self._tasks.tag()
        access.data = data
        self._arrive(access)

    def answer(self, tag: int, value: int | bytes) -> None:
        """Answers the read with this tag, in the same way as `BarAccess.answer`."""
        access = self._waiting(tag)
        self._end(access, answer_bytes(value, access.length))

    def refuse(self, tag: int) -> None:
        """Refuses the read with this tag, in the same way as `BarAccess.refuse`."""
        self._end(self._waiting(tag), None)

    def next_access(self) -> NextAccess:
        """The next access, for `await` in a program, which waits until an access arrives."""
        return NextAccess(self)

    def begin_read(self, address: int, length: int) -> Access[bytes]:
        """Begins to read memory or another device: 1 byte to 16 MiB.

        Raises:
            TypeError: The address or the length is no whole number.
            ValueError: The address or the length is not possible, or too many requests wait.
        """
        if wrong := wrong_number(address=address, length=length):
            raise wrong
        return self._begin_access(
            f"the read of {length} bytes at {address:#x}",
            lambda tag: self._shell.read(tag, address, length, 0),
        )

    def begin_write(self, address: int, data: bytes) -> Access[bytes]:
        """Begins a write after all earlier writes. It ends when the last packet has left.

        Raises:
            TypeError: The address is no whole number, or the data is not bytes.
            ValueError: The address or the length is not possible, or too many requests wait.
        """
        if wrong := wrong_number(address=address):
            raise wrong
        written = data_bytes(data)
        return self._begin_access(
            f"the write of {len(written)} bytes at {address:#x}",
            lambda tag: self._shell.write(tag, address, written, 0),
        )

    def begin_fetch_add(self, address: int, value: int, *, size: int = 8) -> Access[int]:
        """Begins to add `value` to `size` bytes of memory, 4 or 8; the result is the old value.

        Raises:
            TypeError: An argument is no whole number.
            ValueError: The address, the size or a number is not possible, or too many requests
                wait.
        """
        return self._begin_atomic("fetch_add", address, size, value)

    def begin_swap(self, address: int, value: int, *, size: int = 8) -> Access[int]:
        """Begins to write `value` to `size` bytes, 4 or 8; the result is the old value.

        The errors are the errors of `begin_fetch_add`.
        """
        return self._begin_atomic("swap", address, size, value)

    def begin_compare_and_swap(
        self, address: int, expected: int, value: int, *, size: int = 8
    ) -> Access[int]:
        """Begins to write `value` if the memory has `expected`; the result is the old value.

        `size` is 4, 8 or 16.

        The errors are the errors of `begin_fetch_add`.
        """
        return self._begin_atomic("compare_and_swap", address, size, expected, value)

    def interrupt(self, vector: int = 0) -> None:
        """Sends an interrupt after all earlier writes; while software masks it, it is pending.

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
        # A write may have left before the call returns.
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
        # No value results in a Completer Abort.
        return cast("bytes", access.value)

    def _act(self, work: Callable[[], None]) -> None:
        """Does `work` in a call of the device by the simulation: the present call, or a new one.

        If `work` fails, the call of the program fails, and the simulation continues.
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
"""The number of the timer by which the program makes the simulator call the device."""


class NextAccess:
    """The next access to an `OutsideDevice`, for `await`."""

    until_ns: None = None

    def __init__(self, device: OutsideDevice) -> None:
        self._device = device

    @property
    def simulation(self) -> object | None:
        """The simulation of the device; `None` on a bench."""
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
