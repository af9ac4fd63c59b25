"""Defines a rank, by whose calls a parallel program sends, receives and computes."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from peerlane.ranks.arguments import (
    as_any_tag,
    as_bytes,
    as_numbers,
    as_size,
    as_tag,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import SupportsIndex

    from typing_extensions import Buffer

    from peerlane import _core
    from peerlane.fabric.simulation import Simulation

T = TypeVar("T")

Ended = tuple[int, int, int, int, bytes]
"""The number of a rank whose call has ended, and the source, tag, length and bytes of the message
that it received."""

Mail = Counter[tuple[int, int, int]]
"""The number of messages that were sent and not received, by source, target and tag."""

ROOM = 1 << 20
"""The longest message, in bytes, that a receive accepts by default."""


@dataclass(frozen=True, slots=True)
class Message:
    """A received message: its source, its tag and its bytes."""

    source: int
    tag: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Window:
    """Memory of `rank`, `size` bytes, that all ranks may write and read."""

    rank: int
    size: int
    number: int = field(repr=False)
    job: _core.Job = field(repr=False, compare=False)


class Operation(Generic[T]):
    """A call of a rank that has not begun; a program must `await` it before its next call."""

    __slots__ = ("_begin", "_end", "rank", "text")

    def __init__(
        self, rank: Rank, text: str, begin: Callable[[], int], end: Callable[[int, Ended], T]
    ) -> None:
        self.rank, self.text = rank, text
        self._begin, self._end = begin, end

    def __await__(self) -> Generator[Operation[Any], Ended, T]:
        self.rank.take(self)
        number = self._begin()
        return self._end(number, (yield self))


class Handle(Generic[T]):
    """A call of a rank that has begun; a program must `await` it once, to wait for its end."""

    __slots__ = ("_end", "_number", "_rank", "text")

    def __init__(self, rank: Rank, text: str, number: int, end: Callable[[Ended], T]) -> None:
        self._rank, self.text = rank, text
        self._number, self._end = number, end

    def __await__(self) -> Generator[Operation[Any], Ended, T]:
        return self._rank.end(self, self._number, self._end).__await__()


class Rank:
    """A rank of a parallel program; `number` is its number, from 0 to `size` - 1.

    A program must await every call, which takes the time that the software, the controllers and the
    links of the simulated hosts need. Between two calls no simulated time passes: calculations of
    the program take no time unless it calls `compute`. A program sends any object with a buffer
    (bytes, `array.array`, numpy arrays) and receives bytes. No time passes for moving these bytes
    into and out of the host's memory, except for the copies of the message layer (`copy_rate`).

    A rank has one thread: while its program computes, or after the end of the program, the rank
    receives nothing. Messages up to `eager_limit` are sent at once, as far as `share` allows; the
    transfer of a longer message begins when both ranks are in a call. Wrong ranks or ranges of
    memory raise `ValueError` in the program before anything is sent.
    """

    def __init__(
        self, number: int, size: int, job: _core.Job, simulation: Simulation, mail: Mail
    ) -> None:
        self.number = number
        self.size = size
        self.is_running = False
        self._job, self._simulation, self._mail = job, simulation, mail
        self._fresh: Operation[Any] | None = None
        self._begun: dict[int, str] = {}

    def __repr__(self) -> str:
        return f"<rank {self.number} of {self.size}>"

    @property
    def now_ns(self) -> float:
        """The current simulated time, in nanoseconds."""
        return self._simulation.now_ns

    def compute(self, span: float | str) -> Operation[None]:
        """Computes, and does nothing else, for a time such as "3 us" or a number of nanoseconds."""
        time = span if isinstance(span, str) else f"{span} ns"
        return self._operation(
            f"compute({span!r})", lambda: self._job.compute(self.number, time), _nothing
        )

    def send(self, to: SupportsIndex, data: Buffer, tag: SupportsIndex = 0) -> Operation[None]:
        """Sends `data` to the rank `to`.

        The call ends when `data` may change. At this time, the rank `to` may not have received a
        short message (up to `eager_limit`), but it has requested a longer message.
        """
        whom, kind, raw = self._rank(to), as_tag(tag), as_bytes(data)
        text = f"send({whom}, {len(raw)} bytes, tag={kind})"
        return self._operation(
            text,
            lambda: self._sent(whom, kind, self._job.send(self.number, whom, kind, raw)),
            _nothing,
        )

    def receive(
        self,
        source: SupportsIndex | None = None,
        tag: SupportsIndex | None = None,
        *,
        size: SupportsIndex = ROOM,
    ) -> Operation[Message]:
        """Waits for the next message from `source` with `tag`; by default for any message.

        Messages from one rank arrive in the order in which they were sent.

        Raises:
            ValueError: The message is longer than `size` bytes; it is lost.
        """
        whom, kind, room = self._anybody(source), as_any_tag(tag), as_size(size)
        return self._operation(
            f"receive(source={whom}, tag={kind})",
            lambda: self._job.receive(self.number, whom, kind, room),
            lambda _, ended: self._received(ended, room),
        )

    def send_receive(  # noqa: PLR0913 - what is sent, and what is received
        self,
        to: SupportsIndex,
        data: Buffer,
        source: SupportsIndex | None = None,
        *,
        tag: SupportsIndex = 0,
        source_tag: SupportsIndex | None = None,
        size: SupportsIndex = ROOM,
    ) -> Operation[Message]:
        """Sends to one rank and receives from one rank, both at the same time."""
        sent = (self._rank(to), as_tag(tag), as_bytes(data))
        room = as_size(size)
        wanted = (self._anybody(source), as_any_tag(source_tag), room)
        text = f"send_receive({sent[0]}, {len(sent[2])} bytes, source={wanted[0]})"
        return self._operation(
            text,
            lambda: self._sent(*sent[:2], self._job.send_receive(self.number, sent, wanted)),
            lambda _, ended: self._received(ended, room),
        )

    def begin_send(
        self, to: SupportsIndex, data: Buffer, tag: SupportsIndex = 0
    ) -> Operation[Handle[None]]:
        """Begins to send `data`, which is copied at once; `await` the handle for the end."""
        whom, kind, raw = self._rank(to), as_tag(tag), as_bytes(data)
        text = f"begin_send({whom}, {len(raw)} bytes, tag={kind})"
        return self._operation(
            text,
            lambda: self._sent(whom, kind, self._job.begin_send(self.number, whom, kind, raw)),
            lambda number, _: self._handle(text, number, lambda _: None),
        )

    def begin_receive(
        self,
        source: SupportsIndex | None = None,
        tag: SupportsIndex | None = None,
        *,
        size: SupportsIndex = ROOM,
    ) -> Operation[Handle[Message]]:
        """Begins to receive a message, as in `receive`; `await` the handle to get the message."""
        whom, kind, room = self._anybody(source), as_any_tag(tag), as_size(size)
        text = f"begin_receive(source={whom}, tag={kind})"
        return self._operation(
            text,
            lambda: self._job.begin_receive(self.number, whom, kind, room),
            lambda number, _: self._handle(text, number, lambda e: self._received(e, room)),
        )

    def barrier(self) -> Operation[None]:
        """Waits until all ranks have called `barrier`.

        All ranks must make their collective calls in the same order. Data of calls of `put` by
        other ranks may arrive later.
        """
        return self._operation("barrier()", lambda: self._job.barrier(self.number), _nothing)

    def broadcast(self, data: Buffer | int, root: SupportsIndex = 0) -> Operation[bytes]:
        """Sends the bytes of `root` to all ranks; all others pass the number of bytes as `data`."""
        whom = self._rank(root)
        if isinstance(data, int):
            if whom == self.number:
                raise TypeError(f"rank {whom} is the root of the broadcast; give its bytes")
            raw, length = b"", as_size(data)
        else:
            raw = as_bytes(data)
            length = len(raw)
        return self._operation(
            f"broadcast({length} bytes, root={whom})",
            lambda: self._job.broadcast(self.number, whom, length, raw),
            _data,
        )

    def all_reduce(self, numbers: Buffer, operator: str = "sum") -> Operation[array[Any]]:
        """Combines the numbers of all ranks, element by element, by "sum", "min" or "max".

        `numbers` is an array of whole or floating-point numbers of 32 or 64 bits, of the same type
        and length in all ranks. Sums of whole numbers wrap around. All ranks get exactly the same
        bits, also of rounded results.

        Raises:
            ValueError: The array has another type of numbers, or another type or length than the
                array of another rank.
        """
        view = memoryview(numbers)
        code, number = as_numbers(view)
        raw = view.tobytes()
        return self._operation(
            f"all_reduce({view.nbytes // view.itemsize} {number}, {operator!r})",
            lambda: self._job.all_reduce(self.number, number, operator, raw),
            lambda _, ended: array(code, ended[-1]),
        )

    def allocate(self, size: SupportsIndex) -> Operation[tuple[Window, ...]]:
        """Allocates `size` zero bytes that all ranks may access; returns the windows of all ranks.

        All ranks must call this method; their sizes may differ. The call takes the time of a
        barrier; the exchange of addresses takes no additional time.
        """
        length = as_size(size)

        def windows(first: int, _: Ended) -> tuple[Window, ...]:
            numbers = enumerate(range(first, first + self.size))
            sizes = self._job.window_size
            return tuple(Window(rank, sizes(one), one, self._job) for rank, one in numbers)

        return self._operation(
            f"allocate({length})", lambda: self._job.allocate(self.number, length), windows
        )

    def put(self, window: Window, data: Buffer, offset: SupportsIndex = 0) -> Operation[None]:
        """Writes `data` to the window of a rank, whose program makes no call for this.

        The call ends when `data` may change. The data arrives before any later message to the rank
        of the window.
        """
        number, raw, begin = self._window(window), as_bytes(data), as_size(offset)
        return self._operation(
            f"put({len(raw)} bytes to rank {window.rank})",
            lambda: self._job.put(self.number, number, begin, raw),
            _nothing,
        )

    def get(
        self, window: Window, size: SupportsIndex | None = None, offset: SupportsIndex = 0
    ) -> Operation[bytes]:
        """Reads `size` bytes of the window of a rank; by default all up to the window's end."""
        number, begin, length = self._range(window, size, offset)
        return self._operation(
            f"get({length} bytes of rank {window.rank})",
            lambda: self._job.get(self.number, number, begin, length),
            _data,
        )

    def store(self, window: Window, data: Buffer, offset: SupportsIndex = 0) -> None:
        """Copies `data` into a window of this rank; takes no time and is not awaited."""
        self._job.store(self._own(window), as_size(offset), as_bytes(data))

    def load(
        self, window: Window, size: SupportsIndex | None = None, offset: SupportsIndex = 0
    ) -> bytes:
        """Returns bytes of a window of this rank; takes no time and is not awaited."""
        self._own(window)
        return self._job.load(*self._range(window, size, offset))

    def take(self, operation: Operation[Any]) -> None:
        """Records that the program awaits `operation`, which must not have been awaited before."""
        if not self.is_running:
            raise RuntimeError(f"{operation.text}: only the program of {self} can await this")
        if operation is not self._fresh:
            raise RuntimeError(f"{operation.text} has been awaited before")
        self._fresh = None

    def end(self, handle: Handle[T], number: int, end: Callable[[Ended], T]) -> Operation[T]:
        """The operation that waits for the end of a call that has begun."""
        if self._begun.pop(number, None) is None:
            raise RuntimeError(f"{handle.text} has been awaited before")
        return self._operation(
            f"the end of {handle.text}",
            lambda: self._job.end(self.number, number),
            lambda _, ended: end(ended),
        )

    def leave(self) -> None:
        """Records that the program has ended, and checks that it has awaited all its calls."""
        self._check_awaited()
        for text in self._begun.values():
            raise RuntimeError(f"{text} was begun and never ended; await its handle")
        self._job.leave(self.number)

    def _operation(
        self, text: str, begin: Callable[[], int], end: Callable[[int, Ended], T]
    ) -> Operation[T]:
        self._check_awaited()
        operation = Operation(self, text, begin, end)
        self._fresh = operation
        return operation

    def _check_awaited(self) -> None:
        if self._fresh is not None:
            text = self._fresh.text
            right = f"write `await rank.{text.partition('(')[0]}(...)`"
            raise RuntimeError(f"{text} was never awaited; {right}")

    def _handle(self, text: str, number: int, end: Callable[[Ended], T]) -> Handle[T]:
        self._begun[number] = text
        return Handle(self, text, number, end)

    def _sent(self, to: int, tag: int, number: int) -> int:
        self._mail[self.number, to, tag] += 1
        return number

    def _received(self, ended: Ended, room: int) -> Message:
        _, source, tag, length, data = ended
        self._mail[source, self.number, tag] -= 1
        if length > room:
            what = f"a message of {length} bytes from rank {source} with tag {tag}"
            raise ValueError(f"{what} does not fit into {room} bytes; write size={length} or more")
        return Message(source, tag, data)

    def _rank(self, number: SupportsIndex) -> int:
        return within("rank", number, self.size - 1)

    def _anybody(self, source: SupportsIndex | None) -> int | None:
        return None if source is None else self._rank(source)

    def _window(self, window: Window) -> int:
        if getattr(window, "job", None) is not self._job:
            raise ValueError(
                f"{window} is not a window of this job; use one that rank.allocate returned"
            )
        return window.number

    def _own(self, window: Window) -> int:
        number = self._window(window)
        if window.rank != self.number:
            raise ValueError(f"{window} belongs to another rank; use put and get")
        return number

    def _range(
        self, window: Window, size: SupportsIndex | None, offset: SupportsIndex
    ) -> tuple[int, int, int]:
        number, begin = self._window(window), as_size(offset)
        rest = max(window.size - begin, 0)
        return number, begin, rest if size is None else as_size(size)


def _nothing(_number: int, _ended: Ended) -> None:
    return None


def _data(_number: int, ended: Ended) -> bytes:
    return ended[-1]
