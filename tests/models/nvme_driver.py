"""A driver for NVM Express controllers, on a thread of a simulated host.

It follows the initialisation of NVM Express 1.4, 7.6.1, and knows the drive by its registers alone.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from peerlane import Fabric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane import HostThread, Simulation

CAP, VS, INTMS, INTMC, CC, CSTS, AQA, ASQ, ACQ = 0, 8, 0xC, 0x10, 0x14, 0x1C, 0x24, 0x28, 0x30
DOORBELLS = 0x1000
ENABLE, NORMAL_SHUTDOWN = 1, 1 << 14
ENTRY_SIZES = 6 << 16 | 4 << 20
READY, FATAL, SHUT_DOWN = 1, 2, 2 << 2
DELETE_SQ, CREATE_SQ, LOG_PAGE, DELETE_CQ, CREATE_CQ, IDENTIFY = 0, 1, 2, 4, 5, 6
ABORT, SET_FEATURES, GET_FEATURES, REQUEST_EVENT = 8, 9, 0xA, 0xC
FLUSH, WRITE, READ = 0, 1, 2
ALL = 0xFFFF_FFFF
PAGE = 4096

INVALID_OPCODE, INVALID_FIELD, ID_CONFLICT, TRANSFER_ERROR, ABORTED = 1, 2, 3, 4, 7
INVALID_NAMESPACE, SEQUENCE_ERROR, INVALID_PRP, OUT_OF_RANGE = 0xB, 0xC, 0x13, 0x80
CQ_INVALID, QUEUE_ID, QUEUE_SIZE, EVENT_LIMIT = 0x100, 0x101, 0x102, 0x105
VECTOR, LOG, QUEUE_DELETION, NOT_SAVEABLE = 0x108, 0x109, 0x10C, 0x10D


@dataclass(frozen=True)
class Done:
    """An entry of a completion queue."""

    result: int
    head: int
    queue: int
    id: int
    status: int
    """Status code type and status code; 0 for success."""
    more: bool
    do_not_retry: bool


@dataclass
class Pair:
    """A submission queue and its completion queue in host memory."""

    number: int
    submissions: int
    completions: int
    entries: int
    message: int | None
    """The message of its interrupt; none for a driver that polls."""
    tail: int = 0
    head: int = 0
    phase: int = 1
    ids: int = 0
    done: dict[int, Done] = field(default_factory=dict)


class Drive:
    """A drive with admin queues, and the I/O queues that were created."""

    def __init__(self, simulation: Simulation, thread: HostThread, name: str) -> None:
        self.simulation, self.thread, self.name = simulation, thread, name
        node = simulation.tree().nodes[name]
        self.function = node.id
        self.registers = next(one.base for one in node.regions if one.what == "bar0")
        self.pairs: dict[int, Pair] = {}
        self.host_page = PAGE
        self.page = self.memory(PAGE)

    def memory(self, size: int) -> int:
        """Pages of host memory, filled with a byte that no data structure is made of."""
        address = self.simulation.node("h0").allocate(size, self.host_page)
        self.thread.set(address, b"\xa5" * size)
        return address

    async def load(self, register: int, length: int = 4) -> int:
        return await self.thread.load(self.registers + register, length)

    async def store(self, register: int, value: int, length: int = 4) -> None:
        await self.thread.store(self.registers + register, value, length)

    async def until(self, mask: int, value: int) -> None:
        """Polls the status as long as `CAP.TO` allows."""
        end = self.thread.now_ns + (await self.load(CAP, 8) >> 24 & 0xFF) * 5e8
        while await self.load(CSTS) & mask != value:
            assert self.thread.now_ns < end, "the controller does not follow in time"
            await self.thread.work(10_000)

    async def disable(self) -> None:
        await self.store(CC, await self.load(CC) & ~ENABLE & ~(3 << 14))
        await self.until(READY, 0)
        self.pairs.clear()

    async def enable(self, entries: int = 32) -> None:
        """Disables the controller, sets the admin queues, and enables it."""
        await self.disable()
        admin = self.pair(0, entries, 0)
        await self.store(AQA, (entries - 1) << 16 | (entries - 1))
        await self.store(ASQ, admin.submissions, 8)
        await self.store(ACQ, admin.completions, 8)
        await self.store(CC, ENTRY_SIZES)
        await self.store(CC, ENTRY_SIZES | ENABLE)
        await self.until(READY, READY)

    async def bring_up(self, queues: int = 1, entries: int = 64) -> None:
        """Brings the controller up with so many pairs of I/O queues."""
        await self.enable()
        await self.identify(1)
        count = (queues - 1) << 16 | (queues - 1)
        done = await self.admin(SET_FEATURES, words=[7, count])
        assert done.status == 0
        assert done.result & 0xFFFF >= queues - 1
        for number in range(1, queues + 1):
            await self.create(number, entries)

    async def shut_down(self) -> None:
        await self.store(CC, await self.load(CC) & ~(3 << 14) | NORMAL_SHUTDOWN)
        await self.until(3 << 2, SHUT_DOWN)

    def pair(self, number: int, entries: int, vector: int | None) -> Pair:
        """Memory for a pair of queues."""
        submissions, completions = self.memory(64 * entries), self.memory(16 * entries)
        self.thread.set(completions, bytes(16 * entries))
        message = None if vector is None else self.simulation.node(self.name).vector(vector).message
        pair = Pair(number, submissions, completions, entries, message)
        self.pairs[number] = pair
        return pair

    async def create(self, number: int, entries: int, *, polls: bool = False) -> Pair:
        """Creates a pair of I/O queues with the vector of its number."""
        pair = self.pair(number, entries, None if polls else number)
        words = [(entries - 1) << 16 | number, number << 16 | (1 if polls else 3)]
        done = await self.admin(CREATE_CQ, prp=(pair.completions, 0), words=words)
        assert done.status == 0
        words = [(entries - 1) << 16 | number, number << 16 | 1]
        done = await self.admin(CREATE_SQ, prp=(pair.submissions, 0), words=words)
        assert done.status == 0
        return pair

    def submit(  # noqa: PLR0913 - the fields of an entry
        self,
        pair: Pair,
        opcode: int,
        *,
        namespace: int = 0,
        prp: tuple[int, int] = (0, 0),
        words: Sequence[int] = (),
        flags: int = 0,
        reserved: int = 0,
        id: int | None = None,  # noqa: A002 - the field of the specification
    ) -> int:
        """Writes an entry without ringing the doorbell; its command identifier."""
        if id is None:
            pair.ids = (pair.ids + 1) % 0xFFFF
            id = pair.ids  # noqa: A001 - as above
        padded = [*words, *[0] * (6 - len(words))]
        entry = struct.pack("<BBHIQQQQ6I", opcode, flags, id, namespace, reserved, 0, *prp, *padded)
        self.thread.set(pair.submissions + 64 * pair.tail, entry)
        pair.tail = (pair.tail + 1) % pair.entries
        return id

    async def ring(self, pair: Pair, work_ns: float = 0) -> None:
        """Rings the doorbell of the submission queue, and works for a time."""
        await self.store(DOORBELLS + 8 * pair.number, pair.tail)
        if work_ns:
            await self.thread.work(work_ns)

    def look(self, pair: Pair) -> Done | None:
        """The next completion entry, if it is there; the doorbell is not rung."""
        entry = self.thread.look(pair.completions + 16 * pair.head, 16)
        result, _, head, queue, id_, status = struct.unpack("<IIHHHH", entry)
        if status & 1 != pair.phase:
            return None
        pair.head = (pair.head + 1) % pair.entries
        pair.phase ^= pair.head == 0
        code = status >> 1 & 0x7FF
        done = Done(result, head, queue, id_, code, bool(status >> 14 & 1), bool(status >> 15))
        assert id_ not in pair.done, "two completions of one command"
        pair.done[id_] = done
        return done

    async def take(self, pair: Pair) -> int:
        """Takes the entries that are there, and rings the doorbell if there are any."""
        count = 0
        while self.look(pair):
            count += 1
        if count:
            await self.store(DOORBELLS + 8 * pair.number + 4, pair.head)
        return count

    async def wait(self, pair: Pair, *ids: int) -> list[Done]:
        """Waits for the ends of commands, by interrupts if the queue has them."""
        while not all(one in pair.done for one in ids):
            if await self.take(pair):
                continue
            if pair.message is None:
                await self.thread.work(1000)
            else:
                await self.thread.interrupt(pair.message)
        return [pair.done.pop(one) for one in ids]

    async def command(self, pair: Pair, opcode: int, **fields: Any) -> Done:
        """Submits a command and waits for its end."""
        id_ = self.submit(pair, opcode, **fields)
        await self.ring(pair)
        return (await self.wait(pair, id_))[0]

    async def admin(self, opcode: int, **fields: Any) -> Done:
        return await self.command(self.pairs[0], opcode, **fields)

    async def identify(self, structure: int, namespace: int = 0) -> bytes:
        done = await self.admin(
            IDENTIFY, namespace=namespace, prp=(self.page, 0), words=[structure]
        )
        assert done.status == 0
        return self.thread.look(self.page, PAGE)

    async def log(self, page: int, length: int, *, offset: int = 0) -> bytes:
        words = [(length // 4 - 1) << 16 | page, 0, offset]
        done = await self.admin(LOG_PAGE, namespace=ALL, prp=(self.page, 0), words=words)
        assert done.status == 0
        return self.thread.look(self.page, length)

    async def write(self, block: int, count: int, prp: tuple[int, int], number: int = 1) -> Done:
        words = [block & ALL, block >> 32, count - 1]
        return await self.command(self.pairs[number], WRITE, namespace=1, prp=prp, words=words)

    async def read(self, block: int, count: int, prp: tuple[int, int], number: int = 1) -> Done:
        words = [block & ALL, block >> 32, count - 1]
        return await self.command(self.pairs[number], READ, namespace=1, prp=prp, words=words)


MANY_QUEUES: dict[str, Any] = {
    "io_queues": 16,
    "queue_entries": 1024,
    "commands": 128,
    "tags": 256,
    "ready_time": "100 us",
    "msix_vectors": 65,
    "msix_bar": 4,
}
"""A drive for many cores, whose queues have interrupts of their own."""


def drive_of(**settings: Any) -> Drive:
    fabric = Fabric("nvme").links(generation=4, lanes=4).host("h0", memory="64 MiB")
    fabric.switch("s0", "h0").device("ssd", "s0", model="nvme", **MANY_QUEUES | settings)
    simulation = fabric.simulation()
    return Drive(simulation, simulation.node("h0").thread(), "ssd")


Program = Callable[["Drive"], Coroutine[Any, Any, None]]
"""A program of the host that drives a drive."""


def run(program: Program, **settings: Any) -> Drive:
    drive = drive_of(**settings)
    drive.thread.run(program(drive))
    return drive


def driven(**settings: Any) -> Callable[[Program], Callable[[], None]]:
    """Makes a test of a program, which drives a drive with these settings."""

    def made(program: Program) -> Callable[[], None]:
        def test() -> None:
            run(program, **settings)

        return test

    return made


def pattern(seed: int, size: int) -> bytes:
    return bytes((seed + 7 * at + at // 251) % 256 for at in range(size))
