"""A function for each table of the source, on the public API of `peerlane` alone."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

from peerlane.reproduction.catalogue import system_fabric
from peerlane.systems import measured
from peerlane.systems.measured import known, sound
from peerlane.systems.rosta.analytic import table1, table2

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane import Fabric, FlowResult, RunResult, Simulation
    from peerlane.reproduction.jobs import Measurements

__all__ = [
    "chain",
    "fetch",
    "fig3",
    "fig4",
    "fig5",
    "latency",
    "loopback",
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
BUFFER = "4 MiB"
MIB = 1 << 20

TWO_FIT, THREE_FIT = 2, 3
"""FPGAs that write to the host, and that read from it, at their full rate at once."""

ALL_UNDER_WAY = ("1 ms", "2.5 ms")
"""The time in which all transfers are under way: all lists are written, and none has ended."""

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


def table3() -> Measurements:
    """FPGA-to-FPGA writes, 1 to 8 at once: the mean over flows of the sender's own clock."""
    for payload in (128, 256):
        for case, pairs in ONE_BOARD.items():
            yield f"table3/{payload}/{case}", _mean_rate(_writes(payload, pairs).run())
        steady, skewed = {}, {}
        for case, pairs in TWO_BOARDS.items():
            together = _writes(payload, pairs).measure("500 us", "2 ms").run()
            steady[case] = fmean(measured.steady(flow) for flow in together.flows) / MIB
            skewed[case] = _mean_rate(_writes(payload, pairs, skew_us=SKEW_US).run())
            yield f"table3/{payload}/{case}", _mean_rate(together)
            yield f"reading/table3/{payload}/{case}/skewed-start", skewed[case]
        yield f"check/table3/{payload}/8.1-to-8.2", steady["8.1"] / steady["8.2"]
        ratio = skewed["8.1"] / skewed["8.2"]
        yield f"reading/table3/{payload}/8.1-to-8.2/skewed-start", ratio
        for case, pairs in WIDE_HEADERS.items():
            wide = _writes(payload, pairs)
            for fpga in FPGAS:
                wide.set(fpga, bar_address_bits=64, idle_cycles=0)
            yield f"reading/table3/{payload}/{case}/wide-headers", _mean_rate(wide.run())


def fig3() -> Measurements:
    """Host write against packet size: by the sender's clock, and around the system call."""
    for payload in (8, 16, 32, 64, 128):
        (flow,) = _run(_host_writes(BOARD_A[:1], payload)).flows
        yield f"fig3/{payload}/hard", _rate(flow)
        yield f"fig3/{payload}/app", _call_rate(flow)
    for payload in (8, 16, 32):
        lines = _host_writes(BOARD_A[:1], payload).set("h0", memory_partial_line="50 ns")
        yield f"reading/fig3/{payload}/partial-lines", _rate(_run(lines).flows[0])
    few = _host_writes(BOARD_A[:1], 8).set("h0", posted_headers=8)
    yield "reading/fig3/8/few-headers", _rate(_run(few).flows[0])


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
    peer = _run(_writes(128, ONE_BOARD["1"])).flows[0]
    yield "fetch/hard", _rate(fetched)
    yield "fetch/app", _call_rate(fetched)
    yield "check/fetch/to-peer-write", _rate(fetched) / _rate(peer)
    yield "fetch/initial-delay/list-in-engine", _initial_delay_ms(listed)
    yield "fetch/initial-delay/list-in-memory", _initial_delay_ms(fetched)


def peer_read() -> Measurements:
    """FPGA-to-FPGA reads, which the source left out."""
    for case, target in (("1-switch", "a2"), ("3-switches", "b1")):
        for fifo in ("4 KiB", "64 KiB"):
            fabric = machine().set("a1", fifo=fifo)
            fabric.flow("a1", target, direction="read", size=BUFFER)
            name = fifo.replace(" ", "-").lower()
            yield f"peer-read/{case}/{name}-fifo", _rate(_run(fabric).flows[0])


def latency() -> Measurements:
    """Half of a reflected round trip, user logic to user logic."""
    yield "latency/1-switch", _half_round_trip("a1", "a2")
    yield "latency/3-switches", _half_round_trip("a1", "b1")


def machine(payload: int = 128) -> Fabric:
    """The published machine; payloads above 128 bytes are set as `setpci` did, past the host."""
    fabric = system_fabric("rosta").without_flows()
    if payload != 128:  # noqa: PLR2004 - what enumeration arrives at by itself
        for node in (*SWITCHES, *FPGAS):
            fabric.set(node, max_payload=f"{payload} B")
    return fabric


def _writes(payload: int, pairs: Pairs, *, skew_us: int = 0) -> Fabric:
    fabric = machine(payload)
    for order, (sender, receiver) in enumerate(pairs):
        start = f"{order * skew_us} us"
        fabric.flow(sender, receiver, size=BUFFER, clock="sender", start=start)
    return fabric


def _host_writes(fpgas: Sequence[str], payload: int = 128) -> Fabric:
    fabric = machine()
    for fpga in fpgas:
        fabric.flow(fpga, "h0", size=BUFFER, request_size=f"{payload} B", clock="sender")
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
    """Nanoseconds. The payload is not published; 8 bytes are one beat of the 64-bit stream."""
    fabric = machine().set(reflector, user="reflector")
    fabric.flow(sender, reflector, direction="round-trip", size="8 B")
    return measured.latency(_run(fabric).flows[0]) / 2
