"""Where the time of wires went: each byte is of one part, and the shares are all of the time."""

from __future__ import annotations

from math import isclose
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import PAIR, SCENARIOS
from peerlane import Fabric, RunResult
from peerlane._core import link_bytes_per_second
from peerlane.report.overhead import BEFORE, flow_overheads, overheads
from peerlane.topology import draw

if TYPE_CHECKING:
    from pathlib import Path

LARGEST_TLP = 4096 + 16 + 8


def measured(result: RunResult) -> float:
    assert result.measured_ns is not None
    return result.measured_ns[1] - result.measured_ns[0]


def check_shares(result: RunResult) -> None:
    for wire in overheads(result):
        assert isclose(sum(wire.shares.values()), 1.0, abs_tol=1e-9)
        assert all(share >= 0 for share in wire.shares.values())
        assert all(count >= 0 for count in wire.bytes.values())
    totals = [
        link.payload_bytes + link.overhead_bytes + link.dllp_bytes + link.ordered_set_bytes
        for link in result.links
    ]
    totals += [one.payload_bytes + one.overhead_bytes + one.control_bytes for one in result.fibres]
    assert [sum(wire.bytes.values()) for wire in overheads(result)] == totals


@pytest.mark.parametrize("name", ["pair", "fibre", "halo", "shared"])
def test_the_shares_of_each_wire_are_all_of_the_time(name: str) -> None:
    (path,) = (path for path in SCENARIOS if path.stem == name)
    check_shares(Fabric.load(path).run())


# Without scaled flow control no buffer covers the loop of the smallest packets.
@pytest.mark.filterwarnings("ignore::peerlane.ScenarioWarning")
@given(
    generation=st.integers(1, 5),
    lanes=st.sampled_from([1, 2, 4, 8, 16]),
    request=st.sampled_from(["4 B", "64 B", "100 B", "512 B", "4 KiB"]),
    direction=st.sampled_from(["read", "write", "both"]),
    errors=st.sampled_from([0.0, 1e-6]),
)
@settings(max_examples=25)
def test_shares_are_bytes_by_the_rate_of_the_link(
    generation: int, lanes: int, request: str, direction: Any, errors: float
) -> None:
    fabric = Fabric().links(generation=generation, lanes=lanes, bit_error_rate=errors)
    fabric.host("h").device("d", "h")
    result = fabric.flow("d", "h", request_size=request, size="8 KiB", direction=direction).run()
    check_shares(result)
    link = fabric.tree().nodes["d"].upstream
    assert link is not None
    rate = link_bytes_per_second(link.gigatransfers, lanes) * 1e-9
    for wire in overheads(result):
        for part, count in wire.bytes.items():
            # What is on the wire at either end counts whole, or not at all, in bytes.
            tolerance = 2 * LARGEST_TLP / rate / measured(result)
            assert abs(wire.shares[part] - count / rate / measured(result)) <= tolerance


def test_a_write_costs_its_header_and_eight_bytes_of_framing() -> None:
    result = Fabric.from_toml(PAIR).run()
    (up,) = (one for one in overheads(result) if (one.id, one.sender) == ("s0-a", "up"))
    tlps = result.links["s0-a", "up"].tlps
    assert up.bytes["payload"] == 16 << 10
    assert up.bytes["headers"] == 12 * tlps
    assert up.bytes["framing"] == 8 * tlps
    assert up.bytes["replays"] == 0


def test_the_flows_of_a_trace_have_what_their_links_have(tmp_path: Path) -> None:
    fabric = (
        Fabric("two").links(generation=3, lanes=4, bit_error_rate=2e-5).host("h").switch("s", "h")
    )
    fabric.device("a", "s").device("b", "s", bar="64 KiB")
    fabric.flow("a", "b", id="up", size="64 KiB").flow(
        "b", "h", id="read", direction="read", size="64 KiB"
    )
    result = fabric.run(trace=tmp_path / "trace.jsonl")
    found = flow_overheads(tmp_path / "trace.jsonl", result.measured_ns)
    assert {one.flow for one in found} == {"up", "read"}
    for wire in overheads(result):
        here = [one for one in found if (one.link, one.direction) == (wire.id, wire.sender)]
        for part in ("payload", "headers", "framing", "replays"):
            assert sum(one.bytes[part] for one in here) == wire.bytes[part], (wire.id, part)
        link = result.links[wire.id, wire.sender]
        assert sum(one.tlps for one in here) == link.tlps
    replays = sum(one.bytes["replays"] for one in found)
    assert replays > 0


def test_a_run_that_ends_before_it_is_measured_has_no_shares() -> None:
    fabric = Fabric.from_toml(PAIR).measure("1 s", "2 s")
    result = fabric.run()
    assert overheads(result) == ()
    assert draw(fabric, result) == draw(fabric)


def test_a_packet_that_began_before_has_a_part_of_its_own() -> None:
    fabric = Fabric.from_toml(PAIR).set("a", lanes=1).measure("10 us", "10.001 us")
    (up,) = (one for one in overheads(fabric.run()) if (one.id, one.sender) == ("s0-a", "up"))
    assert up.shares[BEFORE] == 1.0
    assert sum(up.shares.values()) == 1.0


def test_a_file_that_is_no_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "no.jsonl"
    for content in ("{\n", "3\n", '{"tlp": "MWr"}\n'):
        path.write_text(content)
        with pytest.raises(ValueError, match=r"no\.jsonl:1: no line of a packet trace"):
            flow_overheads(path)
