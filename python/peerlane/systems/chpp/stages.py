"""The stages of a message, from the times of packets on the links of both sides."""

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
"""A line of the trace."""


def stages(machine: Machine, way: tuple[str, str], primitive: str) -> dict[str, float]:
    """Cycles of each stage of a message of one byte, of both kinds, and in all.

    The window is that of the engines: from the doorbell's arrival at the one to the handing over of
    the first write request by the other. What is between a read request and its completion is
    memory, the rest is engine.
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
    """The result of a run, and its packets in the order in which they begin."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        result = sound(fabric.run(trace=path))
        lines = path.read_text(encoding="utf-8").splitlines()
    packets = (json.loads(line) for line in lines)
    begins = sorted((p for p in packets if "tlp" in p), key=lambda packet: float(packet["ns"]))
    return result, begins


def core_ns(machine: Machine) -> float:
    """Nanoseconds from engine to wire; the way back takes as long."""
    return machine.value("profiles.virtex6.send_latency")


def flight_ns(machine: Machine) -> float:
    """Nanoseconds from one end of a link to the other."""
    return machine.value("links.delay")


def arrival(packet: Packet, ahead: float) -> float:
    """The time at which the last bit of a packet has flown and is through the receive path.

    Args:
        packet: A line of the trace.
        ahead: Nanoseconds of both.
    """
    return float(packet["ns"]) + float(packet["length_ns"]) + ahead
