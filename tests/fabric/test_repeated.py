"""Tables that are written once and stand for many: in scenarios, in Python, and by their paths."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from peerlane import Fabric, ScenarioError, Simulation
from peerlane._core import Scenario
from peerlane.explaining import what_if
from peerlane.explaining.explain import explain
from peerlane.formats import gigabytes

if TYPE_CHECKING:
    from conftest import Run, Write

ENDPOINTS = 24


def rack() -> Fabric:
    """Two hosts with a switch each, and 24 endpoints below these, each with a flow to its host."""
    fabric = Fabric("rack").links(generation=3, lanes=4)
    fabric.host("h{j}", memory="1 MiB", each="j = 0..1").switch("s{j}", "h{j}", each="j = 0..1")
    every = f"i = 0..{ENDPOINTS - 1}"
    fabric.device("ep{i}", "s{i / 12}", port="{i % 12}", each=every)
    return fabric.flow("ep{i}", "h{i / 12}", id="up{i}", count=2, request_size="128 B", each=every)


def written_one_by_one() -> Fabric:
    """The same fabric with a call for each node and flow."""
    fabric = Fabric("rack").links(generation=3, lanes=4)
    for j in range(2):
        fabric.host(f"h{j}", memory="1 MiB")
    for j in range(2):
        fabric.switch(f"s{j}", f"h{j}")
    for i in range(ENDPOINTS):
        fabric.device(f"ep{i}", f"s{i // 12}", port=i % 12)
    for i in range(ENDPOINTS):
        fabric.flow(f"ep{i}", f"h{i // 12}", id=f"up{i}", count=2, request_size="128 B")
    return fabric


def test_repeated_tables_are_as_if_each_was_written() -> None:
    assert rack().tree() == written_one_by_one().tree()
    assert rack().run() == written_one_by_one().run()
    assert 2 * len(rack().to_toml()) < len(written_one_by_one().to_toml())


def test_paths_reach_a_repeated_table_and_each_member() -> None:
    fabric = rack().override("devices.ep{i}.tags", 8).override("devices.ep3.tags", 16)
    devices = tomllib.loads(fabric.to_toml())["devices"]
    assert {name: one["tags"] for name, one in devices.items() if one["tags"] != 8} == {"ep3": 16}
    assert fabric.override("devices.*.tags", 4).tree().nodes["ep0"].name == "ep0"
    fabric = rack().override("flows.up7.count", 5).override("links.s1-ep13.lanes", 1)
    assert fabric.run().flows["up7"].bytes == 5 * 128
    link = fabric.tree().nodes["ep13"].upstream
    assert link is not None
    assert link.lanes == 1
    fabric = rack().set("ep5", bar="1 MiB")
    regions = {node.name: node.regions[0].size for node in fabric.tree().nodes if node.model}
    assert {name for name, size in regions.items() if size == 1 << 20} == {"ep5"}


@pytest.mark.parametrize("command", ["run", "explain", "show"])
def test_commands_set_keys_in_any_order(peerlane: Run, scenario: Write, command: str) -> None:
    file = scenario(text=rack().to_toml())
    settings = ["devices.ep3.upstream.lanes=1", 'devices."ep{i}".upstream.lanes=2']
    found = []
    for order in (settings, settings[::-1]):
        ran = peerlane(
            command, file, *(w for one in order for w in ("--set", one)), "--json", "-"
        ).succeeds()
        found.append({k: v for k, v in json.loads(ran.out).items() if k not in {"command", "name"}})
    assert found[0] == found[1]


def test_sweeps_of_a_table_and_a_member(peerlane: Run, scenario: Write) -> None:
    file = scenario(text=rack().to_toml())
    table, member = 'flows."up{i}".count', "flows.up3.count"
    metrics = ("--metric", "flows.up3.bytes", "--metric", "flows.up4.bytes", "--json", "-")
    swept = peerlane("sweep", file, "--vary", f"{member}=1,4", "--set", f"{table}=3", *metrics)
    found = [tuple(one["metrics"].values()) for one in json.loads(swept.out)["points"]]
    assert found == [(128, 384), (512, 384)]
    refused = peerlane("sweep", file, "--vary", f"{table}=1,4", "--set", f"{member}=3")
    refused.refuses(f"and {member} is set of one", f"leave out --set {member}")


def test_the_last_of_keys_of_all_and_of_one_counts_beside_repeated_tables() -> None:
    fabric = rack().override("devices.ep3.tags", 16).override("devices.*.tags", 8)
    devices = tomllib.loads(fabric.to_toml())["devices"]
    assert {one["tags"] for one in devices.values()} == {8}
    scenario = Scenario.parse(rack().to_toml())
    paths = ["devices.*.tags", "devices.ep3.tags", "seed", "devices.ep{i}.lanes"]
    assert scenario.in_order(paths) == [paths[0], *paths[2:], paths[1]]
    assert scenario.in_order(paths[:3]) == paths[:3]


def test_a_repeated_table_that_is_written_out_says_so() -> None:
    for path, key in (("devices.ep3", "tags"), ("flows.up3", "count")):
        fabric = rack().override(f"{path}.{key}", 2)
        name = path.split(".")[1].replace("3", "{i}")
        told = f"the first key of a member writes all members out, so set the keys of {name} before"
        with pytest.raises(ScenarioError, match=re.escape(told)):
            fabric.override(path.replace("3", "{i}") + f".{key}", 4)


def test_an_id_that_is_not_written_counts_all_members_before() -> None:
    fabric = rack().flow("h0", "ep0", count=1, request_size="64 B")
    fabric.override(f"flows.flow-{ENDPOINTS + 1}.count", 3)
    assert fabric.run().flows[f"flow-{ENDPOINTS + 1}"].bytes == 3 * 64
    with pytest.raises(ScenarioError, match="there is no 'flow-2' among the flows"):
        fabric.override("flows.flow-2.count", 3)


def test_the_number_of_members_can_be_swept() -> None:
    points = rack().sweep({"devices.ep{i}.each": ["i = 0..23", "i = 0..22"]}, "simulated_ns")
    right, wrong = points
    assert right.status == "ok"
    assert "there is no host or device" in str(wrong.error)


def test_flows_of_members_are_explained() -> None:
    explanation = rack().override('flows."up{i}".count', 400).explain("up3")
    (flow,) = explanation.flows
    assert flow.id == "up3"
    assert flow.limit is not None


def test_a_wrong_member_is_an_error_in_python() -> None:
    with pytest.raises(ScenarioError, match='there is no host or switch "s2"'):
        rack().override("devices.ep{i}.each", "i = 0..24").tree()
    with pytest.raises(ScenarioError, match="'ep99' among the devices"):
        rack().override("devices.ep99.tags", 8)
    with pytest.raises(ScenarioError, match="with 4294967296 of this table"):
        Simulation('[hosts."h{i}"]\neach = "i = 0..4294967295"\n')
    with pytest.raises(ScenarioError, match=r'devices\.ep0\.tags .*no variable "k"'):
        rack().override("devices.ep{i}.tags", "{k}").override("devices.ep3.tags", 1)


def test_show_tells_alike_nodes_together(peerlane: Run, scenario: Write, tmp_path: Path) -> None:
    fabric = Fabric("rack").host("h{j}", each="j = 0..11").switch("s{j}", "h{j}", each="j = 0..11")
    fabric.device("ep{i}", "s{i / 16}", each="i = 0..191").set("s0", ports=18)
    fabric.device("odd", "s0", model="nvme")
    fabric.controller("c", ports=12).device("n{j}", "h{j}", model="nic", each="j = 0..11")
    file = scenario(text=fabric.to_toml())
    shown = peerlane("show", file, "--json", tmp_path / "rack.json").out
    assert "15 x dma like ep0: ep1 to ep15" in shown
    assert "odd  nvme" in shown
    assert "10 x host like h1: h2 to h11, with 18 nodes below each" in shown
    assert "controller c  n0 to n11 (12)" in shown
    assert len(shown.splitlines()) < 40
    nodes = json.loads((tmp_path / "rack.json").read_text(encoding="utf-8"))["nodes"]
    assert len(nodes) == 12 + 12 + 192 + 1 + 12


def test_a_run_of_many_flows_shows_the_slowest(peerlane: Run, scenario: Write) -> None:
    fabric = rack()
    for way in "read", "both":
        fabric.flow(
            "ep{i}",
            "h{i / 12}",
            direction=way,
            count=1,
            request_size="128 B",
            id=way + "{i}",
            each=f"i = 0..{ENDPOINTS - 1}",
        )
    shown = peerlane("run", scenario(text=fabric.to_toml())).out
    assert "72 flows; the 16 slowest are shown" in shown
    assert "all 72: 15 KiB; least" in shown
    assert shown.count(" intact\n") >= 16


def test_flows_that_are_alike_are_explained_by_the_slowest(peerlane: Run, scenario: Write) -> None:
    fabric = rack().flow("h0", "ep0", id="down", size="64 KiB")
    file = scenario(text=fabric.override("flows.*.direction", "write").to_toml())
    explain = ("explain", file, "--set", 'flows."up{i}".count=400', "--no-what-if")
    shown = peerlane(*explain, "--json", "found.json").out
    (line,) = (line for line in shown.splitlines() if "more are like" in line)
    assert re.fullmatch(
        r"23 more are like (up\d+): up\d+ to up\d+, .* GB/s; --all shows each", line
    )
    rows = [one for one in shown.splitlines() if re.match(r"(up\d+|down) +\d", one)]
    assert [one.split()[0] for one in rows] == [line.split()[4].rstrip(":"), "down"]
    flows = json.loads(Path("found.json").read_text(encoding="utf-8"))["flows"]
    rates = {one["id"]: one["bytes_per_second"] for one in flows if one["id"] != "down"}
    assert line.split()[4].rstrip(":") == min(rates, key=rates.__getitem__)
    every = peerlane(*explain, "--all").out
    assert all(f"{flow['id']}: " in every for flow in flows)
    assert "more are like" not in every


def test_metrics_that_are_alike_are_swept_as_least_median_and_most(
    peerlane: Run, scenario: Write
) -> None:
    file = scenario(text=rack().flow("h0", "ep0", id="down", count=2).to_toml())
    sweep = ("sweep", file, "--vary", "links.generation=2,3")
    shown = peerlane(*sweep, "--json", "found.json").out
    head = shown.splitlines()[1].split("  ")
    words = [one.strip() for one in head if one.strip()]
    three = [f"up* GB/s {word}" for word in ("least", "median", "most")]
    assert words == ["links generation", *three, "down GB/s"]
    (first, _) = json.loads(Path("found.json").read_text(encoding="utf-8"))["points"]
    rates = sorted(value for name, value in first["metrics"].items() if ".up" in name)
    row = shown.splitlines()[3].split()
    assert row[1:4] == [gigabytes(rates[n]) for n in (0, ENDPOINTS // 2, -1)]
    assert "up13 GB/s" in peerlane(*sweep, "--all").out
    asked = [word for i in range(9) for word in ("--metric", f"flows.up{i}.bytes")]
    assert "up8 bytes" in peerlane(*sweep, *asked).out


def test_many_flows_with_one_limit_are_lifted_together() -> None:
    text = rack().override('flows."up{i}".count', 400).to_toml()
    with patch.object(what_if, "_explanation", wraps=what_if._explanation) as runs:
        found = explain(text, each=False)
    places = [place for place in found.bottlenecks if place.steps or place.not_lifted]
    assert sum(len(place.flows) for place in places) == len(found.flows) == ENDPOINTS
    assert len(places) <= 2
    assert runs.call_count <= 12
