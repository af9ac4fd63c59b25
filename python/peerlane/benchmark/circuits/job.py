"""A cocotb test of the DMA engine: it writes to another device, and each sent byte is read."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

PAYLOAD = 128
CYCLES = "PEERLANE_CYCLES"
RESULT = "PEERLANE_RESULT"

if CYCLES in os.environ:
    import cocotb
    from cocotb.clock import Clock
    from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge

    _PEER = 0x80

    def _write(offset: int, value: int, size: int) -> bytes:
        """The TLP of a memory write to a register in BAR 2."""
        enables = 0x0F if size == 4 else 0xFF  # noqa: PLR2004 - a dword
        header = [0x40, 0, 0, size // 4, 0, 0, 0, enables, *offset.to_bytes(4, "big")]
        return bytes(header) + value.to_bytes(size, "little")

    async def _send(top: Any, packet: bytes) -> None:  # noqa: ANN401 - a handle of cocotb
        for at in range(0, len(packet), 8):
            beat = packet[at : at + 8]
            top.rx_data_i.value = int.from_bytes(beat.ljust(8, b"\0"), "little")
            top.rx_bytes_i.value = len(beat)
            top.rx_first_i.value = at == 0
            top.rx_last_i.value = at + 8 >= len(packet)
            top.rx_valid_i.value = 1
            while True:
                await ReadOnly()
                taken = int(top.rx_ready_o.value)
                await RisingEdge(top.clk_i)
                await FallingEdge(top.clk_i)
                if taken:
                    break
        top.rx_valid_i.value = 0

    @cocotb.test()  # type: ignore[untyped-decorator,unused-ignore]
    async def a_peer_write_without_end(top: Any) -> None:  # noqa: ANN401 - a handle of cocotb
        """Counts the packets that leave the engine in a number of cycles, and checks their size."""
        cycles = int(os.environ[CYCLES])
        inputs = ("rx_valid", "rx_label", "rx_data", "rx_first", "rx_last", "rx_bytes")
        for name in (*inputs, "max_read_request", "function_id", "max_payload", "ext_tag", "flr"):
            getattr(top, f"{name}_i").value = 0
        for name in ("tx_ready", "irq_ready", "bus_master", "rst"):
            getattr(top, f"{name}_i").value = 1
        top.rx_bar_i.value = 2
        Clock(top.clk_i, 4, "ns").start()
        for _ in range(4):
            await FallingEdge(top.clk_i)
        top.rst_i.value = 0
        await FallingEdge(top.clk_i)
        await _send(top, _write(_PEER, 0x80000000, 8))
        await _send(top, _write(_PEER + 0x08, 1 << 31, 8))
        await _send(top, _write(_PEER + 0x14, 1, 4))
        sent, packet = 0, bytearray()
        begin = time.process_time()
        for _ in range(cycles):
            await FallingEdge(top.clk_i)
            if int(top.tx_valid_o.value):
                beat = int(top.tx_data_o.value).to_bytes(8, "little")
                packet += beat[: int(top.tx_bytes_o.value)]
                if int(top.tx_last_o.value):
                    assert len(packet) == PAYLOAD + 12, "a packet has another size"  # noqa: S101 - the job's own check
                    packet.clear()
                    sent += 1
        seconds = time.process_time() - begin
        assert sent, "nothing was sent"  # noqa: S101 - the job's own check
        result = {
            "engines": 1,
            "tlps": sent,
            "seconds": seconds,
            "tlp_per_second": sent / seconds,
            "cycles_per_second": cycles / seconds,
        }
        Path(os.environ[RESULT]).write_text(json.dumps(result))  # noqa: ASYNC240 - all is done
