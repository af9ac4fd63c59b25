"""Programs on hosts, told from Python what to do."""

from __future__ import annotations

import pytest

from conftest import PAIR
from peerlane import Fabric, Hand, Simulation, run_programs


def simulation() -> Simulation:
    return Fabric.from_toml(PAIR).without_flows().simulation()


def bar(of: Simulation) -> int:
    return of.tree().nodes["b"].regions[0].base


def test_a_program_finds_in_a_register_what_it_put_there() -> None:
    fabric = simulation()
    hand = fabric.hand("h0")
    at = bar(fabric)

    async def program() -> int:
        await hand.store(at, 0x1122_3344_5566_7788)
        return await hand.load(at + 4, 4)

    assert hand.run(program()) == 0x1122_3344


def test_work_takes_as_long_as_it_says_and_thought_takes_no_time() -> None:
    fabric = simulation()
    hand = fabric.hand("h0")

    async def program() -> tuple[float, float]:
        began = hand.now_ns
        sum(range(10_000))
        thought = hand.now_ns - began
        await hand.work(70)
        return thought, hand.now_ns - began

    assert hand.run(program()) == (0, 70)


def test_copies_are_charged_by_the_page_each_way() -> None:
    costs = {"buffer_write_rate": "4.096 GB/s", "buffer_read_rate": "40.96 GB/s"}
    fabric = Fabric("alone").host("h0", memory="1 MiB", **costs).device("a", "h0").simulation()
    hand = fabric.hand("h0")

    async def program() -> tuple[float, float, bytes]:
        async with hand.pinned(8192) as buffer:
            began = hand.now_ns
            await hand.put(buffer + 4090, b"across a boundary")
            put = hand.now_ns - began
            taken = await hand.take(buffer + 4090, 17)
            return put, hand.now_ns - began - put, taken

    put, take, taken = hand.run(program())
    assert (put, take) == pytest.approx((2000, 200))
    assert taken == b"across a boundary"


def test_programs_run_side_by_side() -> None:
    fabric = simulation()
    order = []

    async def program(name: str, hand: Hand, ns: float) -> str:
        for _ in range(3):
            await hand.work(ns)
            order.append(name)
        return name

    hands = [fabric.hand("h0"), fabric.hand("h0")]
    both = [program("slow", hands[0], 100), program("quick", hands[1], 45)]
    assert run_programs(fabric, both) == ["slow", "quick"]
    assert order == ["quick", "quick", "slow", "quick", "slow", "slow"]


def test_a_program_hears_of_a_write_of_a_device_to_its_memory() -> None:
    fabric = simulation()
    hand = fabric.hand("h0")

    async def program() -> bytes:
        async with hand.pinned(4096) as buffer:
            fabric.write("a", buffer + 64, b"news")
            while not hand.look(buffer + 64, 1)[0]:
                await hand.written(buffer + 64)
            return hand.look(buffer + 64, 4)

    assert hand.run(program()) == b"news"


def test_a_program_that_waits_for_nothing_is_told() -> None:
    fabric = simulation()
    hand = fabric.hand("h0")
    with pytest.raises(RuntimeError, match="nothing is left to happen"):
        hand.run(hand.interrupt(7))


def test_wrong_accesses_and_hosts_are_refused() -> None:
    fabric = simulation()
    hand = fabric.hand("h0")
    with pytest.raises(ValueError, match="within a 4 KiB page"):
        hand.run(hand.load(4092, 8))
    with pytest.raises(ValueError, match="not a possible time to work"):
        hand.run(hand.work(-1))
    with pytest.raises(ValueError, match="no processor"):
        fabric.hand("a")
    with pytest.raises(ValueError, match="no node"):
        fabric.hand("h9")
    with pytest.raises(ValueError, match="left together"):
        fabric.allocate("h0", 1 << 30)
