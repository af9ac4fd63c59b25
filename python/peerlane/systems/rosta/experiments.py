"""A function for each table of the source, on the public API of `peerlane` alone."""

from __future__ import annotations

from itertools import pairwise
from math import ceil
from statistics import fmean
from typing import TYPE_CHECKING

from peerlane.reproduction.catalogue import runs_circuits, system_fabric
from peerlane.systems import measured
from peerlane.systems.measured import known, sound
from peerlane.systems.rosta.analytic import line_rate, share, table1, table2

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane import Fabric, FlowResult, RunResult, Simulation
    from peerlane.fabric.settings import Setting
    from peerlane.reproduction.jobs import Measurements

__all__ = [
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
    "table1",
    "table2",
    "table3",
]

SECONDS = {"table3": 3.5, "fig3": 2.3, "fig4": 2.1, "fig5": 1.2}
"""About how long figures take on one processor; the longest are begun first."""

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
"""The keys of engines that choose another circuit than that of the scenario, by figure."""

BUFFER = "4 MiB"
"""Each transfer of figures 3 to 5. Table 3 has none in the source: it is taken to have the same."""

READING_BUFFER = "512 KiB"
"""Each transfer of a reading of figure 3: its rate is that of each page."""

MIB = 1 << 20
LARGEST = 128
"""Bytes of payload of a packet, which enumeration arrives at by itself."""

SMALL = (8, 16, 32, 64, LARGEST)
"""Bytes of payload of figure 3's packets."""

LINE = 64
"""Bytes of a line of the host's memory. Below it figure 3 is far from the formula."""

FEW_HEADERS = 8
"""Posted header credits of a root port that has few: a quarter of what this one has."""

PARTIAL_LINE = "50 ns"
"""Time to fetch the rest of a line: a row cycle of DDR3-1333, tRC 49.5 ns in JESD79-3."""

TWO_FIT, THREE_FIT = 2, 3
"""FPGAs that write to the host, and that read from it, at their full rate at once."""

ALL_UNDER_WAY = ("1 ms", "2.5 ms")
"""The time in which all transfers are under way: all lists are written, and none has ended."""

PEERS_UNDER_WAY = ("500 us", "2 ms")
"""The time in which all transfers between FPGAs are under way, which have no lists."""

LATER = "1 ms"
"""The chain's data starts when every FPGA has its list and its command. It must: what an FPGA sends
to one that has none yet fills that one's FIFOs, and then holds up the CPU's writes behind it."""

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
"""The cases that tell 16-byte headers without pacing from 12-byte headers with it."""

SKEW_US = 10
"""Time between one sender's start and the next, where starts are nearly simultaneous: the order of
one system call. The source gives no number; the reading shows that it hardly matters."""

FIFOS = ("4 KiB", "64 KiB")
"""RX_FIFO of an FPGA that reads from another: as published, and one that is never full."""

BEAT = "8 B"
"""Payload of the packets whose latency is measured, which is not published: one beat of the 64-bit
stream."""


def table3() -> Measurements:
    """FPGA-to-FPGA writes, 1 to 8 at once: the mean over flows of the sender's own clock."""
    for payload in (LARGEST, 2 * LARGEST):
        one = {case: _mean_rate(_writes(payload, pairs).run()) for case, pairs in ONE_BOARD.items()}
        yield from ((f"table3/{payload}/{case}", rate) for case, rate in one.items())
        yield f"text/table3/{payload}/share-of-max", 100 * one["1"] / _most(payload)
        steady, skewed = {}, {}
        for case, pairs in TWO_BOARDS.items():
            together = _writes(payload, pairs).measure(*PEERS_UNDER_WAY).run()
            steady[case] = fmean(measured.steady(flow) for flow in together.flows) / MIB
            skewed[case] = _mean_rate(_writes(payload, pairs, skew_us=SKEW_US).run())
            yield f"table3/{payload}/{case}", _mean_rate(together)
            if (payload, case) == (LARGEST, "8.1"):
                yield "text/table3/128/8.2/demand", len(BOARD_A) * _mean_rate(together)
            yield f"reading/table3/{payload}/{case}/skewed-start", skewed[case]
        yield f"check/table3/{payload}/8.1-to-8.2", steady["8.1"] / steady["8.2"]
        ratio = skewed["8.1"] / skewed["8.2"]
        yield f"reading/table3/{payload}/8.1-to-8.2/skewed-start", ratio
        for case, pairs in WIDE_HEADERS.items():
            wide = _writes(payload, pairs)
            for fpga in FPGAS:
                wide.set(fpga, bar_address_bits=64, idle_cycles=0)
            yield f"reading/table3/{payload}/{case}/wide-headers", _mean_rate(wide.run())
    cable = float(line_rate(3, 4) * share(LARGEST))
    yield "text/table3/128/8.2/fair-share", cable / len(BOARD_A)


def fig3() -> Measurements:
    """Host write against packet size: by the sender's clock, and around the system call."""
    for payload in SMALL:
        (flow,) = _run(_host_writes(BOARD_A[:1], payload)).flows
        yield f"fig3/{payload}/hard", _rate(flow)
        yield f"fig3/{payload}/app", _call_rate(flow)
        if payload < LINE:
            yield f"check/fig3/{payload}/to-theory", _rate(flow) / _most(payload)
            yield from _small(payload)
    few = _host_writes(BOARD_A[:1], SMALL[0], READING_BUFFER)
    few.set("h0", posted_headers=FEW_HEADERS, writes_per_ownership=0)
    yield "reading/fig3/8/few-headers", _rate(_run(few).flows[0])
    yield "text/fig3/share-of-max", 100 * _rate(flow) / _most(LARGEST)
    yield "text/fig3/call", _call_ms(flow)
    before = (known(flow, flow.sent_first_ns) - known(flow, flow.called_ns)) / 1e6
    yield "text/fig3/less-initial-delay", flow.bytes / MIB / ((_call_ms(flow) - before) / 1e3)


def _small(payload: int) -> Measurements:
    """Other memories: no ownership, one that serves a single write, and lines fetched in part."""
    memories: dict[str, dict[str, int | str]] = {
        "no-ownership": {"writes_per_ownership": 0},
        "one-write-an-ownership": {"writes_per_ownership": 1},
        "partial-lines": {"writes_per_ownership": 0, "memory_partial_line": PARTIAL_LINE},
    }
    for name, keys in memories.items():
        writes = _host_writes(BOARD_A[:1], payload, READING_BUFFER).set("h0", **keys)
        rate = _rate(_run(writes).flows[0])
        yield f"reading/fig3/{payload}/{name}", rate
        if name == "one-write-an-ownership":
            yield f"check/fig3/{payload}/{name}/to-theory", rate / _most(payload)


def overhead() -> Measurements:
    """Bytes of a packet besides its data, on the link of an FPGA that writes to the host."""
    result = _run(_host_writes(BOARD_A[:1]).measure(*ALL_UNDER_WAY))
    wires = {wire.direction: wire for wire in result.links if wire.id == "rc47a-a1"}
    up, down = wires["up"], wires["down"]
    yield "overhead/tlp", up.overhead_bytes / up.tlps
    yield "overhead/dllp", (up.dllp_bytes + down.dllp_bytes) / up.tlps


def fig4() -> Measurements:
    """Host write, 1 to 8 FPGAs at once: the mean while all of them are under way."""
    for count in range(1, 9):
        result = _run(_host_writes(_at_once(count)).measure(*ALL_UNDER_WAY))
        steady = [measured.steady(flow) for flow in result.flows]
        yield f"fig4/{count}", fmean(steady) / MIB
        if count > TWO_FIT:
            yield f"check/fig4/{count}/shares", max(steady) / min(steady)
            yield f"check/fig4/{count}/of-limit", sum(steady) / MIB / _limit(count)
            by_timers = sum(map(_rate, result.flows))
            yield f"check/fig4/{count}/by-timers", by_timers / (sum(steady) / MIB)
    for count in (5, 7):
        weighted = _host_writes(_at_once(count)).measure(*ALL_UNDER_WAY)
        for board, fpgas in (("rc47a", (count + 1) // 2), ("rc47b", count // 2)):
            weighted.set(board, arbitration_weight=fpgas)
        steady = [measured.steady(flow) for flow in _run(weighted).flows]
        yield f"reading/fig4/{count}/shares-by-weight", max(steady) / min(steady)
    both = _run(_host_writes(("a1", "a2", "b1", "b2")).measure(*ALL_UNDER_WAY))
    yield "reading/fig4/4/both-boards", fmean(map(measured.steady, both.flows)) / MIB


def fig5() -> Measurements:
    """Host read, 1 to 8 FPGAs at once: the mean while all of them are under way."""
    for count in range(1, 9):
        fabric = machine().measure(*ALL_UNDER_WAY)
        for fpga in _at_once(count):
            fabric.flow(fpga, "h0", size=BUFFER, direction="read")
        steady = [measured.steady(flow) for flow in _run(fabric).flows]
        yield f"fig5/{count}", fmean(steady) / MIB
        if count > THREE_FIT:
            yield f"check/fig5/{count}/of-limit", sum(steady) / MIB / _limit(count)


def chain() -> Measurements:
    """Host, FPGA 1 to 8, host: what comes back is compared with what was sent."""
    fabric = machine()
    for fpga in FPGAS:
        fabric.set(fpga, user="matrix", crossed=fpga in (FPGAS[0], FPGAS[-1]))
    fabric.flow(FPGAS[0], "h0", id="out", direction="read", size=BUFFER, offset="0 B", start=LATER)
    for sender, receiver in pairwise(FPGAS):
        fabric.flow(sender, receiver, size=BUFFER, carries="out")
    fabric.flow(FPGAS[-1], "h0", id="back", size=BUFFER, offset=BUFFER, carries="out")
    simulation = fabric.simulation()
    result = sound(simulation.run())
    if not _same(simulation, 4 * MIB):
        raise RuntimeError("the chain changed the data")
    out, back = result.flows["out"], result.flows["back"]
    seconds = (known(back, back.last_byte_ns) - known(out, out.first_byte_ns)) / 1e9
    yield "chain", out.bytes / seconds / MIB
    alone = machine().flow(FPGAS[0], "h0", direction="read", size=BUFFER)
    yield "check/chain/to-one-read", out.bytes / seconds / MIB / _rate(_run(alone).flows[0])


def loopback() -> Measurements:
    """Data that is read from memory comes back by the FIFOs: 1 when every byte is equal."""
    for size, name in ((4 << 10, "4KB"), (4 << 20, "4MB")):
        fabric = machine().set("a1", user="loopback")
        length, behind = f"{size} B", f"{size} B"
        fabric.flow("a1", "h0", id="in", direction="read", size=length, offset="0 B")
        then = {"after": "in"} if name == "4KB" else {}
        fabric.flow("a1", "h0", size=length, offset=behind, carries="in", **then)
        simulation = fabric.simulation()
        sound(simulation.run())
        yield f"loopback/{name}", float(_same(simulation, size))


def fetch() -> Measurements:
    """The planned improvement: the list stays in memory, and the engine fetches it."""
    listed = _run(_host_writes(BOARD_A[:1])).flows[0]
    fetched = _run(_host_writes(BOARD_A[:1]).set("a1", descriptor_fetch=True)).flows[0]
    peer = _run(_writes(LARGEST, ONE_BOARD["1"])).flows[0]
    yield "fetch/hard", _rate(fetched)
    yield "fetch/app", _call_rate(fetched)
    yield "check/fetch/to-peer-write", _rate(fetched) / _rate(peer)
    yield "fetch/initial-delay/list-in-engine", _initial_delay_ms(listed)
    yield "fetch/initial-delay/list-in-memory", _initial_delay_ms(fetched)


def peer_read() -> Measurements:
    """FPGA-to-FPGA reads, which the source left out. The circuit answers no reads of its BAR 0."""
    if runs_circuits():
        return
    for case, target in (("1-switch", "a2"), ("3-switches", "b1")):
        for fifo in FIFOS:
            fabric = machine().set("a1", fifo=fifo)
            fabric.flow("a1", target, direction="read", size=BUFFER)
            name = fifo.replace(" ", "-").lower()
            yield f"peer-read/{case}/{name}-fifo", _rate(_run(fabric).flows[0])


def latency() -> Measurements:
    """Half of a reflected round trip, user logic to user logic."""
    one, three = _half_round_trip("a1", "a2"), _half_round_trip("a1", "b1")
    yield "latency/1-switch", one
    yield "latency/3-switches", three
    yield "latency/switch", (three - one) / 2
    yield "latency/fpga", (one - (three - one) / 2) / 2


def outcomes() -> Measurements:
    """The fitted parameters of the engine as its circuit has them, by links that never wait.

    A packet takes its beats and the cycles after it, a page its packets and the cycles after them.
    """
    fabric = machine()
    for fpga in BOARD_A[:2]:
        fabric.override(f"devices.{fpga}.upstream.generation", 3)
        fabric.override(f"devices.{fpga}.upstream.lanes", 8)
    (peer,) = _run(fabric.flow(*BOARD_A[:2], size=BUFFER, clock="sender")).flows
    host_writes = fabric.without_flows().flow(BOARD_A[0], "h0", size=BUFFER, clock="sender")
    (host,) = _run(host_writes).flows
    clock_hz, page_bytes = 250e6, 4096
    beats = ceil((12 + LARGEST) / 8)
    packet = clock_hz * LARGEST / known(peer, peer.bytes_per_second)
    page = clock_hz * page_bytes / known(host, host.bytes_per_second)
    yield "sender pacing", round(packet - beats, 2) + 0.0
    yield "descriptor turnaround", round(page - page_bytes / LARGEST * packet, 2) + 0.0


def machine(payload: int = LARGEST) -> Fabric:
    """The published machine; payloads above 128 bytes are set as `setpci` did, past the host."""
    fabric = system_fabric("rosta").without_flows()
    if payload != LARGEST:
        for node in (*SWITCHES, *FPGAS):
            fabric.set(node, max_payload=f"{payload} B", max_payload_mismatch=True)
    return fabric


def _writes(payload: int, pairs: Pairs, *, skew_us: int = 0) -> Fabric:
    fabric = machine(payload)
    for order, (sender, receiver) in enumerate(pairs):
        start = f"{order * skew_us} us"
        fabric.flow(sender, receiver, size=BUFFER, clock="sender", start=start)
    return fabric


def _host_writes(fpgas: Sequence[str], payload: int = LARGEST, size: str = BUFFER) -> Fabric:
    fabric = machine()
    for fpga in fpgas:
        fabric.flow(fpga, "h0", size=size, request_size=f"{payload} B", clock="sender")
    return fabric


def _at_once(count: int) -> tuple[str, ...]:
    """Up to four on one board, more as evenly over both as may be: the source does not say."""
    if count <= len(BOARD_A):
        return BOARD_A[:count]
    return (*BOARD_A[: (count + 1) // 2], *BOARD_B[: count // 2])


def _limit(count: int) -> float:
    """MiB/s of payload through the narrowest shared link, by byte times: 148 for 128 of payload."""
    cable = 8e9 * 4 / 8 * 128 / 130  # Gen3 x4
    slot = 5e9 * 8 / 10  # Gen2 x8
    return (cable if count <= len(BOARD_A) else slot) * 128 / 148 / MIB


def _most(payload: int) -> float:
    """MiB/s through the link of an FPGA, Gen2 x4, by the source's formula."""
    return float(line_rate(2, 4) * share(payload))


def _run(fabric: Fabric) -> RunResult:
    return sound(fabric.run())


def _same(simulation: Simulation, size: int) -> bool:
    """Whether the host finds the `size` bytes at the start of its memory again behind them."""
    sent, back = (simulation.memory("h0", at, size) for at in (0, size))
    return sent == back and any(sent)


def _mean_rate(result: RunResult) -> float:
    """MiB/s, the mean over flows."""
    return fmean(map(_rate, sound(result).flows))


def _rate(flow: FlowResult) -> float:
    return known(flow, flow.bytes_per_second) / MIB


def _call_rate(flow: FlowResult) -> float:
    """MiB/s around the system call."""
    return flow.bytes / MIB / (_call_ms(flow) / 1e3)


def _initial_delay_ms(flow: FlowResult) -> float:
    """The time by which the system call takes longer than the transfer."""
    sent = known(flow, flow.sent_last_ns) - known(flow, flow.sent_first_ns)
    return _call_ms(flow) - sent / 1e6


def _call_ms(flow: FlowResult) -> float:
    return known(flow, flow.call_ns) / 1e6


def _half_round_trip(sender: str, reflector: str) -> float:
    """Nanoseconds."""
    fabric = machine().set(reflector, user="reflector")
    fabric.flow(sender, reflector, direction="round-trip", size=BEAT)
    return measured.latency(_run(fabric).flows[0]) / 2
