"""What schedules wait for, on fabrics whose limit is known by construction; and what helps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from conftest import FOUR_GPUS
from peerlane.explaining.explain import explain
from peerlane.fabric.variant import parsed, variant

if TYPE_CHECKING:
    from conftest import Run, Write
    from peerlane.results.bottleneck import Value
    from peerlane.results.explanation import Explanation, FlowExplanation

FOUR = f"""\
{FOUR_GPUS}
[[schedules]]
id = "sum"
devices = ["g0", "g1", "g2", "g3"]
size = "128 KiB"
algorithm = "two-shot"
"""
"""Two of the three segments of each GPU cross the uplink that it shares with another GPU."""

FLOW = """
[[flows]]
id = "{id}"
from = "g0"
to = "h"
size = "16 KiB"
"""


def found(text: str = FOUR, *, what_if: bool = False, **settings: str | int) -> Explanation:
    changed = {path.replace("__", "."): value for path, value in settings.items()}
    return explain(text, settings=changed, what_if=what_if)


def share_of(one: FlowExplanation, kind: str) -> float:
    return sum(share.share for share in one.shares if share.kind == kind)


def bus(**settings: Value) -> float | None:
    return variant(parsed(FOUR, "four.toml"), settings).run().schedules["sum"].bus_bytes_per_second


def test_uplinks_that_gpus_share_limit_an_all_reduce() -> None:
    place = found(what_if=True).bottlenecks[0]
    assert (place.kind, place.direction, place.section) == ("wire", "up", "schedules")
    assert set(place.where) <= {"h-s0", "h-s1"}
    assert place.flows == ("sum",)
    keys = [{one.key for one in tried.changes} for tried in place.instead]
    # An uplink that is not on the critical path would be the limit if it stayed as it is.
    both = place.instead[keys.index({"links.h-s0.lanes", "links.h-s1.lanes"})]
    assert both.rates.total > 1.3 * place.rates.total


def test_a_change_has_the_bus_bandwidth_of_a_run_with_it() -> None:
    place = found(what_if=True).bottlenecks[0]
    assert place.rates.total == bus()
    for tried in (*place.steps, *place.instead):
        assert tried.rates.total == bus(**{one.key: one.value for one in tried.changes})
    algorithms = {one.value for each in place.instead for one in each.changes}
    assert "ring" in algorithms


def test_the_shares_divide_the_critical_path() -> None:
    result = variant(parsed(FOUR, "four.toml"), {}).run().schedules["sum"]
    (one,) = found().flows
    assert (one.id, one.section) == ("sum", "schedules")
    assert sum(share.share for share in one.shares) == pytest.approx(1.0)
    shares = {work.work: work.share for work in result.works()}
    assert share_of(one, "software") == pytest.approx(shares["compute"])
    assert share_of(one, "latency") == pytest.approx(shares["flag"])
    assert share_of(one, "memory") == pytest.approx(shares["reduce"])
    assert share_of(one, "wire") + share_of(one, "other") == pytest.approx(shares["push"])


def test_a_wire_counts_only_as_long_as_it_can_have_been_busy() -> None:
    # A copy engine that begins late leaves its wires idle.
    engine = {"schedules.sum.engine": "copy", "devices.g0.copy_latency": "100 us"}
    place = explain(FOUR, settings=engine).bottlenecks[0]
    assert (place.kind, place.where, place.detail) == ("other", ("g0",), "transfers")
    tried = {one.key for each in (*place.steps, *place.instead) for one in each.changes}
    assert "devices.g0.copy_latency" in tried


def test_a_narrow_slot_of_one_gpu_is_widened_alone() -> None:
    place = found(what_if=True, devices__g3__upstream__lanes=1).bottlenecks[0]
    assert place.where == ("s1-g3",)
    assert [one.key for one in place.steps[0].changes] == ["links.s1-g3.lanes"]


def test_kernels_that_start_late_limit_a_small_all_reduce() -> None:
    late = {f"devices__g{number}__kernel_latency": "50 us" for number in range(4)}
    place = found(what_if=True, schedules__sum__size="1 KiB", **late).bottlenecks[0]
    assert place.kind == "software"
    assert place.state.startswith("the compute time of `g")
    keys = [{one.key for one in tried.changes} for tried in (*place.steps, *place.instead)]
    assert {f"devices.g{number}.kernel_latency" for number in range(4)} in keys


def test_flows_and_schedules_are_explained_beside_each_other(
    peerlane: Run, scenario: Write
) -> None:
    file = scenario(text=FOUR + FLOW.format(id="reads"))
    told = peerlane("explain", file, "--no-what-if").succeeds().out
    assert "sum has a bus bandwidth of " in told
    assert "\nreads " in told
    assert "\nsum " in told
    document = json.loads(
        peerlane("explain", file, "--flow", "sum", "--no-what-if", "--json", "-").out
    )
    assert [(one["id"], one["section"]) for one in document["flows"]] == [("sum", "schedules")]
    assert [place["flows"] for place in document["bottlenecks"]] == [["sum"]]
    peerlane("explain", file, "--flow", "smu").refuses(
        "no flow or schedule 'smu'", 'did you mean "sum"?'
    )


def test_a_flow_and_a_schedule_of_one_name_are_refused(peerlane: Run, scenario: Write) -> None:
    file = scenario(text=FOUR + FLOW.format(id="sum"))
    peerlane("explain", file).refuses("a flow and a schedule have the id 'sum'", "another id")


def test_a_schedule_that_does_not_complete_has_no_limit(peerlane: Run, scenario: Write) -> None:
    removal = '[[incidents]]\nat = "5 us"\nwhat = "surprise-removal"\nnode = "g2"\n'
    told = peerlane("explain", scenario(text=FOUR + removal))
    assert told.status == 1
    assert told.out.startswith("sum: did not complete\n")
    assert "Traceback" not in told.err


def test_a_run_ends_with_the_limit_of_its_schedule(peerlane: Run, scenario: Write) -> None:
    told = peerlane("run", scenario(text=FOUR)).succeeds().out
    last = told.rstrip().splitlines()[-1]
    assert last.startswith("`h-s0 up` and `h-s1 up` are the limit: sum has a bus bandwidth of ")
    assert "What would help: peerlane explain " in last


def test_reads_with_few_tags_get_more() -> None:
    place = found(what_if=True, schedules__sum__by="pull", devices__g0__tags=2).bottlenecks[0]
    assert (place.where, place.detail) == (("g0",), "transfers")
    assert "devices.g0.tags" in {one.key for one in place.steps[0].changes}
    assert place.steps[0].rates.total > 5 * place.rates.total
