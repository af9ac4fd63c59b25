"""Measurements that experiments take from a run, only of data that has wholly arrived."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from peerlane import FlowResult, RunResult


def sound(result: RunResult) -> RunResult:
    """The result, once every byte is known to have arrived.

    Raises:
        RuntimeError: Some did not, or not as they were sent.
    """
    if result.failures:
        raise RuntimeError("; ".join(result.failures))
    return result


def known(flow: FlowResult, value: float | None) -> float:
    """A measurement of `flow`, which must have been made.

    Raises:
        RuntimeError: It was not.
    """
    if value is None:
        raise RuntimeError(f"flow {flow.id} was not measured")
    return value


def steady(flow: FlowResult) -> float:
    """Bytes per second within `[measure]`."""
    return known(flow, flow.steady_bytes_per_second)


def latency(flow: FlowResult) -> float:
    """Nanoseconds from the making of a request to its end: the mean."""
    return known(flow, flow.latency_ns.mean if flow.latency_ns else None)
