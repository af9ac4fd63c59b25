"""A function for each table of the source, on the public API of `peerlane` alone."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from peerlane.network.sweep import sweep as load_sweep
from peerlane.reproduction.calibration import quantity, setting
from peerlane.reproduction.catalogue import system_fabric
from peerlane.systems.measured import latency, sound, steady

if TYPE_CHECKING:
    from peerlane import Fabric, FlowResult
    from peerlane.fabric.settings import Setting
    from peerlane.reproduction.jobs import Measurements

__all__ = ["efficiency", "routing", "sweep", "table2", "table3", "torus"]

BEAT = "32 B"
"""Payload of the latency measurements: one beat of the FPGA's 256 bits. The source gives none."""

WINDOW = ("100 us", "500 us")
"""The window of rates: after the first packets and before the last, in a transfer of 4 MiB."""

SIZE = "4 MiB"

ONE_CPU = ("fpga1", "near")
ACROSS = ("near", "far")
FIBRE = ("fpga2", "fpga3")

PACKETS = (64, 256, 512, 1024, 1528, 1536, 4096)
"""Bytes of a fibre's packets; the source's are 1,536."""

ROOM: dict[str, str | int] = {"posted_headers": 0, "posted_data": "0 B"}
"""Buffers without end: the readings are of links and streams, not of what there is room for."""

GEN3_X8 = 8e9 * 8 / 8 * 128 / 130
"""Bytes a second of eight lanes of 8 GT/s, 128b/130b."""

FIBRE_RATE = 4.90
"""GB/s, the source's theoretical rate of its fibre."""

HEADER, PAYLOAD = 16, 48
"""Bytes of each packet by which the source explains its 74 %."""

FRAMING = 8
"""Bytes of a TLP besides: the STP token with the sequence number, and the LCRC."""

DATA_BITS, BLOCK_BITS = 64, 66
"""Bits of a block of 64B/66B, without and with its synchronisation header."""

ABOUT_NS = 500
"""The source's latency of PCI Express, for the reading that takes it exactly."""

SHORT_PIPELINE = 6
"""Stages of the router in the reading that takes 783 - 500 - 259 = 24 ns for it."""


def table2() -> Measurements:
    """Transfers between two FPGAs: by PCI Express below one CPU and across two, and by fibre."""
    for case, pair in (("one-cpu", ONE_CPU), ("two-cpu", ACROSS)):
        yield f"table2/{case}/throughput", _rate(machine(), pair)
        yield f"table2/{case}/latency", _latency(machine(), pair)
    hop = _latency(machine(), ACROSS) - _latency(machine(), ONE_CPU)
    yield "check/table2/socket-hop", hop
    yield "table2/fibre/throughput", _rate(_bare(machine()), FIBRE)
    yield "table2/fibre/latency", _latency(_bare(machine()), FIBRE)


def sweep() -> Measurements:
    """The fibre's rate against the size of its packets: framing and clock compensation alone."""
    for size in PACKETS:
        fabric = _bare(machine())
        for fpga in FIBRE:
            fabric.set(fpga, packet_size=f"{max(size, 1024)} B")
        yield f"sweep/fibre/{size}", _rate(fabric, FIBRE, request_size=f"{size} B")


def routing() -> Measurements:
    """FPGA 1 by PCI Express to FPGA 2, which routes, and from there by fibre to FPGA 3."""
    way = ("fpga1", "fpga3")
    whole = _latency(machine(), way)
    pcie, fibre = _latency(machine(), ONE_CPU), _latency(_bare(machine()), FIBRE)
    yield "routing", whole
    yield "reading/routing/rest", whole - pcie - fibre
    yield "reading/routing/pcie", pcie
    short = machine().set("fpga2", forward_cycles=SHORT_PIPELINE)
    yield "reading/routing/24-ns", _latency(short, way)
    longer_ns = _value("hosts.node1.peer_latency") + ABOUT_NS - pcie
    slow = machine().set("node1", peer_latency=f"{longer_ns} ns")
    yield "reading/routing/pcie-500", _latency(slow, way)
    for fpga in FIBRE:
        slow.set(fpga, forward_cycles=SHORT_PIPELINE)
    yield "reading/routing/pcie-500-and-24-ns", _latency(slow, way)


def efficiency() -> Measurements:
    """The source's percentages, and what could be behind its 74 %."""
    one = _rate(machine(), ONE_CPU)
    yield "efficiency/pcie-theory", GEN3_X8 / 1e9
    yield "efficiency/fibre-theory", _fibre_theory()
    yield "efficiency/pcie", 100 * one * 1e9 / GEN3_X8
    yield "efficiency/all", 100 * one * 1e9 / GEN3_X8 * (HEADER + PAYLOAD) / PAYLOAD
    yield "efficiency/16-to-48", 100 * PAYLOAD / (HEADER + PAYLOAD + FRAMING)
    yield "efficiency/fibre", 100 * _rate(_bare(machine()), FIBRE) / FIBRE_RATE
    wide: dict[str, str | int] = {"datapath": "0 B", "idle_cycles": 0, "send_queue": 64}
    readings: tuple[tuple[str, dict[str, str | int], str], ...] = (
        ("48-bytes", {**wide, "bar_address_bits": 64}, f"{PAYLOAD} B"),
        ("64-bytes", wide, "64 B"),
        ("64-bytes-in-beats", {"idle_cycles": 0}, "64 B"),
        ("128-bytes-in-beats", {"idle_cycles": 0}, "128 B"),
        ("256-bytes-in-9-beats", {"idle_cycles": 0}, "256 B"),
        ("256-bytes-on-the-wire", wide, "256 B"),
    )
    for name, settings, size in readings:
        fabric = machine()
        for node in ("node1", *ONE_CPU):
            fabric.set(node, **ROOM)
        for fpga in ONE_CPU:
            fabric.set(fpga, **settings)
        yield f"reading/efficiency/{name}", _rate(fabric, ONE_CPU, request_size=size)


def torus() -> Measurements:
    """The announced 2-D torus: what every node gets through it, and what all do together."""
    for size in ("4x4", "8x8"):
        yield from _saturation(size, "", {})
    yield from _saturation("8x8", "/two-lanes", {"optical_lanes": 2})
    yield "check/torus/zero-load", _zero_load() / _zero_load_ns()
    for algorithm in ("ring", "dimension-wise"):
        fabric = _torus("4x4", {})
        fabric.collective("torus", "all-reduce", algorithm=algorithm, size="64 KiB")
        yield f"torus/4x4/all-reduce/{algorithm}", _microseconds(fabric)
    fabric = _torus("4x4", {}).collective("torus", "halo", size="4 KiB", iterations=10)
    yield "torus/4x4/halo", _microseconds(fabric) / 10


def table3() -> Measurements:
    """Resources of the FPGA: there is no gateware yet whose resources could be counted."""
    yield from ()


def _saturation(size: str, case: str, routers: dict[str, Setting]) -> Measurements:
    """GB/s of payload that each host gets to the others, offered what no network could carry."""
    fabric = _torus(size, routers).measure("20 us", "60 us")
    fabric.traffic("torus", load="8 GB/s", duration="70 us")
    outcome = load_sweep(fabric, ["8 GB/s"])
    carried = outcome.saturation_bytes_per_second
    yield f"torus/{size}{case}/saturation", carried / 1e9
    yield f"torus/{size}{case}/injection-bound", outcome.bounds.injection / 1e9
    yield f"torus/{size}{case}/bisection-bound", (outcome.bounds.bisection or 0) / 1e9
    yield f"torus/{size}{case}/share", 100 * carried / outcome.bounds.least


HOPS = 4
"""Hops from node (0, 0) to (2, 2)."""

FIBRE_M = 2
"""Metres of each fibre of the torus: as long as the published one."""

LIGHT_NS = 4.897
"""Nanoseconds in which light goes a metre in a fibre, with a refractive index of 1.468."""


def _zero_load_ns() -> float:
    """The arithmetic of a message of 32 bytes, in two cycles.

    The pipeline where it begins, and for each hop a cycle, the cores, the fibre and the next
    pipeline; straight to the user logic at the end.
    """
    cycle = BLOCK_BITS / _value("profiles.router-board.lane_rate")
    stages = _value("profiles.router-board.forward_cycles")
    pipeline = stages * 1e3 / _value("profiles.router-board.router_clock")
    hop = cycle + _value("profiles.router-board.core_latency") + FIBRE_M * LIGHT_NS
    return pipeline + HOPS * hop + (HOPS - 1) * pipeline + cycle


def _zero_load() -> float:
    fabric = _torus("4x4", {"clock_compensation": False})
    return latency(_flow(fabric.flow("torus-0-0", "torus-2-2", size=BEAT)))


def _torus(size: str, routers: dict[str, Setting]) -> Fabric:
    """Routers like the published one, with four fibres each, below such hosts."""
    board: dict[str, Setting] = {"profile": "router-board", "fibre_ports": 4}
    hosts: dict[str, Setting] = {"max_payload_supported": "256 B"}
    return machine().network(
        "torus",
        shape="torus",
        size=size,
        hosts=hosts,
        routers=board | routers,
        length=f"{FIBRE_M} m",
    )


def _microseconds(fabric: Fabric) -> float:
    time_ns = sound(fabric.run()).collectives[0].time_ns
    if time_ns is None:
        raise RuntimeError("the collective was not measured")
    return time_ns / 1e3


def _fibre_theory() -> float:
    """GB/s of a fibre after 64B/66B and one cycle between packets."""
    lanes = _value("profiles.router-board.optical_lanes")
    rate = lanes * _value("profiles.router-board.lane_rate") * DATA_BITS / BLOCK_BITS / 8
    cycles = _value("profiles.router-board.packet_size") / (lanes * DATA_BITS / 8)
    return rate * cycles / (cycles + 1)


def _value(where: str) -> float:
    """The number at a key of the scenario, in the unit that it has there."""
    return quantity(setting(tomllib.loads(system_fabric("tsukuba").to_toml()), where))[0]


def machine() -> Fabric:
    """The published machine, without its transfers."""
    return system_fabric("tsukuba").without_flows()


def _bare(fabric: Fabric) -> Fabric:
    """The user logic straight at the fibre, as it was measured alone: no router between."""
    for fpga in FIBRE:
        fabric.set(fpga, forward_cycles=0, deliver_cycles=0)
    return fabric


def _rate(fabric: Fabric, pair: tuple[str, str], *, request_size: str | None = None) -> float:
    """GB/s while the transfer is under way."""
    fabric.measure(*WINDOW).flow(*pair, size=SIZE, request_size=request_size)
    return steady(_flow(fabric)) / 1e9


def _latency(fabric: Fabric, pair: tuple[str, str]) -> float:
    """Nanoseconds from user logic to user logic, one way."""
    return latency(_flow(fabric.copy().flow(*pair, size=BEAT)))


def _flow(fabric: Fabric) -> FlowResult:
    return sound(fabric.run()).flows[0]
