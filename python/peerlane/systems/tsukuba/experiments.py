"""Simulates each table of the source by a function that uses only the public API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.network.sweep import sweep as load_sweep
from peerlane.systems.measured import latency, sound, steady
from peerlane.systems.tsukuba.machine import Constants

if TYPE_CHECKING:
    from peerlane import Fabric, FlowResult
    from peerlane.fabric.settings import Setting
    from peerlane.reproduction.jobs import Measurements
    from peerlane.systems.tsukuba.machine import Machine

__all__ = ["Constants", "efficiency", "routing", "sweep", "table2", "table3", "torus"]

ONE_CPU = ("fpga1", "near")
ACROSS = ("near", "far")
FIBRE = ("fpga2", "fpga3")

PACKETS = (64, 256, 512, 1024, 1528, 1536, 4096)
"""The sizes of packets on a fibre, in bytes; the source has packets of 1,536 bytes."""

ROOM: dict[str, str | int] = {"posted_headers": 0, "posted_data": "0 B"}
"""Settings for buffers without limit, with which only links and streams limit the rate."""


def table2(machine: Machine) -> Measurements:
    """Transfers between two FPGAs: below one CPU, below two CPUs, and over the fibre."""
    for case, pair in (("one-cpu", ONE_CPU), ("two-cpu", ACROSS)):
        yield f"table2/{case}/throughput", _rate(machine, machine.fabric(), pair)
        yield f"table2/{case}/latency", _latency(machine, machine.fabric(), pair)
    hop = _latency(machine, machine.fabric(), ACROSS) - _latency(machine, machine.fabric(), ONE_CPU)
    yield "check/table2/socket-hop", hop
    yield "table2/fibre/throughput", _rate(machine, _bare(machine.fabric()), FIBRE)
    yield "table2/fibre/latency", _latency(machine, _bare(machine.fabric()), FIBRE)


def sweep(machine: Machine) -> Measurements:
    """The fibre's rate against packet size, limited only by framing and clock compensation."""
    for size in PACKETS:
        fabric = _bare(machine.fabric())
        for fpga in FIBRE:
            fabric.set(fpga, packet_size=f"{max(size, 1024)} B")
        yield f"sweep/fibre/{size}", _rate(machine, fabric, FIBRE, request_size=f"{size} B")


def routing(machine: Machine) -> Measurements:
    """Latency from FPGA 1 by PCI Express to the router in FPGA 2, and by fibre to FPGA 3."""
    way = ("fpga1", "fpga3")
    whole = _latency(machine, machine.fabric(), way)
    pcie = _latency(machine, machine.fabric(), ONE_CPU)
    fibre = _latency(machine, _bare(machine.fabric()), FIBRE)
    yield "routing", whole
    yield "reading/routing/rest", whole - pcie - fibre
    yield from _router_parts(machine, whole=whole, pcie=pcie, fibre=fibre)
    yield "reading/routing/pcie", pcie
    short = machine.fabric().set("fpga2", forward_cycles=machine.constants.short_pipeline)
    yield "reading/routing/24-ns", _latency(machine, short, way)
    longer_ns = machine.value("hosts.node1.peer_latency") + machine.constants.about_ns - pcie
    slow = machine.fabric().set("node1", peer_latency=f"{longer_ns} ns")
    yield "reading/routing/pcie-500", _latency(machine, slow, way)
    for fpga in FIBRE:
        slow.set(fpga, forward_cycles=machine.constants.short_pipeline)
    yield "reading/routing/pcie-500-and-24-ns", _latency(machine, slow, way)


def efficiency(machine: Machine) -> Measurements:
    """The source's percentages of theoretical rates, and possible explanations of its 74 %."""
    its, fibre = machine.constants, _rate(machine, _bare(machine.fabric()), FIBRE)
    share = 100 * _rate(machine, machine.fabric(), ONE_CPU) * 1e9 / its.gen3_x8
    yield "efficiency/pcie-theory", its.gen3_x8 / 1e9
    yield "efficiency/fibre-theory", _fibre_theory(machine)
    yield "efficiency/pcie", share
    yield "efficiency/all", share * (its.header + its.payload) / its.payload
    yield "efficiency/16-to-48", 100 * its.payload / (its.header + its.payload + its.framing)
    yield "efficiency/fibre", 100 * fibre / its.fibre_rate
    wide: dict[str, str | int] = {"datapath": "0 B", "idle_cycles": 0, "send_queue": 64}
    readings: tuple[tuple[str, dict[str, str | int], str], ...] = (
        ("48-bytes", {**wide, "bar_address_bits": 64}, f"{its.payload} B"),
        ("64-bytes", wide, "64 B"),
        ("64-bytes-in-beats", {"idle_cycles": 0}, "64 B"),
        ("128-bytes-in-beats", {"idle_cycles": 0}, "128 B"),
        ("256-bytes-in-9-beats", {"idle_cycles": 0}, "256 B"),
        ("256-bytes-on-the-wire", wide, "256 B"),
    )
    for name, settings, size in readings:
        fabric = machine.fabric()
        for node in ("node1", *ONE_CPU):
            fabric.set(node, **ROOM)
        for fpga in ONE_CPU:
            fabric.set(fpga, **settings)
        yield f"reading/efficiency/{name}", _rate(machine, fabric, ONE_CPU, request_size=size)


def torus(machine: Machine) -> Measurements:
    """The 2-D torus that was announced: bandwidth and latency of its nodes, and collectives."""
    for size in ("4x4", "8x8"):
        yield from _saturation(machine, size, "", {})
    yield from _saturation(machine, "8x8", "/two-lanes", {"optical_lanes": 2})
    yield from _zero_load(machine)
    lanes, fibres = machine.value("links.lanes"), machine.constants.torus_fibres
    for of_each in (2, 4):
        yield f"torus/gth/{of_each}-lanes", lanes + fibres * of_each
    for algorithm in ("ring", "dimension-wise"):
        fabric = _torus(machine, "4x4", {})
        fabric.collective("torus", "all-reduce", algorithm=algorithm, size="64 KiB")
        yield f"torus/4x4/all-reduce/{algorithm}", _microseconds(fabric)
    fabric = _torus(machine, "4x4", {}).collective("torus", "halo", size="4 KiB", iterations=10)
    yield "torus/4x4/halo", _microseconds(fabric) / 10


def table3(machine: Machine) -> Measurements:
    """Number of transceivers of the FPGA; other resources are gaps, because there is no circuit."""
    lanes, ports, of_each = (
        machine.value(key)
        for key in (
            "links.lanes",
            "profiles.router-board.fibre_ports",
            "profiles.router-board.optical_lanes",
        )
    )
    yield "table3/gth", lanes + ports * of_each


def _saturation(
    machine: Machine, size: str, case: str, routers: dict[str, Setting]
) -> Measurements:
    """The payload rate of each host in GB/s, if the offered load exceeds all limits."""
    fabric = _torus(machine, size, routers).measure("20 us", "60 us")
    fabric.traffic("torus", load="8 GB/s", duration="70 us")
    outcome = load_sweep(fabric, ["8 GB/s"])
    carried = outcome.saturation_bytes_per_second
    yield f"torus/{size}{case}/saturation", carried / 1e9
    yield f"torus/{size}{case}/injection-bound", outcome.bounds.injection / 1e9
    yield f"torus/{size}{case}/bisection-bound", (outcome.bounds.bisection or 0) / 1e9
    yield f"torus/{size}{case}/share", 100 * carried / outcome.bounds.least


def _zero_load(machine: Machine) -> Measurements:
    """Latency of one beat to the user logic of nodes 1 to 4 hops away, and the latency of a hop.

    Clock compensation is switched off, because it would delay some messages and not others.
    """
    hops = {}
    for count, node in enumerate(("0-1", "1-1", "1-2", "2-2"), 1):
        fabric = _torus(machine, "4x4", {"clock_compensation": False})
        hops[count] = _latency(machine, fabric, ("torus-0-0", f"torus-{node}"))
        yield f"torus/zero-load/{count}", hops[count]
    yield "torus/zero-load/hop", (hops[4] - hops[1]) / 3


def _router_parts(machine: Machine, *, whole: float, pcie: float, fibre: float) -> Measurements:
    """The parts of the latency that routing adds to PCI Express and fibre alone."""
    straight = machine.fabric().set("fpga2", forward_cycles=0)
    yield "reading/routing/rest/stages", whole - _latency(machine, straight, ("fpga1", "fpga3"))
    size = machine.value("constants.beat") + machine.constants.tlp_header
    wrapped = _flow(_bare(machine.fabric()).flow(*FIBRE, size=f"{size:.0f} B"))
    yield "reading/routing/rest/header", latency(wrapped) - fibre
    window = machine.fabric().set("near", bar_address_bits=64)
    yield "reading/routing/rest/window", _latency(machine, window, ONE_CPU) - pcie


def _torus(machine: Machine, size: str, routers: dict[str, Setting]) -> Fabric:
    """A torus of routers like the published one, each with four fibres, below one host each."""
    fibres = machine.constants.torus_fibres
    board: dict[str, Setting] = {"profile": "router-board", "fibre_ports": fibres}
    hosts: dict[str, Setting] = {"max_payload_supported": "256 B"}
    return machine.fabric().network(
        "torus",
        shape="torus",
        size=size,
        hosts=hosts,
        routers=board | routers,
        length=f"{machine.constants.fibre_m} m",
    )


def _microseconds(fabric: Fabric) -> float:
    time_ns = sound(fabric.run()).collectives[0].time_ns
    if time_ns is None:
        raise RuntimeError("the collective was not measured")
    return time_ns / 1e3


def _fibre_theory(machine: Machine) -> float:
    """The rate of a fibre after 64B/66B and one cycle between packets, in GB/s."""
    its, lanes = machine.constants, machine.value("profiles.router-board.optical_lanes")
    lane_rate = machine.value("profiles.router-board.lane_rate")
    rate = lanes * lane_rate * its.data_bits / its.block_bits / 8
    packet = machine.value("profiles.router-board.packet_size")
    cycles = packet / (lanes * its.data_bits / 8)
    return rate * cycles / (cycles + 1)


def _bare(fabric: Fabric) -> Fabric:
    """Removes the routers' delays, because the source measured the fibre without a router."""
    for fpga in FIBRE:
        fabric.set(fpga, forward_cycles=0, deliver_cycles=0)
    return fabric


def _rate(
    machine: Machine, fabric: Fabric, pair: tuple[str, str], *, request_size: str | None = None
) -> float:
    """The rate of a transfer within the interval `window`, in GB/s."""
    its = machine.constants
    fabric.measure(*its.window).flow(*pair, size=its.size, request_size=request_size)
    return steady(_flow(fabric)) / 1e9


def _latency(machine: Machine, fabric: Fabric, pair: tuple[str, str]) -> float:
    """The latency of one beat from user logic to user logic, one way, in nanoseconds."""
    return latency(_flow(fabric.copy().flow(*pair, size=machine.constants.beat)))


def _flow(fabric: Fabric) -> FlowResult:
    return sound(fabric.run()).flows[0]
