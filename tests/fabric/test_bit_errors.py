"""What bit errors cost: the time of what is sent again, and of Recovery."""

from __future__ import annotations

from peerlane import Fabric, RunResult


def run(errors: float, generation: int) -> RunResult:
    fabric = Fabric("noisy").links(generation=generation, lanes=4, bit_error_rate=errors)
    fabric.host("h0").switch("s0", "h0").device("a", "s0").device("b", "s0", bar="4 MiB")
    return fabric.flow("a", "b", size="4 MiB").run(seed=1)


def rate(result: RunResult) -> float:
    (flow,) = result.flows
    assert flow.bytes_per_second is not None
    return flow.bytes_per_second


def loss(clean: RunResult, noisy: RunResult) -> float:
    return 1 - rate(noisy) / rate(clean)


def test_at_one_in_a_million_the_rate_of_8b10b_falls_by_what_the_replays_take() -> None:
    clean, noisy = (run(errors, 2) for errors in (0, 1e-6))
    # What is sent again takes the wire, on either link; while a NAK comes back, so does the rest.
    sent_again = sum(link.replays for link in noisy.links) / 2 / (4 * 2**20 / 512)
    lost = loss(clean, noisy)
    assert 0.5 * sent_again < lost < 3 * sent_again
    # With 128b/130b the links are in Recovery after framing errors, too.
    assert loss(*(run(errors, 3) for errors in (0, 1e-6))) > 1.5 * lost
