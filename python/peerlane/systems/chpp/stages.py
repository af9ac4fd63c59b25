"""The stages of a message, from the times of packets on the links of both sides."""

from __future__ import annotations

import json
import tempfile
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerlane.reproduction.calibration import quantity, setting
from peerlane.systems.measured import sound

if TYPE_CHECKING:
    from peerlane import Fabric, RunResult

Packet = dict[str, Any]
"""A line of the trace."""

CYCLE_NS = 4.0
FLIGHT_NS = 1.0


def stages(fabric: Fabric, way: tuple[str, str], primitive: str) -> dict[str, float]:
    """Cycles of each stage of a message of one byte, of both kinds, and in all.

    The window is that of the engines: from the doorbell's arrival at the one to the handing over of
    the first write request by the other. What is between a read request and its completion is
    memory, the rest is engine.
    """
    source, target = way
    core = core_ns(fabric)
    _, packets = traced(fabric.flow(*way, primitive=primitive, size="1 B"))
    own = [packet for packet in packets if packet["link"].endswith(f"-{source}")]
    bell = next(packet for packet in own if packet["tlp"] == "MWr")
    times = [arrival(bell, core)]
    for packet in own:
        if packet["ns"] < bell["ns"]:
            continue  # buffers are fetched before
        if packet["tlp"] == "MRd":
            times.append(packet["ns"] - core)
        elif packet["tlp"] == "CplD":
            times.append(arrival(packet, core))
    writes = (
        packet
        for packet in packets
        if packet["link"].endswith(f"-{target}") and packet["tlp"] == "MWr"
    )
    times.append(next(writes)["ns"] - core)
    cycles = [(end - begin) / CYCLE_NS for begin, end in pairwise(times)]
    engine, memory = cycles[::2], cycles[1::2]
    names = ["doorbell", "descriptor", "data"]
    reads = ["descriptor-read", "data-read"]
    named = dict(zip(reads, memory, strict=False)) | {
        f"after-{name}": value for name, value in zip(names, engine, strict=False)
    }
    return named | {"engine": sum(engine), "memory": sum(memory), "total": sum(cycles)}


def traced(fabric: Fabric) -> tuple[RunResult, list[Packet]]:
    """The result of a run, and its packets in the order in which they begin."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        result = sound(fabric.run(trace=path))
        lines = path.read_text(encoding="utf-8").splitlines()
    packets = (json.loads(line) for line in lines)
    begins = sorted((p for p in packets if "tlp" in p), key=lambda packet: float(packet["ns"]))
    return result, begins


def core_ns(fabric: Fabric) -> float:
    """Nanoseconds from engine to wire; the way back takes as long."""
    latency = setting(tomllib.loads(fabric.to_toml()), "profiles.virtex6.send_latency")
    return quantity(latency)[0]


def arrival(packet: Packet, core: float) -> float:
    """The time at which the last bit of a packet is through the receive path."""
    return float(packet["ns"]) + float(packet["length_ns"]) + FLIGHT_NS + core
