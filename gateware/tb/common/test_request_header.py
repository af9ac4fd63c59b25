"""Headers of memory requests are those that an independent implementation makes."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge, Timer
from cocotbext.pcie.core.tlp import Tlp, TlpAttr, TlpType
from cocotbext.pcie.core.utils import PcieId
from handshake import PACKETS, start_clock


def expected(address: int, count: int, fields: tuple[bool, int, int, int]) -> bytes:
    """The header as cocotbext-pcie packs it."""
    write, tag, requester, order = fields
    tlp = Tlp()
    wide = address >= 1 << 32
    kinds = (TlpType.MEM_READ, TlpType.MEM_READ_64, TlpType.MEM_WRITE, TlpType.MEM_WRITE_64)
    tlp.fmt_type = kinds[2 * write + wide]
    tlp.requester_id = PcieId.from_int(requester)
    tlp.tag = tag
    tlp.attr = TlpAttr(order)
    tlp.set_addr_be(address, count)
    if write:
        tlp.set_data(bytes(tlp.length * 4))
    return bytes(tlp.pack_header())


@cocotb.test()
async def headers_are_as_an_independent_implementation_packs_them(dut: Any) -> None:
    """Reads and writes of every alignment, short and long, below and above 4 GiB."""
    start_clock(dut.clk_i)
    await RisingEdge(dut.clk_i)
    draw = random.Random(11)
    cases = [
        (base + offset, count)
        for base in (0x1000, 1 << 40)
        for offset in range(4)
        for count in range(1, 14)
    ]
    for _ in range(5 * PACKETS):
        address = draw.getrandbits(draw.choice([31, 32, 33, 64]))
        cases.append((address, draw.randrange(1, 4097 - address % 4096)))
    for address, count in cases:
        write = bool(draw.getrandbits(1))
        tag, requester, order = draw.getrandbits(8), draw.getrandbits(16), draw.getrandbits(2)
        dut.write_i.value = write
        dut.address_i.value, dut.bytes_i.value = address, count
        dut.requester_i.value, dut.tag_i.value = requester, tag
        dut.traffic_class_i.value, dut.ordering_i.value = 0, order
        dut.load_i.value = 1
        await RisingEdge(dut.clk_i)
        dut.load_i.value, dut.address_i.value, dut.bytes_i.value = 0, draw.getrandbits(64), 1
        await RisingEdge(dut.clk_i)
        await Timer(1, unit="ns")
        header = expected(address, count, (write, tag, requester, order))
        assert int(dut.wide_o.value) == (len(header) == 16)
        assert int(dut.header_o.value) == int.from_bytes(header, "little")
        assert int(dut.dwords_o.value) == (address % 4 + count + 3) // 4
