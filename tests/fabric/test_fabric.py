"""A fabric built in code is the fabric of the scenario file."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import PAIR
from peerlane import Fabric, ScenarioError, Simulation
from peerlane.fabric import typed_keys

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from peerlane.fabric.settings import Setting
    from peerlane.fabric.tree import Upstream


def pair() -> Fabric:
    fabric = Fabric("pair").links(generation=2, lanes=4).host("h0", memory="1 MiB")
    fabric.switch("s0", "h0").device("a", "s0").device("b", "s0", bar="64 KiB")
    return fabric.flow("a", "b", id="a-to-b", size="16 KiB")


def test_code_and_file_say_the_same() -> None:
    assert tomllib.loads(pair().to_toml()) == tomllib.loads(PAIR)


def test_code_and_file_do_the_same() -> None:
    assert pair().run() == Simulation(PAIR).run()


def test_a_link_s_settings_stand_with_the_link() -> None:
    fabric = Fabric().host("h0").device("d", "h0", lanes=8, port=2, tags=16)
    device = tomllib.loads(fabric.to_toml())["devices"]["d"]
    assert device == {"upstream": {"to": "h0", "lanes": 8, "port": 2}, "tags": 16}


@pytest.mark.parametrize("key", sorted(typed_keys.Upstream.__annotations__))
def test_every_key_of_a_link_stands_with_the_link(key: str) -> None:
    settings: Any = {key: 1}
    fabric = Fabric().host("h0").device("d", "h0", **settings)
    assert tomllib.loads(fabric.to_toml())["devices"]["d"] == {"upstream": {"to": "h0", key: 1}}


def test_a_port_of_a_host_with_several_sockets_tells_its_own() -> None:
    fabric = Fabric().host("h0", sockets=2).device("a", "h0").device("b", "h0", socket=1)
    upstream = tomllib.loads(fabric.to_toml())["devices"]["b"]["upstream"]
    assert upstream == {"to": "h0", "socket": 1}
    fabric.switch("s", "h0", socket=1).device("c", "s")
    links = {node.name: node.upstream for node in fabric.tree().nodes if node.upstream}
    sockets = {name: link.socket for name, link in links.items()}
    assert sockets == {"a": 0, "b": 1, "s": 1, "c": None}
    alone = pair().tree().nodes["s0"].upstream
    assert alone is not None
    assert alone.socket is None


def test_none_takes_a_setting_away() -> None:
    fabric = pair().set("b", bar=None, max_payload="128 B")
    devices = tomllib.loads(fabric.to_toml())["devices"]
    assert devices["b"] == {"upstream": {"to": "s0"}, "max_payload": "128 B"}


def test_a_setting_of_a_link_is_changed_with_the_link() -> None:
    assert PAIR.count('{ to = "s0" }') == 2
    for text in (pair().to_toml(), PAIR, PAIR.replace('{ to = "s0" }', '"s0"')):
        fabric = Fabric.from_toml(text).set("b", lanes=1, bar="32 KiB")
        device = tomllib.loads(fabric.to_toml())["devices"]["b"]
        assert device == {"upstream": {"to": "s0", "lanes": 1}, "bar": "32 KiB"}


def test_numbers_of_numpy_are_numbers() -> None:
    lanes, errors = cast("int", np.int64(8)), np.float64(1e-6)
    fabric = Fabric().host("h0").device("d", "h0", lanes=lanes, bit_error_rate=errors)
    upstream = tomllib.loads(fabric.to_toml())["devices"]["d"]["upstream"]
    assert upstream == {"to": "h0", "lanes": 8, "bit_error_rate": 1e-6}


def test_a_size_is_a_number_of_bytes_and_a_rate_one_of_bytes_a_second() -> None:
    fabric = Fabric().host("h0", memory=1 << 30).device("d", "h0", bar=65536)
    fabric.device("n", "h0", model="nvme", media_bandwidth=2.5e9, media_read_latency="80 us")
    fabric.flow("d", "h0", id="up", size=cast("int", np.int64(1500))).override(
        "flows.up.size", 3000
    )
    text = tomllib.loads(fabric.set("d", bar=1 << 20).to_toml())
    assert text["hosts"]["h0"]["memory"] == "1 GiB"
    assert text["devices"]["d"]["bar"] == "1 MiB"
    assert text["devices"]["n"]["media_bandwidth"] == "2500000000 B/s"
    assert text["flows"][0]["size"] == "3000 B"
    points = fabric.sweep({"flows.up.size": [64, 128]}, "flows.up.bytes")
    assert [point.metrics["flows.up.bytes"] for point in points] == [64, 128]
    with pytest.raises(ScenarioError, match=r"devices\.d\.upstream\.delay: 10 has no unit"):
        Fabric().host("h0").device("d", "h0", delay=cast("str", 10)).tree()


def test_a_graph_is_the_fabric_that_it_was_made_of() -> None:
    fabric = Fabric("x").host("h0").switch("s0", "h0", lanes=8).device("a", "s0", generation=4)
    graph = fabric.device("b", "s0", model="nvme").tree().to_networkx()
    assert Fabric.from_networkx(graph).tree() == fabric.tree()
    ring = nx.Graph()
    for number in range(3):
        ring.add_node(f"h{number}", kind="host")
        ring.add_node(f"r{number}", kind="device", model="router", virtual_channels=3)
        ring.add_edge(f"h{number}", f"r{number}", lanes=4)
        ring.add_edge(f"r{number}", f"r{(number + 1) % 3}", kind="fibre", length="5 m")
    tree = Fabric.from_networkx(ring, name="ring").tree()
    assert (tree.name, len(tree.fibres), tree.nodes["r1"].upstream) == (
        "ring",
        3,
        replace(cast("Upstream", tree.nodes["r0"].upstream), to="h1"),
    )


@pytest.mark.parametrize(
    ("edges", "kinds", "reason"),
    [
        ([("h", "s"), ("h", "t"), ("s", "t")], {}, "closes a circle; a fabric is a tree"),
        ([("s", "t")], {}, "s is below no host; join it to one by edges"),
        ([("h", "s"), ("h", "t")], {"s": "swich"}, "s: 'swich' is no kind of node; write host, "),
    ],
)
def test_a_graph_that_is_no_fabric_is_refused(
    edges: list[tuple[str, str]], kinds: dict[str, str], reason: str
) -> None:
    graph = nx.Graph(edges)
    usual = {"h": "host", "s": "switch", "t": "switch"}
    nx.set_node_attributes(graph, {n: (usual | kinds)[n] for n in graph}, "kind")
    with pytest.raises(ScenarioError, match=reason):
        Fabric.from_networkx(graph)


def torus() -> Fabric:
    fabric = Fabric("torus").network(
        "t", shape="torus", size="3x3", routers={"virtual_channels": 3, "lanes": 4}, length="5 m"
    )
    return fabric.traffic("t", id="u", load=1e9, duration="1 us", senders="routers")


def test_a_network_has_tables_of_its_own_for_its_hosts_and_routers() -> None:
    text = torus().to_toml()
    assert "\n[networks.t.routers]\n" in text
    assert tomllib.loads(text) == {
        "name": "torus",
        "networks": {
            "t": {
                "shape": "torus",
                "size": "3x3",
                "length": "5 m",
                "routers": {"upstream": {"lanes": 4}, "virtual_channels": 3},
            }
        },
        "traffic": [
            {
                "id": "u",
                "network": "t",
                "load": "1000000000 B/s",
                "from": "routers",
                "duration": "1 us",
            }
        ],
    }
    tree = torus().tree()
    assert len(tree.networks["t"].routers) == 9
    assert {node.upstream.lanes for node in tree.nodes if node.upstream} == {4}


def test_a_network_is_changed_by_its_name_and_by_path() -> None:
    fabric = torus().set("t", size="4x2", length=None)
    fabric.override("networks.t.routers.virtual_channels", 2)
    fabric.override("networks.t.hosts.memory", "1 MiB").override("networks.t.shape", "mesh")
    assert tomllib.loads(fabric.to_toml())["networks"]["t"] == {
        "shape": "mesh",
        "size": "4x2",
        "hosts": {"memory": "1 MiB"},
        "routers": {"upstream": {"lanes": 4}, "virtual_channels": 2},
    }
    network = fabric.tree().networks["t"]
    assert (network.shape, network.sides, network.virtual_channels) == ("mesh", (4, 2), 2)
    with pytest.raises(ScenarioError, match="there is no 'x' among the networks; there are t"):
        fabric.override("networks.x.routers.aperture", "64 KiB")


def test_routers_of_two_hosts_are_joined_by_a_fibre() -> None:
    fabric = Fabric().host("a").host("b")
    fabric.device("ra", "a", model="router").device("rb", "b", model="router")
    fabric.fibre("ra", "rb", to_port=2, length="10 m").flow("a", "b", size="4 KiB")
    (fibre,) = fabric.tree().fibres
    ends = (fibre.source, fibre.source_port, fibre.target, fibre.target_port)
    assert ends == ("ra", 0, "rb", 2)
    assert fibre.delay_ns == pytest.approx(292 + 48.97)
    result = fabric.run()
    assert result.failures == []
    assert [one.payload_bytes for one in result.fibres] == [4096, 0]


def test_a_workload_is_changed_by_its_id() -> None:
    fabric = (
        torus().traffic("t", load="2 GB/s", duration="1 us").set_traffic("u", pattern="tornado")
    )
    fabric.set_traffic("traffic-2", load="3 GB/s", duration=None)
    first, second = tomllib.loads(fabric.to_toml())["traffic"]
    assert first["pattern"] == "tornado"
    assert second == {"network": "t", "load": "3 GB/s"}
    assert "traffic" not in tomllib.loads(fabric.without_flows().to_toml())
    with pytest.raises(ScenarioError, match="there is no traffic 'x'; there is none"):
        fabric.set_traffic("x", load="1 GB/s")


REFUSED: dict[str, Callable[[Fabric], object]] = {
    "there is no node, controller or network 'nobody'; write one of h0, s0, a, b": lambda fabric: (
        fabric.set("nobody", bar="1 KiB")
    ),
    "'h0' has no link above it": lambda fabric: fabric.set("h0", memory="2 MiB", lanes=8),
    "'a' is already among the devices": lambda fabric: fabric.device("a", "s0"),
    "tags = ": lambda fabric: fabric.device("c", "s0", tags=cast("int", b"8")),
    "lanes = ": lambda fabric: fabric.links(generation=3, lanes=cast("int", [4])),
    "size = ": lambda fabric: fabric.flow("a", "b", size=cast("str", object())),
    "bar = ": lambda fabric: fabric.set("b", max_payload="128 B", bar=cast("str", 1j)),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_refusal_leaves_the_fabric_as_it_was(why: str) -> None:
    fabric = pair()
    with pytest.raises(ScenarioError, match=f"^{re.escape(why)}"):
        REFUSED[why](fabric)
    assert fabric.to_toml() == pair().to_toml()


def test_a_wrong_name_is_offered_the_nearest() -> None:
    fabric = torus().links(lanes=8)
    with pytest.raises(ScenarioError, match="network 'hots'; did you mean \"host\""):
        fabric.host("host").set("hots", memory="1 MiB")
    with pytest.raises(ScenarioError, match=r"no section 'linsk'; did you mean links\?"):
        fabric.override("linsk.lanes", 4)
    fabric.traffic("t", load=1e9, duration="1 us", id="uniform")
    with pytest.raises(ScenarioError, match="no traffic 'uniforn'; did you mean \"uniform\""):
        fabric.set_traffic("uniforn", load=2e9)


def test_what_is_not_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    broken = PAIR.replace("[devices.a]", "[devices.a")
    with pytest.raises(ScenarioError, match=r"^<text>:13: .*TOML"):
        Fabric.from_toml(broken)
    path = tmp_path / "fabric.toml"
    path.write_text(broken, encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"fabric\.toml:13: .*TOML"):
        Fabric.load(path)


@pytest.mark.parametrize("text", ["hosts = 3", "devices = []", "links = 1", "flows = {}"])
def test_a_section_of_another_kind_is_refused(text: str) -> None:
    fabric = Fabric.from_toml(text)
    with pytest.raises(ScenarioError, match=text.split(maxsplit=1)[0]):
        fabric.host("h0").device("a", "h0").links(lanes=4).flow("a", "h0", size="1 KiB")


def test_a_copy_is_its_own_fabric() -> None:
    first = pair()
    second = first.copy().set("b", bar="4 KiB")
    assert first.to_toml() != second.to_toml()


def test_a_controller_may_have_no_devices() -> None:
    tree = Fabric().host("h").controller("c").tree()
    assert tree.controllers["c"].engine_bytes_per_second is None


def test_an_error_names_the_fabric_and_the_parameter() -> None:
    with pytest.raises(ScenarioError, match=r"<pair>.*lanes"):
        pair().links(lanes=3).simulation()


def test_an_error_names_the_line_of_a_file_or_the_key_that_a_program_has_set(
    tmp_path: Path,
) -> None:
    path = tmp_path / "pair.toml"
    path.write_text(PAIR.replace("lanes = 4", "lanes = 3"), encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"pair\.toml:5: links\.lanes: .* 3 lanes"):
        Fabric.load(path).set("b", bar="4 KiB").simulation()
    path.write_text(PAIR, encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"pair\.toml: links\.lanes: .* 3 lanes"):
        Fabric.load(path).links(lanes=3).simulation()


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
values = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"])),
)


@given(st.dictionaries(names, values, max_size=4), names, names)
def test_what_is_written_is_read_back(
    settings: dict[str, str | int | float | bool], host: str, flow: str
) -> None:
    fabric = Fabric("any").flow("a", 0xC000_0000, id=flow)
    fabric._add("hosts", host, settings)
    read = tomllib.loads(fabric.to_toml())
    assert read["hosts"] == {host: settings}
    assert read["flows"] == [{"id": flow, "from": "a", "to": "0xc0000000"}]
    assert Fabric.from_toml(fabric.to_toml()).to_toml() == fabric.to_toml()


settings_ = st.none() | st.dictionaries(names, values, max_size=3)


@given(names, settings_, settings_, st.dictionaries(names, values, max_size=3))
def test_a_network_that_is_written_is_read_back(
    name: str,
    hosts: dict[str, Setting] | None,
    routers: dict[str, Setting] | None,
    settings: dict[str, Setting],
) -> None:
    own = {key: value for key, value in settings.items() if key not in {"hosts", "routers"}}
    fabric = Fabric("any")
    inner = {"hosts": hosts, "routers": routers}
    inner = {key: value for key, value in inner.items() if value is not None}
    fabric._add("networks", name, own | inner)
    read = tomllib.loads(fabric.to_toml())["networks"]
    assert read == {name: own | inner}
    assert Fabric.from_toml(fabric.to_toml()).to_toml() == fabric.to_toml()


def test_a_misspelt_setting_is_refused_in_its_call() -> None:
    fabric = Fabric("pair").host("h0")
    with pytest.raises(ScenarioError, match="flows have no key 'sise'; did you mean 'size'"):
        fabric.flow("a", "h0", sise="1 MiB")  # type: ignore[call-arg]
    with pytest.raises(ScenarioError, match="devices have no key 'tagss'; did you mean 'tags'"):
        fabric.device("a", "h0", tagss=8)  # type: ignore[call-overload]
    calls: dict[str, Callable[..., Fabric]] = {
        "links": fabric.links,
        "profiles": partial(fabric.profile, "p"),
        "io_ports": partial(fabric.io_port, "p", ["h0"]),
        "networks": partial(fabric.network, "n"),
        "buffers": partial(fabric.buffer, "b", "h0"),
        "nodes": partial(fabric.set, "h0"),
        "traffic": partial(fabric.set_traffic, "t"),
    }
    for kind, call in calls.items():
        with pytest.raises(ScenarioError, match=f"{kind} have no key 'lanez'; did you mean"):
            call(lanez=8)
    with pytest.raises(ScenarioError, match="hosts have no key 'memroy'"):
        fabric.network("n", hosts={"memroy": "1 MiB"})
    with pytest.raises(TypeError, match="is not the name of a node; write a string"):
        fabric.device(object(), "h0")  # type: ignore[call-overload]
    assert fabric.to_toml() == Fabric("pair").host("h0").to_toml()
