"""A test bench for one device: the test acts as the software and as the memory of the host."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from peerlane._core import ModelError
from peerlane.models.arguments import data_bytes
from peerlane.models.loading import is_model, load
from peerlane.models.loading import name as name_of
from peerlane.programs.host_thread import number_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerlane.models.loading import Source


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that the device on the bench has made.

    `kind` is "read", "write", "atomic", "interrupt" or "message"; `what` is the operation of an
    atomic request, or the severity of a message. `vector` is the vector of an interrupt.
    """

    kind: Literal["read", "write", "atomic", "interrupt", "message"]
    address: int = 0
    length: int = 0
    data: bytes = b""
    vector: int = 0
    what: str = ""
    function: int = 0
    tag: int = 0


class Bench:
    """A test bench with one device, without a fabric.

    A test accesses registers with `read` and `write`. It gets each request of the device by `take`,
    and ends it by `complete` or `fail`. If `memory` is given, `run` performs the reads, writes and
    atomic operations of the device in this memory.

    Time passes only while the bench waits for the device, from timer to timer.

    Args:
        model: A class derived from `peerlane.Device`, an object of such a class, a
            `peerlane.Library` or a file.
        memory: The memory of the host, which begins at address 0.
        values: The values of the model's parameters, by name.

    Raises:
        ModelError: The device has failed. All methods of the bench can raise this error; if a model
            in Python raised an exception, the exception is its cause.
        TypeError: `model` is no class, object, library or file.
        ValueError: `model` is not a model, or does not have the parameters.
    """

    def __init__(
        self,
        model: Source,
        *,
        memory: bytearray | None = None,
        **values: str | float,
    ) -> None:
        given: object = memory
        if not isinstance(given, bytearray | None):
            right = "give a bytearray, which a device can write"
            raise TypeError(f"the memory of a bench is {type(given).__name__}; {right}")
        name = name_of(model) if is_model(model) else "device"
        self._core = load(name, model).bench(values)
        self.memory = bytearray() if memory is None else memory

    @property
    def now_ns(self) -> float:
        """The current simulated time, in nanoseconds."""
        return self._core.now_ns

    def reset(self) -> None:
        """Resets the device; its requests and timers are dropped."""
        self._core.reset()

    def write(self, bar: int, offset: int, value: int | bytes | bytearray, length: int = 4) -> None:
        """Writes registers: `value` is bytes, or an integer for `length` little-endian bytes.

        Raises:
            RuntimeError: No BAR of the device has these registers.
            TypeError: The value is neither bytes nor an integer.
            ValueError: The value has no bytes, or an integer does not fit into `length` bytes.
        """
        data = number_bytes(value, length) if isinstance(value, int) else data_bytes(value)
        _refuse_nothing("write", len(data))
        with _naming(f"write of {len(data)} bytes at {offset:#x} of BAR {bar}"):
            self._core.write(bar, offset, data)

    def read(self, bar: int, offset: int, length: int = 4) -> int:
        """Reads registers and waits for the answer, which is returned as a little-endian integer.

        Raises:
            RuntimeError: The device refuses the read, does not have the register, or does not
                answer.
            ValueError: The length is not 1 byte or more.
        """
        return int.from_bytes(self.read_bytes(bar, offset, length), "little")

    def read_bytes(self, bar: int, offset: int, length: int) -> bytes:
        """Reads registers in the same way as `read`, but returns bytes."""
        _refuse_nothing("read", length)
        with _naming(f"read of {length} bytes at {offset:#x} of BAR {bar}"):
            return self._core.read(bar, offset, length)

    def take(self) -> Asked | None:
        """Returns the next request of the device; `None` if it makes none and has no timer left.

        A write counts as sent when this method returns it. A read or an atomic operation waits for
        `complete` or `fail`.
        """
        found = self._core.take()
        if found is None:
            return None
        kind, function, tag, address, length, data, what = found
        vector = tag if kind == "interrupt" else 0
        return Asked(kind, address, length, data, vector, what, function, tag)  # type: ignore[arg-type]

    def complete(self, asked: Asked, data: bytes | bytearray) -> None:
        """Completes a read or an atomic operation with data.

        If several requests have the same tag, the oldest request for this number of bytes is
        completed.

        Raises:
            ValueError: The request is not waiting for data, or needs another number of bytes.
        """
        if len(data) != asked.length:
            right = f"complete it with as many bytes as it requests, {asked.length}"
            raise ValueError(f"the {asked.kind} is given {len(data)} bytes; {right}")
        self._core.complete(asked.tag, bytes(data))

    def fail(self, asked: Asked, why: str = "unsupported request") -> None:
        """Ends a read or an atomic operation as failed.

        Args:
            asked: The request.
            why: "unsupported request", "completer abort", "completion timeout", "poisoned data" or
                "atomic operations not enabled".

        Raises:
            ValueError: The request is not waiting for data, or `why` is not one of these reasons.
        """
        self._core.fail(asked.tag, why)

    def pass_time(self) -> bool:
        """Lets time pass until the next timer of the device; returns false if there is no timer."""
        return self._core.pass_time()

    def run(self) -> list[Asked]:
        """Performs all requests of the device in `memory`, until it makes no more; returns them.

        A read or an atomic operation outside the memory fails as an unsupported request, and a
        write outside the memory is lost, as in a fabric.
        """
        return list(self._served())

    def _served(self) -> Iterator[Asked]:
        while (asked := self.take()) is not None:
            end = asked.address + asked.length
            is_inside = end <= len(self.memory)
            if asked.kind == "write" and is_inside:
                self.memory[asked.address : end] = asked.data
            elif asked.kind in {"read", "atomic"} and is_inside:
                old = bytes(self.memory[asked.address : end])
                if asked.kind == "atomic":
                    self.memory[asked.address : end] = _changed(asked, old)
                self.complete(asked, old)
            elif asked.kind in {"read", "atomic"}:
                self.fail(asked)
            yield asked


@contextmanager
def _naming(access: str) -> Iterator[None]:
    """Raises an error that names the access if the device refuses an access in this context."""
    try:
        yield
    except ModelError:
        raise
    except OverflowError:
        # The error means that no BAR has this number, or that the BAR does not have this offset.
        raise RuntimeError(f"unsupported request: {access}") from None
    except RuntimeError as error:
        raise RuntimeError(f"{error}: {access}") from None


def _refuse_nothing(what: str, length: int) -> None:
    if length < 1:
        raise ValueError(f"a {what} of {length} bytes is none; give 1 byte or more")


def _changed(asked: Asked, old: bytes) -> bytes:
    """The value in memory after an atomic operation, from the old value."""
    first, second = asked.data[: asked.length], asked.data[asked.length :]
    if asked.what == "swap":
        return first
    if asked.what == "compare_and_swap":
        return second if old == first else old
    total = int.from_bytes(old, "little") + int.from_bytes(first, "little")
    return (total % (1 << 8 * asked.length)).to_bytes(asked.length, "little")
