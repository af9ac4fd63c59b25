"""Packets of several streams leave whole, each in the order of its stream."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from handshake import LIMIT, PACKETS, often, reset, start_clock
from packets import PacketSink, beats


async def feed(dut: Any, queues: list[list[bytes]], share: float) -> None:
    """Offer the packets of each queue at its port; all ports share their signals."""
    lanes = len(dut.data_o) // 8
    count = len(dut.bytes_o)
    waiting = [[beat for packet in queue for beat in beats(packet, lanes)] for queue in queues]
    offered = [False] * len(queues)
    draw = random.Random(4)
    while any(waiting):
        fields = [0] * 5
        for port, queue in enumerate(waiting):
            offered[port] = bool(queue) and (offered[port] or draw.random() < share)
            if offered[port]:
                data, size, first, last = queue[0]
                fields[0] |= data << port * lanes * 8
                fields[1] |= size << port * count
                for k, bit in enumerate((first, last, 1)):
                    fields[2 + k] |= bit << port
        names = ("data", "bytes", "first", "last", "valid")
        for name, value in zip(names, fields, strict=True):
            getattr(dut, f"{name}_i").value = value
        await ReadOnly()
        ready = int(dut.ready_o.value)
        await RisingEdge(dut.clk_i)
        for port, queue in enumerate(waiting):
            if offered[port] and ready >> port & 1:
                queue.pop(0)
                offered[port] = False
    dut.valid_i.value = 0


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def packets_leave_whole_and_in_order(dut: Any) -> None:
    """Random packets at each port, with pauses at all interfaces."""
    start_clock(dut.clk_i)
    await reset(dut, ["data_i", "bytes_i", "first_i", "last_i", "valid_i", "ready_i"])
    ports = int(dut.PORTS.value)
    draw = random.Random(5)
    queues = [
        [bytes([port]) + draw.randbytes(draw.randrange(1, 80)) for _ in range(PACKETS // 2)]
        for port in range(ports)
    ]
    cocotb.start_soon(feed(dut, queues, 0.6))
    sink = PacketSink(dut, often(6))
    received = await sink.packets(sum(map(len, queues)))
    for port, queue in enumerate(queues):
        assert [packet for packet in received if packet[0] == port] == queue


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def an_urgent_port_is_served_first(dut: Any) -> None:
    """With packets at every port: packets of urgent ports first, then the others in turns."""
    start_clock(dut.clk_i)
    await reset(dut, ["data_i", "bytes_i", "first_i", "last_i", "valid_i", "ready_i"])
    ports, fixed = int(dut.PORTS.value), int(dut.FIXED.value)
    queues = [[bytes([port]) * 40 for _ in range(6)] for port in range(ports)]
    cocotb.start_soon(feed(dut, queues, 1.0))
    received = [packet[0] for packet in await PacketSink(dut, often(7)).packets(6 * ports)]
    urgent = [port for port in range(fixed) for _ in range(6)]
    assert received == urgent + [port for _ in range(6) for port in range(fixed, ports)]
