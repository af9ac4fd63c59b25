"""Simulates each table and figure of the source by a function that uses only the public API."""

from __future__ import annotations

from math import ceil, inf
from statistics import mean
from typing import TYPE_CHECKING

from peerlane.network.sweep import sweep
from peerlane.systems.chpp.loggp.measured import classical, in_networks
from peerlane.systems.chpp.loggp.model import SOURCE, latencies
from peerlane.systems.chpp.machine import FEWER, PRIMITIVES, WAY, Constants, alone_ns, cycle_ns
from peerlane.systems.chpp.service import services
from peerlane.systems.chpp.stages import stages
from peerlane.systems.chpp.theory import arithmetic, bus
from peerlane.systems.measured import known, latency, sound

if TYPE_CHECKING:
    from peerlane import Fabric, FlowResult
    from peerlane.fabric.settings import Setting
    from peerlane.network.sweep import LoadSweep
    from peerlane.reproduction.jobs import Measurements
    from peerlane.systems.chpp.machine import Machine

__all__ = [
    "FEWER",
    "Constants",
    "deadlock",
    "eq2",
    "fig5",
    "fig16",
    "fig17",
    "fig18",
    "fig19",
    "fig20",
    "loggp",
    "qos",
    "table2",
    "table3",
    "theory",
]

SECONDS = {"fig20": 24, "fig19": 13, "fig5": 3.5, "qos": 2.5, "fig16": 2.4, "eq2": 0.8}
"""The approximate simulation time of figures on one processor, in seconds."""

NAPS = PRIMITIVES[:2]
SIZES = (1, 64, 256, 1024, 2048)

LOST_SIZES = (4096, 16384, 65536, 262144, 1048576)
"""The sizes, in bytes, of PUT and GET whose values are missing in our copy of table 2."""

MTUS = (16, 32, 64, 128, 256, 512)
TAGS = (32, 64, 256)
NAP_SIZES = (1, 8, 64, 128, 256, 512, 1024, 2048)
"""The sizes of NAPs, in bytes, up to the longest NAP that is defined."""

LARGE_SIZES = (1, 64, 512, 2048, 8192, 32768, 131072, 524288)

CROSSBARS = ((4, 2), (4, 4), (8, 2), (8, 4), (16, 4))
"""The simulated crossbars: the number of ports, and the number of virtual channels of each port."""

LOADS = (1.0, 2.0, 2.4, 2.6, 2.8, 3.0, 3.2)
"""The loads of figure 19: the payload that each processor offers, in GB/s."""

SHARES_MS = (0.1, 0.5, 1, 2, 3, 4, 5, 6, 8, 10)
"""The times at which the shares of the functions are measured, in milliseconds."""

SEEDS = (1, 2, 3, 4)
"""The seeds of runs with different message sizes.

Several runs are needed, because the shares in a single run may come close to each other and then
differ again.
"""

ROUND_TRIPS = (130, 260, 520)
"""The durations of a memory read, in cycles, for which the source's rule for tags is compared."""


def table2(machine: Machine) -> Measurements:
    """Latency from the store to the doorbell until the other program has seen the message's end."""
    found = {
        (primitive, size): alone_ns(machine, primitive, size)
        for primitive in PRIMITIVES
        for size in (SIZES if primitive in NAPS else SIZES + LOST_SIZES)
    }
    for (primitive, size), nanoseconds in found.items():
        yield f"table2/{primitive}/{size}", nanoseconds / 1e3
    more = [found["get", size] - found["put", size] for size in SIZES]
    yield "table2/get-less-put", mean(more)
    yield "table2/nap-indirect-less-put", found["nap-indirect", 1] - found["put", 1]
    for primitive in PRIMITIVES:
        nanoseconds = latency(_flow(_with_longer_read(machine, primitive)))
        yield f"check/table2/longer-read/{primitive}", nanoseconds / 1e3


def fig16(machine: Machine) -> Measurements:
    """Rate of a PUT of 2 MiB; read requests have the size of the MTU, completions 128 bytes."""
    for mtu in MTUS:
        for tags in TAGS:
            yield f"fig16/{mtu}/{tags}-tags", _rate(machine, _with_mtu(machine, mtu, tags))
    for tags in TAGS:
        fabric = _with_mtu(machine, 256, tags)
        for number in range(4):
            fabric.set(f"h{number}", max_payload_supported="256 B")
        yield f"check/fig16/256-byte-completions/{tags}-tags", _rate(machine, fabric)


def fig17(machine: Machine) -> Measurements:
    """Bandwidth of one message: its size divided by its latency."""
    for primitive in PRIMITIVES:
        for size in NAP_SIZES if primitive in NAPS else LARGE_SIZES:
            microseconds = alone_ns(machine, primitive, size) / 1e3
            yield f"fig17/{primitive}/{size}", size / microseconds / 1e3


def fig18(machine: Machine) -> Measurements:
    """Duration of each stage of a message of one byte, in cycles of the engine."""
    for primitive in ("nap-immediate", "nap-indirect", "put"):
        for stage, cycles in stages(machine, WAY, primitive).items():
            yield f"fig18/{primitive}/{stage}", cycles


def eq2(machine: Machine) -> Measurements:
    """Bandwidth against the number of tags, for fast and slow memory, and the source's rule."""
    nearest, *_ = ROUND_TRIPS
    latency_ns = machine.value("profiles.processor.memory_read_latency")
    for cycles in ROUND_TRIPS:
        longer_ns = latency_ns + (cycles - nearest) * cycle_ns(machine)
        yield f"eq2/{cycles}-cycles/rule", ceil(cycles / (machine.constants.read / 16 + 2))
        for tags in (4, 8, 16, 32):
            fabric = machine.fabric().set("n0", tags=tags)
            fabric.set("h0", memory_read_latency=f"{longer_ns} ns")
            yield f"eq2/{cycles}-cycles/{tags}-tags", _rate(machine, fabric)


def fig19(machine: Machine) -> Measurements:
    """PUTs to random processors: throughput of a port at saturation, and latency against load."""
    its = machine.constants
    knees: dict[tuple[int, int], float] = {}
    for ports, channels in CROSSBARS:
        name = f"fig19/{ports}x{channels}"
        outcome = _loaded(_crossbar(machine, ports, channels), its.uniform_message)
        knees[ports, channels] = outcome.saturation_bytes_per_second / 1e9
        yield f"{name}/knee", knees[ports, channels]
        for load, point in zip(LOADS, outcome.points, strict=True):
            if point.latency_ns is not None:
                yield f"{name}/latency/{load}", point.latency_ns.mean / 1e3
    yield "fig19/vc-gain", 100 * (knees[4, 4] - knees[4, 2]) / bus(machine)
    for channels in (2, 4):
        fabric = _crossbar(machine, 4, channels)
        for number in range(4):
            fabric.set(f"n{number}", read_request=its.read_request)
        outcome = _loaded(fabric, its.larger_message)
        knee = outcome.saturation_bytes_per_second / 1e9
        yield f"check/fig19/larger-reads/4x{channels}/knee", knee


def _loaded(fabric: Fabric, message: str) -> LoadSweep:
    """A sweep of the load, with messages to random processors."""
    fabric.traffic("crossbar", load="1 GB/s", message=message, duration="300 us")
    return sweep(fabric, [f"{load} GB/s" for load in LOADS])


def fig20(machine: Machine) -> Measurements:
    """Shares of a controller's bandwidth over time: the physical and seven virtual functions."""
    shares = _shares(machine, machine.fabric())
    spreads = _spreads(shares)
    for time_ms, spread in spreads.items():
        yield f"fig20/spread/{time_ms}-ms", spread
    for function in range(machine.constants.functions):
        name = "PF" if function == 0 else f"VF{function - 1}"
        yield f"fig20/share/{name}", mean(run[SHARES_MS[-1]][function] for run in shares)
    yield "fig20/settled", _settled(machine, spreads)
    by_packets = _spreads(_shares(machine, machine.fabric().set("n0", sharing="packet")))
    yield "check/fig20/by-packets/settled", _settled(machine, by_packets)
    yield "check/fig20/by-packets/spread", by_packets[SHARES_MS[-1]]


def _shares(machine: Machine, fabric: Fabric) -> list[dict[float, list[float]]]:
    """For each run and each of `SHARES_MS`, the percentage of bytes that each function moved."""
    its = machine.constants
    for function in range(its.functions):
        fabric.flow(
            *WAY,
            function=function,
            outstanding=its.outstanding,
            duration=f"{SHARES_MS[-1]} ms",
            request_size=its.largest_put,
            smallest="1 B",
        )
    runs = []
    for seed in SEEDS:
        simulation = fabric.simulation(seed=seed)
        shares: dict[float, list[float]] = {}
        for time_ms in SHARES_MS:
            simulation.run_until(time_ms * 1e6)
            moved = [flow.bytes for flow in simulation.result().flows]
            shares[time_ms] = [100 * one / sum(moved) for one in moved]
        runs.append(shares)
    return runs


def _spreads(shares: list[dict[float, list[float]]]) -> dict[float, float]:
    """At each time, the mean over runs of the difference between the largest and smallest share."""
    each = {time_ms: [run[time_ms] for run in shares] for time_ms in SHARES_MS}
    return {time: mean(max(one) - min(one) for one in runs) for time, runs in each.items()}


def _settled(machine: Machine, spreads: dict[float, float]) -> float:
    """The time after which shares differ by at most `settled` percent, in millions of cycles."""
    most = machine.constants.settled
    unsettled = [time_ms for time_ms, spread in spreads.items() if spread > most]
    later = [time_ms for time_ms in SHARES_MS if time_ms > max(unsettled, default=0.0)]
    return (later or [inf])[0] / cycle_ns(machine)


def deadlock(machine: Machine) -> Measurements:
    """Both sides send as many PUTs and GETs as they can, with and without a channel for GETs."""
    for name, own in (("with-channel", True), ("without-channel", False)):
        fabric = machine.fabric().set("crossbar", get_channel=own)
        for nic in WAY:
            fabric.set(nic, get_queue=1, messages=2)
        for way in (WAY, WAY[::-1]):
            for primitive in ("put", "get"):
                fabric.flow(
                    *way, primitive=primitive, size="1 MiB", request_size="16 KiB", outstanding=32
                )
        result = fabric.run()
        moved = sum(flow.bytes for flow in result.flows)
        yield f"deadlock/{name}/arrived", 100 * moved / (4 << 20)
        yield f"deadlock/{name}/standing", result.standing_packets


def fig5(machine: Machine) -> Measurements:
    """Latency by the source's model, LogGP with chain DMA, and latency in simulated networks."""
    yield from latencies("fig5", SOURCE, machine.constants.message)
    yield from in_networks(machine)


def loggp(machine: Machine) -> Measurements:
    """The parameters of LogP and LogGP for each primitive, as these models define them."""
    yield from classical(machine)


def qos(machine: Machine) -> Measurements:
    """The gain of a function by priority, and the gain of a program by a second queue pair."""
    yield from services(machine)


def theory(machine: Machine) -> Measurements:
    """Numbers of the source's text, calculated from the scenario and from public formats."""
    yield from arithmetic(machine)


def table3(_: Machine) -> Measurements:
    """Networks of other makers; our copy of the source has lost the values."""
    yield from ()


def _crossbar(machine: Machine, ports: int, channels: int) -> Fabric:
    fabric = machine.fabric().set("crossbar", ports=ports, virtual_channels=channels)
    for number in range(4, ports):
        host = f"h{number}"
        fabric.host(host, profile="processor")
        fabric.device(f"n{number}", host, model="nic", profile="virtex6")
    return fabric


def _with_longer_read(machine: Machine, primitive: str) -> Fabric:
    """A message of one byte, with longer memory reads, and an event that is later by as much.

    The poll is shorter by twice this time, so that a PUT, which makes two reads, takes as long as
    in the unchanged fabric.
    """
    cycles = machine.constants.longer_read
    longer_ns = cycles * cycle_ns(machine)
    read_ns = machine.value("profiles.processor.memory_read_latency") + longer_ns
    poll_ns = machine.value("profiles.processor.poll") - 2 * longer_ns
    event_cycles = int(machine.value("profiles.virtex6.event_cycles")) + cycles
    fabric = machine.fabric()
    for number in range(2):
        fabric.set(f"h{number}", memory_read_latency=f"{read_ns} ns", poll=f"{poll_ns} ns")
        fabric.set(f"n{number}", event_cycles=event_cycles)
    return fabric.flow(*WAY, primitive=primitive, size="1 B", start=machine.constants.start)


def _with_mtu(machine: Machine, mtu: int, tags: int) -> Fabric:
    settings: dict[str, Setting] = {"read_request": f"{mtu} B", "tags": tags}
    return machine.fabric().set("n0", **settings, network_payload=f"{max(mtu, 128)} B")


def _rate(machine: Machine, fabric: Fabric) -> float:
    """The rate of a long PUT, in GB/s."""
    flow = _flow(fabric.flow(*WAY, size=machine.constants.transfer))
    return known(flow, flow.bytes_per_second) / 1e9


def _flow(fabric: Fabric) -> FlowResult:
    return sound(fabric.run()).flows[0]
