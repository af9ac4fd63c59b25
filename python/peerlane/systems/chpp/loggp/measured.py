"""Measures the parameters of LogGP in simulated runs, and compares the model with these runs."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean
from typing import TYPE_CHECKING

from peerlane.systems.chpp.loggp.model import SOURCE, Parameters, distance, latencies
from peerlane.systems.chpp.machine import PRIMITIVES, WAY, alone_ns
from peerlane.systems.chpp.stages import arrival, core_ns, flight_ns, traced
from peerlane.systems.chpp.topologies import (
    NETWORKS,
    crowded,
    crowds,
    grid,
    name,
    network,
    simulated,
)
from peerlane.systems.measured import known, latency, sound, steady

if TYPE_CHECKING:
    from collections.abc import Iterable

    from peerlane.fabric.settings import Setting
    from peerlane.reproduction.jobs import Measurements
    from peerlane.systems.chpp.machine import Machine
    from peerlane.systems.chpp.stages import Packet

PUSHED = ("nap-immediate", "put")
"""Messages that start by a descriptor that the program stores in the controller."""

DESCRIPTORS = (16,)
"""Numbers of descriptors that are read at the same time, large enough not to limit the rate."""


def in_networks(machine: Machine) -> Measurements:
    """Latency in simulated networks, the measured parameters of equation 1, and its latencies."""
    found = dict(simulated(machine)) | dict(crowded(machine)) | dict(_on_the_way(machine))
    found["fig5/measured/gap"] = _slope_ns(machine, "put")
    yield from found.items()
    measured = Parameters(
        start_ns=found["fig5/measured/oc"],
        dma_start_ns=found["fig5/measured/ods"],
        hop_ns=found["fig5/measured/hop"],
        receive_ns=found["fig5/measured/odr"],
        gap_ns=found["fig5/measured/gap"],
        fetch_ns=found["fig5/measured/fetch"],
        notice_ns=found["fig5/measured/notice"],
    )
    yield from latencies("fig5/model", measured, machine.constants.message)
    yield from _beside(machine, found, measured)


def classical(machine: Machine) -> Measurements:
    """The parameters of LogP and LogGP for each primitive, in nanoseconds."""
    its = machine.constants
    notice = _notice_ns(machine)
    yield "loggp/o-receive", notice
    for primitive in PRIMITIVES:
        rows = f"loggp/{primitive}"
        yield f"{rows}/o-send", _send_ns(machine, primitive)
        yield f"{rows}/L", alone_ns(machine, primitive, 1) - notice
        yield f"{rows}/g", _between_ns(machine, primitive, 1)
        yield f"{rows}/g-all", _between_ns(machine, primitive, 1, functions=its.functions)
        yield f"{rows}/g-2048", _between_ns(machine, primitive, its.message)
        yield f"{rows}/G", _slope_ns(machine, primitive)
    for primitive in PUSHED:
        fabric = machine.fabric().set(WAY[0], start_mode="descriptor")
        fabric.flow(*WAY, primitive=primitive, size="1 B", start=its.start)
        rows = f"loggp/{primitive}"
        yield f"{rows}/L/pushed", latency(sound(fabric.run()).flows[0]) - notice
        yield f"{rows}/g/pushed", _between_ns(machine, primitive, 1, start_mode="descriptor")
    for row, functions in (("g", 1), ("g-all", its.functions)):
        for count in DESCRIPTORS:
            between = _between_ns(machine, "put", 1, functions=functions, descriptors=count)
            yield f"loggp/put/{row}/{count}-descriptors", between


def _on_the_way(machine: Machine) -> Measurements:
    """The times of the parts of a PUT of one byte over several cables, in nanoseconds.

    The part `fetch` ends when the engine has sent its packet into the network. The time in the
    network is one hop for each cable. The part `odr-engine` ends when the receiving engine sends a
    write request, and the part `odr` when the byte is in memory.
    """
    its = machine.constants
    source, target = (name("n", (end,) * its.cables) for end in (0, 1))
    fabric = network(machine, grid(*(2,) * its.cables)).flow(
        source, target, size="1 B", start=its.start
    )
    core = core_ns(machine)
    ahead = core + flight_ns(machine)
    result, packets = traced(fabric)
    flow = result.flows[0]
    own = _at(source, packets)
    bell = next(packet for packet in own if packet["tlp"] == "MWr")
    answers = (p for p in own if p["tlp"] == "CplD" and p["ns"] > bell["ns"])
    cables = [packet["ns"] for packet in packets if packet["tlp"] == "PUT"]
    hop = (cables[-1] - cables[0]) / (its.cables - 1)
    write = next(packet for packet in _at(target, packets) if packet["tlp"] == "MWr")

    in_memory, notice = known(flow, flow.last_byte_ns), _notice_ns(machine)
    rung = in_memory + notice - latency(flow)
    bell_there, descriptor = arrival(bell, ahead), arrival(next(answers), ahead)
    sent = cables[0] - core
    received = sent + its.cables * hop
    yield "fig5/measured/oc", bell_there - rung
    yield "fig5/measured/ods", descriptor - bell_there
    yield "fig5/measured/fetch", sent - descriptor
    yield "fig5/measured/hop-1-byte", hop
    yield "fig5/measured/odr-engine", write["ns"] - core - received
    yield "fig5/measured/odr", in_memory - received
    yield "fig5/measured/notice", notice


def _at(device: str, packets: Iterable[Packet]) -> list[Packet]:
    return [packet for packet in packets if packet["link"].endswith(f"-{device}")]


def _beside(machine: Machine, found: dict[str, float], measured: Parameters) -> Measurements:
    """The latency by each form of the model, in percent of the simulated latency."""
    message, equation = machine.constants.message, replace(measured, fetch_ns=0, notice_ns=0)
    for topology, networks in NETWORKS.items():
        for one in networks:
            processors = len(one.senders)
            point, formula = f"{topology}/{processors}", distance(topology, processors)
            forms = {
                "source": SOURCE.latency_ns(message, formula),
                "equation-1": equation.latency_ns(message, formula),
                "whole": measured.latency_ns(message, formula),
                "counted": measured.latency_ns(message, one.mean_distance),
            }
            for form, nanoseconds in forms.items():
                share = nanoseconds / 10 / found[f"fig5/simulated/{point}"]
                yield f"fig5/share/{form}/{point}", share
            yield f"fig5/share/distance/{point}", 100 * formula / one.mean_distance
    for topology, one in crowds(machine).items():
        point = f"{topology}/{len(one.senders)}"
        hops = mean(one.hops(sender)[receiver] for sender, receiver in one.turned)
        nanoseconds = measured.latency_ns(message, hops)
        yield f"fig5/share/crowded/{point}", nanoseconds / 10 / found[f"fig5/crowded/{point}"]


def _slope_ns(machine: Machine, primitive: str) -> float:
    """The time by which a long message takes longer for each byte more, in nanoseconds."""
    its = machine.constants
    half = its.message // 2
    return (alone_ns(machine, primitive, its.message) - alone_ns(machine, primitive, half)) / half


def _send_ns(machine: Machine, primitive: str) -> float:
    """The time between the doorbells of two messages that a program sends at once, in ns."""
    fabric = machine.fabric().flow(
        *WAY,
        primitive=primitive,
        size="2 B",
        request_size="1 B",
        outstanding=2,
        start=machine.constants.start,
    )
    _, packets = traced(fabric)
    first, second = (
        float(packet["ns"])
        for packet in _at(WAY[0], packets)
        if packet["tlp"] == "MWr" and packet["direction"] == "down"
    )
    return second - first


def _notice_ns(machine: Machine) -> float:
    """The time from a PUT's last byte in memory until the program has seen it, in nanoseconds.

    It is a difference of two latencies. The latency of a message of a flow is measured from the
    doorbell until the receiving program has seen the message; the latency of a message of an
    open-loop workload, from the begin of the sender's work until the message is in memory.
    """
    its = machine.constants
    seldom = machine.fabric().traffic(
        "crossbar", load=its.seldom_load, message="1 B", duration=its.seldom_time
    )
    in_memory = sound(seldom.run()).traffic[0].latency_ns
    if in_memory is None:
        raise RuntimeError("no message of the workload arrived")
    return alone_ns(machine, "put", 1) + _send_ns(machine, "put") - in_memory.min


def _between_ns(
    machine: Machine, primitive: str, size: int, *, functions: int = 1, **settings: Setting
) -> float:
    """The time between two messages, if a program for each function sends as many as it can."""
    its = machine.constants
    fabric = machine.fabric().set(WAY[0], **settings).measure(*its.window)
    for function in range(functions):
        fabric.flow(
            *WAY,
            primitive=primitive,
            request_size=f"{size} B",
            duration=its.end,
            outstanding=its.outstanding,
            function=function,
        )
    return size * 1e9 / sum(map(steady, sound(fabric.run()).flows))
