"""What flows wait for, on fabrics whose limit is known by construction; and what comes next."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest

from conftest import PAIR
from peerlane import Device, Fabric, Parameter, Simulation
from peerlane.explaining.explain import explain
from peerlane.explaining.lifting import liftings, times
from peerlane.explaining.present import Present
from peerlane.fabric.variant import parsed
from peerlane.models.registry import catalogue, registered_models
from peerlane.results.waits import Cause, Kind

if TYPE_CHECKING:
    from conftest import Run, Write
    from peerlane.results.explanation import Explanation, FlowExplanation, Value, WhatIf

Settings = dict[str, Any]

SUPERNODE = Path(__file__).parents[2] / "scenarios" / "supernode.toml"

READ: Settings = {"direction": "read"}
FAST: Settings = {"generation": 5, "lanes": 16}
DEEP: Settings = {"tags": 64}
WALKS: Settings = {
    "iommu": True,
    "iotlb_entries": 4,
    "walkers": 1,
    "memory_read_latency": "500 ns",
}


def below_a_switch(
    *,
    host: Settings | None = None,
    above: Settings | None = None,
    device: Settings | None = None,
) -> Fabric:
    """A host, a switch on a fast link, and a device on a link of Gen3 x4."""
    fabric = Fabric("explained").links(generation=3, lanes=4).host("h", **(host or {}))
    return fabric.switch("s", "h", **FAST | (above or {})).device("a", "s", **(device or {}))


def at_the_host(*, host: Settings | None = None, device: Settings | None = None) -> Fabric:
    """A device on a link of Gen3 x4 of a host."""
    fabric = Fabric("explained").links(generation=3, lanes=4).host("h", **(host or {}))
    return fabric.device("a", "h", **(device or {}))


def up(fabric: Fabric, *, source: str = "a", to: str = "h", **settings: Any) -> Fabric:
    """The fabric with a flow, from its device if nothing else is said."""
    return fabric.flow(source, to, id="up", **{"size": "512 KiB"} | settings)


def neighbour(**settings: Any) -> Fabric:
    """Two devices below the switch; the second has the settings."""
    return below_a_switch(device=DEEP).device("b", "s", bar="1 MiB", **settings)


def crowd(count: int, direction: Any) -> Fabric:
    """Devices that share a link of Gen3 x4 above the switch."""
    fabric = below_a_switch(above={"generation": 3, "lanes": 4}, device=DEEP)
    up(fabric, direction=direction, size="256 KiB")
    for number in range(1, count):
        fabric.device(f"b{number}", "s", **DEEP)
        fabric.flow(f"b{number}", "h", id=f"b{number}", size="256 KiB", direction=direction)
    return fabric


def across(lane_rate: str) -> Fabric:
    """Two hosts, joined by a fibre of one lane."""
    fabric = Fabric("explained").links(generation=3, lanes=4).host("ha").host("hb")
    for side in "ab":
        name, host = f"r{side}", f"h{side}"
        fabric.device(name, host, model="router", lane_rate=lane_rate, optical_lanes=1)
    return up(fabric.fibre("ra", "rb"), source="ha", to="rb", window="64 KiB")


def round_trips(**settings: Any) -> Fabric:
    """A host whose writes a reflector sends back on a slow link."""
    fabric = Fabric("explained").links(generation=1, lanes=1).host("h")
    fabric.device("r", "h", model="reflector", bar="1 MiB")
    ways: Settings = {"direction": "round-trip", "request_size": "48 B", "size": "14400 B"}
    return up(fabric, source="h", to="r", **ways | settings)


def sockets() -> Settings:
    """A host with memory behind a slow connection."""
    return {"sockets": 2, "socket_bandwidth": "2 GB/s"}


@dataclass(frozen=True)
class Known:
    """A fabric whose limit is known, the key that lifts it, and what limits the flow then."""

    fabric: Fabric
    limit: tuple[str, str, str | None, str | None]
    lift: str
    then: tuple[str, str, str | None]


WIRE_UP = ("wire", "s-a", "up")
WIRE_DOWN = ("wire", "s-a", "down")

KNOWN = {
    "the wire of a write": Known(
        up(below_a_switch(host={"memory_bandwidth": "6 GB/s"})),
        (*WIRE_UP, None),
        "links.s-a.generation",
        ("memory", "h", None),
    ),
    "the wire of a read": Known(
        up(below_a_switch(device={"tags": 8}), **READ),
        (*WIRE_DOWN, None),
        "links.s-a.generation",
        ("tags", "a", None),
    ),
    "a slow wire behind": Known(
        up(below_a_switch(above={"generation": 1, "lanes": 4})),
        ("wire", "h-s", "up", None),
        "links.h-s.generation",
        WIRE_UP,
    ),
    "header credit": Known(
        up(at_the_host(host={"posted_headers": 1})),
        ("credit", "h-a", "up", "posted headers"),
        "hosts.h.posted_headers",
        ("wire", "h-a", "up"),
    ),
    "data credit": Known(
        up(at_the_host(host={"posted_data": "512 B"})),
        ("credit", "h-a", "up", "posted data"),
        "hosts.h.posted_data",
        ("wire", "h-a", "up"),
    ),
    "credit of reads": Known(
        up(at_the_host(host={"nonposted_headers": 1}, device=DEEP), **READ),
        ("credit", "h-a", "up", "non-posted headers"),
        "hosts.h.nonposted_headers",
        ("wire", "h-a", "down"),
    ),
    "credit of completions": Known(
        up(below_a_switch(above={"completion_data": "512 B"}, device=DEEP), **READ),
        ("credit", "h-s", "down", "completion data"),
        "switches.s.completion_data",
        WIRE_DOWN,
    ),
    "tags": Known(
        up(below_a_switch(device={"tags": 2}), **READ),
        ("tags", "a", None, None),
        "devices.a.tags",
        WIRE_DOWN,
    ),
    "tags for 94 % of the wire": Known(
        up(below_a_switch(device={"tags": 5}), **READ),
        ("tags", "a", None, None),
        "devices.a.tags",
        WIRE_DOWN,
    ),
    "outstanding bytes": Known(
        up(below_a_switch(device={**DEEP, "completion_buffer": "1 KiB"}), **READ),
        ("outstanding", "a", None, None),
        "devices.a.completion_buffer",
        WIRE_DOWN,
    ),
    "outstanding completions": Known(
        up(below_a_switch(device={**DEEP, "completion_buffer_headers": 16}), **READ),
        ("outstanding", "a", None, None),
        "devices.a.completion_buffer_headers",
        WIRE_DOWN,
    ),
    "the replay buffer": Known(
        up(at_the_host(device={"replay_buffer": "2 KiB", "delay": "500 ns"})),
        ("replay-buffer", "h-a", "up", None),
        "devices.a.replay_buffer",
        ("wire", "h-a", "up"),
    ),
    "the datapath": Known(
        up(below_a_switch(device={"datapath": "8 B", "clock": "125 MHz"})),
        ("datapath", "a", None, None),
        "devices.a.datapath",
        WIRE_UP,
    ),
    "the pace of the engine": Known(
        up(below_a_switch(device={"request_interval": "500 ns"})),
        ("datapath", "a", None, None),
        "devices.a.request_interval",
        WIRE_UP,
    ),
    "the pace of the flow": Known(
        up(below_a_switch(), request_size="512 B", interval="500 ns"),
        ("datapath", "a", None, "keeps the interval of the flow"),
        "flows.up.interval",
        WIRE_UP,
    ),
    "the pace of a flow of a host": Known(
        round_trips(interval="3 us"),
        ("datapath", "h", None, "keeps the interval of the flow"),
        "flows.up.interval",
        ("wire", "h-r", "down"),
    ),
    "the receive datapath of the target": Known(
        up(neighbour(receive_datapath="4 B"), to="b"),
        ("datapath", "b", None, None),
        "devices.b.receive_datapath",
        WIRE_UP,
    ),
    "the datapath of the completer": Known(
        up(neighbour(datapath="4 B"), to="b", **READ),
        ("datapath", "b", None, None),
        "devices.b.datapath",
        ("wire", "s-b", "up"),
    ),
    "the datapath of a root port": Known(
        up(below_a_switch(host={"port_datapath": "1 B"})),
        ("datapath", "h", None, None),
        "hosts.h.port_datapath",
        WIRE_UP,
    ),
    "the memory of a write": Known(
        up(below_a_switch(host={"memory_bandwidth": "2 GB/s"})),
        ("memory", "h", None, None),
        "hosts.h.memory_bandwidth",
        WIRE_UP,
    ),
    "the memory of a read": Known(
        up(below_a_switch(host={"memory_bandwidth": "2 GB/s"}, device=DEEP), **READ),
        ("memory", "h", None, None),
        "hosts.h.memory_bandwidth",
        WIRE_DOWN,
    ),
    "the ingest of writes": Known(
        up(below_a_switch(host={"ingest_bandwidth": "2 GB/s"})),
        ("memory", "h", None, None),
        "hosts.h.ingest_bandwidth",
        WIRE_UP,
    ),
    "the memory just above the wire": Known(
        up(below_a_switch(host={"memory_bandwidth": "3.9 GB/s"})),
        (*WIRE_UP, None),
        "links.s-a.generation",
        ("memory", "h", None),
    ),
    "the memory just below the wire": Known(
        up(below_a_switch(host={"memory_bandwidth": "3.6 GB/s"})),
        ("memory", "h", None, None),
        "hosts.h.memory_bandwidth",
        WIRE_UP,
    ),
    "the page walks": Known(
        up(below_a_switch(host=WALKS)),
        ("memory", "h", None, "address translation"),
        "hosts.h.iommu",
        WIRE_UP,
    ),
    "the path between root ports": Known(
        up(at_the_host(host={"peer_bandwidth": "1 GB/s"}).device("b", "h", bar="1 MiB"), to="b"),
        ("datapath", "h", None, None),
        "hosts.h.peer_bandwidth",
        ("wire", "h-a", "up"),
    ),
    "the descriptors of an engine": Known(
        up(at_the_host(device={"model": "sg-dma", "descriptor_cycles": 500}), **READ),
        ("datapath", "a", None, None),
        "devices.a.descriptor_cycles",
        ("wire", "h-a", "down"),
    ),
    "the media of a drive": Known(
        up(
            at_the_host(device={"model": "nvme", "media_bandwidth": "1 GB/s"}),
            size="4 MiB",
            request_size="64 KiB",
        ),
        ("memory", "a", None, None),
        "devices.a.media_bandwidth",
        ("wire", "h-a", "up"),
    ),
    "the sockets of a write": Known(
        up(below_a_switch(host=sockets()), socket=1),
        ("socket", "h.0-1", "forth", None),
        "hosts.h.socket_bandwidth",
        WIRE_UP,
    ),
    "the sockets of a read": Known(
        up(below_a_switch(host=sockets(), device=DEEP), socket=1, **READ),
        ("socket", "h.0-1", "back", None),
        "hosts.h.socket_bandwidth",
        WIRE_DOWN,
    ),
}


def explained(fabric: Fabric, *, what_if: bool = False) -> Explanation:
    return explain(fabric.to_toml(), what_if=what_if)


def parts(cause: Cause | None) -> tuple[str, str, str | None, str | None]:
    assert cause is not None
    return cause.kind, cause.where, cause.direction, cause.detail


def factor(lifted: WhatIf) -> float:
    assert lifted.rate_before
    assert lifted.rate_after
    return lifted.rate_after / lifted.rate_before


def share_of(flow: FlowExplanation, *kinds: str) -> float:
    return sum(share.share for share in flow.shares if share.kind in kinds)


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_limit_is_found_and_the_next_one_by_a_run(name: str) -> None:
    known = KNOWN[name]
    (flow,) = explained(known.fabric, what_if=True).flows
    assert parts(flow.limit) == known.limit
    assert sum(share.share for share in flow.shares) == pytest.approx(1.0, abs=1e-3)
    assert share_of(flow, "other") <= 0.01
    lifted = flow.what_if[0]
    assert (lifted.lift, parts(lifted.next)[:3]) == (known.lift, known.then)
    assert lifted.rate_before == flow.bytes_per_second
    assert factor(lifted) > 1.005


@pytest.mark.parametrize("name", ["tags", "data credit", "the memory of a write"])
def test_what_if_is_what_a_run_with_this_key_measures(name: str) -> None:
    fabric = KNOWN[name].fabric
    lifted = explained(fabric, what_if=True).flows["up"].what_if[0]
    changed = fabric.copy().override(lifted.lift, lifted.value)
    assert changed.run().flows["up"].bytes_per_second == lifted.rate_after


@pytest.mark.parametrize("direction", ["write", "read"])
@pytest.mark.parametrize("count", [2, 5])
def test_flows_that_share_a_wire_wait_for_each_other(count: int, direction: str) -> None:
    explanation = explained(crowd(count, direction), what_if=True)
    way = "up" if direction == "write" else "down"
    for flow in explanation.flows:
        assert sum(share.share for share in flow.shares) == pytest.approx(1.0, abs=1e-3)
        # Each has the wire for its part of the time, and the others for the rest.
        assert share_of(flow, "wire") == pytest.approx(1 / count, abs=0.05)
        assert share_of(flow, "arbitration") == pytest.approx(1 - 1 / count, abs=0.05)
        assert parts(flow.limit)[:3] == ("arbitration", "h-s", way)
        (alone,) = flow.what_if
        others = [f"flows.{one.id}" for one in explanation.flows if one.id != flow.id]
        assert alone.lift == ", ".join(others)
        assert factor(alone) == pytest.approx(count, rel=0.05)
        assert parts(alone.next)[0] == "wire"


@pytest.mark.parametrize(
    ("count", "others"),
    [(3, "b1 and b2"), (4, "b1, b2 and b3"), (6, r"b\d, b\d, b\d and 2 more")],
)
def test_all_flows_that_share_a_wire_are_told_together(
    peerlane: Run, scenario: Write, count: int, others: str
) -> None:
    file = scenario(text=crowd(count, "write").to_toml())
    pattern = rf"^up waits ([0-9.]+) % of its time for packets of {others} on h-s up[.:]"
    for told in (peerlane("explain", file, "--no-what-if").out, peerlane("run", file).out):
        found = re.search(pattern, told, re.MULTILINE)
        assert found, told
        assert float(found[1]) == pytest.approx(100 * (1 - 1 / count), abs=5)


def test_a_driver_limits_the_rate_of_its_calls() -> None:
    fabric = at_the_host(host={"page_pin": "10 us"}, device={"model": "sg-dma"})
    up(fabric, size="64 KiB", clock="application")
    (flow,) = explained(fabric, what_if=True).flows
    assert parts(flow.limit) == ("software", "h", None, None)
    assert share_of(flow, "software") > 0.8
    assert "hosts.h.page_pin" in flow.what_if[0].lift
    assert parts(flow.what_if[0].next)[0] == "wire"


def test_a_wait_for_credit_is_charged_to_the_slow_link_that_holds_the_buffer() -> None:
    (flow,) = explained(KNOWN["a slow wire behind"].fabric).flows
    assert share_of(flow, "credit") == 0
    assert share_of(flow, "wire") > 0.99


@pytest.mark.parametrize("count", [2, 3, 4])
def test_the_share_of_tags_is_that_of_the_wire_that_is_left(count: int) -> None:
    fabric = up(below_a_switch(device={"tags": count}), **READ)
    measured = fabric.run(watch_waits=True)
    flow = measured.explain().flows["up"]
    wire = explained(up(below_a_switch(device=DEEP), **READ)).flows["up"]
    rates = flow.bytes_per_second, wire.bytes_per_second
    assert rates[0] is not None
    assert rates[1] is not None
    assert share_of(flow, "wire") == pytest.approx(rates[0] / rates[1], abs=0.03)


def test_the_shares_of_a_run_are_those_of_its_explanation() -> None:
    for fabric in (crowd(4, "read"), KNOWN["tags"].fabric):
        waits = fabric.run(watch_waits=True).waits
        assert waits is not None
        for flow in explained(fabric).flows:
            assert flow.shares == waits[flow.id].shares


def test_a_probe_changes_nothing_of_a_run() -> None:
    fabric = crowd(3, "read")
    watched = fabric.run(watch_waits=True).to_json()
    assert watched.pop("waits")
    assert watched == fabric.run().to_json()


def test_a_result_explains_itself_if_it_was_watched() -> None:
    fabric = KNOWN["tags"].fabric
    with pytest.raises(ValueError, match=r"Simulation.watch_waits\(\) before it"):
        fabric.run().explain()
    explanation = fabric.run(watch_waits=True).explain()
    assert explanation.flows["up"].what_if == ()
    first, second, *_ = str(explanation).splitlines()
    assert first.startswith("up waits 6")
    assert first.endswith("% of its time for tags of a")
    assert second.split() == [*first.split()[2:4], "tags", "of", "a"]


def test_a_simulation_is_watched_from_when_it_is_asked_for() -> None:
    simulation = Simulation(KNOWN["tags"].fabric.to_toml())
    assert simulation.result().waits is None
    simulation.watch_waits()
    waits = simulation.run().waits
    assert waits is not None
    assert parts(waits["up"].limit)[0] == "tags"


def test_flows_without_an_id_are_left_out_and_kept_by_the_names_that_results_have() -> None:
    fabric = crowd(2, "write").override("flows.*.id", None)
    explanation = explained(fabric, what_if=True)
    assert [flow.id for flow in explanation.flows] == ["flow-1", "flow-2"]
    assert explanation.flows["flow-1"].what_if[0].lift == "flows.flow-2"


def test_a_key_of_a_profile_is_told_as_the_flow_has_it() -> None:
    fabric = Fabric("t").profile("slow", datapath="8 B", clock="100 MHz")
    fabric.profile("slower", base="slow").links(generation=3, lanes=4).host("h")
    up(fabric.device("a", "h", profile="slower"))
    lifted = explained(fabric, what_if=True).flows["up"].what_if[0]
    assert (lifted.lift, lifted.source, lifted.value) == ("devices.a.datapath", "8 B", "0 B")


def test_what_a_scenario_refuses_is_told_with_the_reason() -> None:
    (flow,) = across("20 Gbit/s").explain().flows
    assert parts(flow.limit)[:2] == ("wire", "ra-rb")
    assert flow.what_if == ()
    (reason,) = flow.not_lifted
    assert reason.startswith("devices.ra.lane_rate=40 Gbit/s, devices.rb.lane_rate=40 Gbit/s: ")
    assert "out of range" in reason
    assert "32.75 Gbit/s" in reason


def test_a_fibre_limits_a_flow_to_another_host() -> None:
    (flow,) = across("5 Gbit/s").explain().flows
    assert parts(flow.limit)[:2] == ("wire", "ra-rb")
    assert share_of(flow, "other") == 0
    (lifted,) = flow.what_if
    assert (lifted.lift, lifted.value) == (
        "devices.ra.lane_rate, devices.rb.lane_rate",
        "10 Gbit/s",
    )
    assert factor(lifted) == pytest.approx(2, rel=0.05)


def test_the_clock_of_a_controller_is_lifted_with_those_of_its_network_interfaces() -> None:
    flow = explain(SUPERNODE.read_text(encoding="utf-8"), flow="puts").flows["puts"]
    assert parts(flow.limit)[:2] == ("datapath", "nic-left")
    clocks = "devices.nic-left.clock, devices.nic-right.clock, controllers.crossbar.crossbar_clock"
    assert flow.what_if[0].lift == clocks
    assert factor(flow.what_if[0]) > 1.5


def test_a_key_that_makes_no_difference_is_named() -> None:
    fabric = below_a_switch().device("r", "s", model="reflector", bar="1 MiB")
    up(fabric, to="r", direction="round-trip", size="16 KiB", request_size="64 B")
    (flow,) = explained(fabric, what_if=True).flows
    assert parts(flow.limit)[:2] == ("memory", "r")
    assert flow.what_if == ()
    assert flow.not_lifted == ("devices.r.read_latency makes no difference",)


def test_a_round_trip_waits_for_its_wires_as_long_as_these_are_slow() -> None:
    (flow,) = explained(round_trips(), what_if=True).flows
    assert parts(flow.limit)[:2] == ("wire", "h-r")
    # Of 748 ns two packets take 272 ns each on the wire, with at most a DLLP of 32 ns behind each.
    assert 544 / 748 - 0.02 < share_of(flow, "wire") < 608 / 748 + 0.02
    lifted = flow.what_if[0]
    assert (lifted.lift, parts(lifted.next)[:2]) == ("links.h-r.generation", ("memory", "r"))


ERRORS: Settings = {"bit_error_rate": 2e-5}


def with_errors(**links: Any) -> Fabric:
    """A device that writes to a host on a link of Gen3 x8, whose bits may arrive wrong."""
    fabric = Fabric("errors").links(generation=3, lanes=8, **links).host("h")
    return fabric.device("a", "h")


def test_a_lift_that_makes_a_flow_slower_is_none_and_bit_errors_are_lifted_first() -> None:
    (flow,) = explained(up(with_errors(**ERRORS), size="1 MiB"), what_if=True).flows
    assert parts(flow.limit)[:3] == ("wire", "h-a", "up")
    (lifted,) = flow.what_if
    assert (lifted.lift, lifted.source, lifted.value) == ("links.h-a.bit_error_rate", 2e-5, 0)
    assert factor(lifted) > 1.1
    assert flow.not_lifted == ("links.h-a.generation makes it slower",)


def test_the_bit_errors_of_a_fibre_are_lifted() -> None:
    fabric = across("5 Gbit/s").override("fibres.ra-rb.fibre_bit_error_rate", 1e-5)
    (flow,) = explained(fabric, what_if=True).flows
    lifted = next(one for one in flow.what_if if one.lift == "fibres.ra-rb.fibre_bit_error_rate")
    assert factor(lifted) > 1.01


REDIRECTED = """
[links]
generation = 4
[hosts.h]
[switches.t]
upstream = "h"
acs_upstream_forwarding = true
[switches.s]
upstream = "t"
acs_redirect = true
[devices."g{i}"]
each = "i = 0..1"
upstream = "s"
bar = "1 MiB"
[[flows]]
id = "up"
from = "g0"
to = "g1"
size = "256 KiB"
"""
BOTH = f'{REDIRECTED}[[flows]]\nid = "back"\nfrom = "g1"\nto = "g0"\nsize = "256 KiB"\n'


@pytest.mark.parametrize(("text", "least"), [(REDIRECTED, 1.01), (BOTH, 1.9)])
def test_a_detour_over_the_root_is_lifted_at_the_switch_that_makes_it(
    text: str, least: float
) -> None:
    for flow in explain(text).flows:
        (lifted,) = [one for one in flow.what_if if one.lift == "switches.s.acs_redirect"]
        assert (lifted.source, lifted.value) == (True, False)
        assert factor(lifted) > least
        assert not [one for one in flow.not_lifted if "acs" in one]


def test_without_a_detour_no_run_is_made_for_one() -> None:
    (flow,) = explain(REDIRECTED.replace("acs_redirect = true\n", "")).flows
    assert not [one for one in (*flow.what_if, *flow.not_lifted) if "acs" in str(one)]


def test_the_redirection_of_completions_is_lifted_alone_and_together() -> None:
    text = REDIRECTED.replace("acs_redirect", "acs_completion_redirect = true\nacs_redirect")
    (flow,) = explain(text + 'direction = "read"\n').flows
    lifts = {one.lift for one in flow.what_if} | {one.split()[0] for one in flow.not_lifted}
    both = "switches.s.acs_completion_redirect, switches.s.acs_redirect"
    assert both in lifts
    assert {"switches.s.acs_redirect", "switches.s.acs_completion_redirect"} <= lifts | {
        one.partition(",")[0] for one in flow.not_lifted
    }


OWNED: Settings = {"writes_per_ownership": 1, "ownership_time": "1 us", "write_buffers": 256}


@pytest.mark.parametrize("device", [{}, {"relaxed_ordering_enable": False}])
def test_an_order_of_writes_in_a_host_is_given_up(device: Settings) -> None:
    fabric = at_the_host(host=OWNED, device=DEEP | device)
    up(fabric, request_size="64 B", window="4 KiB", addresses="random", size="64 KiB")
    (flow,) = explained(fabric, what_if=True).flows
    assert parts(flow.limit)[:2] == ("memory", "h")
    (lifted,) = [one for one in flow.what_if if "relaxed_ordering" in one.lift]
    more = ["devices.a.relaxed_ordering_enable"] if device else []
    assert lifted.lift.split(", ") == ["flows.up.relaxed_ordering", *more]
    assert (lifted.source, lifted.value) == (False, True)
    assert factor(lifted) > 1.5


def test_a_host_without_write_buffers_is_given_some() -> None:
    found = tried(at_the_host(host={"write_buffers": 0}), "memory", "h", None, None)
    assert found["hosts.h.write_buffers"] == (256, 65536)


def test_what_is_lifted_gains_at_least_a_percent() -> None:
    fabric = up(below_a_switch(host={"memory_bandwidth": "2 GB/s", "ingest_bandwidth": "2 GB/s"}))
    (flow,) = explained(fabric, what_if=True).flows
    assert flow.what_if == ()
    assert "hosts.h.memory_bandwidth makes no difference" in flow.not_lifted


@pytest.mark.parametrize(
    ("value", "product"),
    [
        (4, 64),
        ("4 GB/s", "64 GB/s"),
        ("0.5 KiB", "8 KiB"),
        ("20.8 GB/s", "332.8 GB/s"),
        ("1e3 B", "16000 B"),
        ("1_000 B", "16000 B"),
    ],
)
def test_a_quantity_grows_in_its_unit(value: Any, product: Any) -> None:
    assert times(value, 16) == product


def test_every_kind_of_limit_is_lifted_by_a_key_of_the_catalogue() -> None:
    limits = {row["lifts"] for row in catalogue()["parameters"] if row["lifts"] is not None}
    kinds = {limit.partition(" ")[0] for limit in limits}
    assert kinds == set(get_args(Kind)) - {"arbitration", "other"} | {"way", "order"}


def tried(fabric: Fabric, *limit: Any) -> dict[str, tuple[Value, ...]]:
    """The values that a limit is lifted by, by their keys."""
    present = Present(parsed(fabric.to_toml(), "tried"), fabric.tree())
    found = liftings(present, "up", Cause(*limit))
    return {", ".join(one.keys): tuple(value[0] for value in one.values) for one in found}


@pytest.mark.parametrize(
    ("settings", "limit", "values"),
    [
        ({"tags": 32}, ("tags", "a", None, None), {"devices.a.tags": (256, 768)}),
        ({"tags": 512}, ("tags", "a", None, None), {"devices.a.tags": (768,)}),
        ({"tags": 768}, ("tags", "a", None, None), {"devices.a.tags": ()}),
        (
            {"datapath": "8 B", "request_interval": "2 ns", "store_and_forward": "1 GB/s"},
            ("datapath", "a", None, "keeps packets in its receive buffer"),
            {
                "devices.a.request_interval": ("0 ns",),
                "devices.a.datapath": ("0 B",),
                "devices.a.store_and_forward": ("16 GB/s", "256 GB/s", "4096 GB/s"),
                "devices.a.clock": ("4000 MHz", "64000 MHz", "1024000 MHz"),
                "devices.a.send_queue": (128, 2048, 32768),
            },
        ),
        (
            {"replay_buffer": "4 KiB"},
            ("replay-buffer", "h-a", "up", None),
            {"devices.a.replay_buffer": ("64 KiB", "1024 KiB", "16384 KiB")},
        ),
        ({}, ("replay-buffer", "h-a", "up", None), {"devices.a.replay_buffer": ("1 MiB",)}),
        (
            {"posted_headers": 4, "posted_data": "16 KiB"},
            ("credit", "h-a", "down", "posted headers"),
            {
                "devices.a.posted_headers": (64, 0),
                "devices.a.posted_headers, devices.a.posted_data": (0,),
            },
        ),
        (
            {"posted_headers": 100, "posted_data": "16 KiB"},
            ("credit", "h-a", "down", "posted data"),
            {
                "devices.a.posted_data": ("32752 B", "0 B"),
                "devices.a.posted_headers, devices.a.posted_data": (0,),
            },
        ),
    ],
)
def test_the_values_that_are_tried_are_more_or_no_limit(
    settings: Settings, limit: tuple[Any, ...], values: dict[str, tuple[Value, ...]]
) -> None:
    assert tried(at_the_host(device=settings), *limit) == values


class Slow(Device):
    """A device that takes its time."""

    pause = Parameter.time("1 us", help="Between two writes.")
    rate = Parameter.bandwidth("1 GB/s", help="Of the device.")
    label = Parameter("none", help="What it is called.")


def test_the_quantities_of_a_model_of_ones_own_are_lifted() -> None:
    fabric = Fabric("own").host("h").device("d", "h", model=Slow)
    with registered_models({"slow": Slow}):
        scenario = parsed(fabric.to_toml().replace('model = "Slow"', 'model = "slow"'), "own")
        present = Present(scenario, fabric.tree())
        found = liftings(present, "up", Cause("software", "d", None, None))
    assert [(one.keys, one.before, one.values[0]) for one in found] == [
        (("devices.d.pause",), ("1 us",), ("0 ns",)),
        (("devices.d.rate",), ("1 GB/s",), ("16 GB/s",)),
    ]


def written(scenario: Write, name: str) -> Any:
    return scenario(text=KNOWN[name].fabric.to_toml())


def test_the_command_tells_shares_limit_and_what_if(peerlane: Run, scenario: Write) -> None:
    told = peerlane("explain", written(scenario, "tags"))
    assert (told.status, told.err) == (0, "")
    assert "% of its time for tags of a (2)." in told.out
    assert "What if, found by a run: devices.a.tags 2 -> 256: 1.4" in told.out
    assert "the limit is then its own packets on the wire of s-a down." in told.out


def test_a_flow_may_be_too_short_to_see_the_next_limit(peerlane: Run, scenario: Write) -> None:
    short = up(below_a_switch(device={"tags": 1}), size="4 KiB", **READ)
    told = peerlane("explain", scenario(text=short.to_toml())).out
    assert "devices.a.tags 1 -> 256" in told
    assert "; too short to see the next limit." in told


def test_the_command_is_readable_at_80_columns(
    peerlane: Run, scenario: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    told = peerlane("explain", written(scenario, "credit of completions"), "--no-what-if")
    assert max(map(len, told.out.splitlines())) <= 80
    assert "completion data" in told.out
    assert "What if" not in told.out


def test_the_json_has_limits_shares_and_what_if(peerlane: Run, scenario: Write) -> None:
    told = peerlane("explain", written(scenario, "tags"), "--json", "-")
    document = json.loads(told.out)
    assert document["schema"] == "peerlane-explanation/1"
    assert document.keys() >= {"version", "scenario_digest", "command", "name", "seed"}
    (flow,) = document["flows"]
    assert flow["id"] == "up"
    assert flow["limit"] == {"kind": "tags", "where": "a", "direction": None, "detail": None}
    assert flow["shares"][0].keys() == {"kind", "where", "direction", "detail", "share"}
    assert sum(share["share"] for share in flow["shares"]) == pytest.approx(1, abs=1e-3)
    (lifted,) = flow["what_if"]
    rates = {"rate_before", "rate_after"}
    assert lifted.keys() == {"lift", "from", "to", "next"} | rates
    assert (lifted["lift"], lifted["from"], lifted["to"]) == ("devices.a.tags", 2, 256)
    assert lifted["next"]["kind"] == "wire"


def test_the_command_refuses_what_it_cannot_explain(peerlane: Run, scenario: Write) -> None:
    file = written(scenario, "tags")
    peerlane("explain", file, "--flow", "upp").refuses("no flow 'upp'", 'did you mean "up"?')
    peerlane("explain", file, "--flow", "zzz").refuses("no flow 'zzz'", 'write "up"')
    peerlane("explain", file, "--json", file).refuses("the file that the command reads")
    none = PAIR[: PAIR.index("[[flows]]")]
    peerlane("explain", scenario(text=none)).refuses("no flows to explain", "[[flows]]")
    peerlane("explain", scenario(text="[[[")).refuses("fabric.toml:1")


def test_the_command_names_the_workloads_that_are_no_flows(peerlane: Run) -> None:
    instead = "explain is for [[flows]]"
    peerlane("explain", "torus").refuses("peerlane run measures [[traffic]] (", instead)
    peerlane("explain", "locks").refuses("[[locks]] (", "[[transactions]] (", instead)
    peerlane("explain", "blocks").refuses("[[accesses]] (", instead)


def test_a_run_that_failed_is_explained_as_such(peerlane: Run, scenario: Write) -> None:
    fabric = up(below_a_switch(device={"tags": 4, "fails_at": "60 us"}), **READ)
    fabric.override("devices.a.completion_timeout", "100 us")
    told = peerlane("explain", scenario(text=fabric.to_toml()), "--no-what-if")
    assert told.status == 1
    assert "up waits" in told.out
    assert "flow up: not every byte arrived" in told.err


def test_keys_are_set_before_a_flow_is_explained(peerlane: Run, scenario: Write) -> None:
    file = written(scenario, "tags")
    told = peerlane("explain", file, "--set", "devices.a.tags=4", "--json", "-")
    (lifted,) = json.loads(told.out)["flows"][0]["what_if"]
    assert (lifted["lift"], lifted["from"]) == ("devices.a.tags", 4)
    wrong = peerlane("explain", file, "--set", "devices.a.tgas=4")
    wrong.refuses("fabric.toml with devices.a.tgas=4", "did you mean", "tags")


def test_one_flow_is_explained_alone(peerlane: Run, scenario: Write) -> None:
    file = scenario(text=crowd(3, "write").to_toml())
    told = peerlane("explain", file, "--flow", "b2", "--no-what-if", "--json", "-")
    assert [flow["id"] for flow in json.loads(told.out)["flows"]] == ["b2"]


def test_a_run_says_what_a_flow_far_below_its_links_waits_for(
    peerlane: Run, scenario: Write
) -> None:
    file = written(scenario, "tags")
    lines = peerlane("run", file).out.splitlines()
    line = next(line for line in lines if line.startswith("up waits"))
    assert line.endswith(f"% of its time for tags of a: peerlane explain {file}")
    more = peerlane("run", file, "--set", "devices.a.tags=1").out
    assert f"tags of a: peerlane explain {file} --set devices.a.tags=1\n" in more
    quiet = peerlane("run", file, "--no-explain")
    assert "waits" not in quiet.out
    assert "waits" not in json.loads(peerlane("run", file, "--no-explain", "--json", "-").out)


@pytest.mark.parametrize(
    "name",
    [
        "the wire of a write",
        "the wire of a read",
        "a slow wire behind",
        "tags for 94 % of the wire",
    ],
)
def test_a_run_says_nothing_of_flows_near_the_rate_of_their_links(
    peerlane: Run, scenario: Write, name: str
) -> None:
    ran = peerlane("run", written(scenario, name))
    assert ran.status == 0
    assert "waits" not in ran.out


def test_the_packets_of_a_flow_decide_what_its_links_can_carry(
    peerlane: Run, scenario: Write
) -> None:
    small = up(below_a_switch(), request_size="16 B", size="32 KiB")
    assert "waits" not in peerlane("run", scenario(text=small.to_toml())).out
