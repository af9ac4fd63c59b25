"""Explains why flows are as fast as they are: one run that is watched, and one for each lift."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from peerlane._core import ScenarioError, advice
from peerlane.explaining.present import Present
from peerlane.explaining.what_if import Case
from peerlane.fabric.variant import parsed, variant
from peerlane.results.collection import Collection
from peerlane.results.explanation import MOST_LIMITED_ALIKE, limited_alike, slowest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from concurrent.futures import Executor

    from peerlane.results.explanation import Explanation, FlowExplanation, Value
    from peerlane.results.run import RunResult


_MOST_IDS = 3
"""Workloads of a kind that a message names."""


def explain(  # noqa: PLR0913 - each is an option
    text: str,
    *,
    source: str = "<text>",
    settings: Mapping[str, Value] | None = None,
    seed: int | None = None,
    flow: str | None = None,
    what_if: bool = True,
    each: bool = True,
    executor: Executor | None = None,
    progress: Callable[[float], object] | None = None,
) -> Explanation:
    """Runs a scenario and finds out what its flows wait for, and what comes next.

    Args:
        text: The scenario, as TOML.
        source: What to call the scenario in messages.
        settings: New values of keys, by their paths.
        seed: Replaces the scenario's own.
        flow: The flow to explain; all, if absent.
        what_if: Whether to run the scenario again with the limit of each flow lifted.
        each: Whether to lift the limit of each flow, or, of many flows with the same limit but for
            numbers, that of the slowest alone.
        executor: Workers, such as `ProcessPoolExecutor()` or `Client.get_executor()` of Dask.
        progress: Called with the fraction done, 0 to 1.

    Raises:
        ScenarioError: The scenario cannot be built, has no flows, or none of this id.
    """
    scenario = parsed(text, source)
    simulation = variant(scenario, settings or {}, seed=seed)
    scenario.update(dict(settings or {}))
    scenario.write_out()
    scenario.remove("expect")  # of the run as it is
    tree = simulation.tree()
    simulation.watch_waits()
    planned = simulation.result()
    _check(planned, flow, source)
    share = 0.5 if what_if else 1.0
    result = simulation.run(lambda done: progress and progress(share * done))
    whole = result.explain()
    flows = [one for one in whole.flows if flow in {None, one.id}]
    case = Case(scenario, Present(scenario, tree), result, executor)
    flows = [replace(one, amount=case.amount(one)) for one in flows]
    if what_if:
        chosen = flows if each else list(_for_all(flows))
        lifted = case.lifted(chosen, lambda done: progress and progress(0.5 + 0.5 * done))
        by_id = {one.id: one for one in lifted}
        flows = [by_id.get(one.id, one) for one in flows]
    return replace(whole, flows=Collection(flows))


def _for_all(flows: Iterable[FlowExplanation]) -> Iterator[FlowExplanation]:
    """The flows that stand for all: of many with the same limit the slowest."""
    for alike in limited_alike(flows):
        yield from alike if len(alike) <= MOST_LIMITED_ALIKE else [slowest(alike)]


def _check(result: RunResult, flow: str | None, source: str) -> None:
    known = [one.id for one in result.flows]
    if not known:
        others = ", ".join(_others(result))
        instead = f"peerlane run measures {others}, and explain is for [[flows]]"
        raise ScenarioError(
            f"{source}: there are no flows to explain; {instead if others else 'write [[flows]]'}"
        )
    if flow is not None and flow not in known:
        raise ScenarioError(f"{source}: there is no flow {flow!r}; {advice(flow, known)}")


def _others(result: RunResult) -> Iterator[str]:
    """The workloads that are no flows, by their sections."""
    for section, rows in result.workloads.items():
        ids = [one.id for one in rows]
        if ids and section != "flows":
            more = ", ..." if len(ids) > _MOST_IDS else ""
            yield f"[[{section}]] ({', '.join(ids[:_MOST_IDS])}{more})"
