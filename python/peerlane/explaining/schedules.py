"""Divides the times of schedules by the causes of waits, and finds other ways to move their data.

The waits of single steps are not observed. The critical path states which steps the end waited
for; the use of the wires on the way of a transfer states how long a wire can have been the cause.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from typing import TYPE_CHECKING

from peerlane.dotted import join_path
from peerlane.explaining.lift import setting
from peerlane.results.bottleneck import form_of
from peerlane.results.explanation import FlowExplanation
from peerlane.results.waits import COMPUTE, FLAGS, SUMS, TRANSFERS, Cause, Share

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from peerlane.explaining.lift import Lifting
    from peerlane.explaining.present import Present
    from peerlane.fabric.tree import Tree
    from peerlane.results.bottleneck import Bottleneck, Value
    from peerlane.results.run import RunResult
    from peerlane.results.schedules import PathPart, ScheduleResult
    from peerlane.results.waits import Kind

    Wire = tuple[str, str]

_ABOUT = 0.98
"""Of wires that are used for about the same time, the first on the way counts as the busiest."""

_ALGORITHMS = {
    "all-reduce": ("ring", "one-shot", "two-shot"),
    "all-gather": ("ring", "one-shot"),
    "reduce-scatter": ("ring", "one-shot"),
    "broadcast": ("ring", "one-shot"),
}
"""The algorithms of each operation that need no further keys."""


def schedules(result: RunResult, tree: Tree) -> list[FlowExplanation]:
    """The explanations of all schedules of a run.

    Args:
        result: The result of the run.
        tree: The fabric of the run.
    """
    used = {(one.id, one.direction): one.utilisation * one.under_way_ns for one in result.links}
    return [_explained(one, used, tree) for one in result.schedules]


def _explained(one: ScheduleResult, used: Mapping[Wire, float], tree: Tree) -> FlowExplanation:
    """The explanation of a schedule; there is no limit if the schedule did not complete."""
    rate = one.bus_bytes_per_second
    if not one.time_ns:
        silence = f"{one.id}: {one.failure()}"
        return FlowExplanation(one.id, rate, None, (), silence, section="schedules")
    times = sorted(_times(one, used, tree).items(), key=lambda cause: -cause[1])
    alike: dict[object, float] = {}
    for cause, time in times:
        alike[form_of(cause)] = alike.get(form_of(cause), 0.0) + time
    longest = max(alike, key=alike.__getitem__)
    limit = next(cause for cause, _ in times if form_of(cause) == longest)
    shares = tuple(Share(**asdict(cause), share=time / one.time_ns) for cause, time in times)
    return FlowExplanation(one.id, rate, limit, shares, section="schedules")


def _times(one: ScheduleResult, used: Mapping[Wire, float], tree: Tree) -> dict[Cause, float]:
    """The time on the critical path for each cause, in nanoseconds.

    The time of transfers counts for the busiest wire on their way as long as this wire can have
    been busy.
    """
    times: dict[Cause, float] = defaultdict(float)
    transfers: dict[Wire, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for part in one.parts():
        if not part.time_ns:
            continue
        if part.work in {"push", "pull"}:
            wire = _busiest(tree.wires(part.source, part.target), used)
            device = part.source if part.work == "push" else part.target
            transfers[wire][device] += part.time_ns
        else:
            times[_cause(part)] += part.time_ns
    for wire, devices in transfers.items():
        kind: Kind = "socket" if wire[1] in {"forth", "back"} else "wire"
        busy = min(used[wire] / sum(devices.values()), 1.0)
        for device, time in devices.items():
            times[Cause(kind, *wire, None)] += busy * time
            if busy < 1.0:
                times[Cause("other", device, None, TRANSFERS)] += (1.0 - busy) * time
    return times


def _cause(part: PathPart) -> Cause:
    """The cause of a wait for a flag, or for work in the device itself."""
    if part.work == "flag":
        return Cause("latency", part.target, None, FLAGS)
    if part.work == "compute":
        return Cause("software", part.source, None, COMPUTE)
    return Cause("memory", part.source, None, SUMS)


def _busiest(way: Sequence[Wire], used: Mapping[Wire, float]) -> Wire:
    most = max(used[wire] for wire in way)
    return next(wire for wire in way if used[wire] >= _ABOUT * most)


def other_ways(present: Present, one: Bottleneck) -> Iterator[Lifting]:
    """Changes to other algorithms, requests and engines, for the schedules that a place limits."""
    for schedule in filter(present.is_schedule, one.flows if one.is_limit else ()):
        own = join_path(("schedules", schedule))
        operation = str(present.value(f"{own}.operation"))
        ways = {
            "algorithm": _ALGORITHMS.get(operation, ()),
            "by": () if operation == "steps" else ("push", "pull"),
            "engine": ("kernel", "copy"),
        }
        island = f"{own}.island"
        for key, values in ways.items():
            path = f"{own}.{key}"
            left_out: dict[str, Value] = {}
            if key == "algorithm" and present.scenario.get(island) is not None:
                left_out = {island: None}
            for value in values:
                if value != present.value(path):
                    yield setting(present, {path: value} | left_out)
