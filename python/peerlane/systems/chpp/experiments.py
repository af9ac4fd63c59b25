"""A function for each table and figure of the source, on the public API of `peerlane` alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.reproduce import system_fabric
from peerlane.systems.chpp.loggp import latencies
from peerlane.systems.chpp.stages import stages
from peerlane.systems.measured import known, latency, sound

if TYPE_CHECKING:
    from peerlane import Fabric, FlowResult
    from peerlane.fabric import Setting
    from peerlane.reproduce import Measurements

__all__ = ["eq2", "fig5", "fig16", "fig17", "fig18", "table2", "table3"]

PRIMITIVES = ("nap-immediate", "nap-indirect", "put", "get")
NAPS = PRIMITIVES[:2]
SIZES = (1, 64, 256, 1024, 2048)
WAY = ("n0", "n1")

MTUS = (16, 32, 64, 128, 256, 512)
TAGS = (32, 64, 256)
TRANSFER = "2 MiB"

NAP_SIZES = (1, 8, 64, 128, 256, 512, 1024, 2048)
LARGE_SIZES = (1, 64, 512, 2048, 8192, 32768, 131072, 524288)

CYCLE_NS = 4.0
ROUND_TRIPS = (130, 260, 520)
"""Cycles of a memory read for which the rule of the tags is tried."""


def table2() -> Measurements:
    """Latency from the store to the doorbell until the other program has seen the end."""
    for primitive in PRIMITIVES:
        for size in SIZES:
            yield f"table2/{primitive}/{size}", _microseconds(machine(), primitive, size)


def fig16() -> Measurements:
    """A PUT of 2 MiB, with read requests of the MTU's size, and completions of 128 bytes."""
    for mtu in MTUS:
        for tags in TAGS:
            yield f"fig16/{mtu}/{tags}-tags", _rate(_with_mtu(mtu, tags))
    for tags in TAGS:
        fabric = _with_mtu(256, tags)
        for number in range(4):
            fabric.set(f"h{number}", max_payload_supported="256 B")
        yield f"check/fig16/256-byte-completions/{tags}-tags", _rate(fabric)


def fig17() -> Measurements:
    """Bytes of one message over its latency."""
    for primitive in PRIMITIVES:
        for size in NAP_SIZES if primitive in NAPS else LARGE_SIZES:
            microseconds = _microseconds(machine(), primitive, size)
            yield f"fig17/{primitive}/{size}", size / microseconds / 1e3


def fig18() -> Measurements:
    """Where the time of a message of one byte goes, in cycles of the engine."""
    for primitive in ("nap-immediate", "put"):
        for stage, cycles in stages(machine(), WAY, primitive).items():
            yield f"fig18/{primitive}/{stage}", cycles


def eq2() -> Measurements:
    """Bandwidth against tags where memory is farther away, beside the rule of the source."""
    for cycles in ROUND_TRIPS:
        for tags in (4, 8, 16, 32):
            fabric = machine().set("n0", tags=tags)
            fabric.set("h0", memory_read_latency=f"{80 + (cycles - 130) * CYCLE_NS} ns")
            yield f"eq2/{cycles}-cycles/{tags}-tags", _rate(fabric)


def fig5() -> Measurements:
    """The source's model of latency: LogGP with chain DMA."""
    yield from latencies()


def table3() -> Measurements:
    """Other networks: the cells of the source are lost."""
    yield from ()


def machine() -> Fabric:
    """The published machine, without its transfers."""
    return system_fabric("chpp").without_flows()


def _with_mtu(mtu: int, tags: int) -> Fabric:
    settings: dict[str, Setting] = {"read_request": f"{mtu} B", "tags": tags}
    return machine().set("n0", **settings, network_payload=f"{max(mtu, 128)} B")


def _rate(fabric: Fabric) -> float:
    """GB/s of a long PUT, from its first packet to its last byte."""
    flow = _flow(fabric.flow(*WAY, size=TRANSFER))
    return known(flow, flow.bytes_per_second) / 1e9


def _microseconds(fabric: Fabric, primitive: str, size: int) -> float:
    flow = _flow(fabric.flow(*WAY, primitive=primitive, size=f"{size} B"))
    return latency(flow) / 1e3


def _flow(fabric: Fabric) -> FlowResult:
    return sound(fabric.run()).flows[0]
