"""Parallel programs on the hosts of a fabric: what they send, wait for, and do wrong."""

from __future__ import annotations

import asyncio
import doctest
import random
import runpy
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from peerlane import Deadlock, Fabric, Message, Rank, ScenarioError, Simulation, run_ranks
from peerlane.ranks import run as ranks_run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from peerlane import Window
    from peerlane.ranks.rank import Handle

ROOT = Path(__file__).parents[2]


def cluster(size: int = 2, **nic: Any) -> Fabric:
    fabric = Fabric("cluster").links(generation=3, lanes=8).controller("c", ports=size)
    for number in range(size):
        fabric.host(f"h{number}").device(f"n{number}", f"h{number}", model="nic", **nic)
    return fabric


def pattern(size: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(size)


@pytest.mark.parametrize("rendezvous", ["put", "get"])
@pytest.mark.parametrize("eager", ["immediate", "indirect"])
def test_bytes_and_tags_arrive_as_they_were_sent(eager: str, rendezvous: str) -> None:
    sizes = [0, 1, 63, 1536, 1537, 2048, 2049, 100_000]

    async def program(rank: Rank) -> list[Message]:
        if rank.number == 0:
            for tag, size in enumerate(sizes):
                await rank.send(1, pattern(size), tag)
            return []
        return [await rank.receive(0, tag) for tag in range(len(sizes))]

    got = run_ranks(cluster(), program, eager=eager, rendezvous=rendezvous).values[1]
    assert got == [Message(0, tag, pattern(size)) for tag, size in enumerate(sizes)]


def test_messages_of_one_rank_come_in_order_and_tags_choose_among_them() -> None:
    async def program(rank: Rank) -> list[bytes]:
        if rank.number == 0:
            for place, tag in enumerate((5, 6, 5, 6)):
                await rank.send(1, bytes([place]), tag)
            return []
        wanted = (6, None, None, 6)
        return [(await rank.receive(0, tag)).data for tag in wanted]

    assert run_ranks(cluster(), program).values[1] == [b"\1", b"\0", b"\2", b"\3"]


def test_a_receive_from_anybody_gets_the_messages_of_all() -> None:
    async def program(rank: Rank) -> set[tuple[int, int]]:
        if rank.number == 0:
            got = [await rank.receive() for _ in range(2 * (rank.size - 1))]
            return {(message.source, message.tag) for message in got}
        await rank.send(0, b"", rank.number)
        await rank.send(0, bytes(5000), 100 + rank.number)
        return set()

    values = run_ranks(cluster(16), program).values
    assert values[0] == {(rank, tag) for rank in range(1, 16) for tag in (rank, 100 + rank)}


def test_a_buffer_may_be_anything_with_bytes() -> None:
    grid: Any = np.arange(12, dtype=np.int32).reshape(3, 4)

    async def program(rank: Rank) -> list[bytes]:
        if rank.number == 0:
            for data in (grid[:, 1], array("d", [1.5]), bytearray(b"abc"), memoryview(b"d")):
                await rank.send(1, data)
            return []
        return [(await rank.receive()).data for _ in range(4)]

    expected = [grid[:, 1].tobytes(), array("d", [1.5]).tobytes(), b"abc", b"d"]
    assert run_ranks(cluster(), program).values[1] == expected


def test_a_rank_sends_to_itself() -> None:
    async def program(rank: Rank) -> bytes:
        await rank.send(rank.number, b"own")
        return (await rank.receive(rank.number)).data

    assert run_ranks(cluster(1), program).values == (b"own",)


def test_what_is_begun_goes_on_while_a_rank_computes() -> None:
    async def program(rank: Rank) -> list[int]:
        other = 1 - rank.number
        receiving = [await rank.begin_receive(other, tag) for tag in range(4)]
        sending = [await rank.begin_send(other, bytes([tag]) * 900, tag) for tag in range(4)]
        await rank.compute("20 us")
        begin = rank.now_ns
        got = [(await handle).data[0] for handle in reversed(receiving)]
        for handle in sending:
            await handle
        assert rank.now_ns - begin < 5000
        return got

    assert run_ranks(cluster(), program).values == ([3, 2, 1, 0],) * 2


def test_ranks_around_a_ring_send_and_receive_at_once() -> None:
    async def program(rank: Rank) -> int:
        right, left = (rank.number + 1) % rank.size, (rank.number - 1) % rank.size
        data = bytes([rank.number]) * 40_000
        return (await rank.send_receive(right, data, left, tag=3, source_tag=3)).data[-1]

    assert run_ranks(cluster(5), program).values == (4, 0, 1, 2, 3)


def test_collectives_bring_the_same_to_all() -> None:
    async def program(rank: Rank) -> tuple[bytes, list[float], list[int], list[int]]:
        data = await rank.broadcast(pattern(3000) if rank.number == 2 else 3000, root=2)
        own: Any = np.array([rank.number, 0.5])
        large: Any = np.array([2**63 + rank.number], dtype=np.uint64)
        total = await rank.all_reduce(own)
        most = await rank.all_reduce(array("i", [rank.number, -rank.number]), "max")
        least = await rank.all_reduce(large, "min")
        return data, total.tolist(), most.tolist(), least.tolist()

    expected = (pattern(3000), [10.0, 2.5], [4, 0], [2**63])
    assert run_ranks(cluster(5), program).values == (expected,) * 5


def test_time_passes_in_calls_only_and_a_barrier_is_left_together() -> None:
    async def program(rank: Rank) -> tuple[float, float, float]:
        begin = rank.now_ns
        await rank.compute(f"{rank.number + 1} us")
        came = rank.now_ns
        await rank.barrier()
        return begin, came, rank.now_ns

    run = run_ranks(cluster(3), program)
    assert [came - begin for begin, came, _ in run.values] == pytest.approx([1000, 2000, 3000])
    assert {begin for begin, _, _ in run.values} == {run.began_ns}
    assert min(left for *_, left in run.values) > max(came for _, came, _ in run.values)
    assert run.ended_ns == tuple(left for *_, left in run.values)
    assert run.elapsed_ns == max(run.ended_ns) - run.began_ns
    assert run.result.failures == []


def test_windows_are_written_and_read_without_their_rank() -> None:
    async def program(rank: Rank) -> bytes:
        windows = await rank.allocate(1000 * rank.number)
        assert [window.size for window in windows] == [0, 1000, 2000]
        if rank.number == 0:
            await rank.put(windows[2], b"put", offset=1997)
            await rank.send(2, b"")
            return await rank.get(windows[1], 6, offset=10)
        if rank.number == 1:
            rank.store(windows[1], b"stored", offset=10)
            await rank.compute("10 us")
            return b""
        await rank.receive(0)
        return rank.load(windows[2], offset=1996)

    assert run_ranks(cluster(3), program).values == (b"stored", b"", b"\0put")


def test_the_same_program_takes_the_same_time() -> None:
    async def program(rank: Rank) -> float:
        for other in range(rank.size):
            await rank.send_receive(other, bytes(700 * rank.number), size=1 << 16)
        return rank.now_ns

    runs = [run_ranks(cluster(8), program) for _ in range(2)]
    assert runs[0].values == runs[1].values


def test_ranks_and_workloads_share_a_fabric() -> None:
    simulation = Simulation.open(ROOT / "scenarios" / "supernode.toml")

    async def program(rank: Rank) -> int:
        return int((await rank.all_reduce(array("I", [1])))[0])

    for _ in range(2):
        ran = run_ranks(simulation, program)
        assert (ran.nics, ran.values) == (("nic-left", "nic-right"), (2, 2))
    assert simulation.run().failures == []


def test_nics_are_chosen_and_may_have_several_ranks() -> None:
    async def program(rank: Rank) -> int:
        return int((await rank.all_reduce(array("I", [1 << rank.number])))[0])

    fabric = cluster(3, virtual_functions=1)
    run = run_ranks(fabric, program, nics=["n2", "n0", "n2"])
    assert (run.nics, run.values) == (("n2", "n0", "n2"), (7, 7, 7))
    with pytest.raises(ValueError, match="no function of n2 is left"):
        run_ranks(fabric, program, nics=["n2"] * 3)
    with pytest.raises(ValueError, match="h0 is not a network interface controller"):
        run_ranks(fabric, program, nics=["h0"])
    with pytest.raises(TypeError, match=r"write \['n2'\]"):
        run_ranks(fabric, program, nics="n2")
    with pytest.raises(ValueError, match="there is no nic"):
        run_ranks(Fabric().host("h"), program)


def test_a_program_for_each_rank() -> None:
    async def first(rank: Rank) -> str:
        await rank.send(1, b"x")
        return "first"

    async def second(rank: Rank) -> str:
        await rank.receive(0)
        return "second"

    assert run_ranks(cluster(), [first, second]).values == ("first", "second")
    with pytest.raises(ValueError, match="1 programs for 2 ranks"):
        run_ranks(cluster(), [first])


def test_ranks_that_wait_for_each_other_are_a_deadlock() -> None:
    async def program(rank: Rank) -> None:
        await rank.receive(1 - rank.number, tag=7)

    message = r"rank 0 in receive\(source=1, tag=7\) \(test_ranks.py:\d+\); rank 1 in receive"
    with pytest.raises(Deadlock, match=message):
        run_ranks(cluster(), program)


@pytest.mark.parametrize(("size", "count"), [(10, 9), (10_000, 1)])
def test_a_rank_that_has_ended_takes_nothing_in(size: int, count: int) -> None:
    async def program(rank: Rank) -> None:
        for _ in range(count * (1 - rank.number)):
            await rank.send(1, bytes(size))

    with pytest.raises(Deadlock, match=r"rank 0 in send\(1, .*; rank 1 ended"):
        run_ranks(cluster(), program, share=8)


def test_unequal_collectives_are_told() -> None:
    async def differ(rank: Rank) -> None:
        await (rank.barrier() if rank.number else rank.broadcast(b"abc"))

    with pytest.raises(ValueError, match=r"rank 1 calls barrier\(\), and rank 0 broadcast of 3"):
        run_ranks(cluster(), differ)

    async def leave(rank: Rank) -> None:
        if rank.number:
            await rank.barrier()

    with pytest.raises(Deadlock, match=r"rank 0 ended; rank 1 in barrier\(\)"):
        run_ranks(cluster(), leave)


def test_what_nobody_has_received_is_told() -> None:
    async def astray(rank: Rank) -> None:
        if rank.number == 0:
            await rank.send(1, b"one", tag=1)
        elif rank.number == 1:
            await rank.receive(0, tag=2)

    why = r"ranks 0, 2 ended; rank 1 in receive.*; messages .*: 1 of rank 0 to rank 1 with tag 1$"
    with pytest.raises(Deadlock, match=why):
        run_ranks(cluster(3), astray)

    async def forgetful(rank: Rank) -> None:
        if rank.number == 0:
            for tag in (5, 5, 6):
                await rank.send(1, b"one", tag=tag)
        else:
            await rank.receive(0, tag=5)

    assert run_ranks(cluster(2), forgetful).unreceived == {(0, 1, 5): 1, (0, 1, 6): 1}


def test_an_exception_comes_out_with_its_rank_and_others_are_closed() -> None:
    closed: list[int] = []

    async def program(rank: Rank) -> None:
        try:
            await rank.barrier()
            if rank.number == 1:
                raise KeyError("mine")
            await rank.barrier()
        finally:
            closed.append(rank.number)

    with pytest.raises(KeyError, match="mine") as raised:
        run_ranks(cluster(3), program)
    assert raised.value.__notes__ == ["This is from the program of rank 1."]
    assert raised.traceback[-1].name == "program"
    assert sorted(closed) == [0, 1, 2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rank: rank.send(2, b""), "there is no rank 2; write 0 to 1"),
        (lambda rank: rank.receive(-1), "there is no rank -1"),
        (lambda rank: rank.send(0, b"", tag=-1), "there is no tag -1; write 0 to 4294967295"),
        (lambda rank: rank.send(0, "text"), "a bytes-like object is required"),
        (lambda rank: rank.receive(size=1 << 31), "too many at once"),
        (lambda rank: rank.receive(size=1 << 30), "h0 has no 1073741824 bytes of memory left"),
        (lambda rank: rank.compute("5"), 'write "5 ns"'),
        (lambda rank: rank.broadcast(3), "rank 0 is the root of the broadcast; give its bytes"),
        (lambda rank: rank.all_reduce(b"123"), "cannot combine numbers of the format 'B'"),
        (lambda rank: rank.all_reduce(array("d", [1]), "xor"), "write one of sum, min, max"),
        (lambda rank: rank.put("there", b""), "not a window of this job"),
        (lambda _: asyncio.sleep(0), "may await only calls of its rank"),
    ],
)
def test_a_wrong_call_is_told_where_it_is_made(
    call: Callable[[Rank], Awaitable[object]], message: str
) -> None:
    async def program(rank: Rank) -> None:
        await call(rank)

    with pytest.raises((ValueError, TypeError), match=message) as raised:
        run_ranks(cluster(), program)
    assert raised.value.__notes__ == ["This is from the program of rank 0."]


def test_asyncio_is_told_to_be_elsewhere() -> None:
    async def program(_: Rank) -> None:
        await asyncio.sleep(1)

    with pytest.raises(RuntimeError) as raised:
        run_ranks(cluster(), program)
    assert "rank.compute" in raised.value.__notes__[-1]


def test_what_is_not_awaited_is_told() -> None:
    async def forgets(rank: Rank) -> None:
        rank.send(0, b"")

    async def forgets_then_waits(rank: Rank) -> None:
        rank.send(0, b"")
        await rank.barrier()

    for program in (forgets, forgets_then_waits):
        with pytest.raises(RuntimeError, match=r"write `await rank.send\(...\)`"):
            run_ranks(cluster(), program)

    async def never_ends(rank: Rank) -> None:
        await rank.begin_send(0, b"")

    with pytest.raises(RuntimeError, match="was begun and never ended"):
        run_ranks(cluster(), never_ends)

    async def ends_twice(rank: Rank) -> None:
        handle = await rank.begin_send(0, b"")
        await handle
        await handle

    with pytest.raises(RuntimeError, match="has been awaited before"):
        run_ranks(cluster(), ends_twice)


def test_what_is_not_async_is_told() -> None:
    def program(_: Rank) -> int:
        return 3

    with pytest.raises(TypeError, match="write it as an `async def`"):
        run_ranks(cluster(), program)  # type: ignore[arg-type]


def test_a_message_without_room_is_told() -> None:
    async def program(rank: Rank) -> None:
        if rank.number == 0:
            await rank.send(1, bytes(2000), 9)
        else:
            await rank.receive(size=1999)

    with pytest.raises(
        ValueError, match="2000 bytes from rank 0 with tag 9 does not fit into 1999 bytes"
    ):
        run_ranks(cluster(), program)


def test_what_is_outside_of_a_window_does_not_go() -> None:
    async def program(rank: Rank) -> list[str]:
        windows = await rank.allocate(100)
        if rank.number:
            return []
        wrong: list[Callable[[], Awaitable[object]]] = [
            lambda: rank.put(windows[1], b"ab", offset=99),
            lambda: rank.get(windows[1], 101),
            lambda: rank.get(windows[1], offset=101),
            lambda: rank.get(windows[1], 1, offset=-1),
        ]
        return [await refusal(call) for call in wrong]

    async def refusal(call: Callable[[], Awaitable[object]]) -> str:
        with pytest.raises(ValueError, match=r"not within|there is no") as raised:
            await call()
        return str(raised.value)

    told = run_ranks(cluster(), program).values[0]
    assert told[0] == "2 bytes at 99 are not within the 100 bytes of the window of rank 1"
    assert all("within" in one or "-1" in one for one in told)


def test_windows_and_ranks_belong_to_their_job() -> None:
    kept: list[Any] = []

    async def first(rank: Rank) -> None:
        windows: tuple[Window, ...] = await rank.allocate(10)
        handle: Handle[None] = await rank.begin_send(rank.number, b"")
        await handle
        kept.extend([windows[0], rank])

    async def put(rank: Rank) -> None:
        await rank.put(kept[0], b"x")

    async def borrow(_: Rank) -> None:
        await kept[1].barrier()

    run_ranks(cluster(1), first)
    with pytest.raises(ValueError, match="not a window of this job"):
        run_ranks(cluster(1), put)
    with pytest.raises(RuntimeError, match="only the program of <rank 0 of 1> can await this"):
        run_ranks(cluster(1), borrow)


def test_parameters_are_those_of_the_layer() -> None:
    async def program(rank: Rank) -> float:
        await rank.send_receive(1 - rank.number, bytes(1200))
        return rank.now_ns

    times = [run_ranks(cluster(), program, eager_limit=limit).values for limit in ("0 B", "2 kB")]
    assert times[0] != times[1]
    with pytest.raises(ScenarioError, match=r'"eager_limt" of ranks; did you mean "eager_limit"\?'):
        run_ranks(cluster(), program, eager_limt="1 KiB")
    with pytest.raises(ScenarioError, match="eager_limit: 4 KiB is out of range"):
        run_ranks(cluster(), program, eager_limit="4 KiB")
    with pytest.raises(ValueError, match="has its seed already"):
        run_ranks(cluster().simulation(), program, seed=1)


def test_many_operations_leave_no_memory_behind() -> None:
    async def program(rank: Rank) -> int:
        for _ in range(300):
            await rank.send_receive(1 - rank.number, bytes(4000), size=500_000)
        return 300

    fabric = cluster().set("h0", memory="2 MiB").set("h1", memory="2 MiB")
    assert run_ranks(fabric, program).values == (300, 300)


def test_the_example_of_run_ranks_holds() -> None:
    tested = doctest.testmod(ranks_run)
    assert (tested.attempted > 0, tested.failed) == (True, 0)


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_an_example_runs(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out
