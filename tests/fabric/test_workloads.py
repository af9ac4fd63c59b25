"""Settings of a flow say when its requests are made, how many, and how large they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from peerlane import Fabric, ScenarioError

if TYPE_CHECKING:
    from peerlane import FlowResult, RunResult

GEN3_X8 = 8 * 8e9 / 8 * 128 / 130
"""Bytes a second on the wire."""


def run(direction: Any = "write", *, to: str = "b", **flow: Any) -> RunResult:
    fabric = Fabric().links(generation=3, lanes=8).host("h0", memory="2 MiB").switch("s0", "h0")
    fabric.device("a", "s0").device("b", "s0", bar="2 MiB")
    amount: dict[str, Any] = {} if {"count", "duration"} & flow.keys() else {"size": "1 MiB"}
    result = fabric.flow("a", to, direction=direction, **amount | flow).run()
    assert result.failures == []
    return result


def flow_of(result: RunResult) -> FlowResult:
    (flow,) = result.flows
    return flow


def alone(direction: str, request_size: str) -> float:
    """The latency of a request that has the fabric to itself."""
    result = run(direction, to="h0", count=4, interval="10 us", request_size=request_size)
    latency = flow_of(result).latency_ns
    assert latency is not None
    return latency.min


def overhead(result: RunResult) -> int:
    return sum(link.overhead_bytes for link in result.links)


def test_a_request_that_crosses_a_page_is_two_packets() -> None:
    # Of 255 pages within the buffer 245 end inside a request.
    assert overhead(run(request_size="100 B")) == 2 * 20 * (10486 + 245)


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


@pytest.mark.parametrize(
    "requests",
    [
        [(0.00001, 0, 64), ("1.5 us", "8 KiB", 512)],
        [[1e-5, 0.0, 64.0], [1500.0, 8192.0, 512.0]],
        "10 fs, 0, 64\n1500, 0x2000, 512",
    ],
)
def test_recorded_requests_are_numbers_or_texts(requests: Any) -> None:
    fabric = Fabric().host("h").device("a", "h").flow("a", "h", id="f", requests=requests)
    result = fabric.run()
    assert (result.flows["f"].bytes, result.flows["f"].intact) == (576, True)
    assert result.simulated_ns == pytest.approx(2400, abs=200)


@pytest.mark.parametrize("one", [(0, 0, 64, 1), 64, "0, 0, 64"])
def test_a_recorded_request_has_an_offset_and_a_size(one: Any) -> None:
    fabric = Fabric().host("h").device("a", "h")
    with pytest.raises(ScenarioError, match=r"is no request; write \(time, offset, size\)"):
        fabric.flow("a", "h", requests=[one])
