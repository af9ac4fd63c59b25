"""What flows wait for, on fabrics whose limit is known by construction; and what comes next."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest

from conftest import PAIR, beside, cases_of
from peerlane import Device, Fabric, Parameter, Simulation
from peerlane.explaining.explain import explain
from peerlane.explaining.lifting import of_limit, times
from peerlane.explaining.present import Present
from peerlane.fabric.variant import parsed
from peerlane.models.registry import catalogue, registered_models
from peerlane.results.bottleneck import Bottleneck, Change, Rates
from peerlane.results.waits import Cause, Kind

if TYPE_CHECKING:
    from conftest import Run, Write
    from peerlane.results.bottleneck import Value, WhatIf
    from peerlane.results.explanation import Explanation, FlowExplanation

# Many of these fabrics have small buffers on purpose; the laws of latencies judge the warnings.
pytestmark = pytest.mark.filterwarnings("ignore:.* until the buffer is free again")

Settings = dict[str, Any]

SUPERNODE = Path(__file__).parents[2] / "scenarios" / "supernode.toml"

READ: Settings = {"direction": "read"}
FAST: Settings = {"generation": 5, "lanes": 16}
DEEP: Settings = {"tags": 64}
# Ports without pipelines, which send few UpdateFCs.
PLAIN: Settings = {
    "receive_pipeline_symbols": 0,
    "transmit_pipeline_symbols": 0,
    "update_fc_share": 0.25,
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
    fabric = Fabric("explained").links(generation=1, lanes=1, spread_spectrum=False)
    fabric.host("h", **PLAIN, memory_address_bits=32)
    fabric.device("r", "h", model="reflector", bar="1 MiB", **PLAIN)
    ways: Settings = {"direction": "round-trip", "request_size": "48 B", "size": "14400 B"}
    return up(fabric, source="h", to="r", **ways | settings)


KNOWN = cases_of(__file__, "limits.toml", "known")


def known(name: str) -> Fabric:
    """The fabric of a case of limits.toml, whose flow goes to a second device if it has one."""
    case = KNOWN[name]
    keys: dict[str, Settings] = case.get("keys", {})
    parts = {part: settings for part, settings in keys.items() if part != "flow"}
    flow = keys.get("flow", {})
    if case["device"] == "a reflector at the host":
        return round_trips(**flow)
    fabric = (below_a_switch if case["device"] == "below a switch" else at_the_host)(**parts)
    if "target" in case:
        return up(fabric.device("b", **case["target"]), to="b", **flow)
    return up(fabric, **flow)


def explained(fabric: Fabric, *, what_if: bool = False) -> Explanation:
    return explain(fabric.to_toml(), what_if=what_if)


def parts(cause: Cause | None) -> tuple[str, str, str | None, str | None]:
    assert cause is not None
    return cause.kind, cause.where, cause.direction, cause.detail


def padded(limit: list[str]) -> tuple[str | None, ...]:
    """A limit of limits.toml as all four of its parts, some of them not there."""
    return tuple(part or None for part in [*limit, "", "", ""][:4])


def keys(lifted: WhatIf) -> str:
    return ", ".join(change.key for change in lifted.changes)


def offers(place: Bottleneck) -> dict[str, WhatIf]:
    """The changes that were found to help, by their keys."""
    return {keys(one): one for one in (*place.instead, *place.steps)}


def factor(place: Bottleneck, lifted: WhatIf) -> float:
    return lifted.rates.total / place.rates.total


def share_of(flow: FlowExplanation, *kinds: str) -> float:
    return sum(share.share for share in flow.shares if share.kind in kinds)


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_limit_is_found_and_the_next_one_by_a_run(name: str) -> None:
    case = KNOWN[name]
    explanation = explained(known(name), what_if=True)
    (flow,), place = explanation.flows, explanation.bottlenecks[0]
    assert parts(flow.limit) == padded(case["limit"])
    assert sum(share.share for share in flow.shares) == pytest.approx(1.0, abs=1e-3)
    assert share_of(flow, "other") <= 0.01
    assert keys(place.steps[0]) == case["lift"]
    assert parts(offers(place)[case["lift"]].next[0])[:3] == padded(case["then"])[:3]
    assert place.rates.total == flow.bytes_per_second
    assert factor(place, place.steps[0]) > 1.01


@pytest.mark.parametrize("name", ["tags", "data credit", "the memory of a write"])
def test_what_if_is_what_a_run_with_this_key_measures(name: str) -> None:
    fabric = known(name)
    lifted = explained(fabric, what_if=True).bottlenecks[0].steps[0]
    (change,) = lifted.changes
    changed = fabric.copy().override(change.key, change.value)
    assert changed.run().flows["up"].bytes_per_second == lifted.rates.total


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
    (place,) = explanation.bottlenecks
    assert place.flows == tuple(flow.id for flow in explanation.flows)
    assert place.alone is not None
    assert place.alone.rates.most == pytest.approx(place.rates.total, rel=0.05)
    assert parts(place.alone.next[0])[0] == "wire"
    moved = {2: "devices.b1.upstream.to"}  # then each has a link of its own
    assert keys(place.steps[0]) == moved.get(count, "links.h-s.generation")
    assert place.then(place.steps[-1]) in {
        "each device's own link is the limit",
        "each is as fast as alone",
    }


@pytest.mark.parametrize(
    ("count", "others"),
    [(3, "b1 and b2"), (4, "b1, b2 and b3"), (6, r"b\d, b\d, b\d and 2 more")],
)
def test_all_flows_that_share_a_wire_are_told_together(
    peerlane: Run, scenario: Write, count: int, others: str
) -> None:
    file = scenario(text=crowd(count, "write").to_toml())
    pattern = rf"^up +[0-9.]+ +([0-9.]+) %  packets of {others} on h-s up$"
    told = peerlane("explain", file, "--no-what-if").out
    found = re.search(pattern, told, re.MULTILINE)
    assert found, told
    assert float(found[1]) == pytest.approx(100 * (1 - 1 / count), abs=5)
    first = told.splitlines()[0]
    assert first.startswith(f"`h-s up` is full: {count} flows share ")
    last = peerlane("run", file).out.splitlines()[-1]
    assert last == f"{first} What would help: peerlane explain {file}"


def test_a_driver_limits_the_rate_of_its_calls() -> None:
    fabric = at_the_host(host={"page_pin": "10 us"}, device={"model": "sg-dma"})
    up(fabric, size="64 KiB", clock="application")
    explanation = explained(fabric, what_if=True)
    (flow,), (place,) = explanation.flows, explanation.bottlenecks
    assert parts(flow.limit) == ("software", "h", None, None)
    assert share_of(flow, "software") > 0.8
    assert "hosts.h.page_pin" in keys(place.steps[0])
    assert parts(place.steps[0].next[0])[0] == "wire"


def test_a_wait_for_credit_is_charged_to_the_slow_link_that_holds_the_buffer() -> None:
    (flow,) = explained(known("a slow wire behind")).flows
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
    for fabric in (crowd(4, "read"), known("tags")):
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
    fabric = known("tags")
    with pytest.raises(ValueError, match=r"Simulation.watch_waits\(\) before it"):
        fabric.run().explain()
    explanation = fabric.run(watch_waits=True).explain()
    assert explanation.bottlenecks[0].steps == ()
    place, first, second, *_ = str(explanation).splitlines()
    assert place == explanation.sentence
    assert place.startswith("`a` has too few tags: up moves 1.")
    assert first.startswith("up waits 6")
    assert first.endswith("% of its time for tags of a")
    assert second.split() == [*first.split()[2:4], "tags", "of", "a"]


def test_a_simulation_is_watched_from_when_it_is_asked_for() -> None:
    simulation = Simulation(known("tags").to_toml())
    assert simulation.result().waits is None
    simulation.watch_waits()
    waits = simulation.run().waits
    assert waits is not None
    assert parts(waits["up"].limit)[0] == "tags"


def test_flows_without_an_id_are_left_out_and_kept_by_the_names_that_results_have() -> None:
    fabric = crowd(2, "write").override("flows.*.id", None)
    explanation = explained(fabric, what_if=True)
    assert [flow.id for flow in explanation.flows] == ["flow-1", "flow-2"]
    (place,) = explanation.bottlenecks
    assert place.flows == ("flow-1", "flow-2")
    assert place.alone is not None
    assert place.alone.rates.most > 1.8 * place.rates.most


def test_a_key_of_a_profile_is_told_as_the_flow_has_it() -> None:
    fabric = Fabric("t").profile("slow", datapath="8 B", clock="100 MHz")
    fabric.profile("slower", base="slow").links(generation=3, lanes=4).host("h")
    up(fabric.device("a", "h", profile="slower"))
    lifted = offers(explained(fabric, what_if=True).bottlenecks[0])["devices.a.datapath"]
    assert lifted.changes == (Change("devices.a.datapath", "8 B", "64 B"),)


def test_what_a_scenario_refuses_is_told_with_the_reason() -> None:
    (place,) = across("20 Gbit/s").explain().bottlenecks
    assert (place.kind, place.where) == ("wire", ("ra-rb",))
    assert place.steps == ()
    (reason,) = place.impossible
    assert place.not_lifted == ()
    assert place.sentence.endswith("No change that may help is possible.")
    assert place.in_vain == [f"not possible: {reason}"]
    assert reason.startswith("devices.ra.lane_rate=40 Gbit/s, devices.rb.lane_rate=40 Gbit/s: ")
    assert "out of range" in reason
    assert "32.75 Gbit/s" in reason


def test_recorded_requests_keep_their_times_and_no_interval() -> None:
    fabric = with_errors()
    fabric.flow("a", "h", id="up", requests=[(1000 * number, 0, 512) for number in range(9)])
    explanation = fabric.explain()
    assert explanation.sentence.startswith("`a` keeps the recorded times of requests: up moves ")
    assert "interval" not in json.dumps(explanation.to_json())


def test_a_fibre_limits_a_flow_to_another_host() -> None:
    explanation = across("5 Gbit/s").explain()
    (flow,), (place,) = explanation.flows, explanation.bottlenecks
    assert parts(flow.limit)[:2] == ("wire", "ra-rb")
    assert share_of(flow, "other") == 0
    lifted = place.steps[0]
    assert keys(lifted) == "devices.ra.lane_rate, devices.rb.lane_rate"
    assert lifted.changes[0].value == "10 Gbit/s"
    assert factor(place, lifted) == pytest.approx(2, rel=0.05)


def test_the_clock_of_a_controller_is_lifted_with_those_of_its_network_interfaces() -> None:
    explanation = explain(SUPERNODE.read_text(encoding="utf-8"), flow="puts")
    place = explanation.bottlenecks[0]
    assert parts(explanation.flows["puts"].limit)[:2] == ("datapath", "nic-left")
    clocks = "devices.nic-left.clock, devices.nic-right.clock, controllers.crossbar.crossbar_clock"
    assert keys(place.steps[0]) == clocks
    assert factor(place, place.steps[0]) > 1.5


def test_a_change_that_makes_a_round_trip_longer_is_named() -> None:
    fabric = below_a_switch().device("r", "s", model="reflector", bar="1 MiB")
    up(fabric, to="r", direction="round-trip", size="16 KiB", request_size="64 B")
    (place,) = explained(fabric, what_if=True).bottlenecks
    assert (place.kind, place.where) == ("latency", ("r",))
    assert place.steps == place.instead == ()
    slots = "devices.a.upstream.to=h, devices.r.upstream.to=h"
    assert place.not_lifted == (f"{slots} make it slower",)
    assert place.sentence.endswith("No change that was tried gains 1 %.")


def test_a_round_trip_waits_for_its_wires_as_long_as_these_are_slow() -> None:
    explanation = explained(round_trips(), what_if=True)
    (flow,), place = explanation.flows, explanation.bottlenecks[0]
    assert parts(flow.limit)[:2] == ("wire", "h-r")
    # Of 748 ns two packets take 272 ns each on the wire, with at most a DLLP of 32 ns behind each.
    assert 544 / 748 - 0.02 < share_of(flow, "wire") < 608 / 748 + 0.02
    lifted = place.steps[-1]
    assert keys(place.steps[0]) == "links.h-r.generation"
    assert parts(lifted.next[0])[:2] == ("latency", "r")


ERRORS: Settings = {"bit_error_rate": 2e-5}


def with_errors(**links: Any) -> Fabric:
    """A device that writes to a host on a link of Gen3 x8, whose bits may arrive wrong."""
    fabric = Fabric("errors").links(generation=3, lanes=8, **links).host("h")
    return fabric.device("a", "h")


def test_a_lift_that_makes_a_flow_slower_is_none_and_bit_errors_are_lifted_first() -> None:
    place = explained(up(with_errors(**ERRORS), size="1 MiB"), what_if=True).bottlenecks[0]
    assert place.sentence.startswith("`h-a` has bit errors (2e-05): up moves ")
    assert "Without bit errors: " in place.sentence
    assert place.steps[0].changes == (Change("links.h-a.bit_error_rate", 2e-5, 0),)
    assert factor(place, place.steps[0]) > 1.1
    assert re.fullmatch("links.h-a.lanes.* makes? it slower", place.not_lifted[0])


def test_a_link_that_loses_much_is_tried_at_a_lower_generation() -> None:
    place = explained(up(with_errors(**ERRORS), size="1 MiB"), what_if=True).bottlenecks[0]
    assert offers(place)["links.h-a.generation"].changes[0].value == 2


def test_the_bit_errors_of_a_fibre_are_lifted() -> None:
    fabric = across("5 Gbit/s").override("fibres.ra-rb.fibre_bit_error_rate", 1e-5)
    (place,) = explained(fabric, what_if=True).bottlenecks
    assert factor(place, offers(place)["fibres.ra-rb.fibre_bit_error_rate"]) > 1.01


REDIRECTED = beside(__file__, "redirected.toml")
BOTH = f'{REDIRECTED}[[flows]]\nid = "back"\nfrom = "g1"\nto = "g0"\nsize = "256 KiB"\n'


@pytest.mark.parametrize(("text", "least"), [(REDIRECTED, 1.01), (BOTH, 1.9)])
def test_a_detour_over_the_root_is_lifted_at_the_switch_that_makes_it(
    text: str, least: float
) -> None:
    place = explain(text).bottlenecks[0]
    lifted = offers(place)["switches.s.acs_redirect"]
    assert lifted.changes == (Change("switches.s.acs_redirect", source=True, value=False),)
    assert factor(place, lifted) > least
    assert not [one for one in place.not_lifted if "acs" in one]


def test_without_a_detour_no_run_is_made_for_one() -> None:
    explanation = explain(REDIRECTED.replace("acs_redirect = true\n", ""))
    assert "acs" not in json.dumps(explanation.to_json())


def test_the_redirection_of_completions_is_lifted_alone_and_together() -> None:
    text = REDIRECTED.replace("acs_redirect", "acs_completion_redirect = true\nacs_redirect")
    place = explain(text + 'direction = "read"\n').bottlenecks[0]
    lifts = {*offers(place), *re.split(", | makes", " ".join(place.not_lifted))}
    both = "switches.s.acs_completion_redirect, switches.s.acs_redirect"
    assert both in lifts
    assert set(both.split(", ")) <= lifts


OWNED: Settings = {"writes_per_ownership": 1, "ownership_time": "1 us", "write_buffers": 256}


@pytest.mark.parametrize("device", [{}, {"relaxed_ordering_enable": False}])
def test_an_order_of_writes_in_a_host_is_given_up(device: Settings) -> None:
    fabric = at_the_host(host=OWNED, device=DEEP | device)
    up(fabric, request_size="64 B", window="4 KiB", addresses="random", size="64 KiB")
    (place,) = explained(fabric, what_if=True).bottlenecks
    assert (place.kind, place.where) == ("memory", ("h",))
    lifted = place.steps[0]
    more = ["devices.a.relaxed_ordering_enable"] if device else []
    assert keys(lifted).split(", ") == ["flows.up.relaxed_ordering", *more]
    assert (lifted.changes[0].source, lifted.changes[0].value) == (False, True)
    assert factor(place, lifted) > 1.5


def test_a_host_without_write_buffers_is_given_some() -> None:
    found = tried(at_the_host(host={"write_buffers": 0}), "memory", "h", None, None)
    assert found["hosts.h.write_buffers"] == (256, 65536)


def test_what_is_lifted_gains_at_least_a_percent() -> None:
    fabric = up(below_a_switch(host={"memory_bandwidth": "2 GB/s", "ingest_bandwidth": "2 GB/s"}))
    (place,) = explained(fabric, what_if=True).bottlenecks
    assert (place.steps, place.instead) == ((), ())
    assert "hosts.h.memory_bandwidth" in place.not_lifted[0]
    assert place.not_lifted[0].endswith("make no difference")


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
    assert kinds == set(get_args(Kind)) - {"arbitration", "latency", "other"} | {
        "way",
        "order",
        "payload",
        "mapping",
    }


def at(cause: Cause) -> Bottleneck:
    """The place of a flow that waits for a cause."""
    place = (cause.kind, (cause.where,), cause.direction, cause.detail)
    return Bottleneck(*place, flows=("up",), share=1.0, rates=Rates(0.0, 0.0, 0.0))


def tried(fabric: Fabric, *limit: Any) -> dict[str, tuple[Value, ...]]:
    """The values that a limit is lifted by, by their keys."""
    present = Present(parsed(fabric.to_toml(), "tried"), fabric.tree())
    found = of_limit(present, at(Cause(*limit)))
    return {", ".join(one.keys): tuple(value[0] for value in one.values) for one in found}


TRIED = cases_of(__file__, "limits.toml", "tried")


@pytest.mark.parametrize("case", TRIED.values(), ids=TRIED)
def test_the_values_that_are_tried_are_more_or_no_limit(case: dict[str, Any]) -> None:
    lifts = {key: tuple(values) for key, values in case["lifts"].items()}
    assert tried(at_the_host(device=case["keys"]), *padded(case["limit"])) == lifts


PLACES = cases_of(__file__, "places.toml")


@pytest.mark.parametrize("case", PLACES.values(), ids=PLACES)
def test_the_first_sentence_names_the_limit_and_the_first_change_helps_most(
    case: dict[str, str],
) -> None:
    explanation = explain(case["scenario"], each=False)
    assert explanation.sentence.startswith(case["sentence"])
    place = explanation.bottlenecks[0]
    assert ", ".join(change.setting for change in place.steps[0].changes) == case["first"]
    known = explain(case["scenario"], what_if=False).bottlenecks[0]
    assert place.reason or (known.kind, known.where) == (place.kind, place.where)
    gains = [
        one.rates.total / before
        for one, before in zip(
            place.steps,
            [place.rates.total, *(one.rates.total for one in place.steps)],
            strict=False,
        )
    ]
    assert all(gain > 1.01 for gain in gains)


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
        found = of_limit(present, at(Cause("software", "d", None, None)))
    assert [(one.keys, one.before, one.values[0]) for one in found] == [
        (("devices.d.pause",), ("1 us",), ("0 ns",)),
        (("devices.d.rate",), ("1 GB/s",), ("2 GB/s",)),
    ]


def written(scenario: Write, name: str) -> Any:
    return scenario(text=known(name).to_toml())


def test_the_command_tells_shares_limit_and_what_if(peerlane: Run, scenario: Write) -> None:
    told = peerlane("explain", written(scenario, "tags"))
    assert (told.status, told.err) == (0, "")
    first = told.out.splitlines()[0]
    assert re.fullmatch(
        r"`a` has too few tags \(2\): up moves 1\.\d+ GB/s\. With devices\.a\.tags=256: "
        r"3\.\d+ GB/s; then `s-a down` is full\.",
        first,
    )
    assert re.search(r"^devices\.a\.tags=256 +3\.\d+  `s-a down` is full$", told.out, re.MULTILINE)
    assert re.search(r"^tags +a +\d+\.\d %  █+$", told.out, re.MULTILINE)


def test_a_flow_may_be_too_short_to_see_the_next_limit(peerlane: Run, scenario: Write) -> None:
    short = up(below_a_switch(device={"tags": 1}), size="4 KiB", **READ)
    told = peerlane("explain", scenario(text=short.to_toml())).out
    assert "With devices.a.tags=256: " in told
    assert "; too short to see the next limit." in told


def test_the_command_is_readable_at_80_columns(
    peerlane: Run, scenario: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    told = peerlane("explain", written(scenario, "credit of completions"), "--no-what-if")
    assert max(map(len, told.out.splitlines()[2:])) <= 80
    assert "completion data" in told.out
    assert "what if" not in told.out


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
    (place,) = document["bottlenecks"]
    assert (place["kind"], place["where"], place["flows"]) == ("tags", ["a"], ["up"])
    assert place["amount"] == 2
    (lifted,) = place["steps"]
    assert lifted.keys() == {"changes", "rates", "next", "losses", "is_full"}
    assert lifted["changes"] == [{"key": "devices.a.tags", "from": 2, "to": 256}]
    assert lifted["rates"].keys() == {"total", "least", "most"}
    assert lifted["next"][0]["kind"] == "wire"


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
    assert told.out.startswith("`s-a up` loses time, the link is down: up moves ")
    assert "flow up: not every byte arrived" in told.err


def test_keys_are_set_before_a_flow_is_explained(peerlane: Run, scenario: Write) -> None:
    file = written(scenario, "tags")
    told = peerlane("explain", file, "--set", "devices.a.tags=4", "--json", "-")
    (lifted,) = json.loads(told.out)["bottlenecks"][0]["steps"]
    assert lifted["changes"] == [{"key": "devices.a.tags", "from": 4, "to": 256}]
    wrong = peerlane("explain", file, "--set", "devices.a.tgas=4")
    wrong.refuses("fabric.toml with devices.a.tgas=4", "did you mean", "tags")


def test_one_flow_is_explained_alone(peerlane: Run, scenario: Write) -> None:
    file = scenario(text=crowd(3, "write").to_toml())
    told = peerlane("explain", file, "--flow", "b2", "--no-what-if", "--json", "-")
    document = json.loads(told.out)
    assert [flow["id"] for flow in document["flows"]] == ["b2"]
    assert [place["flows"] for place in document["bottlenecks"]] == [["up", "b1", "b2"]]


def test_a_run_ends_with_the_place_that_limits_its_flows(peerlane: Run, scenario: Write) -> None:
    file = written(scenario, "tags")
    line = peerlane("run", file).out.splitlines()[-1]
    assert line.startswith("`a` has too few tags (2): up moves 1.")
    assert line.endswith(f" GB/s. What would help: peerlane explain {file}")
    more = peerlane("run", file, "--set", "devices.a.tags=1").out
    assert more.endswith(f": peerlane explain {file} --set devices.a.tags=1\n")
    quiet = peerlane("run", file, "--no-explain")
    assert "What would help" not in quiet.out
    assert "waits" not in json.loads(peerlane("run", file, "--no-explain", "--json", "-").out)
