"""Networks of routers: their bounds by hand, results and tables, warnings, and the sweep."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from conftest import line_of
from peerlane import (
    Bounds,
    Fabric,
    Network,
    RunResult,
    ScenarioError,
    ScenarioWarning,
    Simulation,
    Traffic,
    sweep_loads,
)
from peerlane._core import frame_cycles, link_bytes_per_second, write_header_bytes
from peerlane.network.bounds import bounds
from peerlane.network.packets import Packets, cut, fibre_rate, link_rate
from peerlane.network.routes import busiest_fibre
from peerlane.network.sweep import bytes_per_second, even_loads

if TYPE_CHECKING:
    from conftest import Run, Write


def network(shape: str | None, *sides: int, **settings: Any) -> Network:
    count = 1
    for side in sides:
        count *= side
    plain = Network(
        name="t",
        shape=shape,
        sides=sides or None,
        routing="dimension-order",
        dateline=True,
        routers=tuple(f"t-{number}" for number in range(count)),
        lanes=4,
        lane_rate=10_312_500_000,
        clock_compensation=True,
        virtual_channels=2,
        packet_size=1536,
        local_width=2,
        aperture=1 << 16,
    )
    return replace(plain, **settings)


def traffic(pattern: str, **settings: Any) -> Traffic:
    plain = Traffic(
        id="u",
        network="t",
        pattern=pattern,
        load=10**9,
        message=256,
        senders="hosts",
        receivers="hosts",
        hot_node=None,
        hot_share=None,
        start_ns=0,
        duration_ns=1000,
    )
    return replace(plain, **settings)


def test_a_frame_takes_its_blocks_and_the_separator_that_ends_it() -> None:
    assert [frame_cycles(frame, 4) for frame in (24, 31, 32, 63)] == [1, 1, 2, 2]
    assert frame_cycles(1536, 4) == 49
    assert frame_cycles(1528, 4) == 48
    assert frame_cycles(1536, 2) == 97


def test_a_message_is_cut_at_the_largest_payload() -> None:
    assert cut(256, 256) == (256,)
    assert cut(600, 256) == (256, 256, 88)


# A cycle is 66 bits at 10.3125 Gbit/s: 6.4 ns. Clock compensation leaves 4984 of 4992.
FIBRE = {
    # 1024 + 20 bytes: 131 blocks, 33 cycles, 211.2 ns
    "a message": (Packets((1024,), 0), 1024 / 211.2e-9),
    # 256 + 20 + 12 bytes: 37 blocks, 10 cycles, 64 ns
    "a wrapped TLP": (Packets((256,), 12), 256 / 64e-9),
    # the same twice, and 88 + 32 bytes: 16 blocks, 4 cycles
    "three TLPs": (Packets((256, 256, 88), 12), 600 / 153.6e-9),
}


@pytest.mark.parametrize("what", FIBRE)
def test_a_fibre_carries_what_its_cycles_hold(what: str) -> None:
    packets, rate = FIBRE[what]
    assert fibre_rate(network("torus", 4, 4), packets) == pytest.approx(rate * 4984 / 4992)
    steady = network("torus", 4, 4, clock_compensation=False)
    assert fibre_rate(steady, packets) == pytest.approx(rate)


def test_a_link_carries_what_headers_and_framing_leave() -> None:
    assert link_rate(8, 8, Packets((256,), 16)) == pytest.approx(8e9 * 128 / 130 * 256 / 280)
    assert link_rate(5, 4, Packets((256,), 12)) == pytest.approx(2e9 * 256 / 276)
    assert link_bytes_per_second(25.0, 8) == pytest.approx(25e9 * 128 / 130)
    with pytest.raises(ValueError, match="no link has 7 GT/s"):
        link_bytes_per_second(7, 8)
    assert [write_header_bytes(address) for address in (0, (1 << 32) - 1, 1 << 32)] == [12, 12, 16]
    # a payload fills up its last dword
    assert link_rate(2.5, 1, Packets((255, 1), 12)) == pytest.approx(0.25e9 * 256 / (276 + 24))


UNIFORM = {
    ("ring", 8): 1.0,
    ("torus", 4, 4): 0.5,
    ("torus", 8, 8): 1.0,
    ("torus", 5, 5): 24 / 40,
    ("torus", 4, 4, 8): 1.0,
    ("torus", 2, 2): 0.25,
    ("mesh", 4, 4): 1.0,
    ("mesh", 5, 5): 24 / 20,
    ("mesh", 8, 2): 2.0,
    ("mesh", 4, 1): 1.0,
}


@pytest.mark.parametrize("form", UNIFORM)
def test_uniform_traffic_fills_the_middle_of_the_longest_side(form: tuple[Any, ...]) -> None:
    shape, *sides = form
    load = busiest_fibre(network(shape, *sides), traffic("uniform"))
    assert load == pytest.approx(UNIFORM[form])


def test_other_patterns_fill_the_fibres_on_their_way() -> None:
    torus = network("torus", 4, 4)
    assert busiest_fibre(torus, traffic("neighbour")) == 1
    # 3 of 8 hops up the ring, from every node
    assert busiest_fibre(network("ring", 8), traffic("tornado")) == 3
    # along X first: all of a row but the one on the diagonal turn there
    assert busiest_fibre(network("mesh", 4, 4), traffic("transpose")) == 3
    # all of node 1, and the half of node 2 that goes this way around
    hot = traffic("hot-spot", hot_node=0, hot_share=1.0)
    assert busiest_fibre(network("ring", 4), hot) == 1.5
    # half of that, and half of 4 / 8
    hot = traffic("hot-spot", hot_node=0, hot_share=0.5)
    assert busiest_fibre(network("ring", 4), hot) == 1.0


def test_a_hot_spot_of_no_share_is_uniform_traffic() -> None:
    for form in (network("torus", 5, 3), network("mesh", 4, 6)):
        hot = traffic("hot-spot", hot_node=0, hot_share=0.0)
        assert busiest_fibre(form, hot) == busiest_fibre(form, traffic("uniform"))


def test_a_way_that_is_not_known_has_no_bound() -> None:
    adaptive = network("torus", 8, 8, routing="adaptive")
    assert busiest_fibre(adaptive, traffic("uniform")) == 1.0
    assert busiest_fibre(adaptive, traffic("transpose")) is None
    assert busiest_fibre(network(None), traffic("uniform")) is None


def ring(size: int = 4, address_bits: int = 32, **settings: Any) -> Fabric:
    """A ring whose links are slow: 250 MB/s on the wire."""
    fabric = Fabric("ring").links(generation=1, lanes=1)
    hosts: dict[str, Any] = {"memory": "1 MiB", "memory_address_bits": address_bits}
    fabric.network("n", shape="ring", size=size, hosts=hosts)
    settings = {"load": "100 MB/s", "duration": "100 us", "pattern": "neighbour"} | settings
    return fabric.traffic("n", id="w", **settings).measure("20 us", "90 us")


def limits(fabric: Fabric) -> Bounds:
    tree = fabric.tree()
    return bounds(tree, tree.traffic[0])


def test_bounds_are_those_of_links_and_fibres_on_the_way() -> None:
    fibre = 256 / 57.6e-9  # 276 bytes: 35 blocks, 9 cycles
    inside = limits(ring(senders="routers", receivers="routers"))
    assert inside.injection == pytest.approx(2 * fibre)
    assert inside.ejection == pytest.approx(2 * fibre)
    assert inside.bisection == pytest.approx(fibre * 4984 / 4992)
    assert inside.binding == "bisection"
    outside = limits(ring())
    assert outside.injection == pytest.approx(0.25e9 * 256 / 280)  # the window is above 4 GiB
    assert outside.ejection == pytest.approx(0.25e9 * 256 / 276)  # the memory is not
    assert outside.binding == "injection"
    assert outside.least == outside.injection
    assert limits(ring(address_bits=64)).ejection == pytest.approx(0.25e9 * 256 / 280)


def test_more_arrives_at_a_hot_spot() -> None:
    plain, hot = limits(ring()), limits(ring(pattern="hot-spot", hot_share=0.5))
    assert hot.ejection == pytest.approx(plain.ejection / 2.5)
    assert hot.binding == "ejection"


FULL = {
    "fibres": ("routers", "routers", "6 GB/s", "bisection"),
    "links into routers": ("hosts", "routers", "400 MB/s", "injection"),
    "links out of routers": ("routers", "hosts", "400 MB/s", "ejection"),
}


@pytest.mark.parametrize("message", ["64 B", "255 B", "256 B", "1200 B"])
@pytest.mark.parametrize("what", FULL)
def test_a_full_network_comes_close_to_its_bound(what: str, message: str) -> None:
    senders, receivers, load, binding = FULL[what]
    full = sweep_loads(ring(senders=senders, receivers=receivers, message=message), [load])
    assert full.bounds.binding == binding
    assert full.is_saturated
    share = full.saturation_bytes_per_second / full.bounds.least
    assert share == pytest.approx(1, abs=0.015)


@pytest.mark.parametrize("message", ["256 B", "1200 B"])
def test_wrapped_tlps_fill_a_slow_fibre(message: str) -> None:
    fabric = ring(senders="hosts", receivers="routers", message=message)
    fabric.links(generation=3, lanes=16).override("networks.n.routers.optical_lanes", 1)
    full = sweep_loads(fabric, ["4 GB/s"])
    assert full.bounds.binding == "bisection"
    assert full.saturation_bytes_per_second == pytest.approx(full.bounds.least, rel=0.015)


def test_a_sweep_has_a_point_for_each_load_in_their_order() -> None:
    outcome = sweep_loads(ring(senders="routers", receivers="routers"), ["2 GB/s", 0.5e9, "8 GB/s"])
    assert [point.offered_bytes_per_second for point in outcome.points] == [0.5e9, 2e9, 8e9]
    assert [point.saturated for point in outcome.points] == [False, False, True]
    latencies = [point.latency_ns.mean for point in outcome.points if point.latency_ns]
    assert latencies == sorted(latencies)
    assert len(latencies) == 3
    frame = outcome.to_pandas()
    assert list(frame["offered_bytes_per_second"]) == [0.5e9, 2e9, 8e9]
    assert "latency_ns_p99" in frame


def test_a_sweep_is_the_same_each_time() -> None:
    fabric = ring(senders="routers", receivers="routers")
    assert sweep_loads(fabric, [1e9, 2e9]) == sweep_loads(fabric, [2e9, 1e9])
    assert sweep_loads(fabric, [1e9], seed=1) != sweep_loads(fabric, [1e9], seed=2)


def test_a_load_is_read_as_a_scenario_s_is() -> None:
    assert bytes_per_second("1.5 GB/s") == 1_500_000_000
    assert bytes_per_second(2.5e8) == 250_000_000
    assert even_loads(3e9, 3) == [1e9, 2e9, 3e9]
    for wrong in (0, -1, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="is not a load: ") as raised:
            bytes_per_second(wrong)
        assert "<load>" not in str(raised.value)


def test_a_sweep_needs_a_workload_and_loads() -> None:
    fabric = ring()
    with pytest.raises(ScenarioError, match="there is no traffic 'x'; write \"w\""):
        sweep_loads(fabric, [1e9], "x")
    with pytest.raises(ScenarioError, match="there is no workload"):
        sweep_loads(fabric.copy().without_flows(), [1e9])
    with pytest.raises(ScenarioError, match="several workloads; name the one to sweep: w, v"):
        sweep_loads(fabric.copy().traffic("n", id="v", load=1e9, duration="1 us"), [1e9])
    with pytest.raises(ValueError, match="there are no loads"):
        sweep_loads(fabric, [])


def test_a_workload_s_result_reads_back() -> None:
    result = ring(senders="routers", receivers="routers").run()
    (workload,) = result.traffic
    assert (workload.id, workload.network, workload.nodes) == ("w", "n", 4)
    assert workload.intact
    assert workload.accepted_bytes_per_second == pytest.approx(1e8, rel=0.2)
    least, most = workload.node_bytes_per_second or (0, 0)
    assert least <= (workload.accepted_bytes_per_second or 0) <= most
    assert workload.fairness is not None
    assert 0.9 < workload.fairness <= 1
    assert len(result.fibres) == 8
    assert {fibre.source for fibre in result.fibres} == {f"n-{number}" for number in range(4)}
    assert workload.latency_ns is not None
    assert list(result.traffic.to_pandas()["latency_ns_p50"]) == [workload.latency_ns.p50]
    assert list(result.fibres.to_pandas()["payload_bytes"]).count(0) == 4
    document = result.to_json()
    assert document["fibres"][0].keys() >= {"id", "from", "to", "frames"}
    assert RunResult.from_json(json.dumps(document)) == result


RISKY = """\
[networks.n]
shape = "ring"
size = 6
dateline = false

[[traffic]]
network = "n"
load = "1 GB/s"
from = "routers"
to = "routers"
duration = "2 us"
"""


def test_what_may_go_wrong_is_warned_of_when_a_simulation_is_made() -> None:
    with pytest.warns(ScenarioWarning, match=r"^risky\.toml:4: .*deadlock") as told:
        simulation = Simulation(RISKY, source="risky.toml")
    assert [str(warning.message) for warning in told] == simulation.warnings()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Simulation(RISKY.replace("false", "true")).warnings() == []


def test_a_sweep_warns_once() -> None:
    fabric = Fabric.from_toml(RISKY)
    with pytest.warns(ScenarioWarning) as told:
        sweep_loads(fabric, ["0.1 GB/s", "0.2 GB/s", "0.3 GB/s"])
    assert len(told) == 1


@pytest.mark.parametrize("command", [["run"], ["show"], ["sweep", "--loads", "0.1 GB/s,0.2 GB/s"]])
def test_a_warning_is_one_line_and_no_failure(
    peerlane: Run, scenario: Write, command: list[str]
) -> None:
    path = scenario(text=RISKY)
    name, *options = command
    ran = peerlane(name, path, *options).succeeds()
    (line,) = ran.err.splitlines()
    assert line.startswith(f"warning: {path}:{line_of(path, 'dateline')}: ")
    assert "deadlock" in line


SMALL = RISKY.replace("dateline = false\n", "")
LARGE = SMALL.replace('"ring"', '"torus"').replace("6", '"5x5"')


def test_a_collective_is_made_and_checked(peerlane: Run, scenario: Write) -> None:
    fabric = Fabric("sums").network("n", shape="ring", size="4")
    fabric.collective("n", "all-reduce", id="sum", size="1 KiB")
    (collective,) = fabric.run().collectives
    assert (collective.correct, collective.completed) == (True, True)
    assert collective.moved_bytes == 4 * 2 * 3 * 256
    assert not fabric.copy().without_flows().run().collectives
    ran = peerlane("run", scenario(text=fabric.to_toml())).succeeds()
    assert "all-reduce" in ran.out
    assert "correct" in ran.out


def test_a_run_prints_its_traffic_and_fibres(peerlane: Run, scenario: Write) -> None:
    ran = peerlane("run", scenario(text=SMALL)).succeeds()
    (row,) = (line for line in ran.out.splitlines() if line.strip().startswith("traffic-1"))
    assert row.split()[1:5] == ["n", "uniform", "6", "1"]
    assert row.split()[-1] == "intact"
    assert "n-0-n-1 " in ran.out
    assert "fairness" in ran.out
    assert " flow " not in ran.out


def test_a_large_network_has_a_line_for_all_its_fibres(peerlane: Run, scenario: Write) -> None:
    ran = peerlane("run", scenario(text=LARGE)).succeeds()
    lines = [line.split() for line in ran.out.splitlines()]
    assert any(line[:2] == ["n", "50"] for line in lines)
    assert "n-0-0-n-1-0" not in ran.out
    assert "the busiest 16 directions of links; 34 more are in the JSON" in ran.out
    assert sum("-host-n-" in line for line in ran.out.splitlines()) == 16


def test_errors_are_in_the_table_and_in_one_message(peerlane: Run, scenario: Write) -> None:
    ran = peerlane(
        "run",
        scenario(
            text=SMALL.replace('from = "r', 'message = "1 KiB"\nfrom = "r').replace(
                "size", 'severed_at = "1 us"\nsize'
            )
        ),
    )
    assert ran.status == 1
    assert "error at" in ran.out
    assert "severed fibre" in ran.out
    assert "incomplete" in ran.out
    assert len(ran.err.splitlines()) == 1


def test_the_tree_has_networks_and_fibres(peerlane: Run, scenario: Write) -> None:
    path = scenario(text=SMALL)
    shown = peerlane("show", path)
    assert "network n  ring 6, 6 routers, dimension-order routing with a dateline" in shown.out
    assert "n-5 port 0" in shown.out
    assert "301.8 ns" in shown.out  # 292 ns, and 2 m at 4.897 ns
    document = json.loads(peerlane("show", path, "--json", "-").out)
    assert [one["name"] for one in document["networks"]] == ["n"]
    assert len(document["fibres"]) == 6
    assert document["fibres"][0]["from"] == "n-0"
    assert document["traffic"][0]["from"] == "routers"


def test_of_a_large_network_the_first_host_is_shown(peerlane: Run, scenario: Write) -> None:
    shown = peerlane("show", scenario(text=LARGE))
    assert "n-0-0-host" in shown.out
    assert "n-1-0-host" not in shown.out
    assert "24 hosts like that of n-0-0 not shown" in shown.out
    assert "50 fibres of 4 x 10.3125 Gbit/s" in shown.out


def test_a_sweep_prints_loads_and_bounds(peerlane: Run, scenario: Write) -> None:
    path = scenario(text=SMALL)
    swept = peerlane("sweep", path, "--loads", "1 GB/s, 9 GB/s").succeeds()
    assert swept.err == ""
    rows = [line for line in swept.out.splitlines() if "us" in line and "." in line]
    assert len(rows) == 2
    assert "saturated" in rows[1]
    assert "saturation throughput: " in swept.out
    assert "the bisection bound binds" in swept.out


def test_a_sweep_s_json_is_alone_on_standard_output(peerlane: Run, scenario: Write) -> None:
    swept = peerlane("sweep", scenario(text=SMALL), "--steps", "3", "--json", "-")
    document = json.loads(swept.out)
    least = document["bounds_bytes_per_second"][document["binding"]]
    offered = [point["offered_bytes_per_second"] for point in document["points"]]
    assert offered == pytest.approx([0.4 * least, 0.8 * least, 1.2 * least])
    assert document["saturation_bytes_per_second"] == max(
        point["accepted_bytes_per_second"] for point in document["points"]
    )
    swept = peerlane("sweep", scenario(text=SMALL), "--steps", "2", "--to", "1 GB/s", "--json", "-")
    offered = [point["offered_bytes_per_second"] for point in json.loads(swept.out)["points"]]
    assert offered == [0.5e9, 1e9]


def test_a_sweep_that_loses_packets_fails(peerlane: Run, scenario: Write) -> None:
    path = scenario(text=SMALL.replace("size", 'severed_at = "1 us"\nsize'))
    swept = peerlane("sweep", path, "--loads", "1 GB/s")
    assert swept.status == 1
    assert swept.out.startswith("fabric: traffic-1, ")
    assert "packets were lost" in swept.out
    assert len(swept.err.splitlines()) == 1


WRONG_SWEEPS = {
    "no load": (["--loads", "fast"], ["'fast' is not a load", "GB/s"]),
    "an empty load": (["--loads", "1 GB/s,"], ["'' is not a load"]),
    "a load of nothing": (["--loads", "0 B/s"], ["is not a load"]),
    "a load in another unit": (["--to", "1 ns"], ["'1 ns' is not a load"]),
    "both": (["--loads", "1 GB/s", "--to", "1 GB/s"], ["--loads", "--to"]),
    "no steps": (["--steps", "0"], ["steps"]),
    "an unknown workload": (["--traffic", "x"], ["no traffic 'x'", "traffic-1"]),
}


@pytest.mark.parametrize("what", WRONG_SWEEPS)
def test_a_wrong_sweep_is_refused(peerlane: Run, scenario: Write, what: str) -> None:
    options, words = WRONG_SWEEPS[what]
    peerlane("sweep", scenario(text=SMALL), *options).refuses(*words)


def test_a_sweep_of_what_is_no_workload_is_refused(peerlane: Run, scenario: Write) -> None:
    peerlane("sweep", scenario()).refuses("--vary", "[[traffic]]")
    peerlane("sweep", "nowhere.toml").refuses("nowhere.toml")
    wrong = scenario(text=SMALL.replace('network = "n"', 'network = "m"'))
    peerlane("sweep", wrong).refuses(f"{wrong}:{line_of(wrong, 'network = ')}", "m")
    many = scenario(text=SMALL.replace('from = "r', 'arrivals = "bernoulli"\nfrom = "r'))
    peerlane("sweep", many, "--loads", "900 GB/s").refuses("load", "poisson")
