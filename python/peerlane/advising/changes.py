"""Changes of a fabric that may matter to its GPUs, each tried by a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from peerlane._core import ScenarioError
from peerlane.advising.machine import Job
from peerlane.advising.peers import rate_of, write
from peerlane.dotted import split_path
from peerlane.explaining.explain import explain
from peerlane.figures.quantities import amount_of
from peerlane.results.advice import Effect
from peerlane.results.bottleneck import Change

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from peerlane.advising.collectives import Ranks
    from peerlane.advising.machine import Machine
    from peerlane.results.advice import AllReduce, Pair
    from peerlane.results.bottleneck import Value
    from peerlane.results.run import RunResult

LEAST = 0.01
"""The gain or cost from which on a change is listed."""

_SMALLEST_PAYLOAD = "128 B"
"""The Max_Payload_Size that every function supports (PCIe Base 7.5.3.4)."""


_MOST_LANES = 16
"""The lanes of the widest slots."""


@dataclass(frozen=True, slots=True)
class _Change:
    """Changed keys of the fabric, or a changed key of the all-reduce."""

    settings: tuple[Change, ...] = ()
    schedule: tuple[str, str] | None = None

    @property
    def keys(self) -> dict[str, Value]:
        return {one.key: one.value for one in self.settings}


def effects(
    machine: Machine,
    ranks: Ranks,
    slowest: Pair | None,
    row: AllReduce | None,
    progress: Callable[[float], object],
) -> list[Effect]:
    """The changes that gain or cost 1 % or more, the largest gain first.

    Args:
        machine: The fabric.
        ranks: The GPUs of the all-reduce.
        slowest: The pair of devices with the lowest rate.
        row: The all-reduce that the changes are tried on.
        progress: A function that is called with the fraction done, 0 to 1.
    """
    tried = [*_explained(machine, slowest), *_own(machine, slowest)]
    changes = list({frozenset(one.keys.items()): one for one in tried if one.keys}.values())
    if row is not None:
        changes += [_Change(schedule=("by", "pull")), _Change(schedule=("engine", "copy"))]
    found = _tried(machine, ranks, changes, slowest, row, progress)
    listed = [one for one in found if any(abs(gain) >= LEAST for gain in one.gains)]
    return sorted(listed, key=lambda one: -sum(one.gains))


def again(
    machine: Machine,
    ranks: Ranks,
    found: Sequence[Effect],
    slowest: Pair | None,
    row: AllReduce | None,
) -> list[Effect]:
    """The same changes of another fabric, with the options of `effects`."""
    changes = [_Change(one.settings, _key_and_value(one.schedule)) for one in found]
    return _tried(machine, ranks, changes, slowest, row, lambda _: None)


def _tried(  # noqa: PLR0913, PLR0917 - those of `effects`
    machine: Machine,
    ranks: Ranks,
    changes: Sequence[_Change],
    slowest: Pair | None,
    row: AllReduce | None,
    progress: Callable[[float], object],
) -> list[Effect]:
    """The effects of changes, by runs."""
    jobs = [job for one in changes for job in _jobs(one, ranks, slowest, row)]
    results = iter(machine.run(jobs, progress))
    found = []
    for one in changes:
        time = next(results) if row else ""
        rate = next(results) if slowest and _concerns_pair(one) else ""
        found.append(_effect(one, time, rate, row, slowest))
    return found


def _key_and_value(schedule: str | None) -> tuple[str, str] | None:
    if schedule is None:
        return None
    key, _, value = schedule.partition("=")
    return key, value


def _jobs(one: _Change, ranks: Ranks, slowest: Pair | None, row: AllReduce | None) -> Iterator[Job]:
    """The runs of a change: of the all-reduce, and of the slowest pair."""
    if row:
        job = ranks.job(row.algorithm, row.size, **dict([one.schedule] if one.schedule else []))
        yield Job(job.workloads, one.keys, job.weight)
    if slowest and _concerns_pair(one):
        ends = (slowest.source, slowest.target)
        if one.schedule:
            yield Job.steady(write(*ends[::-1], direction="read"))
        else:
            yield Job.steady(write(*ends), settings=one.keys)


def _concerns_pair(one: _Change) -> bool:
    """Whether a pair can have the change: a flow has no `engine`."""
    return one.schedule is None or one.schedule[0] == "by"


def _effect(
    one: _Change,
    time: RunResult | str,
    rate: RunResult | str,
    row: AllReduce | None,
    slowest: Pair | None,
) -> Effect:
    """The gains of a change, from its runs; a run that was impossible has none."""
    time_ns = None if isinstance(time, str) or time.failures else time.schedules[0].time_ns
    found = rate_of(rate)
    before = slowest.bytes_per_second if slowest else None
    return Effect(
        one.settings,
        "=".join(one.schedule) if one.schedule else None,
        time_ns,
        row.time_ns / time_ns - 1 if row and time_ns else None,
        found,
        found / before - 1 if found and before else None,
    )


def _explained(machine: Machine, slowest: Pair | None) -> Iterator[_Change]:
    """The changes that `explain` finds for writes between all pairs around the slowest pair.

    These are the slowest pair, and the writes of each other device below the same nodes at the same
    time, so that a shared uplink is found.
    """
    if slowest is None:
        return
    scenario = machine.scenario.copy()
    ends = (slowest.source, slowest.target)
    sides = [_beside(machine, end) for end in ends]
    pairs = [ends, *(pair for pair in zip(*sides, strict=False) if len(set(pair)) == len(pair))]
    for pair in dict.fromkeys(pairs):
        scenario.append("flows", write(*pair, size="256 KiB"))
    try:
        found = explain(
            scenario.to_toml(), source=scenario.source, each=False, executor=machine.executor
        )
    except ScenarioError:
        return
    for place in found.bottlenecks:
        for step in (*place.steps, *place.instead):
            if not any(split_path(one.key)[0] == "flows" for one in step.changes):
                yield _Change(step.changes)


def _beside(machine: Machine, name: str) -> list[str]:
    """The other devices of the same model below the node above a device."""
    nodes = machine.present.tree.below(machine.present.upstream_of(name) or "")
    model = machine.present.tree.nodes[name].model
    return [one.name for one in nodes if one.name != name and one.model == model]


def _own(machine: Machine, slowest: Pair | None) -> Iterator[_Change]:
    """Changes of redirection, payload sizes, slots and uplinks."""
    present = machine.present
    nodes = present.tree.nodes
    switches = {one.name: present.table(one.name) for one in nodes if one.kind == "switch"}
    redirect = [f"{table}.acs_redirect" for table in switches.values()]
    if redirect:
        is_on = any(present.value(key) is True for key in redirect)
        yield _set(machine, dict.fromkeys(redirect, not is_on))
    tables = [present.table(one.name) for one in nodes if one.kind != "router"]
    yield _set(machine, _payloads(machine, tables))
    hosts = [present.table(one.name) for one in nodes if one.kind == "host"]
    small = (f"{table}.max_payload_supported" for table in hosts)
    yield _set(machine, dict.fromkeys(small, _SMALLEST_PAYLOAD))
    links = {name: present.rate(present.own_link(name)) for name in switches}
    known = {machine.link_of(name): rate for name, rate in links.items() if rate is not None}
    yield _set(machine, {f"{link}.generation": rate[0] + 1 for link, rate in known.items()})
    wider = {link: 2 * rate[1] for link, rate in known.items() if rate[1] < _MOST_LANES}
    yield _set(machine, {f"{link}.lanes": lanes for link, lanes in wider.items()})
    if slowest is not None:
        yield from _slots(machine, slowest)


def _payloads(machine: Machine, tables: Sequence[str]) -> dict[str, Value]:
    """All keys that limit the payload of packets, each at its largest value."""
    found: dict[str, Value] = {}
    for table in tables:
        for key, _, _, values in machine.scenario.lifts(table, "payload"):
            path = f"{table}.{key}"
            now = amount_of(machine.present.value(path))
            if now and values and (amount_of(values[-1]) or 0.0) > now:
                found[path] = values[-1]
    return found


def _slots(machine: Machine, slowest: Pair) -> Iterator[_Change]:
    """The target of the slowest pair beside the source: in a free port, or exchanged."""
    present = machine.present
    source, target = slowest.source, slowest.target
    here, there = (present.upstream_of(end) for end in (source, target))
    if here is None or there is None or here == there:
        return
    moved = f"{present.table(target)}.upstream.to"
    yield _set(machine, {moved: here})
    for other in _beside(machine, source)[:1]:
        yield _set(machine, {moved: here, f"{present.table(other)}.upstream.to": there})


def _set(machine: Machine, values: dict[str, Value]) -> _Change:
    """A change of keys to new values."""
    before = machine.present.value
    return _Change(tuple(Change(key, before(key), value) for key, value in values.items()))
