"""What flows do when a limit is lifted: a run for each change, and for steps that follow it."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING

from peerlane._core import ScenarioError
from peerlane.dotted import join_path
from peerlane.explaining.lifting import TRANSLATION, Lifting, liftings, of_limit
from peerlane.fabric.variant import variant
from peerlane.results.bottleneck import (
    Bottleneck,
    Change,
    Rates,
    WhatIf,
    next_limits,
    without_numbers,
)
from peerlane.results.collection import Collection
from peerlane.results.explanation import is_natural, made
from peerlane.results.workload import LISTS

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Executor

    from peerlane._core import Scenario
    from peerlane.explaining.present import Present
    from peerlane.results.bottleneck import Value
    from peerlane.results.explanation import Explanation, FlowExplanation
    from peerlane.results.run import RunResult
    from peerlane.results.waits import Cause

_AMOUNTS = ("tags", "outstanding", "credit", "replay-buffer", "socket")
"""Limits of which one key says how much there is."""

_SHARED = ("wire", "memory", "socket")
"""Limits that flows share, so that each is run alone, too."""

_LEAST_GAIN = 0.01
"""Rates that grow by a smaller share are the same: the key that was lifted does not limit."""

_WORTH_A_WORD = 1.05
"""Rates that grow as many times name a place that limits no flow."""

_EQUAL = 0.85
"""Of changes that gain this part of the most, the one that costs least comes first."""

_HALF = 0.5
_MEND = 0.05
"""Parts of the most that are gained, from which on a setting, or a mend, comes first."""

_FAR_MORE = 1.5
"""Of several keys together, the gain beside the gain of one of them that is worth the others."""

_LEAST_SHARE = 0.1
"""Share of the time of a flow from which on a place is looked at that does not limit the flow."""

_MOST_STEPS = 5
_MOST_LINKS = 4
_MOST_ALONE = 3
MOST_LIFTED = 8
"""Bottlenecks whose limits are lifted, unless each is asked for."""


@dataclass(frozen=True, slots=True)
class _Tried:
    """A run with keys set otherwise."""

    lifting: Lifting
    step: int
    settings: Mapping[str, Value]
    what_if: WhatIf
    gain: float
    """Bytes a second that all flows gain together."""

    @property
    def next(self) -> Cause | None:
        """The limit of most flows."""
        return self.what_if.next[0] if self.what_if.next else None


_Found = tuple[tuple[int, float], Bottleneck]
"""A bottleneck, and its place in the order of all."""


class Case:
    """A scenario, what its run measured, and runs of it with keys set otherwise."""

    def __init__(
        self, scenario: Scenario, present: Present, result: RunResult, executor: Executor | None
    ) -> None:
        self._scenario = scenario
        self._present = present
        self._slow = present.slow_slots()
        self._before = result.explain(self._slow)
        self._ends = {flow.id: (flow.source, flow.target) for flow in result.flows}
        self._seed = result.seed
        self._executor = executor
        self._runs: dict[tuple[object, ...], Future[Explanation]] = {}
        self._lock = Lock()

    def explained(
        self, flow: str | None, progress: Callable[[float], object], most: int = MOST_LIFTED
    ) -> Explanation:
        """The flows, or one of them, and the bottlenecks, of which the limits of some are lifted.

        Args:
            flow: The flow to explain; all, if absent.
            progress: Called with the fraction done, 0 to 1.
            most: Bottlenecks whose limits are lifted.
        """
        found = [one for one in self._before.bottlenecks if flow is None or flow in one.flows]
        found = [replace(one, amount=self._amount(one)) for one in found]
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
        """The bottlenecks with what comes when their limits are lifted, the most rewarding first.

        Places that limit no flow are among them if a change there helps.
        """
        others = self._others(flow)
        every = [*limiting[:most], *islice(others, max(most - len(limiting), 0))]
        pool = ThreadPoolExecutor(os.cpu_count())
        try:
            coming = [pool.submit(self._lift, one) for one in every]
            found = []
            for number, one in enumerate(coming, 1):
                found.append(one.result())
                progress(number / len(coming))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        limits = [self._elsewhere(each) for each in found[: len(limiting)]]
        found = self._merged([*limits, *found[len(limiting) :]])
        found.sort(key=lambda each: each[0], reverse=True)
        return [
            *_settled([one for _, one in found], {one.causes for _, one in limits}),
            *limiting[most:],
        ]

    def _elsewhere(self, found: _Found) -> _Found:
        """An I/O MMU that is no limit, because nothing helps there; instead the wire of its flow.

        Packets that a full wire brings are in the I/O MMU one after the other.
        """
        one = found[1]
        if one.steps or one.detail != TRANSLATION or len(one.flows) > 1:
            return found
        flow = self._before.flows[one.flows[0]]
        wires = [share.cause.place for share in flow.shares if share.cause.place.kind == "wire"]
        other = self._lift(made({wires[0]: [flow]})) if wires else found
        return other if other[1].steps else found

    def _merged(self, found: Sequence[_Found]) -> list[_Found]:
        """Places at which the same change comes first are one: it is at none of them."""
        groups: dict[tuple[Change, ...], list[_Found]] = {}
        alone: list[_Found] = []
        for each in found:
            steps = each[1].steps
            if steps and _is_elsewhere(steps[0].changes):
                groups.setdefault(steps[0].changes, []).append(each)
            else:
                alone.append(each)
        for same in groups.values():
            first, *others = sorted(same, key=lambda each: each[0], reverse=True)
            if not others:
                alone.append(first)
                continue
            flows = tuple(dict.fromkeys(flow for _, one in (first, *others) for flow in one.flows))
            rates = Rates.of(self._before.flows[flow].bytes_per_second for flow in flows)
            one = replace(first[1], flows=flows, rates=rates, alone=None, steps=(), instead=())
            alone.append(self._lift(one))
        return alone

    def _others(self, flow: str | None) -> Iterator[Bottleneck]:
        """The places at which flows wait for a good part of the time, but that limit none."""
        limits = {cause for one in self._before.bottlenecks for cause in one.causes}
        groups: dict[tuple[object, ...], dict[Cause, list[FlowExplanation]]] = {}
        for one in self._before.flows:
            for place in dict.fromkeys(share.cause.place for share in one.shares):
                if place not in limits and one.share_at(place) >= _LEAST_SHARE:
                    form = (place.kind, without_numbers(place.where), place.direction, place.detail)
                    groups.setdefault(form, {}).setdefault(place, []).append(one)
        for places in groups.values():
            found = made(places)
            if (
                found.kind != "other"
                and flow in {None, *found.flows}
                and not self._is_natural(found)
            ):
                yield replace(found, amount=self._amount(found))

    def _is_natural(self, one: Bottleneck) -> bool:
        return is_natural(one, self._ends, self._slow)

    def _amount(self, one: Bottleneck) -> Value:
        """How much there is of what limits flows, by the key that lifts the limit."""
        if one.kind not in _AMOUNTS:
            return None
        found = of_limit(self._present, one)
        before = set(found[0].before) if found else set()
        return before.pop() if len(before) == 1 else None

    def _lift(self, one: Bottleneck) -> tuple[tuple[int, float], Bottleneck]:
        """A bottleneck with its steps, and what they are worth, in bytes a second."""
        one = replace(one, alone=self._alone(one))
        found: list[_Tried] = []
        refused: list[str] = []
        lifts = [each for each in liftings(self._present, one) if each.values]
        for lift in lifts:
            try:
                found.append(self._further(one, self._tried(one, lift)))
            except ScenarioError as error:
                refused.append(str(error).partition(" with ")[2] or str(error))
        useful = [each for each in found if each.gain > 0 and _gains(each.what_if.rates, one.rates)]
        useful.sort(key=_worth)
        in_vain = [each for each in found if each not in useful]
        if in_vain:
            refused.append(_in_vain(in_vain, one))
        if not useful:
            if not refused:
                refused.append("no key of the scenario lifts it")
            return self._value(one, None), replace(one, not_lifted=tuple(refused))
        first = _first(useful, lifts)
        instead = [each for each in useful if each is not first]
        steps = self._steps(one, first, sorted(instead, key=_cost(lifts)))
        lifted = replace(
            one,
            steps=tuple(each.what_if for each in steps),
            instead=tuple(each.what_if for each in instead),
            not_lifted=tuple(refused),
        )
        return self._value(one, first), lifted

    def _value(self, one: Bottleneck, best: _Tried | None) -> tuple[int, float]:
        """What lifting a bottleneck is worth, for the order of several.

        Flows that do what their device can come last. A faster part costs more than a setting, and
        a slow slot may be what its card can use.
        """
        is_own = self._is_natural(one)
        if best is None or best.gain <= 0:
            return (1 if one.kind == "wire" and not is_own else -1), 0.0
        if is_own and (best.lifting.is_part or _is_upgrade(best.lifting)):
            return 0, best.gain
        is_slot = is_natural(one, self._ends, ())
        return 2, best.gain * (0.5 if best.lifting.is_part or is_slot else 1.0)

    def _tried(
        self, one: Bottleneck, lift: Lifting, step: int = 0, earlier: _Tried | None = None
    ) -> _Tried:
        """A run with a step of a lifting, and with the changes of an earlier run.

        Raises:
            ScenarioError: The scenario cannot be built with these values.
        """
        changes = {change.key: change for change in earlier.what_if.changes} if earlier else {}
        for key, before, value in zip(lift.keys, lift.before, lift.values[step], strict=True):
            source = changes[key].source if key in changes else before
            changes[key] = Change(key, source, value)
        settings = {change.key: change.value for change in changes.values()}
        after = self._run(settings)
        flows = [after.flows[flow] for flow in one.flows]
        what_if = WhatIf(
            changes=tuple(changes.values()),
            rates=Rates.of(flow.bytes_per_second for flow in flows),
            next=next_limits(flow.limit for flow in flows),
        )
        return _Tried(lift, step, settings, what_if, _total(after) - _total(self._before))

    def _further(self, one: Bottleneck, tried: _Tried) -> _Tried:
        """A faster link, and with it the links behind it that are just as slow."""
        while (
            tried.next is not None
            and tried.next.kind == one.kind == "wire"
            and tried.next not in one.causes
            and not _gains(tried.what_if.rates, one.rates)
            and len(tried.lifting.keys) < _MOST_LINKS
        ):
            lift = tried.lifting
            name, value = lift.keys[0].rpartition(".")[2], lift.values[0][0]
            more = f"{self._present.table_of_link(tried.next.where)}.{name}"
            if name not in {"generation", "lanes"} or more in lift.keys:
                break
            before = self._present.before(tried.next, more)
            keys = (*lift.keys, more)
            values = ((*lift.values[0], value),)
            both = Lifting(keys, (*lift.before, before), values, lift.is_part)
            tried = self._tried(one, both)
        return tried

    def _steps(self, one: Bottleneck, first: _Tried, others: Sequence[_Tried]) -> list[_Tried]:
        """The first change, and more of it and of others until the limit is at another place."""
        steps = [first]
        left = [*others]
        most = (
            1 if self._is_natural(one) else 2 if set(one.where) & set(self._slow) else _MOST_STEPS
        )
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
                if _gains(found.what_if.rates, last.what_if.rates):
                    steps.append(found)
                    break
            else:
                break
        return steps

    def _alone(self, one: Bottleneck) -> WhatIf | None:
        """What flows do that are run without all others, of many alike the first."""
        if one.kind not in _SHARED or len(one.flows) == len(one.where):
            return None
        chosen: dict[tuple[str, ...], str] = {}
        for flow in one.flows:
            chosen.setdefault(tuple(map(without_numbers, (flow, *self._ends[flow]))), flow)
        found = []
        for flow in list(chosen.values())[:_MOST_ALONE]:
            own = join_path(("flows", flow))
            needed = {self._scenario.get(f"{own}.{key}") for key in ("carries", "after")}
            left_out = [
                join_path((section, other))
                for section in LISTS
                for other in self._scenario.members(section)
                if other not in {flow, *needed}
            ]
            try:
                found.append(self._run({}, left_out).flows[flow])
            except ScenarioError:
                return None
        rates = Rates.of(flow.bytes_per_second for flow in found)
        return WhatIf((), rates, next_limits(flow.limit for flow in found))

    def _run(self, settings: Mapping[str, Value], left_out: Sequence[str] = ()) -> Explanation:
        """What flows do with keys set otherwise and workloads left out; each case runs once."""
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
    """What the flows of a run wait for."""
    simulation = variant(scenario, settings, seed=seed, warns=False)
    simulation.watch_waits()
    return simulation.run().explain()


def _total(explanation: Explanation) -> float:
    return Rates.of(flow.bytes_per_second for flow in explanation.flows).total


def _gains(after: Rates, before: Rates) -> bool:
    return after.total > (1 + _LEAST_GAIN) * before.total


def _worth(tried: _Tried) -> tuple[bool, float]:
    """The order of changes: those that need no other part first, and what helps most."""
    return tried.lifting.is_part, -tried.gain


def _is_upgrade(lift: Lifting) -> bool:
    """Whether a device needs another link, or its flow another pace."""
    return {key.rpartition(".")[2] for key in lift.keys} <= {"generation", "lanes", "interval"}


def _first(useful: Sequence[_Tried], lifts: Sequence[Lifting]) -> _Tried:
    """The change that helps most; of several that help about as much, the one that costs least.

    A mend or a setting comes before what costs more and helps more. Several keys together come
    first only if they help far more than one of them.
    """
    single = [
        each
        for each in useful
        if not any(
            set(other.lifting.keys) < set(each.lifting.keys) and each.gain < _FAR_MORE * other.gain
            for other in useful
        )
    ]
    most = single[0].gain
    mends = [each for each in single if each.lifting.is_mend and each.gain >= _MEND * most]
    settings = [each for each in single if each.lifting.is_setting and each.gain >= _HALF * most]
    pool = mends or settings or single
    best = pool[0]
    equal = [
        each
        for each in pool
        if each.lifting.is_part == best.lifting.is_part and each.gain >= _EQUAL * best.gain
    ]
    return min(equal, key=_cost(lifts))


def _cost(lifts: Sequence[Lifting]) -> Callable[[_Tried], tuple[bool, int]]:
    """The order of changes by what they cost: a setting, a slot, a part."""
    place = {lift.keys[0]: number for number, lift in reversed(list(enumerate(lifts)))}
    return lambda each: (each.lifting.is_part, place[each.lifting.keys[0]])


def _is_elsewhere(changes: Iterable[Change]) -> bool:
    """Whether keys that change are of a way, and not of the place at which flows wait."""
    names = {change.key.rpartition(".")[2] for change in changes}
    return names <= {"bit_error_rate", "fibre_bit_error_rate", "acs_redirect"}


def _settled(
    found: Sequence[Bottleneck], limits: Container[tuple[Cause, ...]]
) -> Iterator[Bottleneck]:
    """The bottlenecks; a place that limits no flow counts if flows gain by a change of its own."""
    known = [_first_changes(one) for one in found if one.causes in limits]
    for one in found:
        if one.causes in limits:
            yield one
        elif (first := _first_changes(one)) and first not in known:
            known.append(first)
            if one.steps[0].rates.total > _WORTH_A_WORD * one.rates.total:
                yield one


def _first_changes(one: Bottleneck) -> frozenset[Change]:
    """The changes of the first step, in whatever order."""
    return frozenset(one.steps[0].changes if one.steps else ())


def _in_vain(tried: Iterable[_Tried], one: Bottleneck) -> str:
    """The changes by which flows do not gain."""
    slower = [
        each for each in tried if each.what_if.rates.total < (1 - _LEAST_GAIN) * one.rates.total
    ]
    said = []
    for words, found in (
        ("it slower", slower),
        ("no difference", [each for each in tried if each not in slower]),
    ):
        if found:
            make = "makes" if len(found) == 1 else "make"
            said.append(f"{', '.join(_key(each) for each in found)} {make} {words}")
    return "; ".join(said)


def _key(tried: _Tried) -> str:
    first, *others = tried.lifting.keys
    return f"{first} (and {len(others)} more)" if others else first
