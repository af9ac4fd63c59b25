"""What the fields of results mean, and how rows of results are found."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram

import peerlane
from conftest import PAIR
from peerlane import (
    DirectionResult,
    Fabric,
    FlowResult,
    Latency,
    PeerlaneError,
    RunResult,
    Simulation,
    draw,
)

PACKAGE = Path(peerlane.__file__).parent


def both() -> Fabric:
    fabric = Fabric("both").host("h").device("d", "h")
    return fabric.flow("d", "h", id="f", size="64 KiB", direction="both")


def latency_of(flow: FlowResult | DirectionResult) -> Latency:
    assert flow.latency is not None
    return flow.latency


def count(latency: Latency) -> int:
    return sum(bucket.count for bucket in latency.histogram)


@pytest.fixture(scope="module")
def pair() -> RunResult:
    return Simulation(PAIR).run()


def test_the_text_of_every_object_is_short(pair: RunResult) -> None:
    longer = PAIR.replace('16 KiB"', '1 MiB"\nwindow = "64 KiB"')
    simulation = Simulation(longer, source="pair.toml")
    tree = simulation.tree()
    assert repr(pair).splitlines()[1:] == ["  a-to-b: 1.86 GB/s"]
    rows = [pair.flows[0], pair.links[0], pair.flows[0].latency_ns, tree, *tree.nodes]
    sweep = both().sweep({"devices.d.tags": [1, 2]})
    objects = [*rows, pair.links, simulation, both(), sweep, sweep.points[0]]
    for one in objects:
        assert len(repr(one)) <= 160, repr(one)
        assert "\n" not in repr(one)
    assert repr(both()) == "<Fabric both: hosts 1, devices 1, flows 1>"
    assert repr(simulation) == "<Simulation of pair.toml at 0 ns>"
    assert repr(draw(simulation)).startswith("<Drawing, SVG of ")
    assert repr(simulation.node("h0").thread()) == "<HostThread of h0>"
    seen: list[str] = []
    simulation.run(lambda _: seen.append(repr(simulation)))
    assert set(seen) == {"<Simulation of pair.toml that is running>"}


def test_every_table_is_a_frame_by_the_names_of_the_files(pair: RunResult) -> None:
    frames = pair.to_frames()
    assert {name: len(frame) for name, frame in frames.items()} == {
        "run": 1,
        "flows": 1,
        "links": 6,
    }
    assert frames["flows"]["from"][0] == "a"


def test_a_tree_is_a_graph() -> None:
    fabric = Fabric("g").host("h").device("d", "h").network("n", shape="ring", size=3)
    graph = fabric.simulation().tree().to_networkx()
    assert graph.nodes["d"]["kind"] == "device"
    assert [kind for *_, kind in graph.edges("d", data="kind")] == ["link"]
    fibres = [ends for *ends, kind in graph.edges(data="kind") if kind == "fibre"]
    assert len(fibres) == 3


def test_every_exception_is_one_of_the_package() -> None:
    own = re.compile(
        r"^class (?!PeerlaneError)([A-Z]\w*)\((\w*(?:Error|Exception))\):", re.MULTILINE
    )
    for file in PACKAGE.rglob("*.py"):
        if file.relative_to(PACKAGE).parts[0] not in {"cli", "reproduction"}:
            bases = {base for _, base in own.findall(file.read_text(encoding="utf-8"))}
            assert bases <= {"PeerlaneError", "JournalError", "UnitError"}, file
    with pytest.raises(PeerlaneError, match="key with no value"):
        Simulation("x")


def test_a_direction_of_a_link_is_found_by_its_name_and_direction(pair: RunResult) -> None:
    up, down = pair.links["s0-a", "up"], pair.links["s0-a", "down"]
    assert (up.id, up.direction, down.direction) == ("s0-a", "up", "down")
    assert up.payload_bytes > down.payload_bytes == 0


def test_the_bare_name_of_a_link_offers_both_directions(pair: RunResult) -> None:
    offered = r"s0-a.* 2 rows; write one of \['s0-a', 'down'\], \['s0-a', 'up'\]"
    with pytest.raises(KeyError, match=offered):
        pair.links["s0-a"]
    with pytest.raises(KeyError, match=r"there are .*\['s0-a', 'up'\]"):
        pair.links["s0-a", "left"]


def test_the_first_fields_of_a_key_suffice_where_one_row_has_them() -> None:
    bad = both().flow("d", "0xfffff000", id="lost", size="64 B").run()
    (error,) = bad.errors
    assert bad.errors[error.where] is bad.errors[error.where, error.what] is error


def test_both_directions_have_results_of_their_own() -> None:
    flow = both().run().flows["f"]
    write, read = flow.directions["write"], flow.directions["read"]
    assert flow.bytes == write.bytes + read.bytes == 2 * 64 * 1024
    for one in (write, read):
        assert one.completed
        assert one.intact
        assert one.first_byte_ns is not None
        assert one.last_byte_ns is not None
        assert one.bytes_per_second == pytest.approx(
            one.bytes / (one.last_byte_ns - one.first_byte_ns) * 1e9
        )
    together, writes, reads = latency_of(flow), latency_of(write), latency_of(read)
    # A read is back only after its completion.
    assert reads.p50 > writes.p50
    assert together.max == max(writes.max, reads.max)
    assert count(together) == count(writes) + count(reads)


def test_other_directions_have_no_parts(pair: RunResult) -> None:
    assert len(pair.flows["a-to-b"].directions) == 0


def test_quantiles_are_those_of_the_histogram(pair: RunResult) -> None:
    latency = latency_of(pair.flows["a-to-b"])
    named = [latency.quantile(share) for share in (0.5, 0.9, 0.99, 0.999)]
    assert named == [latency.p50, latency.p90, latency.p99, latency.p999]
    assert latency.quantile(0) == latency.min
    assert latency.quantile(1) == latency.max
    assert all(one.high_ns < other.low_ns for one, other in pairwise(latency.histogram))
    with pytest.raises(ValueError, match=r"99 is not the share of a quantile; give 0 to 1"):
        latency.quantile(99)


def test_a_series_has_a_value_for_each_interval() -> None:
    simulation = both().simulation()
    assert simulation.sample(every="500 ns") == 500
    result = simulation.run()
    series = result.series
    assert series is not None
    assert series.end_ns[:2] == (500, 1000)
    assert series.end_ns[-1] == result.simulated_ns
    lengths = [end - begin for begin, end in pairwise((series.begin_ns, *series.end_ns))]
    for direction in ("write", "read"):
        rates = series.flows["f", direction].bytes_per_second
        moved = sum(rate * ns for rate, ns in zip(rates, lengths, strict=True))
        assert moved / 1e9 == pytest.approx(64 * 1024)
    frame = series.to_pandas()
    assert frame.index.tolist() == list(series.end_ns)
    used = frame["link", "h-d", "up", "utilisation"]
    assert used.tolist() == list(series.links["h-d", "up"].utilisation)
    assert RunResult.from_json(json.dumps(result.to_json())) == result


def test_without_samples_there_is_no_series(pair: RunResult) -> None:
    assert pair.series is None
    assert "series" not in pair.to_json()
    with pytest.raises(ValueError, match="too short for an interval of samples; write at least"):
        both().simulation().sample(every="0 ns")


def test_the_tools_of_hdr_histogram_read_a_histogram(pair: RunResult) -> None:
    latency = latency_of(pair.flows["a-to-b"])
    read = HdrHistogram.decode(latency.histogram_ps)
    assert read.get_total_count() == count(latency)
    for share in (0.5, 0.9, 0.99, 0.999):
        ns = read.get_value_at_percentile(100 * share) / 1e3
        assert ns == pytest.approx(latency.quantile(share), rel=1e-3)
