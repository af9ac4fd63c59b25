"""Each error that a part of the engine detects is reported once."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from handshake import LIMIT, PACKETS, drive, read, reset, start_clock

UNEXPECTED, TIMEOUT = 2, 3
"""Values of `err_kind_o`: an Unexpected Completion, and a completion timeout."""
READER, LISTS, WRITE_LIST, READ_LIST, REQUEST = range(5)
"""The sources of errors that wait: completions of the read unit or of the lists; requests."""
TAGS = {WRITE_LIST: 16, READ_LIST: 17}
TAG_BYTE = 6


class Errors:
    """The circuit, and the errors that it has still to report."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.draw = dut, random.Random(seed)
        self.waiting: set[int] = set()
        self.tag = 0
        self.headers = [bytes(16), bytes(16)]
        """Of the last unexpected completion of the read unit and of the lists."""

    async def begin(self) -> None:
        """Clock and reset."""
        start_clock(self.dut.clk_i)
        inputs = ["stop", "received", "received_kind", "received_header", "unexpected"]
        inputs += ["unexpected_header", "timed_out", "tag", "list_timed_out", "list_tags"]
        await reset(self.dut, [f"{name}_i" for name in inputs])
        drive(self.dut, list_tags=TAGS[READ_LIST] << 8 | TAGS[WRITE_LIST])

    async def cycle(self, share: float, *, stop: int = 0, restart: int = 0) -> None:
        """A cycle in which each part detects an error in a share of the cycles."""
        dut, draw = self.dut, self.draw
        received, kind, header = int(draw.random() < share), draw.randrange(6), draw.randbytes(16)
        new = {one for one in range(5) if one not in self.waiting and draw.random() < share}
        tag = draw.getrandbits(8)
        drive(dut, stop=stop, rst=restart, tag=tag, timed_out=REQUEST in new)
        drive(dut, received=received, received_kind=kind)
        drive(dut, received_header=int.from_bytes(header, "big"))
        drive(dut, unexpected=(READER in new) | (LISTS in new) << 1)
        drive(dut, list_timed_out=(WRITE_LIST in new) | (READ_LIST in new) << 1)
        await ReadOnly()
        valid, busy, ready = read(dut, "valid", "busy", "timed_out_ready")
        assert valid == ((received or bool(self.waiting)) and not stop)
        assert busy == bool(self.waiting)
        assert ready == (REQUEST not in self.waiting)
        if valid:
            found = read(dut, "kind")[0], read(dut, "header")[0].to_bytes(16, "little")
            if received:
                assert found == (kind, header)
            else:
                self.report(*found)
        else:
            assert read(dut, "header") == (0,)
            if not received and self.waiting:
                self.waiting.remove(min(self.waiting))
        await RisingEdge(dut.clk_i)
        self.waiting |= new
        if REQUEST in new:
            self.tag = tag
        for one in {READER, LISTS} & new:
            self.headers[one] = draw.randbytes(16)
        both = b"".join(reversed(self.headers))
        drive(dut, unexpected_header=int.from_bytes(both, "big"))
        if restart:
            self.waiting.clear()

    def report(self, kind: int, header: bytes) -> None:
        """An error that was reported must wait, and no other comes before it."""
        one = min(self.waiting)
        if one in {READER, LISTS}:
            assert (kind, header) == (UNEXPECTED, self.headers[one])
        else:
            assert (kind, header[TAG_BYTE]) == (TIMEOUT, TAGS.get(one, self.tag))
        self.waiting.remove(one)


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def each_error_is_reported_once_and_that_of_the_receiver_at_once(dut: Any) -> None:
    """Completions are before time-outs; with few errors, with many, and with resets."""
    errors = Errors(dut, 5)
    await errors.begin()
    for share in (0.05, 0.2, 0.5):
        for _ in range(20 * PACKETS):
            await errors.cycle(share, restart=int(errors.draw.random() < 0.01))
        for _ in range(6):
            await errors.cycle(0)
        assert not errors.waiting


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def no_error_is_reported_while_the_function_is_reset(dut: Any) -> None:
    """Errors that wait are dropped."""
    errors = Errors(dut, 6)
    await errors.begin()
    for _ in range(PACKETS):
        for _ in range(3):
            await errors.cycle(0.8)
        for _ in range(3):
            await errors.cycle(0.5, stop=1)
        for _ in range(6):
            await errors.cycle(0, stop=1)
        assert not errors.waiting
        await errors.cycle(0)
