"""Measures the stages of a message from the times of packets on the links of both ends."""

from __future__ import annotations

import json
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerlane.systems.chpp.machine import cycle_ns
from peerlane.systems.measured import sound

if TYPE_CHECKING:
    from peerlane import Fabric, RunResult
    from peerlane.systems.chpp.machine import Machine

Packet = dict[str, Any]
"""A line of the packet trace."""


def stages(machine: Machine, way: tuple[str, str], primitive: str) -> dict[str, float]:
    """The cycles of each stage of a message of one byte, of engine and memory, and the total.

    The time begins when the doorbell arrives at the sending engine, and ends when the receiving
    engine issues its first write request. The time between a read request and its completion counts
    as memory, and all other time as engine.
    """
    source, target = way
    core = core_ns(machine)
    ahead = core + flight_ns(machine)
    _, packets = traced(machine.fabric().flow(*way, primitive=primitive, size="1 B"))
    own = [packet for packet in packets if packet["link"].endswith(f"-{source}")]
    bell = next(packet for packet in own if packet["tlp"] == "MWr")
    times = [arrival(bell, ahead)]
    read: set[int] = set()
    for packet in own:
        if packet["ns"] < bell["ns"]:
            continue  # reads of buffers begin before, and may end later
        if packet["tlp"] == "MRd":
            read.add(packet["tag"])
            times.append(packet["ns"] - core)
        elif packet["tlp"] == "CplD" and packet["tag"] in read:
            times.append(arrival(packet, ahead))
    writes = (
        packet
        for packet in packets
        if packet["link"].endswith(f"-{target}") and packet["tlp"] == "MWr"
    )
    times.append(next(writes)["ns"] - core)
    cycle = cycle_ns(machine)
    cycles = [(end - begin) / cycle for begin, end in pairwise(times)]
    engine, memory = cycles[::2], cycles[1::2]
    names = ["doorbell", "descriptor", "data"]
    reads = ["descriptor-read", "data-read"]
    named = dict(zip(reads, memory, strict=False)) | {
        f"after-{name}": value for name, value in zip(names, engine, strict=False)
    }
    return named | {"engine": sum(engine), "memory": sum(memory), "total": sum(cycles)}


def traced(fabric: Fabric) -> tuple[RunResult, list[Packet]]:
    """The result of a run, and the lines of its trace for TLPs, in the order of their begin."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        result = sound(fabric.run(trace=path))
        lines = path.read_text(encoding="utf-8").splitlines()
    packets = (json.loads(line) for line in lines)
    begins = sorted((p for p in packets if "tlp" in p), key=lambda packet: float(packet["ns"]))
    return result, begins


def core_ns(machine: Machine) -> float:
    """The time from engine to wire, and equally from wire to engine, in nanoseconds."""
    return machine.value("profiles.virtex6.send_latency")


def flight_ns(machine: Machine) -> float:
    """The time of a bit from one end of a link to the other, in nanoseconds."""
    return machine.value("links.delay")


def arrival(packet: Packet, ahead: float) -> float:
    """The time at which the last bit of a packet has passed the link and the receive path.

    Args:
        packet: A line of the trace.
        ahead: The time of link and receive path together, in nanoseconds.
    """
    return float(packet["ns"]) + float(packet["length_ns"]) + ahead
