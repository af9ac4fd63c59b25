"""Reads measurements from the result of a run, and checks that all data arrived unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from peerlane import FlowResult, RunResult


def sound(result: RunResult) -> RunResult:
    """Returns the result, after a check that every byte arrived unchanged.

    Raises:
        RuntimeError: Bytes did not arrive, or were changed.
    """
    if result.failures:
        raise RuntimeError("; ".join(result.failures))
    return result


def known(flow: FlowResult, value: float | None) -> float:
    """Returns a measured value of `flow`, after a check that there is a value.

    Raises:
        RuntimeError: The run has not measured the value.
    """
    if value is None:
        raise RuntimeError(f"flow {flow.id} was not measured")
    return value


def steady(flow: FlowResult) -> float:
    """The rate of a flow within the interval of `[measure]`, in bytes per second."""
    return known(flow, flow.steady_bytes_per_second)


def latency(flow: FlowResult) -> float:
    """The mean latency of a flow's requests, in nanoseconds."""
    return known(flow, flow.latency_ns.mean if flow.latency_ns else None)
