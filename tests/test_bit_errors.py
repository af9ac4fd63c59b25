"""Bit errors on every link cost time, never bytes."""

from __future__ import annotations

from itertools import pairwise

import pytest

from peerlane import Fabric, RunResult

DIRECTIONS = ("write", "read", "both")


def run(
    rate: float, direction: str, *, seed: int = 1, size: str = "4 MiB", generation: int = 3
) -> RunResult:
    fabric = Fabric("noisy").links(generation=generation, lanes=4, bit_error_rate=rate)
    fabric.host("h0").switch("s0", "h0").device("a", "s0").device("b", "s0", bar="4 MiB")
    return fabric.flow("a", "b", direction=direction, size=size).run(seed=seed)


def replays(result: RunResult) -> int:
    return sum(link.replays for link in result.links)


def rate(result: RunResult) -> float:
    (flow,) = result.flows
    assert flow.bytes_per_second is not None
    return flow.bytes_per_second


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_without_errors_nothing_is_sent_again(direction: str) -> None:
    assert replays(run(0, direction)) == 0


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("bit_error_rate", [1e-6, 1e-4])
def test_every_byte_arrives_once(bit_error_rate: float, direction: str, seed: int) -> None:
    result = run(bit_error_rate, direction, seed=seed)
    assert result.failures == []
    assert result.flows[0].bytes == (8 << 20 if direction == "both" else 4 << 20)
    assert replays(result) > 0


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_rate_falls_as_errors_rise(direction: str) -> None:
    results = [run(errors, direction) for errors in (0, 1e-6, 1e-5, 1e-4)]
    assert all(rate(worse) < rate(better) for better, worse in pairwise(results))
    assert all(replays(worse) > replays(better) for better, worse in pairwise(results))


def test_at_one_in_a_million_the_rate_of_8b10b_falls_by_what_the_replays_take() -> None:
    clean, noisy = (run(errors, "write", generation=2) for errors in (0, 1e-6))
    # What is sent again takes the wire, on either link; while a NAK comes back, so does the rest.
    sent_again = replays(noisy) / 2 / (4 * 2**20 / 512)
    loss = 1 - rate(noisy) / rate(clean)
    assert 0.5 * sent_again < loss < 3 * sent_again


def test_the_link_is_in_recovery_after_framing_errors_of_128b130b_alone() -> None:
    lost = {}
    for generation in (2, 3):
        clean, noisy = (run(errors, "write", generation=generation) for errors in (0, 1e-6))
        lost[generation] = 1 - rate(noisy) / rate(clean)
    assert lost[3] > 1.5 * lost[2]


def test_replays_are_overhead_not_payload() -> None:
    clean, noisy = run(0, "write"), run(1e-5, "write")
    for before, after in zip(clean.links, noisy.links, strict=True):
        assert after.payload_bytes == before.payload_bytes
        assert (after.overhead_bytes > before.overhead_bytes) == (after.replays > 0)
