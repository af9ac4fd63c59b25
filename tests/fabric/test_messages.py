"""Messages between hosts by their network interface controllers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from conftest import figure, of
from peerlane import Fabric, ScenarioError
from peerlane.network.sweep import sweep_loads
from peerlane.systems.chpp.loggp.model import DISTANCES, SOURCE, distance
from peerlane.systems.chpp.topologies import NETWORKS

if TYPE_CHECKING:
    from pathlib import Path


CHPP = of("chpp")


def supernode(processors: int = 2) -> Fabric:
    fabric = Fabric("supernode").links(generation=2, lanes=8).controller("c", ports=processors)
    for number in range(processors):
        fabric.host(f"h{number}")
        fabric.device(f"n{number}", f"h{number}", model="nic", virtual_functions=7)
    return fabric


def simulated(name: str, under: str) -> dict[str, float]:
    """The values of the rows of a figure of chpp below `under`, by what follows it."""
    found = figure("chpp", name).rows
    rows = {row.id: row.simulated for row in found if row.simulated is not None}
    return {name.removeprefix(under): rows[name] for name in rows if name.startswith(under)}


def test_a_workload_through_a_controller_is_swept() -> None:
    fabric = supernode(4).traffic("c", load="1 GB/s", message="512 B", duration="40 us")
    outcome = sweep_loads(fabric, ["1 GB/s", "8 GB/s"])
    assert [point.saturated for point in outcome.points] == [False, True]
    assert outcome.bounds.injection == outcome.bounds.ejection
    assert outcome.saturation_bytes_per_second < outcome.bounds.least
    assert all(point.lost == 0 for point in outcome.points)


def test_controllers_are_shown_and_set() -> None:
    fabric = supernode().set("c", virtual_channels=3)
    controller = fabric.tree().controllers["c"]
    assert (controller.ports, controller.virtual_channels) == (("n0", "n1"), 3)
    assert fabric.tree().to_json()["controllers"][0]["get_channel"] is True
    with pytest.raises(ScenarioError, match="no port of the controller c is left"):
        fabric.host("h2").device("n2", "h2", model="nic").tree()


def test_a_trace_has_the_packets_on_cables(tmp_path: Path) -> None:
    fabric = supernode(1).controller("d").cable("c", "d", lanes=4)
    fabric.host("far").device("n9", "far", model="nic", controller="d").set("n0", controller="c")
    path = tmp_path / "trace.jsonl"
    result = fabric.flow("n0", "n9", size="300 B", primitive="put").run(trace=path)
    assert result.failures == []
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    puts = [line for line in lines if line.get("tlp") == "PUT"]
    assert [(line["link"], line["length"]) for line in puts] == [
        ("c-d", 128),
        ("c-d", 128),
        ("c-d", 44),
    ]
    assert {link.id for link in result.links} == {"h0-n0", "far-n9", "c-d"}


def test_a_ring_of_controllers_is_warned_of() -> None:
    fabric = Fabric("ring")
    for number in range(5):
        fabric.controller(f"c{number}")
        fabric.host(f"h{number}")
        fabric.device(f"n{number}", f"h{number}", model="nic", controller=f"c{number}")
    for number in range(5):
        fabric.cable(f"c{number}", f"c{(number + 1) % 5}")
    with pytest.warns(UserWarning, match="between these controllers form a circle"):
        fabric.simulation()


@CHPP
def test_what_table2_predicts_are_puts_and_an_immediate_nap_of_one_packet() -> None:
    kinds = {row.id: row.expected.kind for row in figure("chpp", "table2").rows}
    predicted = {name for name, kind in kinds.items() if kind == "predicted"}
    puts = {f"table2/put/{size}" for size in (64, 256, 1024, 2048)}
    assert predicted == {"table2/nap-immediate/64"} | puts


@CHPP
def test_a_get_is_a_put_and_76_ns() -> None:
    rows = {row.id: row.simulated for row in figure("chpp", "table2").rows}
    for size in (1, 64, 256, 1024, 2048):
        put, get = rows[f"table2/put/{size}"], rows[f"table2/get/{size}"]
        assert put is not None
        assert get is not None
        assert get - put == pytest.approx(0.076)


@CHPP
def test_the_stages_of_a_message_are_all_of_it() -> None:
    rows = {row.id: row.simulated or 0.0 for row in figure("chpp", "fig18").rows}
    for primitive in ("nap-immediate", "put"):
        stages = {name: value for name, value in rows.items() if f"/{primitive}/" in name}
        total = stages.pop(f"fig18/{primitive}/total")
        parts = [value for name, value in stages.items() if "after-" in name or "-read" in name]
        assert sum(parts) == pytest.approx(total)


@CHPP
def test_without_a_channel_for_gets_both_sides_wait_for_ever() -> None:
    rows = {row.id: row.simulated for row in figure("chpp", "deadlock").rows}
    assert rows["deadlock/with-channel/arrived"] == 100
    assert rows["deadlock/without-channel/arrived"] != 100
    assert (rows["deadlock/without-channel/standing"] or 0) > 0


def test_the_model_of_latency_is_the_published_arithmetic() -> None:
    assert SOURCE.latency_ns(2048, distance("hypercube", 256)) == pytest.approx(1399.75 + 240 * 4)
    assert {name: round(distance(name, 1024), 2) for name in DISTANCES} == {
        "hypercube": 5,
        "butterfly": 10,
        "fat-tree": 9.33,
        "mesh-2d": 21.33,
        "torus-2d": 16,
        "mesh-3d": 10.08,
        "torus-3d": 7.56,
    }
    assert NETWORKS.keys() == DISTANCES.keys()
    with pytest.raises(ValueError, match="no formula for 'star'; write one of hypercube"):
        distance("star", 4)


def test_networks_are_as_far_across_as_their_formulas_say() -> None:
    for topology, networks in NETWORKS.items():
        for one in networks:
            formula = distance(topology, len(one.senders))
            share = 1 if topology in {"butterfly", "mesh-2d"} else pytest.approx(1, abs=0.08)
            assert formula / one.mean_distance == share, topology


@CHPP
def test_what_a_message_over_cables_takes_but_for_hops_is_a_message_without_cables() -> None:
    measured = simulated("fig5", "fig5/measured/")
    fixed = sum(measured[name] for name in ("oc", "ods", "fetch", "odr", "notice"))
    assert fixed == pytest.approx(simulated("table2", "table2/put/")["1"] * 1e3)
    assert measured["hop-1-byte"] < measured["hop"]


@CHPP
def test_the_model_with_measured_parameters_is_a_message_that_is_alone() -> None:
    shares = {form: simulated("fig5", f"fig5/share/{form}/") for form in ("whole", "counted")}
    assert all(97 < share < 101 for share in shares["whole"].values())
    assert all(99 < share < 100 for share in shares["counted"].values())
    assert shares["counted"].keys() == simulated("fig5", "fig5/simulated/").keys()
    assert all(share < 95 for share in simulated("fig5", "fig5/share/crowded/").values())


@CHPP
def test_a_function_with_priority_waits_for_what_is_in_the_engine_alone() -> None:
    shares, latencies = simulated("qos", "qos/share/"), simulated("qos", "qos/latency/")
    assert shares["priority"] == 100
    assert shares["priority/1-under-way"] < shares["priority/4-under-way"] < 100
    assert shares["priority/by-packets"] == pytest.approx(shares["round-robin"], rel=0.01)
    assert latencies["alone"] < latencies["priority"] < latencies["round-robin"]
    assert latencies["priority/one-at-a-time"] < latencies["priority"]


@CHPP
def test_a_read_of_138_cycles_explains_both_naps_and_changes_nothing_else() -> None:
    longer = simulated("table2", "check/table2/longer-read/")
    assert longer.pop("nap-indirect") == pytest.approx(1.846, abs=0.001)
    rows = simulated("table2", "table2/")
    assert longer == pytest.approx({name: rows[f"{name}/1"] for name in longer})


@CHPP
def test_what_limits_small_messages_is_the_reading_of_descriptors_and_then_the_program() -> None:
    put = simulated("loggp", "loggp/put/")
    assert put["g"] == pytest.approx(put["g-all"], rel=0.01)
    assert put["g-all/16-descriptors"] < put["o-send"] < put["g/16-descriptors"] < put["g"]
