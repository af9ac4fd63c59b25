"""The nodes of Chakra execution traces become steps that take the same times."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from conftest import FOUR_GPUS
from peerlane import Fabric
from peerlane.importing.traffic.chakra.collectives import Collective, rounds, vector

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Run

GPUS = ["g0", "g1", "g2", "g3"]
LOAD, COMP, SEND, RECV, COLL = 2, 4, 5, 6, 7
ALL_REDUCE, GATHER, ALL_GATHER, BROADCAST, ALL_TO_ALL, REDUCE_SCATTER, BARRIER = 0, 3, 2, 5, 6, 7, 9
SIZE = 64 << 10


def varint(number: int) -> bytes:
    number %= 1 << 64
    return bytes([number % 128 + 128]) + varint(number // 128) if number > 127 else bytes([number])


def field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(8 * number) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(8 * number + 2) + varint(len(content)) + content


def attribute(name: str, value: int | str | list[bool]) -> bytes:
    """An attribute with a value of the type bool, int64, string or BoolList."""
    if isinstance(value, list):
        return field(1, name) + field(28, field(1, bytes(value)))
    kind = 27 if isinstance(value, bool) else 9 if isinstance(value, int) else 29
    return field(1, name) + field(kind, value)


def node(
    number: int, kind: int, after: tuple[int, ...] = (), us: int = 0, **attributes: Any
) -> bytes:
    written = field(1, number) + field(2, "a name") + field(3, kind)
    written += b"".join(field(4 + one % 2, one) for one in after) + field(7, us)
    return written + b"".join(field(10, attribute(*one)) for one in attributes.items())


def trace(*nodes: bytes) -> bytes:
    return b"".join(varint(len(one)) + one for one in (field(1, "0.0.4"), *nodes))


@pytest.fixture
def imported(peerlane: Run, tmp_path: Path) -> Callable[..., str]:
    """Writes the trace of each rank, and returns the scenario that is made of them."""
    (tmp_path / "machine.toml").write_text(FOUR_GPUS, encoding="utf-8")

    def scenario(*traces: bytes, options: tuple[str, ...] = ()) -> str:
        names = [f"t.{rank}.et" for rank in range(len(traces))]
        for name, content in zip(names, traces, strict=True):
            (tmp_path / name).write_bytes(content)
        command = ("import", "traffic", *names, "--fabric", "machine.toml", "--devices")
        done = peerlane(*command, ",".join(GPUS), *options).succeeds()
        assert done.err == ""
        return done.out

    return scenario


def pushes_of(text: str) -> list[dict[str, Any]]:
    return [one for one in tomllib.loads(text)["steps"] if one["work"] == "push"]


def pipeline(size: int = SIZE) -> tuple[bytes, bytes]:
    """A rank computes for 10 us and sends; the other one receives and computes for 20 us."""
    sends = node(7, SEND, (3,), comm_dst=1, comm_size=size, comm_tag=5)
    receives = node(2, RECV, comm_src=0, comm_size=size, comm_tag=5)
    return trace(node(3, COMP, us=10), sends), trace(receives, node(9, COMP, (2,), us=20))


def times(text: str) -> dict[str, tuple[float, float]]:
    """The nanoseconds at which each step of a scenario begins and ends."""
    steps = Fabric.from_toml(text).run().steps
    assert all(step.is_right for step in steps)
    ends = {step.id: (step.begin_ns, step.end_ns) for step in steps}
    return {name: (round(begin or 0, 3), round(end or 0, 3)) for name, (begin, end) in ends.items()}


def test_two_ranks_take_the_times_that_one_adds_up_by_hand(imported: Any) -> None:
    text = imported(*pipeline())
    assert [(one["device"], one["peer"], one["size"]) for one in pushes_of(text)] == [
        ("g0", "g1", "64 KiB")
    ]
    steps = times(text)
    # A kernel starts in 2 us.
    begin, end = steps["rank0-node7"]
    assert steps["rank0-node3"] == (2000.0, 12_000.0)
    assert begin == 12_000
    # Lanes of 8 GT/s with 128 bits in 130, and packets with at most 32 B of overhead for 128 B.
    wire = SIZE / (4 * 8 / 8 * 128 / 130)
    assert wire < end - begin < wire * (128 + 32) / 128
    # A flag takes less than the round trip through a switch.
    arrival, last = steps["rank1-node2"][0], steps["rank1-node9"]
    assert end + 100 < arrival < end + 2000
    assert last == pytest.approx((arrival, arrival + 20_000))
    unpaced = imported(*pipeline(), options=("--unpaced",))
    assert "# Left out: COMP_NODE (2)." in unpaced
    assert times(unpaced)["rank1-node2"] == pytest.approx((arrival - 10_000,) * 2, abs=50)


@pytest.mark.parametrize(
    ("kind", "bytes_", "operation", "algorithm"),
    [
        (ALL_REDUCE, 6 * SIZE, "all-reduce", "ring"),
        (ALL_GATHER, 12 * SIZE, "all-gather", "ring"),
        (REDUCE_SCATTER, 3 * SIZE, "reduce-scatter", "ring"),
        (ALL_TO_ALL, 3 * SIZE, "all-to-all", "one-shot"),
        (BROADCAST, 3 * SIZE, "broadcast", "one-shot"),
    ],
)
def test_a_collective_takes_the_time_of_a_schedule_of_its_operation(
    imported: Any, kind: int, bytes_: int, operation: Any, algorithm: Any
) -> None:
    text = imported(*[trace(node(0, COLL, comm_type=kind, comm_size=SIZE))] * 4)
    done = Fabric.from_toml(text).run()
    assert sum(one.bytes for one in done.steps) == bytes_
    whole = 4 * SIZE if kind == ALL_GATHER else SIZE
    fabric = Fabric.from_toml(FOUR_GPUS)
    fabric.schedule(operation, GPUS, algorithm=algorithm, size=whole, chunk=whole)
    (own,), (core,) = done.schedules, fabric.run().schedules
    assert own.time_ns == pytest.approx(core.time_ns, rel=0.02)


def moved(kind: Collective, ranks: int) -> list[dict[int, int]]:
    """What each rank has after the transfers of a collective, by the offsets of segments of 4 B.

    A segment is a set of bits: bit 8 r + s is of segment s of rank r.
    """
    whole = vector(kind, ranks, 4 if kind == ALL_GATHER else 4 * ranks)
    have = [{4 * s: 1 << 8 * r + s for s in range(ranks)} for r in range(ranks)]
    for transfers in rounds(kind, ranks, whole):
        before = [dict(one) for one in have]
        for one in transfers:
            for byte in range(0, one.size, 4):
                sent = before[one.source][one.offset + byte]
                have[one.target][one.place + byte] = sent
                if one.is_sum:
                    assert before[one.target][one.offset + byte] & sent == 0
                    have[one.target][one.offset + byte] |= sent
    return have


@pytest.mark.parametrize("ranks", [2, 3, 4, 5])
def test_each_rank_has_the_right_segments_after_a_collective(ranks: int) -> None:
    every = range(ranks)
    total = [sum(1 << 8 * r + s for r in every) for s in every]
    for have in moved(Collective.ALL_REDUCE, ranks):
        assert [have[4 * s] for s in every] == total
    parts = moved(Collective.REDUCE_SCATTER, ranks)
    assert sorted(s for have in parts for s in every if have[4 * s] == total[s]) == list(every)
    for have in moved(Collective.ALL_GATHER, ranks):
        assert [have[4 * s] for s in every] == [1 << 9 * s for s in every]
    for have in moved(Collective.BROADCAST, ranks):
        assert [have[4 * s] for s in every] == [1 << s for s in every]
    for to, have in enumerate(moved(Collective.ALL_TO_ALL, ranks)):
        assert [have[4 * (ranks + r)] for r in every if r != to] == [
            1 << 8 * r + to for r in every if r != to
        ]


def test_ranks_begin_a_collective_when_they_can_and_go_on_after_it(imported: Any) -> None:
    def rank(us: int) -> bytes:
        coll = node(1, COLL, (0,), comm_type=BARRIER)
        return trace(node(0, COMP, us=us), coll, node(2, COMP, (1,), us=1))

    text = imported(rank(5), rank(50), rank(5))
    assert "rounded" not in text
    steps = times(text)
    assert all(52_000 < steps[f"rank{rank}-node2"][0] < 52_000 + 12_000 for rank in range(3))
    late = [begin for name, (begin, _) in steps.items() if name.startswith("rank1-node1")]
    assert min(late) >= 52_000


def test_the_root_of_a_broadcast_goes_on_when_its_bytes_have_left(imported: Any) -> None:
    coll = node(1, COLL, comm_type=BROADCAST, comm_size=SIZE)
    text = imported(*[trace(coll, node(2, COMP, (1,), us=1))] * 3)
    assert "it is the first rank" in text
    steps = times(text)
    pushes = [steps[one["id"]][1] for one in pushes_of(text)]
    assert steps["rank0-node2"][0] == max(pushes)


def test_a_group_has_the_ranks_whose_collectives_name_it(imported: Any) -> None:
    def rank(group: str, size: int) -> bytes:
        coll = node(0, COLL, comm_type=ALL_GATHER, comm_size=size, pg_name=group, is_cpu_op=False)
        of_all: dict[str, Any] = {"pg_name": "0"} if group == "a" else {}
        return trace(coll, node(1, COLL, (0,), comm_type=ALL_GATHER, comm_size=8, **of_all))

    text = imported(rank("a", 64), rank("b", 128), rank("a", 64), rank("b", 128))
    moved = [(one["device"], one["peer"], one["size"]) for one in pushes_of(text)]
    assert set(moved[:4]) == {
        ("g0", "g2", "64 B"),
        ("g2", "g0", "64 B"),
        ("g1", "g3", "128 B"),
        ("g3", "g1", "128 B"),
    }
    assert len(moved[4:]) == 4 * 3


def test_a_size_becomes_a_multiple_of_a_word_for_each_rank(imported: Any) -> None:
    text = imported(*[trace(node(0, COLL, comm_type=ALL_REDUCE, comm_size=9))] * 3)
    assert "# Sizes that are no multiple of 4 B for each rank are rounded up: 1." in text
    assert {one["size"] for one in pushes_of(text)} == {"4 B"}
    assert times(text)


def test_nodes_that_are_not_used_are_counted_and_take_no_time(imported: Any) -> None:
    load = node(1, LOAD, (0,), us=500, tensor_size=64)
    one = trace(node(0, COMP, us=3), load, node(2, COMP, (1,), us=4))
    text = imported(one, one)
    assert "# Left out: MEM_LOAD_NODE (2)." in text
    assert times(text)["rank1-node2"] == (5000.0, 9000.0)


def test_sends_of_a_tag_are_received_in_their_order(imported: Any) -> None:
    sizes = (64, 128, 256)
    sent = [node(size, SEND, comm_dst=1, comm_size=size, comm_tag=size % 128) for size in sizes]
    received = [
        node(number, RECV, comm_src=0, comm_size=size, comm_tag=size % 128)
        for number, size in enumerate((128, 64, 256))
    ]
    steps = tomllib.loads(imported(trace(*sent), trace(*received)))["steps"]
    after = {one["id"]: one.get("after") for one in steps}
    assert after["rank1-node0"] == ["rank0-node128"]
    assert after["rank1-node1"] == ["rank0-node64"]
    assert after["rank1-node2"] == ["rank0-node256"]


def test_a_long_computation_has_its_time(imported: Any) -> None:
    text = imported(trace(node(0, COMP, us=120_000)), trace(node(0, COMP, us=1)))
    assert (
        sum(int(re.sub(r"\D", "", one["time"])) for one in tomllib.loads(text)["steps"]) == 120_001
    )


PROTOBUF = """
190a05302e302e3412100a0370696448fdffffffffffffffff014f08ac021207636f6d7075746518043005380742040a
025b5d520e0a0969735f6370755f6f70d80100520c0a016619000000000000f83f52080a01672d00000040520d0a0168
a90108000000000000006f08808080808020120373756d18072202ac022a04ac02ac02520d0a09636f6d6d5f74797065
4800520e0a09636f6d6d5f73697a6568802052150a0c696e766f6c7665645f64696de201040a020101520d0a0770675f
6e616d65ea01013052100a0374696448ffffffffffffffffff01
"""
"""A computation and an all-reduce, as the package protobuf writes them with Chakra's schema.

They have packed and single numbers, an id of 41 bits, and attributes of nine types.
"""


def test_a_trace_that_protobuf_wrote_is_read(imported: Any) -> None:
    steps = tomllib.loads(imported(*[bytes.fromhex(PROTOBUF)] * 2))["steps"]
    first, push = steps[0], steps[2]
    assert (first["id"], first["time"]) == ("rank0-node300", "7 us")
    assert (push["id"], push["size"]) == (f"rank0-node{1 << 40}", "2 KiB")
    assert push["after"] == ["rank0-node300"]


def coll(number: int = 0, **attributes: Any) -> bytes:
    return node(number, COLL, **({"comm_type": ALL_REDUCE, "comm_size": 64} | attributes))


SENT, RECEIVED = pipeline()
ERRORS: dict[str, tuple[tuple[bytes, ...], tuple[str, ...]]] = {
    "no trace": ((b"name = 1\n",), ("t.0.et is no Chakra execution trace", "GlobalMetadata")),
    "empty": ((b"",), ("t.0.et is no Chakra execution trace",)),
    "begins with a node": ((trace()[7:] + trace(coll()),), ("t.0.et is no Chakra", "GlobalMeta")),
    "no nodes": ((trace(),), ("t.0.et has no nodes",)),
    "nothing to do": ((trace(node(0, LOAD)),) * 2, ("t.1.et", "no computation and no commun")),
    "truncated": ((SENT[:-3], RECEIVED), ("t.0.et: node 2 of the file", "3 B are missing")),
    "truncated length": ((trace(coll()) + b"\x80",) * 2, ("t.0.et: node 2 of", "does not end")),
    "wire type": ((trace(b"\x0b"),), ("t.0.et: node 1 of the file", "wire type 3")),
    "type": ((trace(node(3, 99)),), ("t.0.et: node 3 has the unknown type 99",)),
    "one id twice": ((trace(coll(4), coll(4)),), ("t.0.et: node 4 is there twice",)),
    "no dependency": ((trace(node(4, COMP, (9,))),), ("t.0.et: node 4 depends on node 9",)),
    "cycle": (
        (trace(node(4, COMP, (9,)), node(9, COMP, (4,))),) * 2,
        ("waits for itself: after node", "of rank 0, after node 4 of rank 0"),
    ),
    "cycle of ranks": (
        tuple(
            trace(
                node(0, RECV, comm_src=1 - rank, comm_size=4),
                node(1, SEND, (0,), comm_dst=1 - rank, comm_size=4),
            )
            for rank in range(2)
        ),
        ("t.", "waits for itself: after node", "of rank 0, after", "of rank 1"),
    ),
    "send alone": ((SENT, trace(coll())), ("t.0.et: node 7 sends to rank 1 with tag 5",)),
    "receive alone": (
        (trace(node(0, COMP)), RECEIVED),
        ("t.1.et: node 2 receives from rank 0 with tag 5",),
    ),
    "sizes": ((SENT, pipeline(8)[1]), ("t.1.et: node 2 receives another size than node 7",)),
    "rank": (
        (trace(node(7, SEND, comm_dst=4, comm_size=4)),) * 2,
        ("t.0.et: node 7 has comm_dst 4", "no other file"),
    ),
    "other rank": (
        (trace(node(7, SEND, comm_src=1, comm_dst=1, comm_size=4)),) * 2,
        ("t.0.et: node 7 has comm_src 1", "of rank 0"),
    ),
    "no rank": ((trace(node(7, SEND, comm_size=4)),) * 2, ("t.0.et: node 7", "comm_dst")),
    "no size": (
        (trace(node(7, SEND, comm_dst=1, comm_tag=5)), RECEIVED),
        ("t.0.et: node 7 has no attribute comm_size",),
    ),
    "negative size": ((trace(coll(comm_size=-4)),) * 2, ("t.0.et: node 0", "comm_size")),
    "collective": ((trace(coll(3, comm_type=42)),) * 2, ("t.0.et: node 3", "42", "ALL_REDUCE")),
    "gather": ((trace(coll(3, comm_type=GATHER)),) * 2, ("node 3", "GATHER", "ALL_REDUCE")),
    "dimensions": (
        (trace(coll(3, involved_dim=[True, False])),) * 2,
        ("t.0.et: node 3", "involved_dim", "pg_name"),
    ),
    "unequal": (
        (trace(coll(3)), trace(coll(5, comm_size=128))),
        ("t.1.et: node 5 is ALL_REDUCE of 128 B", "node 3 of rank 0", "ALL_REDUCE of 64 B"),
    ),
    "not all": ((trace(coll(3)), RECEIVED), ("no node there sends",)),
    "a rank without it": (
        (trace(coll(3)), trace(node(0, COMP))),
        ("t.0.et: node 3", "rank 1 takes no part"),
    ),
    "time": ((trace(node(0, COMP, us=1 << 40)),) * 2, ("t.0.et: node 0 takes 1,099,",)),
    "one rank": ((trace(coll()),), ("t.0.et is of one rank", "all ranks")),
    "ranks": ((trace(coll()),) * 5, ("t.4.et is of rank 4", "--devices names 4")),
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_wrong_trace_is_refused_with_its_node(peerlane: Run, tmp_path: Path, name: str) -> None:
    traces, words = ERRORS[name]
    names = [f"t.{rank}.et" for rank in range(len(traces))]
    for one, content in zip(names, traces, strict=True):
        (tmp_path / one).write_bytes(content)
    peerlane("import", "traffic", *names, "--devices", ",".join(GPUS)).refuses(*words)


def test_files_and_options_that_do_not_fit_are_refused(peerlane: Run, tmp_path: Path) -> None:
    for name in ("t.0.et", "u.0.et", "t.et"):
        (tmp_path / name).write_bytes(SENT)
    traffic, gpus = ("import", "traffic"), ("--devices", "g0,g1")
    peerlane(*traffic, "t.et", *gpus).refuses("t.et has no rank", "trace.0.et")
    peerlane(*traffic, "t.0.et", "u.0.et", *gpus).refuses("t.0.et and u.0.et", "rank 0")
    peerlane(*traffic, "t.0.et", "log", *gpus).refuses("log has no rank")
    peerlane(*traffic, "t.0.et").refuses("--devices gpu0,gpu1")
    peerlane(*traffic, "t.0.et", *gpus, "--from", "g0").refuses("--from", "--devices")
    peerlane(*traffic, "log", *gpus).refuses("--devices", ".et")
