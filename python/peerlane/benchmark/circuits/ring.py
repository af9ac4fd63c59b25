"""Simulates DMA engines, as RTL modules below a switch, that write to each other in a ring."""

from __future__ import annotations

import time
from typing import Any

from peerlane import Fabric
from peerlane.benchmark.circuits.job import PAYLOAD

_CLOCK_HZ = 250e6
_ENGINES = 8


def ring(tlps: int) -> Fabric:
    """Eight engines, each at Gen2 x4, and a flow from each to the next: `tlps` packets in total."""
    fabric = Fabric("ring").host("h0", memory="64 MiB").switch("s0", "h0", profile="plx")
    names = [f"c{number}" for number in range(_ENGINES)]
    for name in names:
        fabric.device(name, "s0", model="sg-dma", bar="16 MiB", datapath="8 B", clock="250 MHz")
        fabric.set(name, bar_address_bits=32, implementation="rtl")
        fabric.set(name, max_payload_supported=f"{PAYLOAD} B")
        fabric.set(name, send_latency="260 ns", receive_latency="260 ns")
        fabric.override(f"devices.{name}.upstream.generation", 2)
        fabric.override(f"devices.{name}.upstream.lanes", 4)
    size = f"{max(tlps // _ENGINES, 1) * PAYLOAD} B"
    for sender, receiver in zip(names, [*names[1:], names[0]], strict=True):
        fabric.flow(sender, receiver, size=size, clock="sender")
    return fabric


def run_ring(tlps: int) -> dict[str, Any]:
    """Simulates the ring of engines once; rates are per second of processor time.

    Raises:
        ScenarioError: This build of Peerlane has no translated RTL modules.
        RuntimeError: Bytes differ, or an RTL module has stopped.
    """
    simulation = ring(tlps).simulation()
    begin = time.process_time()
    result = simulation.run()
    seconds = time.process_time() - begin
    if result.failures:
        raise RuntimeError("; ".join(result.failures))
    moved = sum(flow.bytes for flow in result.flows) // PAYLOAD
    cycles = round(simulation.now_ns * 1e-9 * _CLOCK_HZ) * _ENGINES
    return {
        "engines": _ENGINES,
        "tlps": moved,
        "seconds": seconds,
        "tlp_per_second": moved / seconds,
        "cycles_per_second": cycles / seconds,
    }
