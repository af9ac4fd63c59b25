"""The benchmark task on cocotbext-pcie: an endpoint writes through a switch into memory."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING

from peerlane.benchmark.peers.measured import PAYLOAD, measured

if TYPE_CHECKING:
    from cocotbext.pcie.core.port import SimPort

TLPS = "PEERLANE_TLPS"
RESULT = "PEERLANE_RESULT"
_GENERATION = 3
_LANES = 16

if TLPS in os.environ:
    import cocotb
    from cocotb.triggers import Timer
    from cocotbext.pcie.core import Device, MemoryEndpoint, RootComplex, Switch

    def _widen(port: SimPort) -> SimPort:
        port.max_link_speed = _GENERATION
        port.max_link_width = _LANES
        return port

    @cocotb.test()  # type: ignore[untyped-decorator,unused-ignore]
    async def posted_writes_reach_memory(_top: object) -> None:
        """The time is measured until the last payload is in memory; then all bytes are compared."""
        tlps = int(os.environ[TLPS])
        data = random.Random(1).randbytes(tlps * PAYLOAD)  # noqa: S311 - payload, not a secret
        root, switch, endpoint = RootComplex(), Switch(), MemoryEndpoint()
        endpoint.add_mem_region(4096)
        device = Device(endpoint)
        for upper, lower in ((root, switch.upstream_bridge), (switch, device)):
            _widen(lower.upstream_port)
            port = upper.make_port()
            _widen(port.downstream_port).connect(lower.upstream_port)
        await root.enumerate()
        device_bridge = root.find_device(endpoint.pcie_id)
        await device_bridge.enable_device()
        await device_bridge.set_master()
        base, memory = root.alloc_region(len(data))
        begin = time.perf_counter()
        for offset in range(0, len(data), PAYLOAD):
            await endpoint.mem_write(base + offset, data[offset : offset + PAYLOAD])
        while memory[len(data) - PAYLOAD : len(data)] != data[-PAYLOAD:]:
            await Timer(100, "ns")
        wall = time.perf_counter() - begin
        assert memory[: len(data)] == data, "bytes differ"  # noqa: S101 - the job's own check
        result = measured("cocotbext-pcie", tlps, wall)
        Path(os.environ[RESULT]).write_text(json.dumps(result))  # noqa: ASYNC240 - all is done
