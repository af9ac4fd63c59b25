"""Traces follow PCI Express Base, by a judge that shares no code with the simulator.

Each rule is also shown to find what it is for: a trace with one wrong line.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import tempfile
import tomllib
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance import channels
from conformance.checker import RULES, check, finds, judged
from conformance.data_link import replays
from conformance.fabric import Fabric, Link
from conformance.flow_control import Counter
from conformance.mutations import (
    AGAIN,
    GOOD,
    IN_ANOTHER_LIFE,
    MUTATIONS,
    ON_THE_WAY_TO_L1,
    PASSING,
    REST,
    WITHOUT_PERMISSION,
)
from conformance.ordering import may_pass, passes
from conformance.packets import Tlp
from conformance.registers import of_dump
from conformance.scenarios import lives, scenario
from conformance.trace import read
from conftest import ROOT, SHIPPED
from peerlane import ScenarioWarning, Simulation

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.finding import Finding
    from conformance.mutations import Mutation
    from conformance.trace import Line

UNTIL_NS = 60_000.0
"""Shipped scenarios are traced to this time, in simulated nanoseconds."""

LARGE = {"scenarios/rack.toml": 2_000.0, "scenarios/torus.toml": 15_000.0}
"""These have so many links alike that as many packets are judged in less time."""

SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
GENERATED = range(3000 if SOAK else 30)
BATCH = 5


def fabric_of(simulation: Simulation, text: str) -> Fabric:
    """What the judge may know of a scenario."""
    tree = simulation.tree()
    hosts = tomllib.loads(text).get("hosts", {})
    links_written = tomllib.loads(text).get("links", {})
    exits = l1_exits(tomllib.loads(text))
    tops = [node.name for node in tree.nodes if node.upstream is None]
    maps = channels.of_dump(simulation.lspci(), tops)
    links: dict[str, Link] = {}
    requesters: dict[str, frozenset[int]] = {}
    boundaries: dict[tuple[str, int], int] = {}
    read_requests: dict[tuple[str, int], int] = {}
    splitting: dict[str, int] = {}
    root_ports: dict[tuple[str, int], str] = {}
    for node in tree.nodes:
        root = tree.root_of(node).name
        own = [_number(function) for function in (node.id, *node.virtual_functions)]
        if node.kind == "host":
            boundary = hosts.get(node.name, {}).get("read_completion_boundary", "64 B")
            boundaries[root, own[0]] = int(boundary.split()[0])
            if "largest_peer_payload" in hosts.get(node.name, {}):
                splitting[root] = boundaries[root, own[0]]
        if node.kind != "switch":
            requesters[node.name] = frozenset(own)
            if node.max_read_request is not None:
                read_requests |= {(root, one): node.max_read_request for one in own}
        child = node
        while child.upstream is not None:
            if tree.nodes[child.upstream.to].upstream is None:
                root_ports |= {(root, one): child.name for one in own}
            child = tree.nodes[child.upstream.to]
        if node.upstream is not None:
            above = node.upstream.to
            links[f"{above}-{node.name}"] = Link(
                root=root,
                above=above,
                below=node.name,
                gigatransfers=node.upstream.gigatransfers,
                lanes=node.upstream.lanes,
                max_payload=max(node.max_payload, tree.nodes[above].max_payload),
                channels=maps.get((root, _number(node.id))),
                has_separate_clocks=links_written.get("sris", False),
                is_spread=links_written.get("spread_spectrum", True),
                l1_exits_ns=(exits.get(above, 0.0), exits.get(node.name, 0.0)),
            )
    roots = [node.name for node in tree.nodes if node.upstream is None]
    registers = of_dump(simulation.lspci(), roots)
    whole = frozenset(
        name
        for name, host in hosts.items()
        if "largest_peer_payload" not in host and not host.get("iommu") and "profile" not in host
    )
    switches = frozenset(node.name for node in tree.nodes if node.kind == "switch")
    return Fabric(
        links,
        switches,
        requesters,
        boundaries,
        read_requests,
        splitting,
        root_ports,
        registers,
        whole,
    )


def l1_exits(scenario: dict[str, Any]) -> dict[str, float]:
    """The L1 Exit Latency in ns of each node that has one."""
    sections = (scenario.get(kind, {}) for kind in ("hosts", "switches", "devices"))
    nodes = [item for section in sections for item in section.items()]
    written = {name: node["l1_exit_latency"] for name, node in nodes if "l1_exit_latency" in node}
    units = {"ns": 1.0, "us": 1000.0}
    return {name: float(text.split()[0]) * units[text.split()[1]] for name, text in written.items()}


def _number(function: str) -> int:
    """The 16 bits of a function that is written as bus:device.function."""
    bus, rest = function.split(":")
    device, number = rest.split(".")
    return int(bus, 16) << 8 | int(device, 16) << 3 | int(number)


def traced(text: str, path: Path, until_ns: float | None = None) -> tuple[list[Line], Fabric]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScenarioWarning)
        simulation = Simulation(text)
    simulation.capture("trace", path)
    if until_ns is None:
        simulation.run()
    else:
        simulation.run_until(until_ns)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return lines, fabric_of(simulation, text)


def complain(findings: list[Finding]) -> str:
    return "\n".join(str(finding) for finding in findings[:10])


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_scenario_conforms(name: str, tmp_path: Path) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    findings = check(*traced(text, tmp_path / "trace", LARGE.get(name, UNTIL_NS)))
    assert not findings, complain(findings)


@pytest.mark.parametrize("first", GENERATED[::BATCH])
def test_generated_scenarios_conform(first: int, tmp_path: Path) -> None:
    for number in range(first, first + BATCH):
        findings = check(*traced(scenario(number), tmp_path / "trace"))
        assert not findings, f"scenario {number}:\n{complain(findings)}"


@cache
def again() -> tuple[list[Line], Fabric]:
    with tempfile.TemporaryDirectory() as folder:
        return traced(AGAIN, Path(folder) / "trace")


def test_a_link_that_came_up_again_is_judged_anew() -> None:
    trace = read(*again())
    assert not judged(trace), complain(judged(trace))
    (later,) = trace.later
    assert {name for name, _ in later.wires} == {"s0-a"}
    assert all(len(wire.tlps) > 100 and wire.recoveries for wire in later.wires.values())


@pytest.mark.parametrize("number", range(200 if SOAK else 12))
def test_generated_links_that_come_up_again_conform(number: int, tmp_path: Path) -> None:
    trace = read(*traced(lives(number), tmp_path / "trace"))
    findings = judged(trace)
    assert not findings, complain(findings)
    assert trace.later


@cache
def resting() -> tuple[list[Line], Fabric]:
    with tempfile.TemporaryDirectory() as folder:
        return traced(REST, Path(folder) / "trace")


def test_a_link_that_is_in_l1_from_time_to_time_conforms() -> None:
    lines, fabric = resting()
    assert not check(lines, fabric), complain(check(lines, fabric))
    assert {line.get("tlp") for line in lines} > {"PM_Active_State_Nak"}


@cache
def good() -> tuple[list[Line], Fabric]:
    with tempfile.TemporaryDirectory() as folder:
        return traced(GOOD, Path(folder) / "trace")


def test_the_good_trace_is_good_and_has_replays() -> None:
    lines, fabric = good()
    assert not check(lines, fabric)
    assert any(line.get("replay") for line in lines)


def test_every_rule_has_a_mutation_and_names_its_paragraph() -> None:
    changed = {rule for rule, _ in (MUTATIONS | ON_THE_WAY_TO_L1).values()}
    assert {rule.__name__ for rule in RULES} == changed
    for rule in RULES:
        assert re.match(r"\d\.\d", rule.__doc__ or ""), rule.__name__


@cache
def passing() -> tuple[list[Line], Fabric]:
    with tempfile.TemporaryDirectory() as folder:
        return traced(PASSING, Path(folder) / "trace")


def test_packets_pass_others_by_each_permission_and_the_judge_agrees() -> None:
    trace = read(*passing())
    findings = judged(trace)
    assert not findings, complain(findings)
    seen = {(later.attributes, later.traffic_class) for later, _ in passes(trace)}
    assert seen >= {(2, 0), (4, 0), (0, 3)}


WRONG = [
    pytest.param(right, *broken, id=name)
    for right, changes in (
        (good, MUTATIONS),
        (again, IN_ANOTHER_LIFE),
        (resting, ON_THE_WAY_TO_L1),
        (passing, WITHOUT_PERMISSION),
    )
    for name, broken in changes.items()
]
"""Each change that breaks a rule, the rule, and the right trace in which it is made."""


@pytest.mark.parametrize(("right", "rule", "mutation"), WRONG)
def test_a_rule_finds_the_line_that_is_wrong(
    right: Callable[[], tuple[list[Line], Fabric]], rule: str, mutation: Mutation
) -> None:
    lines, fabric = right()
    lines = pickle.loads(pickle.dumps(lines))  # noqa: S301 - a copy, which is made fast so
    mutation(lines)
    assert finds(rule, read(lines, fabric))


WRITE, READ, ATOMIC, ANSWER = "40000001", "00000001", "4c000001", "4a000001"
"""The first dword of a posted request, a read, a non-posted request with data and a completion."""


def _tlp(first: str, *, attributes: int = 0, own: int = 1, requester: int = 1, tag: int = 0) -> Tlp:
    """A TLP; `own` is its Requester ID, or the Completer ID of a completion for `requester`."""
    raw = bytearray.fromhex(first + "00000000" * 2)
    raw[1] |= attributes & 4
    raw[2] |= (attributes & 3) << 4
    raw[4:6] = own.to_bytes(2, "big")
    if first == ANSWER:
        raw[8:10] = requester.to_bytes(2, "big")
        raw[10] = tag
    return Tlp.parse(bytes(raw))


@pytest.mark.parametrize("attributes", range(8))
def test_the_oracle_of_ordering_is_the_table(attributes: int) -> None:
    relaxed, by_id = bool(attributes & 2), bool(attributes & 4)
    posted, other = _tlp(WRITE), _tlp(WRITE, own=2)
    for first, by_relaxed in ((WRITE, True), (READ, False), (ATOMIC, True), (ANSWER, True)):
        later = _tlp(first, attributes=attributes)
        assert may_pass(later, posted) == (relaxed and by_relaxed)
        assert may_pass(later, other) == ((relaxed and by_relaxed) or by_id)
        for waiting in (READ, ATOMIC):
            assert may_pass(later, _tlp(waiting))
    same, next_tag = _tlp(ANSWER, attributes=attributes), _tlp(ANSWER, tag=1)
    assert not may_pass(same, _tlp(ANSWER))
    assert may_pass(same, next_tag)
    assert may_pass(posted, same)


@pytest.mark.parametrize(("nak_ns", "wrong"), [(-10.0, True), (10.0, False)])
def test_a_nak_during_a_replay_begins_another_one(*, nak_ns: float, wrong: bool) -> None:
    link = Link("h", "h", "d", gigatransfers=8.0, lanes=4, max_payload=128)
    pipeline_ns = 50.0

    def dllp(ns: float, direction: str, raw: str) -> list[Line]:
        place = {"link": "h-d", "direction": direction}
        arrival = {"arrival": "dllp", "verdict": "accepted", "ns": ns + 60}
        return [{"ns": ns, "dllp": "", "raw": raw, **place}, {**arrival, **place}]

    def tlp(ns: float, *, replay: bool) -> Line:
        place = {"link": "h-d", "direction": "down", "nullified": False, "length_ns": 20.0}
        header = WRITE + "00000000" * 2
        return {"ns": ns, "tlp": "MWr", "sequence": 0, "replay": replay, "header": header, **place}

    timer = 100 + 20 + link.replay_limit_ns
    nak_of_nothing = "10000fff0000"
    lines = [
        *dllp(pipeline_ns, "down", "00000fff0000"),
        tlp(100, replay=False),
        tlp(timer, replay=True),
        tlp(timer + 20, replay=True),
        # It reaches the data-link layer before or after the replay begins there.
        *dllp(timer + nak_ns - pipeline_ns - 60, "up", nak_of_nothing),
    ]
    fabric = Fabric({"h-d": link}, frozenset(), {})
    assert bool(list(replays(read(lines, fabric)))) == wrong


@pytest.mark.parametrize(("code", "factor"), [(1, 1), (2, 4), (3, 16)])
@pytest.mark.parametrize("bits", [8, 12])
def test_a_scaled_limit_counts_in_units_of_its_factor(code: int, factor: int, bits: int) -> None:
    counter = Counter(bits, limit=3, scale=code)
    assert all(counter.spend(1) for _ in range(3 * factor))
    assert not counter.spend(1)
    largest = Counter(bits, limit=(1 << bits - 1) - 1, scale=code)
    assert all(largest.spend(1) for _ in range(((1 << bits - 1) - 1) * factor))
    assert not largest.spend(1)
    around = Counter(bits, limit=1, scale=code)
    for units in range(2, 3 << bits):
        assert all(around.spend(1) for _ in range(factor))
        around.raise_to(units % (1 << bits))
    assert not Counter(bits, limit=1, scale=code).spend(factor + 1)
    assert Counter(bits, limit=0, scale=code).spend(factor + 1)
