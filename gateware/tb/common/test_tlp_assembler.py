"""A header and a payload become a packet."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from handshake import LIMIT, PACKETS, Source, never, often, reset, start_clock
from packets import PacketSink, beats


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def packets_are_header_payload_and_zeros_to_the_dword(dut: Any) -> None:
    """Both sizes of header, without payload, and payloads of every alignment."""
    start_clock(dut.clk_i)
    inputs = ["header", "wide", "dwords", "header_valid", "data", "last", "valid", "ready"]
    await reset(dut, [f"{name}_i" for name in inputs])
    lanes = len(dut.data_i) // 8
    draw = random.Random(26)
    for pauses in ((never, never, never), (often(27), often(28), often(29))):
        headers, payload, expected = [], [], []
        for _ in range(PACKETS):
            header = draw.randbytes(draw.choice([12, 16]))
            lead = draw.randrange(4)
            content = draw.randbytes(
                draw.choice([0, draw.randrange(1, 20), draw.randrange(1, 200)])
            )
            size = (lead + len(content) + 3) // 4 if content else 0
            headers.append((int.from_bytes(header, "little"), int(len(header) == 16), size))
            if content:
                shifted = bytes(len(header) % lanes + lead) + content
                parts = beats(shifted + bytes(-len(shifted) % lanes), lanes)
                payload += [(data, last) for data, _, _, last in parts]
            expected.append(
                header
                + bytes(lead * (size > 0))
                + content
                + bytes(4 * size - lead * (size > 0) - len(content))
            )
        asked = [dut.header_i, dut.wide_i, dut.dwords_i]
        front = Source(dut.clk_i, asked, dut.header_valid_i, dut.header_ready_o, pauses[0])
        back = Source(dut.clk_i, [dut.data_i, dut.last_i], dut.valid_i, dut.ready_o, pauses[1])
        cocotb.start_soon(front.send(headers))
        cocotb.start_soon(back.send(payload))
        sink = PacketSink(dut, pauses[2])
        assert await sink.packets(len(expected)) == expected
