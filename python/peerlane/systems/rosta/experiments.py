"""A function for each table of the source, on the public API of `peerlane` alone."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from peerlane import Fabric
from peerlane.systems.rosta.analytic import table1, table2

if TYPE_CHECKING:
    from peerlane import FlowResult, RunResult
    from peerlane.reproduce import Measurements

__all__ = ["latency", "table1", "table2", "table3"]

BOARD_A = ("a1", "a2", "a3", "a4")
BOARD_B = ("b1", "b2", "b3", "b4")
SWITCHES = ("rha25", "rc47a", "rc47b")
BUFFER = "4 MiB"
MIB = 1 << 20

Pairs = list[tuple[str, str]]

ONE_BOARD: dict[str, Pairs] = {
    "1": list(pairwise(BOARD_A[:2])),
    "2": list(pairwise(BOARD_A[:3])),
    "3": list(pairwise(BOARD_A)),
    "4": list(pairwise((*BOARD_A, "a1"))),
}
TWO_BOARDS: dict[str, Pairs] = {
    "8.1": list(pairwise((*BOARD_A, *BOARD_B, "a1"))),
    "8.2": [*zip(BOARD_A, BOARD_B, strict=True), *zip(BOARD_B, BOARD_A, strict=True)],
}

WIDE_HEADERS = {"1": ONE_BOARD["1"], "4": ONE_BOARD["4"], "8.2": TWO_BOARDS["8.2"]}
"""The cases that tell 16-byte headers without pacing from 12-byte headers with it."""

SKEW_US = 10
"""Between one sender's start and the next, where starts are only nearly simultaneous: the order of
one system call. The source gives no number; the reading shows that it hardly matters."""


def table3() -> Measurements:
    """FPGA-to-FPGA writes, 1 to 8 at once: the mean over flows of the sender's own clock."""
    for payload in (128, 256):
        for case, pairs in ONE_BOARD.items():
            yield f"table3/{payload}/{case}", _mean_rate(_writes(payload, pairs).run())
        steady, skewed = {}, {}
        for case, pairs in TWO_BOARDS.items():
            together = _writes(payload, pairs).measure("500 us", "2 ms").run()
            steady[case] = fmean(_steady(flow) for flow in together.flows) / MIB
            skewed[case] = _mean_rate(_writes(payload, pairs, skew_us=SKEW_US).run())
            yield f"table3/{payload}/{case}", _mean_rate(together)
            yield f"reading/table3/{payload}/{case}/skewed-start", skewed[case]
        yield f"check/table3/{payload}/8.1-to-8.2", steady["8.1"] / steady["8.2"]
        ratio = skewed["8.1"] / skewed["8.2"]
        yield f"reading/table3/{payload}/8.1-to-8.2/skewed-start", ratio
        for case, pairs in WIDE_HEADERS.items():
            wide = _writes(payload, pairs)
            for fpga in (*BOARD_A, *BOARD_B):
                wide.set(fpga, bar_address_bits=64, idle_cycles=0)
            yield f"reading/table3/{payload}/{case}/wide-headers", _mean_rate(wide.run())


def latency() -> Measurements:
    """Half of a reflected round trip, user logic to user logic."""
    yield "latency/1-switch", _half_round_trip("a1", "a2")
    yield "latency/3-switches", _half_round_trip("a1", "b1")


def machine(payload: int = 128) -> Fabric:
    """The published machine; payloads above 128 bytes are set as `setpci` did, past the host."""
    fabric = Fabric.load(Path(__file__).with_name("scenario.toml")).without_flows()
    if payload != 128:  # noqa: PLR2004 - what enumeration arrives at by itself
        for node in (*SWITCHES, *BOARD_A, *BOARD_B):
            fabric.set(node, max_payload=f"{payload} B")
    return fabric


def _writes(payload: int, pairs: Pairs, *, skew_us: int = 0) -> Fabric:
    fabric = machine(payload)
    for order, (sender, receiver) in enumerate(pairs):
        start = f"{order * skew_us} us"
        fabric.flow(sender, receiver, size=BUFFER, clock="sender", start=start)
    return fabric


def _mean_rate(result: RunResult) -> float:
    """MiB/s, the mean over flows, once every byte is known to have arrived."""
    if result.failures:
        raise RuntimeError("; ".join(result.failures))
    return fmean(_known(flow, flow.bytes_per_second) for flow in result.flows) / MIB


def _steady(flow: FlowResult) -> float:
    return _known(flow, flow.steady_bytes_per_second)


def _known(flow: FlowResult, rate: float | None) -> float:
    if rate is None:
        raise RuntimeError(f"flow {flow.id} has no rate")
    return rate


def _half_round_trip(sender: str, reflector: str) -> float:
    """Nanoseconds. The payload is not published; 8 bytes are one beat of the 64-bit stream."""
    fabric = machine().set(reflector, model="reflector")
    fabric.flow(sender, reflector, direction="round-trip", request_size="8 B", count=16)
    result = fabric.run()
    if result.failures or result.flows[0].latency_ns is None:
        raise RuntimeError("; ".join(result.failures) or "no round trip was measured")
    return result.flows[0].latency_ns.mean / 2
