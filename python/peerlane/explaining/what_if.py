"""What comes next when the limit of a flow is lifted: a run for each key that may lift it."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING

from peerlane._core import ScenarioError
from peerlane.dotted import join_path
from peerlane.explaining.lifting import (
    Lifting,
    liftings,
    shortcuts,
    without_errors,
    without_order,
)
from peerlane.fabric.variant import variant
from peerlane.results.explanation import Explanation, FlowExplanation, WhatIf, told
from peerlane.results.workload import LISTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor

    from peerlane._core import Scenario
    from peerlane.explaining.present import Present
    from peerlane.results.explanation import Value
    from peerlane.results.run import RunResult
    from peerlane.results.waits import Cause

_AMOUNTS = ("tags", "outstanding", "credit", "replay-buffer", "socket")
"""Limits of which one key says how much there is."""

_ALIKE = 0.01
"""Rates that grow by a smaller share are the same: the key that was lifted does not limit."""


@dataclass(frozen=True, slots=True)
class _After:
    """What a flow did in a run with something lifted."""

    rate: float | None
    next: Cause | None


class Case:
    """A scenario, what its run measured, and runs of it with keys set otherwise."""

    def __init__(
        self,
        scenario: Scenario,
        present: Present,
        result: RunResult,
        executor: Executor | None,
    ) -> None:
        self._scenario = scenario
        self._present = present
        self._seed = result.seed
        self._executor = executor
        self._runs: dict[tuple[object, ...], Future[Explanation]] = {}
        self._lock = Lock()

    def lifted(
        self, flows: Sequence[FlowExplanation], progress: Callable[[float], object]
    ) -> list[FlowExplanation]:
        """The flows with what comes when their limits are lifted."""
        pool = ThreadPoolExecutor(os.cpu_count())
        try:
            coming = [pool.submit(self._what_if, flow) for flow in flows]
            found = []
            for number, one in enumerate(coming, 1):
                found.append(one.result())
                progress(number / len(coming))
            return found
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def amount(self, flow: FlowExplanation) -> Value:
        """How much there is of what limits a flow, by the key that lifts the limit."""
        if flow.limit is None or flow.limit.kind not in _AMOUNTS:
            return None
        found = liftings(self._present, flow.id, flow.limit)
        return found[0].before[0] if found else None

    def _what_if(self, flow: FlowExplanation) -> FlowExplanation:
        if flow.limit is None:
            return flow
        freer = [
            *shortcuts(self._present, flow.id),
            *without_order(self._present, flow.id, flow.limit),
        ]
        tried: list[WhatIf] = []
        refused: list[str] = []
        for lifting in (
            *freer,
            *without_errors(self._present, flow.limit),
            *liftings(self._present, flow.id, flow.limit),
        ):
            try:
                tried.append(self._lift(flow, lifting))
            except ScenarioError as error:
                refused.append(str(error).partition(" with ")[2] or str(error))
                continue
            is_enough = tried[-1].next != flow.limit and _is_faster(tried[-1])
            if is_enough and lifting not in freer:  # they leave the limit itself as it is
                break
        if flow.limit.kind == "arbitration":
            alone = self._alone(flow)
            tried += alone.what_if
            refused += alone.not_lifted
        if not tried and not refused:
            refused.append(f"no key of the scenario lifts {told(flow.limit)}")
        useful = [one for one in tried if _is_faster(one)]
        refused += [_in_vain(one) for one in tried if one not in useful]
        useful.sort(key=lambda one: (one.next == flow.limit, -(one.rate_after or 0.0)))
        return replace(flow, what_if=tuple(useful), not_lifted=tuple(refused))

    def _lift(self, flow: FlowExplanation, lifting: Lifting) -> WhatIf:
        """The first value that is enough, or the first of all if the scenario accepts none that is.

        Raises:
            ScenarioError: It accepts none.
        """
        first: WhatIf | None = None
        for values in lifting.values:
            try:
                after = self._run(flow.id, dict(zip(lifting.keys, values, strict=True)))
            except ScenarioError:
                if first is None:
                    raise
                break
            found = WhatIf(
                lift=", ".join(lifting.keys),
                source=lifting.before[0],
                value=values[0],
                rate_before=flow.bytes_per_second,
                rate_after=after.rate,
                next=after.next,
            )
            if after.next != flow.limit:
                return found
            first = first or found
        if first is None:
            raise ScenarioError(f"{', '.join(lifting.keys)} is as large as it can be")
        return first

    def _alone(self, flow: FlowExplanation) -> FlowExplanation:
        """The flow without those whose packets it waits for."""
        names = {one.detail for one in flow.shares if one.kind == "arbitration"}
        own = join_path(("flows", flow.id))
        needed = {self._scenario.get(f"{own}.{key}") for key in ("carries", "after")}
        left_out = [
            join_path((section, one))
            for section in LISTS
            for one in self._scenario.members(section)
            if one in names - needed
        ]
        if not left_out:
            return replace(flow, not_lifted=("the flow needs those that it waits for",))
        try:
            after = self._run(flow.id, {}, left_out)
        except ScenarioError as error:
            return replace(flow, not_lifted=(str(error),))
        what_if = WhatIf(
            lift=", ".join(left_out),
            source="run",
            value="left out",
            rate_before=flow.bytes_per_second,
            rate_after=after.rate,
            next=after.next,
        )
        if not _is_faster(what_if):
            return replace(flow, not_lifted=(_in_vain(what_if),))
        return replace(flow, what_if=(what_if,))

    def _run(
        self, flow: str, settings: Mapping[str, Value], left_out: Sequence[str] = ()
    ) -> _After:
        """What a flow does with keys set otherwise and workloads left out; each case runs once."""
        case = (*settings.items(), *left_out)
        with self._lock:
            is_known = case in self._runs
            coming = self._runs.setdefault(case, Future())
        if not is_known:
            try:
                coming.set_result(self._explained(settings, left_out))
            except Exception as error:  # noqa: BLE001 - raised below, for all who wait
                coming.set_exception(error)
        one = coming.result().flows[flow]
        return _After(one.bytes_per_second, one.limit)

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


def _is_faster(one: WhatIf) -> bool:
    return (one.rate_after or 0.0) > (1 + _ALIKE) * (one.rate_before or 0.0)


def _in_vain(one: WhatIf) -> str:
    """Why what was lifted is no lift: the flow does not gain by it."""
    before, after = one.rate_before, one.rate_after
    is_slower = before is not None and after is not None and after < (1 - _ALIKE) * before
    return f"{one.lift} {'makes it slower' if is_slower else 'makes no difference'}"
