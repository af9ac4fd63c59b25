"""Pieces of any size become whole words; the last word of a transfer is marked."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from handshake import LIMIT, PACKETS, Sink, Source, never, pauses, reset, start_clock


def ends(dut: Any, source: Any, sink: Any) -> tuple[Source, Sink]:
    """Both ends of the packer."""
    taken = [dut.data_o, dut.bytes_o, dut.last_o]
    return (
        Source(dut.clk_i, [dut.data_i, dut.bytes_i], dut.valid_i, dut.ready_o, source),
        Sink(dut.clk_i, taken, dut.valid_o, dut.ready_i, sink),
    )


def words(data: bytes) -> list[tuple[int, int, int]]:
    """The words of a transfer: their bytes, number and mark."""
    parts = [data[at : at + 8] for at in range(0, len(data), 8)]
    last = len(parts) - 1
    return [(int.from_bytes(part, "little"), len(part), k == last) for k, part in enumerate(parts)]


async def give(dut: Any, source: Source, data: bytes, sizes: list[int]) -> None:
    """A transfer in pieces of these sizes; lanes behind a piece have any value."""
    pieces, at = [], 0
    for size in sizes:
        piece = data[at : at + size]
        pieces.append((int.from_bytes(piece.ljust(8, b"\xa5"), "little"), len(piece)))
        at += size
    await source.send(pieces)
    dut.end_i.value = 1
    await RisingEdge(dut.clk_i)
    dut.end_i.value = 0


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def the_words_are_the_bytes_of_the_pieces(dut: Any) -> None:
    """With every pair of pauses; the next transfer begins at once."""
    start_clock(dut.clk_i)
    await reset(dut, ["valid_i", "ready_i", "end_i"])
    draw = random.Random(1)
    for pair in pauses():
        source, sink = ends(dut, *pair)
        for _ in range(1 + PACKETS // 10):
            sizes = [[draw.randrange(1, 9) for _ in range(draw.randrange(0, 9))] for _ in range(3)]
            transfers = [draw.randbytes(sum(one)) for one in sizes]
            expected = [word for data in transfers for word in words(data)]

            async def all_of_them() -> None:
                for data, cut in zip(transfers, sizes, strict=True):  # noqa: B023 - awaited below
                    await give(dut, source, data, cut)  # noqa: B023
                    # The engine's next transfer begins later.
                    while int(dut.busy_o.value):
                        await RisingEdge(dut.clk_i)

            sending = cocotb.start_soon(all_of_them())
            assert await sink.collect(len(expected)) == expected
            await sending


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_piece_waits_for_the_last_word_before_it(dut: Any) -> None:
    """Nothing takes the word: a piece of the next transfer is not taken either."""
    start_clock(dut.clk_i)
    await reset(dut, ["valid_i", "ready_i", "end_i"])
    source, sink = ends(dut, never, never)
    await give(dut, source, b"abc", [3])
    sending = cocotb.start_soon(give(dut, source, b"defgh", [5]))
    for _ in range(5):
        await RisingEdge(dut.clk_i)
    assert not sending.done()
    assert await sink.collect(2) == words(b"abc") + words(b"defgh")
    await sending
