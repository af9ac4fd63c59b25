"""Programs on hosts, told from Python what to do."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from conftest import PAIR
from peerlane import Device, Fabric, HostThread, RequestError, Simulation, run_programs

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from peerlane import Signal


def simulation() -> Simulation:
    return Fabric.from_toml(PAIR).without_flows().simulation()


def bar(of: Simulation) -> int:
    return of.tree().nodes["b"].regions[0].base


def test_a_program_finds_in_a_register_what_it_put_there() -> None:
    fabric = simulation()
    thread = fabric.node("h0").thread()
    at = bar(fabric)

    async def program() -> int:
        await thread.store(at, 0x1122_3344_5566_7788)
        return await thread.load(at + 4, 4)

    assert thread.run(program()) == 0x1122_3344


def test_work_takes_as_long_as_it_says_and_thought_takes_no_time() -> None:
    fabric = simulation()
    thread = fabric.node("h0").thread()

    async def program() -> tuple[float, float]:
        began = thread.now_ns
        sum(range(10_000))
        thought = thread.now_ns - began
        await thread.work(70)
        return thought, thread.now_ns - began

    assert thread.run(program()) == (0, 70)


def test_copies_are_charged_by_the_page_each_way() -> None:
    costs: dict[str, Any] = {"buffer_write_rate": "4.096 GB/s", "buffer_read_rate": "40.96 GB/s"}
    fabric = Fabric("alone").host("h0", memory="1 MiB", **costs).device("a", "h0").simulation()
    thread = fabric.node("h0").thread()

    async def program() -> tuple[float, float, bytes]:
        async with thread.pinned(8192) as buffer:
            began = thread.now_ns
            await thread.put(buffer + 4090, b"across a boundary")
            put = thread.now_ns - began
            taken = await thread.take(buffer + 4090, 17)
            return put, thread.now_ns - began - put, taken

    put, take, taken = thread.run(program())
    assert (put, take) == pytest.approx((2000, 200))
    assert taken == b"across a boundary"


def test_programs_run_side_by_side() -> None:
    fabric = simulation()
    order = []

    async def program(name: str, thread: HostThread, ns: float) -> str:
        for _ in range(3):
            await thread.work(ns)
            order.append(name)
        return name

    threads = [fabric.node("h0").thread(), fabric.node("h0").thread()]
    both = [program("slow", threads[0], 100), program("quick", threads[1], 45)]
    assert run_programs(fabric, both) == ["slow", "quick"]
    assert order == ["quick", "quick", "slow", "quick", "slow", "slow"]


def test_a_program_hears_of_a_write_of_a_device_to_its_memory() -> None:
    fabric = simulation()
    thread = fabric.node("h0").thread()

    async def program() -> bytes:
        async with thread.pinned(4096) as buffer:
            fabric.node("a").write(buffer + 64, b"news")
            while not thread.look(buffer + 64, 1)[0]:
                await thread.written(buffer + 64)
            return thread.look(buffer + 64, 4)

    assert thread.run(program()) == b"news"


class Forgetful(Device):
    """A device whose engine ends without an interrupt, or waits for a signal that nobody sets."""

    bars = {0: "4 KiB"}  # noqa: RUF012 - as users write it
    msix_vectors = 2

    def on_write(self, _bar: int, offset: int, _data: bytes) -> Awaitable[None] | None:
        if offset == 16:
            self.interrupt(1)
            return None
        return self.ends() if offset else self.waits(self.signal())

    async def ends(self) -> None:
        await self.sleep(100)

    async def waits(self, never: Signal) -> None:
        await never


@pytest.mark.parametrize(
    ("registers", "vector", "why"),
    [
        ([], 0, ["d: vector 0 has had no interrupt", "d: none of its engines was started"]),
        ([8], 0, ["d: none of its engines runs; the last one, Forgetful.ends, has ended"]),
        ([0], 1, ["d: its engine Forgetful.waits waits at .*.py:[0-9]+ .await never.$"]),
        ([16], 1, ["d: vector 1 has sent 1 interrupt; its mask has held back 1$"]),
        ([], 99, ["no MSI-X vector below h0 has the message 0x84; give simulation.node"]),
    ],
)
def test_a_program_that_waits_for_ever_is_named_with_its_line_and_what_the_device_does(
    registers: list[int], vector: int, why: list[str]
) -> None:
    fabric = Fabric("lab").host("h0").device("d", "h0", model=Forgetful).simulation()
    at = fabric.tree().nodes["d"].regions[0].base
    message = fabric.node("d").vector(0).message + vector
    thread = fabric.node("h0").thread()

    async def driver() -> None:
        for register in registers:
            await thread.store(at + register, 1, 4)
        await thread.work("5 us")
        # The interrupt of the last store has come and was taken.
        for _ in range(1 + (registers == [16])):
            await thread.interrupt(message)

    with pytest.raises(RuntimeError, match="a program waits for ever: nothing is left") as raised:
        thread.run(driver())
    lines = str(raised.value).splitlines()
    assert re.search(r"  driver, at \S*test_host_thread.py:[0-9]+ \(await thread", lines[1])
    assert re.search(r"waits since \S+ us for an interrupt of h0 with the message 0x", lines[2])
    for line in why:
        assert re.search(line, str(raised.value), re.MULTILINE), lines


def test_each_program_that_waits_for_ever_is_named() -> None:
    fabric = simulation()
    threads = [fabric.node("h0").thread() for _ in range(3)]
    programs = [threads[0].interrupt(7), threads[1].written(4096), threads[2].work(10)]
    with pytest.raises(RuntimeError) as raised:
        run_programs(fabric, programs)
    _, *lines = str(raised.value).splitlines()
    assert [line.split("since")[0].strip() for line in lines[:4]] == [
        "HostThread.interrupt",
        "waits",
        "HostThread.written",
        "waits",
    ]
    assert "for a write of a device to 0x1000 of h0" in lines[3]


def test_a_watch_ends_with_the_programs_or_ends_them() -> None:
    fabric = simulation()
    thread = fabric.node("h0").thread()
    ended = []

    async def watch() -> NoReturn:
        try:
            await fabric.sleep(1000)
        finally:
            ended.append(fabric.now_ns)
        raise LookupError("too long")

    began = fabric.now_ns
    run_programs(fabric, [thread.work(70)], watch=watch())
    assert fabric.now_ns - began == 70
    with pytest.raises(LookupError, match="too long"):
        run_programs(fabric, [thread.interrupt(7)], watch=watch())
    assert ended == [began + 70, began + 70 + 1000]


def test_what_is_no_program_is_refused() -> None:
    thread = simulation().node("h0").thread()

    async def sleeps() -> None:
        await asyncio.sleep(0)

    with pytest.raises(TypeError, match="is no program; give the call of an async function"):
        thread.run(sleeps)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="awaits None; await a HostThread, an access in flight"):
        thread.run(sleeps())


def test_a_value_that_has_more_bytes_is_refused() -> None:
    thread = simulation().node("h0").thread()
    with pytest.raises(ValueError, match="0x1ff is not a number of 1 bytes; give a larger length"):
        thread.run(thread.store(0, 0x1FF, 1))
    with pytest.raises(ValueError, match=r"is not a number of 4 bytes; give value % \(1 << 32\)"):
        thread.run(thread.store(0, -1, 4))
    with pytest.raises(TypeError, match=r"the value is b'ab'; give a whole number, such as int.fr"):
        thread.run(thread.store(0, b"ab"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'0x10' is not an address; give a whole number"):
        thread.run(thread.load("0x10"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"give a whole number, such as simulation.node\(DEVICE"):
        thread.run(thread.interrupt("d"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="one program is given; give a list of programs, or use"):
        run_programs(simulation(), work := thread.work(5))  # type: ignore[arg-type]
    work.close()


def test_wrong_accesses_and_hosts_are_refused() -> None:
    fabric = simulation()
    thread = fabric.node("h0").thread()
    with pytest.raises(ValueError, match="within a 4 KiB page"):
        thread.run(thread.load(4092, 8))
    with pytest.raises(ValueError, match="-1 is not an address; give 0 to"):
        thread.run(thread.load(-1))
    with pytest.raises(ValueError, match="-1 is not an address; give 0 to"):
        thread.run(thread.written(-1))
    with pytest.raises(ValueError, match="-1 is not the message of an interrupt; give 0 to"):
        thread.run(thread.interrupt(-1))
    with pytest.raises(ValueError, match="-1 is not an address; give 0 to"):
        thread.look(-1, 4)
    with pytest.raises(ValueError, match="not a possible time to work"):
        thread.run(thread.work(-1))
    with pytest.raises(ValueError, match="no processor"):
        fabric.node("a").thread()
    with pytest.raises(ValueError, match="no node"):
        fabric.node("h9").thread()
    with pytest.raises(ValueError, match="left together"):
        fabric.node("h0").allocate(1 << 30)


class Bell(Device):
    """A device whose register sends an interrupt when it is written, and answers late at 8."""

    bars = {0: "4 KiB"}  # noqa: RUF012 - as users write it
    msix_vectors = 1

    def on_read(self, _bar: int, offset: int, _length: int) -> int | Awaitable[int]:
        return self.late() if offset == 8 else 7

    def on_write(self, *_access: object) -> None:
        self.interrupt(0)

    async def late(self) -> int:
        await self.sleep(20e6)
        return 1


def with_bell(cores: int = 8) -> tuple[Simulation, int]:
    fabric = Fabric("bell").host("h0", cores=cores).device("d", "h0", model=Bell)
    of = fabric.simulation()
    return of, of.tree().nodes["d"].regions[0].base


def test_there_may_be_more_threads_than_cores() -> None:
    fabric, at = with_bell(cores=1)
    threads = [fabric.node("h0").thread() for _ in range(3)]
    assert run_programs(fabric, [thread.load(at, 4) for thread in threads]) == [7, 7, 7]


def test_threads_at_rest_leave_the_cores_to_drivers() -> None:
    fabric = Fabric("drive").links(generation=4, lanes=4).host("h0", cores=1)
    fabric = fabric.device("n", "h0", model="nvme", msix_vectors=1, msix_bar=4)
    fabric = fabric.flow("n", "h0", size="64 KiB", request_size="32 KiB")
    idle = fabric.simulation()
    thread = idle.node("h0").thread()
    assert idle.run() == fabric.simulation().run()
    del thread


def test_a_wait_that_ends_with_its_program_takes_no_interrupt_from_others() -> None:
    fabric, at = with_bell()
    left, other = fabric.node("h0").thread(), fabric.node("h0").thread()
    message = fabric.node("d").vector(0).message

    async def watch() -> NoReturn:
        await fabric.sleep(50_000)
        raise TimeoutError

    async def rings() -> str:
        await other.store(at, 1, 4)
        await other.interrupt(message)
        return "came"

    with pytest.raises(TimeoutError):
        run_programs(fabric, [left.interrupt(message)], watch=watch())
    assert left.run(left.load(at, 4)) == 7
    assert other.run(rings()) == "came"


def test_a_thread_is_awaited_by_one_program_and_a_program_runs_once_in_its_simulation() -> None:
    (fabric, at), (other, _) = with_bell(), with_bell()
    thread = fabric.node("h0").thread()
    with pytest.raises(RuntimeError, match="another program awaits this thread of h0; make a"):
        run_programs(fabric, [thread.load(at, 4), thread.load(at, 4)])
    twice = thread.load(at, 4)
    with pytest.raises(ValueError, match="is given twice; call the async function once for each"):
        run_programs(fabric, [twice, twice])
    twice.close()
    with pytest.raises(ValueError, match="awaits a thread of another simulation; make the thread"):
        run_programs(other, [thread.load(at, 4)])

    async def sleeps() -> None:
        await fabric.sleep(100)

    with pytest.raises(ValueError, match=r"the time .* belongs to another simulation"):
        run_programs(other, [sleeps()])
    assert thread.run(thread.load(at, 4)) == 7


def test_a_strict_load_without_data_raises_with_the_reason() -> None:
    fabric, at = with_bell()
    thread = fabric.node("h0").thread()
    nowhere = at + (1 << 36)
    for address, why in ((at + 8, "completion timeout"), (nowhere, "unsupported request")):
        assert thread.run(thread.load(address, 4)) == 0xFFFF_FFFF
        with pytest.raises(RequestError, match=f"{why}: .*{address:#x}") as raised:
            thread.run(thread.load(address, 4, strict=True))
        assert raised.value.why == why
    assert thread.run(thread.load(at, 4, strict=True)) == 7


@pytest.mark.parametrize("by_thread", [False, True])
def test_a_read_that_times_out_is_recorded_by_its_root_port(*, by_thread: bool) -> None:
    fabric, at = with_bell()
    if by_thread:
        thread = fabric.node("h0").thread()
        assert thread.run(thread.load(at + 8, 4)) == 0xFFFF_FFFF
    else:
        fabric.wait(fabric.node("h0").begin_read(at + 8, 4))
    incidents = [(one.where, one.what) for one in fabric.result().incidents]
    assert incidents == [("h0 to d", "Completion Timeout")]
    assert fabric.node("h0").config_read("00:01.0", 0x104) == 1 << 14
