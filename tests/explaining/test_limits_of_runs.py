"""The limit that a run names without any further run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from conftest import beside
from peerlane import Simulation
from peerlane.explaining.explain import explain

if TYPE_CHECKING:
    from peerlane.results.run import RunResult

HEAD = """
[links]
generation = 4
lanes = 8
[hosts.h]
[switches.s]
upstream = "h"
[devices.a]
upstream = "s"
bar = "1 MiB"
[devices.b]
upstream = "s"
bar = "1 MiB"
"""


def flow(name: str, **keys: str) -> str:
    lines = "".join(f'{key} = "{value}"\n' for key, value in keys.items())
    return f'[[flows]]\nid = "{name}"\n{lines}'


def ran(*flows: str, more: str = "") -> RunResult:
    simulation = Simulation("".join((HEAD, *flows, more)))
    simulation.watch_waits()
    return simulation.run()


def test_flows_on_the_same_full_wires_have_one_limit() -> None:
    write = flow("w", **{"from": "a", "to": "b", "duration": "100 us"})
    read = flow("r", **{"from": "b", "to": "a", "direction": "read", "duration": "100 us"})
    found = ran(write, read).explain().bottlenecks
    assert [one.flows for one in found] == [("w", "r")]
    assert "2 flows share 15 GB/s" in found[0].sentence


def test_a_flow_that_moves_next_to_nothing_is_not_named_first() -> None:
    little = flow("little", **{"from": "a", "to": "h", "size": "8 KiB"})
    much = flow("much", **{"from": "b", "to": "h", "duration": "200 us"})
    assert ran(little, much).explain().bottlenecks[0].flows == ("much",)


def test_flows_that_ended_at_different_times_have_no_rate_together() -> None:
    first = flow("first", **{"from": "a", "to": "h", "size": "512 KiB"})
    second = flow("second", **{"from": "b", "to": "h", "size": "2 MiB"})
    (place,) = ran(first, second).explain().bottlenecks
    assert "2 flows move 7." in place.sentence
    assert place.sentence.endswith("GB/s each.")


def test_a_flow_that_has_stopped_has_no_limit_but_a_reason() -> None:
    one = flow("one", **{"from": "a", "to": "h", "duration": "100 us"})
    removal = '[[incidents]]\nat = "5 us"\nwhat = "surprise-removal"\nnode = "a"\n'
    explanation = ran(one, more=removal).explain()
    assert explanation.flows["one"].limit is None
    assert "nothing arrived after" in explanation.sentence


def test_a_burst_in_a_long_call_limits_nothing_and_is_named() -> None:
    drive = '[devices.d]\nmodel = "nvme"\nupstream = "h"\n'
    load = flow("load", **{"from": "d", "to": "h", "size": "4 KiB"})
    result = ran(load, more=drive)
    assert result.explain().flows["load"].limit is None
    (remark,) = result.remarks
    assert remark.startswith("load: its data came within ")
    assert remark.endswith('clock = "application" measures the call')


def test_devices_move_until_flows_gain() -> None:
    wide = HEAD.replace("lanes = 8", "lanes = 16")
    redirected = wide.replace('upstream = "h"\n', 'upstream = "h"\nacs_redirect = true\n')
    peers = flow("peers", **{"from": "b", "to": "a", "duration": "50 us"})
    drives = (
        '[devices."d{i}"]\neach = "i = 0..3"\nupstream = { to = "s", lanes = 4 }\n'
        '[[flows]]\neach = "i = 0..3"\nid = "f{i}"\nfrom = "d{i}"\nto = "h"\nduration = "50 us"\n'
    )
    place = explain(f"{redirected}{peers}{drives}").bottlenecks[0]
    moves = [
        [change.key for change in one.changes]
        for one in (*place.steps, *place.instead)
        if all(change.key.endswith(".upstream.to") for change in one.changes)
    ]
    # The target alone at a root port still takes the packets of its peer by the uplink.
    assert moves
    assert all(len(keys) > 1 for keys in moves)


@pytest.mark.filterwarnings("ignore:.*until the buffer is free again")
def test_a_place_that_limits_no_flow_comes_after_the_limit_and_is_described_as_such() -> None:
    first, *others = explain(beside(__file__, "beside_the_limit.toml")).bottlenecks
    assert (first.kind, first.is_limit) == ("credit", True)
    (other,) = (one for one in others if not one.is_limit)
    assert re.match(r"`frames0` and `frames1` wait [\d.]+ % of the time for ", other.sentence)


LOADS = HEAD + flow("load", **{"from": "h", "to": "a", "direction": "read", "size": "64 KiB"})


def test_each_change_stands_once() -> None:
    shared = [flow(name, **{"from": name, "to": "h", "size": "256 KiB"}) for name in "ab"]
    for text in (LOADS, HEAD + "".join(shared)):
        for place in explain(text).bottlenecks:
            before = [(), *(one.changes for one in place.steps)]
            steps = (set(one.changes) for one in place.steps)
            new = [one - set(last) for one, last in zip(steps, before, strict=False)]
            rows = [
                frozenset(one) for one in (*new, *(set(each.changes) for each in place.instead))
            ]
            assert len(set(rows)) == len(rows) > 1


def test_the_loads_of_a_processor_are_as_large_as_those_of_another() -> None:
    place = explain(LOADS).bottlenecks[0]
    assert place.kind == "tags"
    rows = {change.setting for one in place.instead for change in one.changes}
    assert "hosts.h.max_read_request=512 B" in rows


def test_without_an_iommu_devices_are_not_isolated() -> None:
    walks = "iommu = true\niotlb_entries = 4\nwalkers = 1\n"
    text = HEAD.replace("[hosts.h]\n", f"[hosts.h]\n{walks}")
    load = flow(
        "f", **{"from": "a", "to": "h", "window": "64 MiB", "addresses": "random", "size": "64 KiB"}
    )
    place = explain(f"{text}{load}").bottlenecks[0]
    (off,) = (one for one in place.instead if one.changes[0].setting == "hosts.h.iommu=false")
    assert "not isolated" in off.remark
    assert place.steps[0].changes[0].key == "hosts.h.iommu_page"


FEW_TAGS = HEAD.replace("[devices.b]", "tags = 2\n[devices.b]")
READS_AND_WRITES = (
    flow("read", **{"from": "a", "to": "h", "direction": "read", "size": "256 KiB"}),
    flow("write", **{"from": "b", "to": "h", "size": "512 KiB"}),
)


def test_a_device_that_does_what_its_link_can_is_left_to_all_where_another_has_a_fault() -> None:
    wide = FEW_TAGS.replace('upstream = "h"', 'upstream = { to = "h", lanes = 16 }')
    text = "".join((wide, *READS_AND_WRITES))
    assert [one.flows for one in explain(text, each=False).bottlenecks] == [("read",)]
    assert ("write",) in [one.flows for one in explain(text).bottlenecks]
    alone = explain("".join((wide, READS_AND_WRITES[1])), each=False)
    assert [one.flows for one in alone.bottlenecks] == [("write",)]


def test_a_change_of_the_first_place_makes_no_second_one() -> None:
    slow = FEW_TAGS.replace(
        'upstream = "s"\nbar', 'upstream = { to = "s", generation = 1 }\nbar', 1
    )
    place, *others = explain("".join((slow, READS_AND_WRITES[0])), each=False).bottlenecks
    first = [one.changes for one in (*place.steps, *place.instead)]
    assert not [one for one in others if one.steps[0].changes in first]


def test_a_wire_that_is_not_full_is_not_called_full() -> None:
    lossy = HEAD.replace('upstream = "h"', 'upstream = { to = "h", bit_error_rate = 1e-5 }')
    writes = (flow(name, **{"from": name, "to": "h", "size": "512 KiB"}) for name in "ab")
    place = explain("".join((lossy, *writes))).bottlenecks[0]
    assert place.alone is not None
    assert place.then(place.alone) == "`h-s up` is the limit"
