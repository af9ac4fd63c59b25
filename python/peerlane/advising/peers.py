"""The matrices of pairs of devices: whether they reach each other, rates and latencies."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING

from peerlane.advising.machine import GPU, Job
from peerlane.figures.quantities import amount_of
from peerlane.results.advice import Pair, Peer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from peerlane.advising.machine import Machine, Table
    from peerlane.results.run import RunResult

_WORD = "16 B"
"""The bytes of a write whose latency is measured: one store of a thread."""


def write(source: str, target: str, **settings: str) -> dict[str, Any]:
    """A flow of writes, which has the name of its ends."""
    return {"id": f"{source}-{target}", "from": source, "to": target, **settings}


def peers(
    machine: Machine, names: Sequence[str], progress: Callable[[float], object]
) -> tuple[list[Peer], list[Pair]]:
    """The devices with the rates from and to their hosts, and all pairs of them.

    Args:
        machine: The fabric.
        names: The devices.
        progress: A function that is called with the fraction done, 0 to 1.
    """
    ends = list(permutations(names, 2))
    probes = machine.run([Job((("flows", write(*pair, size=_WORD)),)) for pair in ends])
    pairs = [
        Pair(*pair, _reason(machine, pair, probe)) for pair, probe in zip(ends, probes, strict=True)
    ]
    reached = [(one.source, one.target) for one in pairs if one.is_connected]
    both = [pair for pair in reached if pair < pair[::-1] and pair[::-1] in set(reached)]
    return measured(machine, names, pairs, both, progress)


def measured(
    machine: Machine,
    names: Sequence[str],
    pairs: Sequence[Pair],
    both: Sequence[tuple[str, str]],
    progress: Callable[[float], object] = lambda _: None,
) -> tuple[list[Peer], list[Pair]]:
    """Devices and pairs, with their rates and latencies.

    Args:
        machine: The fabric.
        names: The devices whose rates from and to their hosts are measured.
        pairs: The pairs; a pair that is not connected is left as it is.
        both: The pairs that are also measured in both directions at once.
        progress: A function that is called with the fraction done, 0 to 1.
    """
    reached = [(one.source, one.target) for one in pairs if one.is_connected]
    hosts = [(name, machine.present.root(name)) for name in names]
    jobs = [
        *(Job.steady(write(*pair)) for pair in reached),
        *(Job.steady(write(*pair), write(*pair[::-1])) for pair in both),
        *(Job.steady(write(*pair)) for pair in hosts),
        *(Job.steady(write(*pair, direction="read")) for pair in hosts),
        *(Job((exchange(pair),)) for pair in reached),
    ]
    results = iter(machine.run(jobs, progress))
    one_way = {pair: rate_of(next(results)) for pair in reached}
    two_ways = {frozenset(pair): rate_of(next(results)) for pair in both}
    from_device, to_device = ([rate_of(next(results)) for _ in names] for _ in range(2))
    latencies = {pair: _latency(next(results)) for pair in reached}
    found = [
        replace(
            one,
            bytes_per_second=one_way.get((one.source, one.target)),
            both_bytes_per_second=two_ways.get(frozenset((one.source, one.target))),
            latency_ns=latencies.get((one.source, one.target)),
        )
        for one in pairs
    ]
    ports = zip(names, to_device, from_device, strict=True)
    return [_peer(machine, *port) for port in ports], found


def rate_of(result: RunResult | str) -> float | None:
    """The rate of all flows together; none if a flow has none or fails."""
    if isinstance(result, str) or result.failures:
        return None
    rates = [flow.bytes_per_second for flow in result.flows]
    return None if None in rates else sum(filter(None, rates))


def exchange(pair: tuple[str, str]) -> Table:
    """A kernel that writes a few bytes and a flag, and a kernel that waits for the flag."""
    return "schedules", {"devices": list(pair), "operation": "broadcast", "size": _WORD}


def _latency(result: RunResult | str) -> float | None:
    return None if isinstance(result, str) else result.schedules[0].time_ns


def _peer(machine: Machine, name: str, *hosts: float | None) -> Peer:
    present = machine.present
    node, table = present.tree.nodes[name], present.table(name)
    is_gpu = node.model == GPU
    memory, kernel = (
        amount_of(present.value(f"{table}.{key}")) if is_gpu else None
        for key in ("memory_bandwidth", "kernel_latency")
    )
    kernel_ns = None if kernel is None else 1e9 * kernel
    above, host = present.upstream_of(name) or "", present.root(name)
    return Peer(name, node.model or "", node.id, above, host, memory, kernel_ns, *hosts)


def _reason(machine: Machine, pair: tuple[str, str], probe: RunResult | str) -> str | None:
    """The reason why a write of a device does not arrive at another device; none if it arrives."""
    if not isinstance(probe, str) and not probe.failures:
        return None
    present = machine.present
    host, other = map(present.root, pair)
    if host != other:
        return f"other host: below {host} and below {other}"
    above, there = map(present.above, pair)
    meeting = next(node for node in above if node in there)
    through = f"through {host},"
    if meeting != host and present.value(f"{present.table(meeting)}.acs_redirect") is True:
        through = f"ACS of {meeting} redirects to {host},"
        for node in above[above.index(meeting) + 1 :]:
            if present.value(f"{present.table(node)}.acs_upstream_forwarding") is False:
                return f"{through} and {node} has acs_upstream_forwarding = false"
    elif meeting != host:
        return _failure(probe)
    if present.value(f"{present.table(host)}.peer_to_peer") == "none":
        return f'{through} with peer_to_peer = "none"'
    return _failure(probe)


def _failure(probe: RunResult | str) -> str:
    return probe if isinstance(probe, str) else probe.failures[0]
