"""Every setting of a workload and its fabric does what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from peerlane import Fabric

if TYPE_CHECKING:
    from peerlane import FlowResult, Latency, RunResult

MIB = 1 << 20
GEN3_X8 = 8 * 8e9 / 8 * 128 / 130
"""Bytes a second on the wire."""


def run(  # noqa: PLR0913 - all by name
    direction: str = "write",
    *,
    to: str = "b",
    host: dict[str, Any] | None = None,
    switch: dict[str, Any] | None = None,
    sender: dict[str, Any] | None = None,
    target: dict[str, Any] | None = None,
    **flow: Any,
) -> RunResult:
    fabric = Fabric().links(generation=3, lanes=8).host("h0", **{"memory": "2 MiB"} | (host or {}))
    fabric.switch("s0", "h0", **switch or {}).device("a", "s0", **sender or {})
    fabric.device("b", "s0", **{"bar": "2 MiB"} | (target or {}))
    amount: dict[str, Any] = {} if {"count", "duration"} & flow.keys() else {"size": "1 MiB"}
    result = fabric.flow("a", to, direction=direction, **amount | flow).run()
    assert result.failures == []
    return result


def flow_of(result: RunResult) -> FlowResult:
    (flow,) = result.flows
    return flow


def rate(result: RunResult) -> float:
    flow = flow_of(result)
    assert flow.bytes_per_second is not None
    return flow.bytes_per_second


def latency(result: RunResult) -> Latency:
    found = flow_of(result).latency_ns
    assert found is not None
    return found


def alone(direction: str, **more: Any) -> float:
    """The latency of a request that has the fabric to itself."""
    return latency(run(direction, to="h0", count=4, interval="10 us", **more)).min


def overhead(result: RunResult) -> int:
    return sum(link.overhead_bytes for link in result.links)


def test_a_write_stream_fills_the_link() -> None:
    payload = 512 / (512 + 20)
    assert rate(run()) == pytest.approx(GEN3_X8 * payload, rel=0.01)


def test_both_directions_carry_at_once() -> None:
    both = run("both")
    assert flow_of(both).bytes == 2 * MIB
    assert rate(both) > 1.8 * rate(run())


@pytest.mark.parametrize(
    ("size", "packets"),
    [
        ("512 B", 2048),
        ("128 B", 8192),
        ("100 B", 10486 + 245),  # of 255 pages within the buffer 245 end inside a request
    ],
)
def test_a_packet_costs_header_and_framing_on_each_link(size: str, packets: int) -> None:
    assert overhead(run(request_size=size)) == 2 * 20 * packets


def test_an_address_of_64_bits_costs_four_bytes_a_packet() -> None:
    narrow, wide = run(), run(target={"bar_address_bits": 64})
    assert overhead(wide) - overhead(narrow) == 2 * 4 * MIB // 512


def test_the_smallest_payload_in_the_tree_is_everyones() -> None:
    assert overhead(run(sender={"max_payload_supported": "128 B"})) == 4 * overhead(run())


def test_one_tag_is_one_read_at_a_time() -> None:
    single = run("read", to="h0", sender={"tags": 1})
    assert rate(single) == pytest.approx(512 / (latency(single).mean * 1e-9), rel=0.05)
    assert rate(single) < rate(run("read", to="h0")) / 4


def test_reads_are_as_large_as_max_read_request_allows() -> None:
    small, large = (
        run("read", to="h0", sender={"max_read_request": size}) for size in ("128 B", "4 KiB")
    )
    up_small, up_large = (
        sum(link.overhead_bytes for link in result.links if link.direction == "up")
        for result in (small, large)
    )
    assert up_small == 32 * up_large


def test_completions_end_at_the_read_completion_boundary() -> None:
    # Of 512 bytes from 32 on the first completion ends at a boundary, and none is larger than 128.
    def completions(boundary: str) -> float:
        host = {"read_completion_boundary": boundary, "largest_completion": "128 B"}
        result = run("read", to="h0", count=1, request_size="512 B", offset="32 B", host=host)
        return sum(link.overhead_bytes / 20 for link in result.links if link.direction == "down")

    assert completions("128 B") == 2 * 5
    assert completions("64 B") >= 2 * 5


def test_latencies_add_up() -> None:
    def about(ns: float) -> object:
        return pytest.approx(ns, abs=5)  # a DLLP or an ordered set may have the wire

    write, read = alone("write"), alone("read")
    assert alone("write", switch={"latency": "1150 ns"}) == about(write + 1000)
    assert alone("read", switch={"latency": "1150 ns"}) == about(read + 2000)
    assert alone("read", host={"memory_read_latency": "1080 ns"}) == about(read + 1000)
    assert alone("write", sender={"send_latency": "1 us"}) == about(write + 1000)


def test_memory_bandwidth_is_a_limit() -> None:
    slow = {"memory_bandwidth": "1 GB/s"}
    assert rate(run("read", to="h0", host=slow)) == pytest.approx(1e9, rel=0.01)
    assert rate(run("write", to="h0", host=slow)) == pytest.approx(1e9, rel=0.05)


def test_an_interval_is_the_offered_load() -> None:
    paced = run(count=100, interval="1 us", request_size="256 B")
    assert rate(paced) == pytest.approx(256e6, rel=0.02)


def test_a_flow_starts_when_it_is_told_to() -> None:
    at_once, later = flow_of(run()).first_byte_ns, flow_of(run(start="10 us")).first_byte_ns
    assert at_once is not None
    assert later == pytest.approx(at_once + 10_000, abs=10)


def test_a_duration_is_how_long_requests_are_made() -> None:
    flow = flow_of(run(duration="100 us", window="1 MiB"))
    assert flow.sent_first_ns is not None
    assert flow.sent_last_ns == pytest.approx(flow.sent_first_ns + 100_000, rel=0.03)


def test_a_count_is_that_many_requests() -> None:
    assert flow_of(run(count=17, request_size="64 B")).bytes == 17 * 64


@pytest.mark.parametrize("direction", ["write", "read"])
def test_a_large_request_is_split_and_done_when_all_of_it_is(direction: str) -> None:
    assert overhead(run(direction, request_size="4 KiB")) == overhead(run(direction))
    large = alone(direction, request_size="4 KiB")
    assert large > alone(direction, request_size="512 B") + 3584 / GEN3_X8 * 1e9


def test_the_clock_of_the_sender_stops_before_that_of_the_arrival() -> None:
    arrival, sender = flow_of(run()), flow_of(run(clock="sender"))
    assert (arrival.last_byte_ns, sender.last_byte_ns) == (
        arrival.last_byte_ns,
        arrival.sent_last_ns,
    )
    assert rate(run(clock="sender")) > rate(run())


def test_utilisation_is_the_bytes_over_what_the_wire_could_carry() -> None:
    result = run("both")
    assert result.measured_ns is not None
    begin, end = result.measured_ns
    for link in result.links:
        carried = link.payload_bytes + link.overhead_bytes
        carried += link.dllp_bytes + link.ordered_set_bytes
        share = carried / (GEN3_X8 * (end - begin) * 1e-9)
        assert link.utilisation == pytest.approx(share, abs=0.002)


def test_acs_redirect_sends_peer_writes_through_the_root() -> None:
    direct, redirected = run(), run(switch={"acs_redirect": True})
    assert direct.links[0].payload_bytes == direct.links[1].payload_bytes == 0
    assert redirected.links[0].payload_bytes == redirected.links[1].payload_bytes == MIB


def test_a_round_trip_comes_back_from_its_reflector() -> None:
    fabric = Fabric().host("h0").device("a", "h0").device("b", "h0", model="reflector")
    result = fabric.flow("a", "b", direction="round-trip", count=50).run()
    assert result.failures == []
    assert latency(result).max < 2 * latency(result).min
