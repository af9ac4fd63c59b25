"""Circuits beside their models: the same bytes, rates and latencies. Some need `make gateware`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from circuits.test_circuits import has_engine, needs_all_circuits
from peerlane import Fabric
from peerlane.reproduction.machine import machine_of

if TYPE_CHECKING:
    from pathlib import Path

SIZE = "1 MiB"
SHARE = 0.02
"""How far rates and latencies of model and circuit may be apart."""


@dataclass(frozen=True)
class Scenario:
    """Two engines below a switch, and flows of one of them or both."""

    max_payload: int
    max_read_request: int
    user: str
    sizes: tuple[int, int, int]
    offset: int
    fetch: bool

    def fabric(self, implementation: str) -> Fabric:
        """The scenario with models or with circuits."""
        fabric = Fabric("pair").host("h0", memory="16 MiB").switch("s0", "h0", profile="plx")
        for name in ("a", "b"):
            fabric.device(name, "s0", model="sg-dma", bar="1 MiB", datapath="8 B")
            fabric.set(name, send_latency="260 ns", receive_latency="260 ns")
            fabric.set(name, implementation=implementation)
            fabric.set(name, max_read_request=f"{self.max_read_request} B")
        for name in ("h0", "s0", "a", "b"):
            fabric.set(name, max_payload=f"{self.max_payload} B")
        there, back, peer = (f"{size} B" for size in self.sizes)
        offset = f"{self.offset} B"
        if self.user == "matrix":
            fabric.set("a", user="matrix", crossed=True)
            fabric.flow("a", "h0", id="in", direction="read", size=there, offset=offset)
            return fabric.flow("a", "b", size=there, carries="in")
        if self.user == "loopback":
            fabric.set("a", user="loopback")
            fabric.flow("a", "h0", id="in", direction="read", size=there, offset=offset)
            return fabric.flow("a", "h0", size=there, offset="4 MiB", carries="in")
        if self.user == "reflector":
            fabric.set("b", user="reflector")
            return fabric.flow("a", "b", size=f"{self.sizes[2] % 64 + 4} B", direction="round-trip")
        fabric.set("a", descriptor_fetch=self.fetch)
        fabric.flow("a", "h0", size=there, offset=offset)
        fabric.flow("a", "h0", direction="read", size=back, offset="8 MiB")
        return fabric.flow("a", "b", size=peer).flow("b", "a", size=peer)


USERS = ["source-sink", *(u for u in ("loopback", "matrix", "reflector") if has_engine(u))]
FETCHES = st.booleans() if has_engine("reflector") else st.just(False)  # noqa: FBT003

SCENARIOS = st.builds(
    Scenario,
    max_payload=st.sampled_from([128, 256, 512]),
    max_read_request=st.sampled_from([128, 512, 4096]),
    user=st.sampled_from(["source-sink", *USERS]),
    sizes=st.tuples(*[st.integers(1, 40_000)] * 3),
    offset=st.integers(0, 8191),
    fetch=FETCHES,
)


def bytes_of(fabric: Fabric) -> list[bytes]:
    """The bytes of all memories after a run in which everything arrived intact."""
    simulation = fabric.simulation()
    result = simulation.run()
    assert result.failures == []
    assert all(flow.intact for flow in result.flows)
    nodes = simulation.tree().nodes
    regions = ((node, nodes[node].regions[0]) for node in ("h0", "a", "b"))
    return [simulation.node(node).memory(region.base, 1 << 20) for node, region in regions]


@settings(max_examples=12, deadline=None)
@given(scenario=SCENARIOS)
def test_model_and_circuit_move_the_same_bytes(scenario: Scenario) -> None:
    assert bytes_of(scenario.fabric("rtl")) == bytes_of(scenario.fabric("model"))


PIPELINE_NS = 22
"""Five to six cycles of 4 ns in which a packet is in the registers of the circuit on its way out,
as measured on a board: the model's paths of 260 ns have none."""


def machine(implementation: str) -> Fabric:
    """The machine of rosta, in which the model takes what the circuit has."""
    fabric = machine_of("rosta").fabric()
    for board in "ab":
        for number in range(1, 5):
            fabric.set(f"{board}{number}", implementation=implementation)
            if implementation == "model":
                fabric.set(f"{board}{number}", idle_cycles=0, descriptor_cycles=0)
    return fabric


def rate(fabric: Fabric) -> float:
    """The mean rate of the flows."""
    result = fabric.run()
    assert result.failures == []
    rates = [flow.bytes_per_second for flow in result.flows]
    return fmean(one for one in rates if one is not None)


def turnaround_ns(implementation: str, path: Path) -> float:
    """The time from the end of a request's last completion to the request that waited for it.

    One engine reads alone, with space for one request: the times are those at its link.
    """
    fabric = machine(implementation)
    simulation = fabric.flow("a1", "h0", size="16 KiB", direction="read").simulation()
    simulation.capture("trace", path)
    assert simulation.run().failures == []
    end, found = None, list[float]()
    for line in path.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        if not one["link"].endswith("-a1"):
            continue
        if one.get("tlp") == "CplD":
            end = one["ns"] + one["length_ns"]
        elif one.get("tlp") == "MRd" and end is not None:
            found.append(one["ns"] - end)
    assert len(found) == 3
    return fmean(found)


RING = ("a1", "a2", "a3", "a4")
PAIRS = {
    "one": [("a1", "a2")],
    "ring": [*zip(RING, (*RING[1:], "a1"), strict=True)],
    "across": [("a1", "b1"), ("a2", "b2"), ("a3", "b3"), ("a4", "b4")],
}


@needs_all_circuits
@pytest.mark.parametrize("case", PAIRS)
def test_peer_writes_of_model_and_circuit_are_as_fast(case: str) -> None:
    def measured(implementation: str) -> float:
        fabric = machine(implementation)
        for sender, receiver in PAIRS[case]:
            fabric.flow(sender, receiver, size=SIZE, clock="sender")
        return rate(fabric)

    assert measured("rtl") == pytest.approx(measured("model"), rel=SHARE)


@needs_all_circuits
@pytest.mark.parametrize("direction", ["write", "read"])
@pytest.mark.parametrize("count", [1, 4])
def test_host_transfers_of_model_and_circuit_are_as_fast(
    direction: Any, count: int, tmp_path: Path
) -> None:
    # A request that waits for space goes through reassembly, splitter and header of the circuit.
    circuit, model = (turnaround_ns(one, tmp_path / one) for one in ("rtl", "model"))
    further_ns = circuit - model
    assert further_ns > PIPELINE_NS

    def measured(implementation: str) -> float:
        fabric = machine(implementation)
        for fpga in RING[:count]:
            if implementation == "model" and direction == "read":
                fabric.set(fpga, send_latency=f"{260 + PIPELINE_NS} ns")
                fabric.set(fpga, receive_latency=f"{260 + further_ns - PIPELINE_NS:.3f} ns")
            clock: dict[str, Any] = {"clock": "sender"} if direction == "write" else {}
            fabric.flow(fpga, "h0", size=SIZE, direction=direction, **clock)
        return rate(fabric)

    assert measured("rtl") == pytest.approx(measured("model"), rel=SHARE)


@needs_all_circuits
@pytest.mark.parametrize("target", ["a2", "b1"])
def test_a_reflected_write_of_model_and_circuit_takes_as_long(target: str) -> None:
    def measured(implementation: str, further_ns: float = 0) -> float:
        fabric = machine(implementation).set(target, user="reflector")
        if implementation == "model":
            for fpga in ("a1", target):
                fabric.set(fpga, send_latency=f"{260 + further_ns} ns")
        fabric.flow("a1", target, direction="round-trip", size="8 B")
        (flow,) = fabric.run().flows
        assert flow.latency_ns is not None
        return flow.latency_ns.mean

    assert measured("rtl") == pytest.approx(measured("model", PIPELINE_NS), rel=SHARE)
