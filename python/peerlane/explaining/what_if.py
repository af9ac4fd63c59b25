"""Measures the rates of flows if a limit is lifted, by a run for each change and each step."""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, replace
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING

from peerlane._core import ScenarioError
from peerlane.dotted import join_path
from peerlane.explaining.choice import (
    Tried,
    cost,
    first_of,
    gains,
    in_vain,
    is_elsewhere,
    is_upgrade,
    lean,
    refusal,
    settled,
    unsaid,
    worth,
)
from peerlane.explaining.lifting import liftings, of_limit
from peerlane.explaining.schedules import schedules
from peerlane.explaining.sizes import faults
from peerlane.fabric.variant import variant
from peerlane.results.bottleneck import (
    ALIKE,
    FULL,
    Bottleneck,
    Change,
    Loss,
    Rates,
    WhatIf,
    without_numbers,
)
from peerlane.results.collection import Collection
from peerlane.results.explanation import is_natural, places
from peerlane.results.workload import LISTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Executor

    from peerlane._core import Scenario
    from peerlane.explaining.lift import Lifting
    from peerlane.explaining.present import Present
    from peerlane.results.bottleneck import Value
    from peerlane.results.explanation import Explanation, FlowExplanation
    from peerlane.results.run import RunResult

_AMOUNTS = ("tags", "outstanding", "credit", "replay-buffer", "socket")
"""The kinds of limits for which one key states the amount of the resource, such as tags."""

_SHARED = ("wire", "memory", "socket")
"""The kinds of limits that flows share; for these, each flow is also run without the others."""

_LEAST_SHARE = 0.1
_LEAST_WORTH = 0.2
"""A place that limits no flow is examined if a flow waits there for this share of its time or more.

`_LEAST_WORTH` is used if changes are tried only for the first few places.
"""

_BUSY = 0.5
"""If a flow that waits for tags also waits this share of its time for its device's own link, faster
links are tried together with more tags."""

_MUCH = 0.25
"""If a change gains more than this, no change of another place is tried together with it."""

_MENDS = 1.5
"""The factor for the gain of a change that removes a fault, when bottlenecks are sorted by gain."""

_MOST_STEPS = 5
_MOST_BEHIND = 3
_MOST_ALONE = 3
MOST_LIFTED = 8
"""The number of bottlenecks for which changes are tried by default."""


_Found = tuple[tuple[int, float], Bottleneck]
"""A bottleneck, after the key by which bottlenecks are sorted."""


class Case:
    """A scenario, the result of its run, and runs of the scenario with changed keys."""

    def __init__(
        self, scenario: Scenario, present: Present, result: RunResult, executor: Executor | None
    ) -> None:
        self._scenario = scenario
        self._present = present
        self._slow = present.slow_slots()
        self._before = result.explain(
            self._slow, schedules(result, present.tree), recorded(scenario)
        )
        self._ends = result.ends
        self._seed = result.seed
        self._is_little = result.is_little
        self._executor = executor
        self._runs: dict[tuple[object, ...], Future[Explanation]] = {}
        self._lock = Lock()

    def explained(
        self, flow: str | None, progress: Callable[[float], object], most: int = MOST_LIFTED
    ) -> Explanation:
        """Explains all flows or one flow, and tries changes for the first bottlenecks.

        Args:
            flow: The flow to explain; all flows, if absent.
            progress: A function that is called with the fraction done, 0 to 1.
            most: The number of bottlenecks for which changes are tried.
        """
        found = [one for one in self._before.bottlenecks if flow is None or flow in one.flows]
        found = [replace(one, amount=self._amount(one), reason=self._fault(one)) for one in found]
        if most:
            found = self._lifted(found, flow, most, progress)
        flows = [one for one in self._before.flows if flow in {None, one.id}]
        return replace(
            self._before,
            bottlenecks=Collection(found, key="where"),
            flows=Collection(flows),
        )

    def _lifted(
        self,
        limiting: list[Bottleneck],
        flow: str | None,
        most: int,
        progress: Callable[[float], object],
    ) -> list[Bottleneck]:
        """The bottlenecks with the effects of changes, the bottleneck with the largest gain first.

        Places that limit no flow are included if a change at them helps. Unless all bottlenecks are
        examined, no faster link is tried for devices that fill their own link while flows at
        another place are slower than their devices permit.
        """
        is_each = most > MOST_LIFTED
        others = self._others(flow, _LEAST_SHARE if is_each else _LEAST_WORTH)
        every = [*limiting[:most], *islice(others, max(most - len(limiting), 0))]
        healthy = () if is_each else self._healthy(limiting)
        pool = ThreadPoolExecutor(os.cpu_count())
        try:
            coming = [pool.submit(self._lift, one, mends=one in healthy) for one in every]
            found = []
            for number, one in enumerate(coming, 1):
                found.append(one.result())
                progress(number / len(coming))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        found = [*self._merged(found[: len(limiting)]), *found[len(limiting) :]]
        found.sort(key=lambda each: each[0], reverse=True)
        known = {one.causes for one in healthy}
        shown = [one for _, one in found if one.steps or one.causes not in known]
        limits = {one.causes for one in limiting}
        return [*settled(shown, limits, is_each=is_each), *limiting[most:]]

    def _healthy(self, limiting: Sequence[Bottleneck]) -> list[Bottleneck]:
        """The places at which devices fill their own link, if another place is a real limit."""
        natural = [one for one in limiting if self._is_natural(one)]
        is_fault = any(one not in natural and not self._is_little(one) for one in limiting)
        return [one for one in natural if one.kind == "wire" and is_fault]

    def _merged(self, found: Sequence[_Found]) -> list[_Found]:
        """Merges bottlenecks with the same first change, if this change is at another place."""
        groups: dict[object, list[_Found]] = {}
        for number, each in enumerate(found):
            key = each[1].steps[0].changes if is_elsewhere(each[1]) else number
            groups.setdefault(key, []).append(each)
        merged = []
        for same in groups.values():
            first, *others = sorted(same, key=lambda each: each[0], reverse=True)
            if others:
                all_flows = (flow for _, one in (first, *others) for flow in one.flows)
                flows = tuple(dict.fromkeys(all_flows))
                rates = Rates.of(self._before.flows[flow].bytes_per_second for flow in flows)
                one = replace(
                    first[1], flows=flows, rates=rates, steps=(), instead=(), adds_up=False
                )
                first = self._lift(one)
            merged.append(first)
        return merged

    def _others(self, flow: str | None, least: float) -> Iterator[Bottleneck]:
        """The places that limit no flow, but at which flows wait for this share of their time."""
        limits = {cause for one in self._before.bottlenecks for cause in one.causes}
        waiting = (
            (place, one)
            for one in self._before.flows
            for place in dict.fromkeys(share.cause.place for share in one.shares)
            if place not in limits and one.share_at(place) >= least
        )
        for found in places(waiting):
            is_known = found.kind != "other" and not self._is_natural(found)
            if is_known and flow in {None, *found.flows}:
                yield replace(found, amount=self._amount(found), is_limit=False)

    def _is_natural(self, one: Bottleneck) -> bool:
        return is_natural(one, self._ends, self._slow)

    def _is_shared(self, one: Bottleneck) -> bool:
        """Whether the bottleneck is a wire that the flows of several devices share."""
        is_own = is_natural(one, self._ends, ())
        return one.kind == "wire" and len(one.flows) > 1 and not is_own

    def _busy_links(self, one: Bottleneck) -> Bottleneck | None:
        """The links of devices that wait for tags while their own links are half busy or more."""
        if one.kind not in {"tags", "outstanding"}:
            return None
        busy = (
            (share.cause, flow)
            for flow in map(self._before.flows.__getitem__, one.flows)
            for share in flow.shares
            if share.kind == "wire" and share.share >= _BUSY
            if any(share.where.endswith(f"-{end}") for end in self._ends[flow.id])
        )
        return next(iter(places(busy)), None)

    def _fault(self, one: Bottleneck) -> str | None:
        """A fault of packet sizes that is visible without a run, in words.

        On a wire that devices share, sizes are no fault, because the wire itself is the limit.
        """
        if self._is_shared(one):
            return None
        known = (lift.reason for lift in faults(self._present, one) if lift.reason is not None)
        return next(known, None)

    def _amount(self, one: Bottleneck) -> Value:
        """The amount of the resource that limits flows, from the key that lifts the limit."""
        if one.kind not in _AMOUNTS:
            return None
        found = of_limit(self._present, one)
        if one.kind in {"tags", "outstanding"}:
            own = [lift for lift in found if not lift.is_part]
            counts = [count for lift in own for count in lift.before if isinstance(count, int)]
            if counts:
                return min(counts)
        before = set(found[0].before) if found else set()
        return before.pop() if len(before) == 1 else None

    def _lift(self, one: Bottleneck, *, mends: bool = False) -> _Found:
        """The bottleneck with the changes that were tried, after the key by which it is sorted.

        Args:
            one: The bottleneck.
            mends: Whether to leave out upgrades, such as faster links.
        """
        one = replace(one, alone=self._alone(one), reason=None)
        found: list[Tried] = []
        impossible: list[str] = []
        rates = {each.id: each.bytes_per_second or 0.0 for each in self._before.flows}
        beside = self._busy_links(one)
        lifts = [each for each in liftings(self._present, one, rates, beside) if each.values]
        lifts = [each for each in lifts if not (mends and is_upgrade(each))]
        for lift in lifts:
            try:
                found += self._further(one, self._tried_until(one, lift))
            except ScenarioError as error:
                impossible.append(refusal(lift, error))
        helping = [each for each in found if self._helps(one, each)]
        # If two liftings make the same changes, the later one is kept: the lifting that removes a
        # fault, or the lifting with more keys.
        helping.sort(key=lambda each: (each.lifting.reason is not None, len(each.lifting.keys)))
        useful = sorted({each.what_if.changes: each for each in helping}.values(), key=worth)
        useless = [each for each in found if each not in helping]
        vain = (in_vain(useless, one),) if useless else ()
        if not useful:
            if not vain and not impossible:
                vain = ("no key of the scenario lifts it",)
            tried = replace(one, not_lifted=vain, impossible=tuple(impossible))
            return self._value(one, None), tried
        is_shared = self._is_shared(one)
        first = first_of(useful, lifts, is_wire=one.kind == "wire", is_shared=is_shared)
        instead = [each for each in useful if each is not first]
        more = sorted((each for each in instead if each.is_like(first)), key=cost(lifts))
        more.sort(key=lambda each: each.lifting.table != first.lifting.table)
        steps = self._steps(one, first, more)
        lifted = replace(
            one,
            reason=first.lifting.reason,
            steps=tuple(each.what_if for each in steps),
            instead=tuple(each.what_if for each in unsaid(lean(instead), steps)),
            not_lifted=vain,
            impossible=tuple(impossible),
        )
        return self._value(one, first), lifted

    def _tried_until(self, one: Bottleneck, lift: Lifting) -> Tried:
        """The outcome of the first step of a lifting.

        For slots, it is the outcome of the first step that helps. Larger pages are tried until the
        limit is at another place, or a step gains nothing.
        """
        tried = self._tried(one, lift)
        while tried.can_go_on:
            is_to_go_on = (
                tried.next in one.causes
                if lift.is_of_pages
                else lift.is_of_slots and not self._helps(one, tried)
            )
            if not is_to_go_on:
                break
            more = self._tried(one, lift, tried.step + 1)
            if lift.is_of_pages and not gains(more.what_if.rates, tried.what_if.rates):
                break
            tried = more
        return tried

    @staticmethod
    def _helps(one: Bottleneck, tried: Tried) -> bool:
        return tried.gain > 0 and gains(tried.what_if.rates, one.rates)

    def _value(self, one: Bottleneck, best: Tried | None) -> tuple[int, float]:
        """The key by which bottlenecks are sorted, from the gain of the best change.

        Flows that are as fast as their device permits come last. Half of the gain counts for a
        faster part, for a faster slot of a card that may be slow itself, and for a place that does
        not limit the flows.
        """
        is_own = self._is_natural(one)
        if best is None or best.gain <= 0:
            return (1 if one.kind == "wire" and not is_own else -1), 0.0
        if self._is_little(one):
            return 0, best.gain
        lift = best.lifting
        if is_own and (lift.is_part or is_upgrade(lift)):
            return 0, best.gain
        if lift.reason:
            return 2, best.gain * _MENDS
        is_slow = is_natural(one, self._ends, ())
        return 2, best.gain * 0.5 ** sum((lift.is_part, is_slow, not one.is_limit))

    def _tried(
        self, one: Bottleneck, lift: Lifting, step: int = 0, earlier: Tried | None = None
    ) -> Tried:
        """Runs the scenario with a step of a lifting, and with the changes of an earlier run.

        Raises:
            ScenarioError: The scenario cannot be built with these values.
        """
        changes = {change.key: change for change in earlier.what_if.changes} if earlier else {}
        for key, before, value in zip(lift.keys, lift.before, lift.values[step], strict=True):
            source = changes[key].source if key in changes else before
            if value != source:
                changes[key] = Change(key, source, value)
        settings = {change.key: change.value for change in changes.values()}
        after = self._run(settings)
        flows = [after.flows[flow] for flow in one.flows]
        what_if = _what_if(flows, tuple(changes.values()), tuple(self._losses(one, after)))
        gain = _total(after) - _total(self._before)
        if lift.reason is not None:  # losses of other flows are ignored: the fault gave them more
            gain = what_if.rates.total - one.rates.total
        return Tried(lift, step, what_if, gain)

    def _losses(self, one: Bottleneck, after: Explanation) -> Iterator[Loss]:
        """The flows that do not wait at the bottleneck, and become slower by a change."""
        for flow in self._before.flows:
            before, now = flow.bytes_per_second or 0.0, after.flows[flow.id].bytes_per_second or 0.0
            if flow.id not in one.flows and now < (1 - ALIKE) * before:
                yield Loss(flow.id, before, now)

    def _further(self, one: Bottleneck, tried: Tried) -> list[Tried]:
        """A change, and further changes that also lift the limit that follows, if they gain."""
        found = [tried]
        for _ in range(_MOST_BEHIND):
            both = self._behind(one, tried)
            if both is None:
                break
            try:
                tried = self._tried(one, both)
            except ScenarioError:
                break
            if gains(tried.what_if.rates, found[-1].what_if.rates):
                found.append(tried)
        return [each for each in found if gains(each.what_if.rates, one.rates)] or [tried]

    def _behind(self, one: Bottleneck, tried: Tried) -> Lifting | None:
        """The changes of a run, extended by a change that lifts the next limit."""
        lift, after = tried.lifting, tried.what_if.next
        limits = [cause for each in self._before.bottlenecks for cause in each.causes]
        is_limit = one.causes[0] in limits
        is_other = lift.is_setting or lift.is_comparison or lift.is_of_schedules
        if not is_limit or is_other or not after or after[0] in one.causes:
            return None
        first = after[0]
        is_in_row = one.kind == first.kind == "wire"
        if not is_in_row and self._is_natural(one):
            return None
        if gains(tried.what_if.rates, one.rates, *[_MUCH] * (not is_in_row)):
            return None
        where = tuple(place.where for place in after if replace(place, where=first.where) == first)
        behind = replace(one, **asdict(first) | {"where": where})
        if one.kind != "wire" and is_natural(behind, self._ends, self._slow):
            return None
        options = [
            each
            for each in of_limit(self._present, behind)
            if each.values and not set(each.keys) & set(lift.keys)
        ]
        name = lift.keys[0].rpartition(".")[2]
        if is_in_row and name in {"generation", "lanes"}:
            options = [
                replace(each, values=((lift.values[0][0],) * len(each.keys),))
                for each in options
                if {key.rpartition(".")[2] for key in each.keys} == {name}
            ]
        if not options:
            return None
        more = options[0]
        return replace(
            lift,
            keys=(*lift.keys, *more.keys),
            before=(*lift.before, *more.before),
            values=((*lift.values[0], *more.values[0]),),
            is_part=lift.is_part or more.is_part,
        )

    def _steps(self, one: Bottleneck, first: Tried, others: Sequence[Tried]) -> list[Tried]:
        """The first change, and further steps and changes until another place is the limit."""
        steps = [first]
        left = [*others]
        is_own_wire = one.kind == "wire" and self._is_natural(one)
        most = 1 if is_own_wire else 2 if set(one.where) & set(self._slow) else _MOST_STEPS
        while steps[-1].next in one.causes and len(steps) < most:
            last = steps[-1]
            if one.is_as_alone(last.what_if):
                break
            options = [(last.lifting, last.step + 1)] * (last.step + 1 < len(last.lifting.values))
            options += [(each.lifting, each.step) for each in left]
            for lift, step in options:
                left = [each for each in left if each.lifting is not lift]
                try:
                    found = self._tried(one, lift, step, last)
                except ScenarioError:
                    continue
                if gains(found.what_if.rates, last.what_if.rates):
                    steps.append(found)
                    break
            else:
                break
        return steps

    def _alone(self, one: Bottleneck) -> WhatIf | None:
        """The rates of flows that run without the others; of many similar flows, only the first."""
        if one.kind not in _SHARED or len(one.flows) == len(one.where):
            return None
        chosen: dict[tuple[str, ...], str] = {}
        for flow in one.flows:
            chosen.setdefault(tuple(map(without_numbers, (flow, *self._ends[flow]))), flow)
        found = []
        for flow in list(chosen.values())[:_MOST_ALONE]:
            left_out = [
                join_path((section, other))
                for section in LISTS
                for other in self._scenario.members(section)
                if other not in self._needed(flow)
            ]
            if not left_out:
                return None
            try:
                found.append(self._run({}, left_out).flows[flow])
            except ScenarioError:
                return None
        return _what_if(found)

    def _needed(self, flow: str) -> set[object]:
        """The ids of a flow and of the flows that it needs, or of a schedule and its steps."""
        value = self._scenario.get
        if not self._present.is_schedule(flow):
            own = join_path(("flows", flow))
            return {flow, *(value(f"{own}.{key}") for key in ("carries", "after"))}
        steps = self._scenario.members("steps")
        own_steps = (one for one in steps if value(join_path(("steps", one, "schedule"))) == flow)
        return {flow, *own_steps}

    def _run(self, settings: Mapping[str, Value], left_out: Sequence[str] = ()) -> Explanation:
        """Runs the scenario with changed keys and without some workloads, each case only once."""
        case = (*sorted(settings.items()), *left_out)
        with self._lock:
            is_known = case in self._runs
            coming = self._runs.setdefault(case, Future())
        if not is_known:
            try:
                coming.set_result(self._explained(settings, left_out))
            except Exception as error:  # noqa: BLE001 - raised below, for all who wait
                coming.set_exception(error)
        return coming.result()

    def _explained(self, settings: Mapping[str, Value], left_out: Sequence[str]) -> Explanation:
        scenario = self._scenario.copy()
        for path in left_out:
            scenario.remove(path)
        case = (scenario, settings, self._seed)
        if self._executor is None:
            return _explanation(*case)
        return self._executor.submit(_explanation, *case).result()


def _explanation(scenario: Scenario, settings: Mapping[str, Value], seed: int) -> Explanation:
    """Runs the scenario with settings; returns the waits of its flows."""
    simulation = variant(scenario, settings, seed=seed, warns=False)
    simulation.watch_waits()
    result = simulation.run()
    return result.explain((), schedules(result, simulation.tree()), recorded(scenario))


def recorded(scenario: Scenario) -> set[str]:
    """The flows with recorded requests."""
    flows = scenario.members("flows")
    return {flow for flow in flows if scenario.get(join_path(("flows", flow, "requests")))}


def _what_if(
    flows: Sequence[FlowExplanation],
    changes: tuple[Change, ...] = (),
    losses: tuple[Loss, ...] = (),
) -> WhatIf:
    """The rates and limits of flows in a run, with the changes and the losses of the run."""
    rates = Rates.of(flow.bytes_per_second for flow in flows)
    counted = Counter(place for flow in flows for place in flow.limits)
    limits = tuple(place for place, _ in counted.most_common())
    there = [flow for flow in flows if limits[0] in flow.limits] if limits else []
    is_full = all(
        flow.share_at(limits[0]) >= FULL or (limits[0].kind == "socket" and flow.section == "flows")
        for flow in there
    )
    is_down = any(flow.limit and flow.limit.kind == "wire" and flow.limit.detail for flow in there)
    return WhatIf(changes, rates, limits, losses, is_full and not is_down)


def _total(explanation: Explanation) -> float:
    return Rates.of(flow.bytes_per_second for flow in explanation.flows).total
