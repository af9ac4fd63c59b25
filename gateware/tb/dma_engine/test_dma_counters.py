"""The counters count packets, bytes, waiting and events, each a cycle later."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from handshake import LIMIT, PACKETS, drive, read, reset, start_clock

TLPS, BYTES, RECEIVED_TLPS, RECEIVED_BYTES, WIRE, EVENTS, END = 0, 1, 2, 3, 4, 5, 13
"""Numbers of the counters, that of the first event, and that after the last one."""
KINDS = {0x00: False, 0x20: False, 0x0A: False, 0x40: True, 0x60: True, 0x4A: True, 0x30: False}
"""Format and type, and whether such a packet has data."""


def front(draw: random.Random) -> tuple[int, int]:
    """The first four bytes of a packet as a beat has them, and the bytes of its payload."""
    kind = draw.choice(list(KINDS))
    dwords = draw.choice([1, 255, 256, 1024, draw.randint(1, 1024)])
    other = draw.getrandbits(8) << 8 | (draw.getrandbits(6) << 18)
    field = dwords % 1024
    data = kind | other | field >> 8 << 16 | (field & 0xFF) << 24
    return data, 4 * dwords * KINDS[kind]


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def each_counter_counts_its_own_and_goes_on_after_its_end(dut: Any) -> None:
    """Random beats, waits, events and resets; a counter that is not read gives 0."""
    start_clock(dut.clk_i)
    names = ["tx_valid", "tx_ready", "tx_first", "tx_data", "rx_move", "rx_first", "rx_data"]
    await reset(dut, [f"{name}_i" for name in [*names, "events", "number", "read"]])
    size = 1 << int(dut.BITS.value)
    draw, counts, coming = random.Random(4), [0] * 16, [0] * 16
    for _ in range(60 * PACKETS):
        valid, ready, first, move, begins = (int(draw.random() < 0.7) for _ in range(5))
        restart = int(draw.random() < 0.003)
        (sent, sent_bytes), (received, received_bytes) = front(draw), front(draw)
        events = draw.getrandbits(8) & draw.getrandbits(8)
        number, reads = draw.randrange(16), int(draw.random() < 0.9)
        drive(dut, tx_valid=valid, tx_ready=ready, tx_first=first, tx_data=sent, rst=restart)
        drive(dut, rx_move=move, rx_first=begins, rx_data=received, events=events)
        drive(dut, number=number, read=reads)
        await ReadOnly()
        assert read(dut, "count") == (counts[number] % size * reads,), number
        await RisingEdge(dut.clk_i)
        counts = [count + more for count, more in zip(counts, coming, strict=True)]
        coming = [0] * 16
        if valid and ready and first:
            coming[TLPS], coming[BYTES] = 1, sent_bytes
        if move and begins:
            coming[RECEIVED_TLPS], coming[RECEIVED_BYTES] = 1, received_bytes
        coming[WIRE] = int(valid and not ready)
        for number in range(EVENTS, END):
            coming[number] = events >> number - EVENTS & 1
        if restart:
            counts, coming = [0] * 16, [0] * 16
