"""Simulates each table and figure of the source by a function that uses only the public API."""

from __future__ import annotations

import re
from itertools import pairwise
from math import ceil
from statistics import fmean
from typing import TYPE_CHECKING

from peerlane.systems import measured
from peerlane.systems.measured import known, sound
from peerlane.systems.rosta.analytic import line_rate, share, table1, table2
from peerlane.systems.rosta.machine import Constants

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane import Fabric, FlowResult, RunResult, Simulation
    from peerlane.fabric.settings import Setting
    from peerlane.reproduction.jobs import Measurements
    from peerlane.systems.rosta.machine import Machine

__all__ = [
    "Constants",
    "chain",
    "fetch",
    "fig3",
    "fig4",
    "fig5",
    "latency",
    "loopback",
    "outcomes",
    "overhead",
    "peer_read",
    "setpci",
    "table1",
    "table2",
    "table3",
]

SECONDS = {"table3": 3.5, "fig3": 2.3, "setpci": 2.3, "fig4": 2.1, "fig5": 1.2}
"""The approximate simulation time of figures on one processor, in seconds."""

BOARD_A = ("a1", "a2", "a3", "a4")
BOARD_B = ("b1", "b2", "b3", "b4")
FPGAS = (*BOARD_A, *BOARD_B)
SWITCHES = ("rha25", "rc47a", "rc47b")
CIRCUITS: dict[str, dict[str, Setting]] = {
    "chain": {"user": "matrix"},
    "loopback": {"user": "loopback"},
    "fetch": {"descriptor_fetch": True},
    "latency": {"user": "reflector"},
}
"""For each figure with another circuit than the scenario, the keys of engines that choose it."""

MIB = 1 << 20
SMALL = (8, 16, 32, 64, 128)
"""The payloads of packets in figure 3, in bytes."""

BELOW_LINE = SMALL[:3]
"""The payloads below 64 bytes, a line of the host's memory, which are far from the formula."""

PAYLOADS = (128, 256)
"""The payloads of packets in table 3, in bytes."""

WRITERS_AT_LIMIT, READERS_AT_LIMIT = range(3, 9), range(4, 9)
"""The numbers of FPGAs at which a shared link limits their writes to, or reads from, the host."""

Pairs = list[tuple[str, str]]

ONE_BOARD: dict[str, Pairs] = {
    "1": list(pairwise(BOARD_A[:2])),
    "2": list(pairwise(BOARD_A[:3])),
    "3": list(pairwise(BOARD_A)),
    "4": list(pairwise((*BOARD_A, "a1"))),
}
TWO_BOARDS: dict[str, Pairs] = {
    "8.1": list(pairwise((*FPGAS, "a1"))),
    "8.2": [*zip(BOARD_A, BOARD_B, strict=True), *zip(BOARD_B, BOARD_A, strict=True)],
}

WIDE_HEADERS = {"1": ONE_BOARD["1"], "4": ONE_BOARD["4"], "8.2": TWO_BOARDS["8.2"]}
"""The cases of table 3 that distinguish 16-byte headers without pacing from 12-byte headers with
pacing."""

FIFOS = ("4 KiB", "64 KiB")
"""The sizes of RX_FIFO of an FPGA that reads from another: as published, and one never full."""


def table3(machine: Machine) -> Measurements:
    """FPGA-to-FPGA writes, 1 to 8 at once: the mean over flows of rates by the senders' clocks."""
    its = machine.constants
    for payload in PAYLOADS:
        one = {
            case: _mean_rate(_writes(machine, payload, pairs).run())
            for case, pairs in ONE_BOARD.items()
        }
        yield from ((f"table3/{payload}/{case}", rate) for case, rate in one.items())
        yield f"text/table3/{payload}/share-of-max", 100 * one["1"] / _most(machine, payload)
        steady, skewed = {}, {}
        for case, pairs in TWO_BOARDS.items():
            together = _writes(machine, payload, pairs).measure(*its.peers_under_way).run()
            steady[case] = fmean(measured.steady(flow) for flow in together.flows) / MIB
            skewed[case] = _mean_rate(_writes(machine, payload, pairs, skew_us=its.skew_us).run())
            yield f"table3/{payload}/{case}", _mean_rate(together)
            if (payload, case) == (PAYLOADS[0], "8.1"):
                yield "text/table3/128/8.2/demand", len(BOARD_A) * _mean_rate(together)
            yield f"table3/{payload}/{case}/skewed-start", skewed[case]
        yield f"check/table3/{payload}/8.1-to-8.2", steady["8.1"] / steady["8.2"]
        ratio = skewed["8.1"] / skewed["8.2"]
        yield f"table3/{payload}/8.1-to-8.2/skewed-start", ratio
        for case, pairs in WIDE_HEADERS.items():
            wide = _writes(machine, payload, pairs)
            for fpga in FPGAS:
                wide.set(fpga, bar_address_bits=64, idle_cycles=0)
            yield f"reading/table3/{payload}/{case}/wide-headers", _mean_rate(wide.run())
    cable = float(line_rate(machine, 3, 4) * share(machine, PAYLOADS[0]))
    yield "text/table3/128/8.2/fair-share", cable / len(BOARD_A)


def setpci(machine: Machine) -> Measurements:
    """Table 3 in one run: packets of 128 bytes, `setpci` by the host, then packets of 256 bytes.

    The rates after `setpci` are divided by the rates of a scenario that begins with a max payload
    of 256 bytes.
    """
    its, (smaller, larger) = machine.constants, PAYLOADS
    for case, pairs in (ONE_BOARD | TWO_BOARDS).items():
        fabric = _writes(machine, smaller, pairs, size=its.reading_buffer)
        for sender, receiver in pairs:
            size, start = its.reading_buffer, its.raised_start
            fabric.flow(sender, receiver, size=size, clock="sender", start=start)
        simulation = fabric.simulation()
        simulation.run_until(its.raised_at)
        _set_max_payload(simulation, larger)
        raised = list(sound(simulation.run()).flows)[len(pairs) :]
        alone = _mean_rate(_writes(machine, larger, pairs, size=its.reading_buffer).run())
        yield f"check/table3/{larger}/{case}/setpci", fmean(map(_rate, raised)) / alone


def fig3(machine: Machine) -> Measurements:
    """Rate of a host write against packet size, by the sender's clock and by the system call."""
    its = machine.constants
    for payload in SMALL:
        (flow,) = _run(_host_writes(machine, BOARD_A[:1], payload)).flows
        yield f"fig3/{payload}/hard", _rate(flow)
        yield f"fig3/{payload}/app", _call_rate(flow)
        if payload in BELOW_LINE:
            yield f"check/fig3/{payload}/to-theory", _rate(flow) / _most(machine, payload)
            yield from _small(machine, payload)
    few = _host_writes(machine, BOARD_A[:1], SMALL[0], its.reading_buffer)
    few.set("h0", posted_headers=its.few_headers, writes_per_ownership=0)
    yield "reading/fig3/8/few-headers", _rate(_run(few).flows[0])
    yield "text/fig3/share-of-max", 100 * _rate(flow) / _most(machine, SMALL[-1])
    yield "text/fig3/call", _call_ms(flow)
    before = (known(flow, flow.sent_first_ns) - known(flow, flow.called_ns)) / 1e6
    yield "text/fig3/less-initial-delay", flow.bytes / MIB / ((_call_ms(flow) - before) / 1e3)


def _small(machine: Machine, payload: int) -> Measurements:
    """Rates with other memories: no ownership, one write an ownership, lines fetched in part."""
    its = machine.constants
    memories: dict[str, dict[str, int | str]] = {
        "no-ownership": {"writes_per_ownership": 0},
        "one-write-an-ownership": {"writes_per_ownership": 1},
        "partial-lines": {"writes_per_ownership": 0, "memory_partial_line": its.partial_line},
    }
    for name, keys in memories.items():
        writes = _host_writes(machine, BOARD_A[:1], payload, its.reading_buffer)
        rate = _rate(_run(writes.set("h0", **keys)).flows[0])
        yield f"reading/fig3/{payload}/{name}", rate
        if name == "one-write-an-ownership":
            yield f"check/fig3/{payload}/{name}/to-theory", rate / _most(machine, payload)


def overhead(machine: Machine) -> Measurements:
    """Bytes of a packet that are not data, on the link of an FPGA that writes to the host."""
    result = _run(_host_writes(machine, BOARD_A[:1]).measure(*machine.constants.all_under_way))
    wires = {wire.direction: wire for wire in result.links if wire.id == "rc47a-a1"}
    up, down = wires["up"], wires["down"]
    yield "overhead/tlp", up.overhead_bytes / up.tlps
    yield "overhead/dllp", (up.dllp_bytes + down.dllp_bytes) / up.tlps


def fig4(machine: Machine) -> Measurements:
    """Host writes of 1 to 8 FPGAs at once: the mean rate while all transfers are active."""
    its = machine.constants
    for count in range(1, 9):
        result = _run(_host_writes(machine, _at_once(count)).measure(*its.all_under_way))
        steady = [measured.steady(flow) for flow in result.flows]
        yield f"fig4/{count}", fmean(steady) / MIB
        if count in WRITERS_AT_LIMIT:
            yield f"fig4/{count}/shares", max(steady) / min(steady)
            yield f"check/fig4/{count}/of-limit", sum(steady) / MIB / _limit(count)
            by_timers = sum(map(_rate, result.flows))
            yield f"check/fig4/{count}/by-timers", by_timers / (sum(steady) / MIB)
    for count in (5, 7):
        weighted = _host_writes(machine, _at_once(count)).measure(*its.all_under_way)
        for board, fpgas in (("rc47a", (count + 1) // 2), ("rc47b", count // 2)):
            weighted.set(board, arbitration_weight=fpgas)
        steady = [measured.steady(flow) for flow in _run(weighted).flows]
        yield f"reading/fig4/{count}/shares-by-weight", max(steady) / min(steady)
    both = _run(_host_writes(machine, ("a1", "a2", "b1", "b2")).measure(*its.all_under_way))
    yield "fig4/4/both-boards", fmean(map(measured.steady, both.flows)) / MIB


def fig5(machine: Machine) -> Measurements:
    """Host reads of 1 to 8 FPGAs at once: the mean rate while all transfers are active."""
    for count in range(1, 9):
        fabric = machine.fabric().measure(*machine.constants.all_under_way)
        for fpga in _at_once(count):
            fabric.flow(fpga, "h0", size=machine.constants.buffer, direction="read")
        steady = [measured.steady(flow) for flow in _run(fabric).flows]
        yield f"fig5/{count}", fmean(steady) / MIB
        if count in READERS_AT_LIMIT:
            yield f"fig5/{count}/shares", max(steady) / min(steady)
            yield f"check/fig5/{count}/of-limit", sum(steady) / MIB / _limit(count)


def chain(machine: Machine) -> Measurements:
    """Rate from the host through FPGAs 1 to 8 and back to the host; all bytes are compared."""
    its = machine.constants
    fabric = machine.fabric()
    for fpga in FPGAS:
        fabric.set(fpga, user="matrix", crossed=fpga in (FPGAS[0], FPGAS[-1]))
    fabric.flow(
        FPGAS[0], "h0", id="out", direction="read", size=its.buffer, offset="0 B", start=its.later
    )
    for sender, receiver in pairwise(FPGAS):
        fabric.flow(sender, receiver, size=its.buffer, carries="out")
    fabric.flow(FPGAS[-1], "h0", id="back", size=its.buffer, offset=its.buffer, carries="out")
    simulation = fabric.simulation()
    result = sound(simulation.run())
    if not _same(simulation, 4 * MIB):
        raise RuntimeError("the chain changed the data")
    out, back = result.flows["out"], result.flows["back"]
    seconds = (known(back, back.last_byte_ns) - known(out, out.first_byte_ns)) / 1e9
    yield "chain", out.bytes / seconds / MIB
    alone = machine.fabric().flow(FPGAS[0], "h0", direction="read", size=its.buffer)
    yield "check/chain/to-one-read", out.bytes / seconds / MIB / _rate(_run(alone).flows[0])


def loopback(machine: Machine) -> Measurements:
    """1 if data that an FPGA reads from memory and writes back through its FIFOs is unchanged."""
    for size, name in ((4 << 10, "4KB"), (4 << 20, "4MB")):
        fabric = machine.fabric().set("a1", user="loopback")
        length, behind = f"{size} B", f"{size} B"
        fabric.flow("a1", "h0", id="in", direction="read", size=length, offset="0 B")
        then = {"after": "in"} if name == "4KB" else {}
        fabric.flow("a1", "h0", size=length, offset=behind, carries="in", **then)
        simulation = fabric.simulation()
        sound(simulation.run())
        yield f"loopback/{name}", float(_same(simulation, size))


def fetch(machine: Machine) -> Measurements:
    """Rate with the planned improvement: the engine reads the descriptor list from memory."""
    listed = _run(_host_writes(machine, BOARD_A[:1])).flows[0]
    fetched = _run(_host_writes(machine, BOARD_A[:1]).set("a1", descriptor_fetch=True)).flows[0]
    peer = _run(_writes(machine, machine.constants.largest, ONE_BOARD["1"])).flows[0]
    yield "fetch/hard", _rate(fetched)
    yield "fetch/app", _call_rate(fetched)
    yield "check/fetch/to-peer-write", _rate(fetched) / _rate(peer)
    yield "fetch/initial-delay/list-in-engine", _initial_delay_ms(listed)
    yield "fetch/initial-delay/list-in-memory", _initial_delay_ms(fetched)


def peer_read(machine: Machine) -> Measurements:
    """Rate of FPGA-to-FPGA reads, which the source left out.

    There are no rows with the circuit, because it answers no reads of its BAR 0.
    """
    if machine.runs_circuits:
        return
    for case, target in (("1-switch", "a2"), ("3-switches", "b1")):
        for fifo in FIFOS:
            fabric = machine.fabric().set("a1", fifo=fifo)
            fabric.flow("a1", target, direction="read", size=machine.constants.buffer)
            name = fifo.replace(" ", "-").lower()
            yield f"peer-read/{case}/{name}-fifo", _rate(_run(fabric).flows[0])


def latency(machine: Machine) -> Measurements:
    """Half of the time of a reflected round trip, from user logic to user logic."""
    one, three = _half_round_trip(machine, "a1", "a2"), _half_round_trip(machine, "a1", "b1")
    yield "latency/1-switch", one
    yield "latency/3-switches", three
    yield "latency/switch", (three - one) / 2
    yield "latency/fpga", (one - (three - one) / 2) / 2


def outcomes(machine: Machine) -> Measurements:
    """The engine's fitted parameters, measured with its circuit and links that never limit it.

    The time of a packet is its beats and the idle cycles after them. The time of a page is the time
    of its packets and the cycles until the next page.
    """
    its = machine.constants
    fabric = machine.fabric()
    for fpga in BOARD_A[:2]:
        fabric.override(f"devices.{fpga}.upstream.generation", 3)
        fabric.override(f"devices.{fpga}.upstream.lanes", 8)
    (peer,) = _run(fabric.flow(*BOARD_A[:2], size=its.buffer, clock="sender")).flows
    host_writes = fabric.without_flows().flow(BOARD_A[0], "h0", size=its.buffer, clock="sender")
    (host,) = _run(host_writes).flows
    clock_hz, page_bytes = 250e6, 4096
    beats = ceil((12 + its.largest) / 8)
    packet = clock_hz * its.largest / known(peer, peer.bytes_per_second)
    page = clock_hz * page_bytes / known(host, host.bytes_per_second)
    yield "sender pacing", round(packet - beats, 2) + 0.0
    turnaround = page - page_bytes / its.largest * packet
    yield "descriptor turnaround", round(turnaround, 2) + 0.0


def _fabric(machine: Machine, payload: int) -> Fabric:
    """The published machine; larger payloads are set in switches and FPGAs, not in the host."""
    fabric = machine.fabric()
    if payload != machine.constants.largest:
        for node in (*SWITCHES, *FPGAS):
            fabric.set(node, max_payload=f"{payload} B", max_payload_mismatch=True)
    return fabric


def _set_max_payload(simulation: Simulation, payload: int) -> None:
    """Sets max payload in Device Control of each function, except on bus 0, the chipset's bus."""
    host, express, size = simulation.node("h0"), 0x10, (payload // 128).bit_length() - 1
    for function in re.findall(r"^0000:(?!00:)(\S+)", simulation.lspci(), re.MULTILINE):
        at = host.config_read(function, 0x34, size=1)
        while host.config_read(function, at, size=1) != express:
            at = host.config_read(function, at + 1, size=1)
        control = host.config_read(function, at + 8, size=2) & ~(7 << 5)
        host.config_write(function, at + 8, control | size << 5, size=2)


def _writes(
    machine: Machine, payload: int, pairs: Pairs, *, skew_us: int = 0, size: str | None = None
) -> Fabric:
    fabric, size = _fabric(machine, payload), size or machine.constants.buffer
    for order, (sender, receiver) in enumerate(pairs):
        fabric.flow(sender, receiver, size=size, clock="sender", start=f"{order * skew_us} us")
    return fabric


def _host_writes(
    machine: Machine, fpgas: Sequence[str], payload: int | None = None, size: str | None = None
) -> Fabric:
    its, fabric = machine.constants, machine.fabric()
    request = f"{payload or its.largest} B"
    for fpga in fpgas:
        fabric.flow(fpga, "h0", size=size or its.buffer, request_size=request, clock="sender")
    return fabric


def _at_once(count: int) -> tuple[str, ...]:
    """The FPGAs that run at once: up to four on one board, more evenly on both boards.

    The source does not name them.
    """
    if count <= len(BOARD_A):
        return BOARD_A[:count]
    return (*BOARD_A[: (count + 1) // 2], *BOARD_B[: count // 2])


def _limit(count: int) -> float:
    """The payload rate of the slowest shared link in MiB/s: 128 bytes take 148 byte-times.

    A spread-spectrum clock varies evenly from the nominal rate to 0.5 % less (PCI Express CEM
    2.1.3).
    """
    cable = 8e9 * 4 / 8 * 128 / 130  # Gen3 x4
    slot = 5e9 * 8 / 10  # Gen2 x8
    mean = 1 - 0.005 / 2
    return (cable if count <= len(BOARD_A) else slot) * mean * 128 / 148 / MIB


def _most(machine: Machine, payload: int) -> float:
    """The payload rate of an FPGA's link, Gen2 x4, in MiB/s, by the source's formula."""
    return float(line_rate(machine, 2, 4) * share(machine, payload))


def _run(fabric: Fabric) -> RunResult:
    return sound(fabric.run())


def _same(simulation: Simulation, size: int) -> bool:
    """Whether the first `size` bytes of the host's memory and the next `size` bytes are equal."""
    sent, back = (simulation.node("h0").memory(at, size) for at in (0, size))
    return sent == back and any(sent)


def _mean_rate(result: RunResult) -> float:
    """The mean rate of the flows, in MiB/s."""
    return fmean(map(_rate, sound(result).flows))


def _rate(flow: FlowResult) -> float:
    return known(flow, flow.bytes_per_second) / MIB


def _call_rate(flow: FlowResult) -> float:
    """The rate of a flow over the time of its system call, in MiB/s."""
    return flow.bytes / MIB / (_call_ms(flow) / 1e3)


def _initial_delay_ms(flow: FlowResult) -> float:
    """The time by which a flow's system call takes longer than its transfer, in milliseconds."""
    sent = known(flow, flow.sent_last_ns) - known(flow, flow.sent_first_ns)
    return _call_ms(flow) - sent / 1e6


def _call_ms(flow: FlowResult) -> float:
    return known(flow, flow.call_ns) / 1e6


def _half_round_trip(machine: Machine, sender: str, reflector: str) -> float:
    """Half of the time of a beat to the reflector and back, in nanoseconds."""
    fabric = machine.fabric().set(reflector, user="reflector")
    fabric.flow(sender, reflector, direction="round-trip", size=machine.constants.beat)
    return measured.latency(_run(fabric).flows[0]) / 2
