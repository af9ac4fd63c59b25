"""Defines the class from which device models in Python are derived."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, cast

from peerlane import _core
from peerlane.errors import RequestError
from peerlane.figures.quantities import nanoseconds
from peerlane.models.arguments import (
    Buffer,
    data_bytes,
    operand_bytes,
    wrong_number,
    wrong_vector,
)
from peerlane.models.engine import Answer, NoShell, Signal, Task, Tasks
from peerlane.models.model_warning import warn
from peerlane.models.parameter import Parameter, Written
from peerlane.models.spelling import refuse_misspelt

if TYPE_CHECKING:
    from collections.abc import Awaitable

Result = TypeVar("Result")

Registers = int | bytes | bytearray
"""The value of registers: bytes, or an integer, whose little-endian bytes are the registers."""


@dataclass(frozen=True, slots=True)
class Bar:
    """The size of a BAR, which is a power of two, and the number of its address bits, 32 or 64."""

    size: int | str
    bits: Literal[32, 64] = 32


Defect = Literal[
    "byte count",
    "lower address",
    "tag",
    "requester",
    "poisoned data",
    "retry status",
    "too much data",
    "too little data",
]
"""A deliberate error in a completion: a wrong field, poisoned data, or a dword more or less."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """A deliberately wrong completion for a read of registers.

    `on_read` returns a `Malformed` instead of `value`, to test how requesters handle the
    completion.
    """

    value: Registers
    defect: Defect


Read = Registers | Malformed | None
"""What `on_read` may return to answer a read of registers."""


CALLS = {
    "on_reset": (),
    "on_read": ("bar", "offset", "length"),
    "on_write": ("bar", "offset", "data"),
}
"""The methods of a model that the simulator calls, with the names of their arguments."""

INTERFACE = (
    *CALLS,
    "name",
    "vendor_id",
    "device_id",
    "revision_id",
    "class_code",
    "bars",
    "msix_vectors",
    "tags",
    "virtual_functions",
)
"""The methods and attributes that the class of a model may define."""


class Device:
    """The base class of device models: attributes declare a device, methods define its behaviour.

    The simulator calls `on_reset`, `on_read` and `on_write`, each at one point of simulated time.
    An engine is a running `async` method. It can wait for memory (`dma_read`, `dma_write`,
    atomics), for time (`sleep`), for a `Signal` or for another engine. If `on_write` returns an
    engine, the simulator starts it. If `on_read` is `async`, the requester waits until it returns.

    A reset ends the engines of a function, and the end of a simulation ends all engines. If an
    engine is ended, its `finally` blocks run, but not beyond their next `await`, and requests in
    these blocks are dropped.

    `Fabric.device(NAME, TO, model=CLASS)`, or `model=CLASS(...)`, adds a device of a class to a
    fabric; `peerlane run FILE --model NAME=FILE.py:CLASS` makes a class available to a scenario.

    Args:
        values: Values of the model's parameters, by name.

    Raises:
        TypeError: The model does not have the parameter.
        ValueError: The value of a parameter is not possible.
    """

    name: ClassVar[str | None] = None
    """The name of the model in scenarios; if `None`, the class name in lower case with hyphens."""
    vendor_id: ClassVar[int] = 0xFFF0
    device_id: ClassVar[int] = 1
    revision_id: ClassVar[int] = 0
    class_code: ClassVar[int] = 0x12_0000
    """Base class, sub-class and programming interface; the default is a processing accelerator."""
    bars: ClassVar[Mapping[int, int | str | Bar]] = {}
    """The size of each BAR, by its number: a text such as "4 KiB", a number of bytes, or a `Bar`.
    """
    msix_vectors: ClassVar[int] = 0
    """The number of MSI-X vectors; their table is in an additional BAR."""
    tags: ClassVar[int] = 32
    """The most packets of reads and atomic operations that each function can have outstanding."""
    virtual_functions: ClassVar[int] = 0
    """The most virtual functions (SR-IOV) that the device can have."""

    _shell: _core.ModelShell
    _tasks: Tasks
    _known_as: str = ""
    """The name of the device, once it is in a simulation."""
    _has_dropped: bool = False
    """Whether a warning about a dropped write was given."""

    def __init_subclass__(cls, **arguments: object) -> None:
        """Refuses names that are almost names of the interface, such as `on_wirte`."""
        super().__init_subclass__(**arguments)
        refuse_misspelt(cls, Device, INTERFACE)

    def __new__(cls, *args: object, **values: object) -> Device:  # noqa: ARG004, PYI034 - see below
        """Creates the private parts, so that the `__init__` of a class need not call `super()`."""
        device = super().__new__(cls)
        device._shell = cast("_core.ModelShell", NoShell())
        device._tasks = Tasks()
        return device

    def __init__(self, **values: object) -> None:
        known = parameters(type(self))
        for key, value in values.items():
            if key not in known:
                advice = _core.advice(key, sorted(known)) if known else "it has none"
                raise TypeError(f"{type(self).__name__} has no parameter {key!r}; {advice}")
            setattr(self, key, value)

    def on_reset(self) -> None:
        """Puts the device into its state after power-on: at the first call, and at each reset.

        At the call, the engines have already ended. `function` is the function that is reset; 0
        means all functions. A virtual function is also reset when software clears VF Enable; the
        function does not exist after this reset, and requests of its engines are dropped.
        """

    def on_read(self, bar: int, offset: int, length: int) -> Read | Awaitable[Read]:
        """Answers a read of registers by software or by another device.

        Args:
            bar: The BAR.
            offset: The offset of the first byte in the BAR.
            length: The number of bytes.

        Returns:
            The bytes, or an integer, which stands for its little-endian bytes. `None` means that
            there is no register, and the read is completed as an unsupported request; if the method
            is `async`, as a completer abort. A `Malformed` object makes a wrong completion.
        """
        del bar, offset, length
        return None

    def on_write(self, bar: int, offset: int, data: bytes) -> Awaitable[object] | None:
        """Handles a write of registers; returns an engine to start, or `None`.

        Warns:
            ModelWarning: The class does not define this method, so the write is dropped.
        """
        if type(self).on_write is Device.on_write and not self._has_dropped:
            self._has_dropped = True
            own = type(self).__name__
            what = f"a write of {len(data)} bytes at {offset:#x} of BAR {bar} is dropped"
            right = f"write def on_write(self, bar, offset, data) in {own}"
            warn(f"{self._known_as or own}: {what}, because {own} has no on_write; {right}")
        return None

    @property
    def now_ns(self) -> float:
        """The current simulated time, in nanoseconds."""
        return self._shell.now_fs / 1e6

    @property
    def function(self) -> int:
        """The function that is accessed or reset, or whose engine runs; 0 is the physical one."""
        return self._tasks.function

    # The methods that follow do not use names of this class that a model may override, such as
    # `start` or `function`.

    def start(self, engine: Awaitable[Result]) -> Task[Result]:
        """Starts a further engine; returns a task, whose `await` waits for the engine's end.

        An exception that the engine does not catch ends the run.
        """
        return self._tasks.start(engine)

    def signal(self) -> Signal:
        """Creates a signal: engines wait for it by `await signal`, until `signal.set()`."""
        return Signal(self._tasks)

    async def sleep(self, time: float | str) -> None:
        """Waits for a time; at least a femtosecond passes.

        The time is a number of nanoseconds, or a text such as "10 us".
        """
        ns, tag = nanoseconds(time), self._tasks.tag()
        try:
            self._shell.wake_after(tag, ns, self._tasks.function)
        except TypeError:
            right = 'give a number of nanoseconds, or a text such as "10 us"'
            raise TypeError(f"the time to sleep is {time!r}; {right}") from None
        await Answer[object](tag)

    async def dma_read(self, address: int, length: int) -> bytes:
        """Reads memory, or another device, by as many read requests as are needed.

        Raises:
            RequestError: The read returned no data, for example because no memory has the address.
            ValueError: The length is not within 1 byte to 16 MiB, or too many requests are waiting.
        """
        tag = self._tasks.tag()
        try:
            self._shell.read(tag, address, length, self._tasks.function)
        except (TypeError, OverflowError) as error:
            raise wrong_number(address=address, length=length) or error from None
        try:
            return await Answer[bytes](tag)
        except RequestError as error:
            raise RequestError(error.why, f"read of {length} bytes at {address:#x}") from None

    async def dma_write(self, address: int, data: Buffer) -> None:
        """Writes memory, or another device, after all earlier writes; waits until all packets left.

        Raises:
            ValueError: The length is not within 1 byte to 16 MiB, or too many requests are waiting.
        """
        tag = self._tasks.tag()
        self._write(tag, address, data)
        await Answer[object](tag)

    def post(self, address: int, data: Buffer) -> None:
        """Writes memory in the same way as `dma_write`, without waiting."""
        self._write(None, address, data)

    def _write(self, tag: int | None, address: int, data: Buffer) -> None:
        written = data if type(data) is bytes else data_bytes(data)
        try:
            self._shell.write(tag, address, written, self._tasks.function)
        except (TypeError, OverflowError) as error:
            raise wrong_number(address=address) or error from None

    async def fetch_add(self, address: int, value: int, *, size: int = 8) -> int:
        """Adds `value` to a word of `size` bytes (4 or 8) in memory; returns the old value.

        Raises:
            RequestError: The operation returned no result, for example because no memory has the
                address.
            TypeError: An argument is no whole number.
            ValueError: The address, the size or a number is not possible.
        """
        return await self._atomic("fetch_add", address, size, value)

    async def swap(self, address: int, value: int, *, size: int = 8) -> int:
        """Writes `value` to a word of `size` bytes (4 or 8) in memory; returns the old value.

        Raises the same errors as `fetch_add`.
        """
        return await self._atomic("swap", address, size, value)

    async def compare_and_swap(
        self, address: int, expected: int, value: int, *, size: int = 8
    ) -> int:
        """Writes `value` if memory has `expected`; returns the old value. `size` is 4, 8 or 16.

        Raises the same errors as `fetch_add`.
        """
        return await self._atomic("compare_and_swap", address, size, expected, value)

    async def _atomic(self, operation: str, address: int, size: int, *operands: int) -> int:
        tag = self._tasks.tag()
        data = operand_bytes(operation, size, *operands)
        try:
            self._shell.atomic(tag, operation, address, data, self._tasks.function)
        except (TypeError, OverflowError) as error:
            raise wrong_number(address=address) or error from None
        try:
            return int.from_bytes(await Answer[bytes](tag), "little")
        except RequestError as error:
            raise RequestError(error.why, f"{operation} at {address:#x}") from None

    def interrupt(self, vector: int = 0) -> None:
        """Sends an interrupt after all earlier writes; a masked interrupt stays pending.

        Raises:
            TypeError: The vector is no whole number.
            ValueError: The function does not have the vector.
        """
        try:
            self._shell.interrupt(vector, self._tasks.function)
        except (TypeError, ValueError, OverflowError) as error:
            raise wrong_vector(vector, self._shell.vectors()) or error from None

    def report_error(self, severity: Literal["correctable", "non-fatal", "fatal"]) -> None:
        """Reports an error of the device itself (Internal Error), by a PCIe message if enabled."""
        try:
            self._shell.report(severity, self._tasks.function)
        except TypeError:
            right = 'write "correctable", "non-fatal" or "fatal"'
            raise TypeError(f"{severity!r} is no severity; {right}") from None

    def _activity(self) -> list[str]:
        """The running engines, each with the line at which it waits, as text for messages."""
        return self._tasks.activity()

    def _reset(self, function: int) -> None:
        self._end_engines(function)
        self._as(function, self.on_reset)

    def _end_engines(self, function: int) -> None:
        """Ends the engines of a function, or all for 0, and drops requests that they make then."""
        self._shell.ending(function, self._tasks.close)

    def _read_of(self, function: int, access: tuple[int, int, int]) -> Read | Awaitable[Read]:
        value: Read | Awaitable[Read]
        value = self._as(function, self.on_read, *access)
        return value

    def _write_of(self, function: int, access: tuple[int, int, bytes]) -> None:
        def write() -> None:
            engine = self.on_write(*access)
            if engine is not None:
                self._start_written(engine)

        self._as(function, write)

    def _start_written(self, engine: Awaitable[object]) -> None:
        self._tasks.start(engine, "on_write returned")

    def _as(self, function: int, call: Any, *arguments: object) -> Any:  # noqa: ANN401 - of any call
        outer, self._tasks.function = self._tasks.function, function
        try:
            return call(*arguments)
        finally:
            self._tasks.function = outer

    def _answer_later(
        self, ticket: int, length: int, answer: Awaitable[Read] | Malformed, function: int
    ) -> None:
        def give(value: Read) -> None:
            if isinstance(value, Malformed):
                self._shell.answer_malformed(ticket, length, value.value, value.defect, function)
            else:
                self._shell.answer(ticket, length, value, function)

        async def engine(answer: Awaitable[Read]) -> None:
            give(await answer)

        if isinstance(answer, Malformed):
            give(answer)
        else:
            self._as(function, self._tasks.start, engine(answer))

    def _completed(self, tag: int, outcome: bytes | str | tuple[()]) -> None:
        self._tasks.answer(tag, outcome)


def parameters(model: type[Device]) -> dict[str, Parameter[Any]]:
    """The parameters of a model by their names, in the order of declaration."""
    found: dict[str, Parameter[Any]] = {}
    for base in reversed(model.__mro__):
        found |= {key: one for key, one in vars(base).items() if isinstance(one, Parameter)}
    return found


def name_of(model: type[Device]) -> str:
    """The name of a model in scenarios."""
    hyphened = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", model.__name__).replace("_", "-")
    return model.name or hyphened.lower()


def declaration(
    model: type[Device], defaults: Mapping[str, Written] = MappingProxyType({})
) -> _core.Declaration:
    """The declaration of a model in the form that the simulator reads.

    Args:
        model: The class.
        defaults: Defaults of parameters that replace defaults of the class.

    Raises:
        ValueError: The class is not a valid model; the message has the correction.
    """
    own = model.__name__
    named: object = model.name
    if not isinstance(named, str | Parameter | None):
        raise ValueError(f'{own}.name is {named!r}; write a text, such as "copier"')  # noqa: TRY004 - as below
    for method, arguments in CALLS.items():
        found = getattr(model, method)
        right = f"def {method}({', '.join(('self', *arguments))})"
        if not callable(found):
            raise ValueError(f"{own}.{method} is no method; write {right}")  # noqa: TRY004
        try:
            inspect.signature(found).bind("self", *arguments)
        except TypeError as error:
            raise ValueError(
                f"{own}.{method} cannot be called as the simulator does ({error}); write {right}"
            ) from None
    if inspect.iscoroutinefunction(model.on_reset):
        right = "write def on_reset(self), and start an engine there by self.start(...)"
        raise ValueError(f"{own}.on_reset is async, and a reset does not wait; {right}")
    for key in parameters(model):
        if hasattr(Device, key):
            right = "give the parameter another name"
            raise ValueError(f"{own}.{key} is an attribute of every device; {right}")
    declared: object = model.bars
    if not isinstance(declared, Mapping):
        right = 'bars = {0: "4 KiB"}'
        raise ValueError(f"{own}.bars is {declared!r}; write {right}")  # noqa: TRY004 - as above
    bars = [_bar(own, number, bar) for number, bar in declared.items()]
    if model.bars and model.on_read is Device.on_read and model.on_write is Device.on_write:
        right = "def on_read(self, bar, offset, length), or on_write(self, bar, offset, data)"
        raise ValueError(f"{own} has BARs, and nothing that answers; write {right}")
    return {
        "help": _help(model),
        "vendor_id": _number(own, model, "vendor_id", 16),
        "device_id": _number(own, model, "device_id", 16),
        "revision_id": _number(own, model, "revision_id", 8),
        "class_code": _number(own, model, "class_code", 24),
        "bars": bars,
        "vectors": _number(own, model, "msix_vectors", 16),
        "tags": _number(own, model, "tags", 16),
        "virtual_functions": _number(own, model, "virtual_functions", 8),
        "parameters": [one.declared(defaults.get(key)) for key, one in parameters(model).items()],
    }


def _help(model: type[Device]) -> str:
    """The first paragraph of the class docstring; without a docstring, the name of the class.

    A class inherits the docstring of the model from which it is derived, but not the docstring of
    `Device`.
    """
    models = (one for one in model.__mro__ if issubclass(one, Device) and one is not Device)
    texts = (inspect.cleandoc(one.__doc__) for one in models if one.__doc__)
    return next(texts, model.__name__).split("\n\n")[0].replace("\n", " ")


def _number(own: str, model: type[Device], key: str, bits: int) -> int:
    value = getattr(model, key)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << bits:
        right = f"write a whole number from 0 to {(1 << bits) - 1:#x}"
        raise ValueError(f"{own}.{key} is {value!r}; {right}")
    return value


def _bar(own: str, number: object, bar: int | str | Bar) -> tuple[int, int, bool]:
    size, bits = (bar.size, bar.bits) if isinstance(bar, Bar) else (bar, 32)
    is_number = isinstance(number, int) and 0 <= number <= 5  # noqa: PLR2004 - the BARs that there are
    if not is_number or bits not in {32, 64}:
        raise ValueError(f"{own}.bars has {number!r}: {bar!r}; write 0 to 5, and 32 or 64 bits")
    try:
        bytes_ = _core.parameter_value("bytes", "bars", size)
    except ValueError as error:
        raise ValueError(f"{own}.bars[{number}]: {error}") from None
    return cast("int", number), cast("int", bytes_), bits == 64  # noqa: PLR2004 - as above
