"""Explains the rates of flows and schedules by an observed run, and a run for each change."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from peerlane._core import ScenarioError, advice
from peerlane.explaining.present import Present
from peerlane.explaining.what_if import MOST_LIFTED, Case
from peerlane.fabric.variant import parsed, variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from concurrent.futures import Executor

    from peerlane.fabric.simulation import Simulation
    from peerlane.results.bottleneck import Value
    from peerlane.results.explanation import Explanation
    from peerlane.results.run import RunResult


_MOST_IDS = 3
"""The largest number of workloads of one kind that a message names."""


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
    """Runs a scenario, and finds what its flows and schedules wait for, and changes that help.

    Args:
        text: The scenario, as TOML.
        source: The name of the scenario in messages.
        settings: New values of keys, by the paths of the keys.
        seed: The seed, which replaces the seed of the scenario.
        flow: The flow or schedule to explain; all of them, if absent.
        what_if: Whether to run the scenario again with changes that may lift each limit.
        each: Whether to try changes for all bottlenecks, and not only for the first eight.
        executor: The workers, such as `ProcessPoolExecutor()` or `Client.get_executor()` of Dask.
        progress: A function that is called with the fraction done, 0 to 1.

    Raises:
        ScenarioError: The scenario cannot be built, has no flows and no schedules, or none with
            this id.
    """
    simulation = variant(parsed(text, source), settings or {}, seed=seed)
    simulation.watch_waits()
    _check(simulation.result(), flow, source)
    share = 0.5 if what_if else 1.0
    result = simulation.run(lambda done: progress and progress(share * done))
    return explained(
        text,
        simulation,
        result,
        source=source,
        settings=settings,
        flow=flow,
        most=(sys.maxsize if each else MOST_LIFTED) if what_if else 0,
        executor=executor,
        progress=lambda done: progress and progress(0.5 + 0.5 * done),
    )


def explained(  # noqa: PLR0913 - each is an option
    text: str,
    simulation: Simulation,
    result: RunResult,
    *,
    source: str = "<text>",
    settings: Mapping[str, Value] | None = None,
    flow: str | None = None,
    most: int = MOST_LIFTED,
    executor: Executor | None = None,
    progress: Callable[[float], object] | None = None,
) -> Explanation:
    """Explains a run in which waits were observed, with the options of `explain`.

    Args:
        text: The scenario, as TOML.
        simulation: The simulation that ran.
        result: The result of this simulation.
        source: The name of the scenario in messages.
        settings: The values of keys that were set for the simulation.
        flow: The flow to explain.
        most: The number of bottlenecks for which changes are tried.
        executor: The workers.
        progress: A function that is called with the fraction done.
    """
    scenario = parsed(text, source)
    scenario.update(dict(settings or {}))
    scenario.write_out()
    scenario.remove("expect")  # a run with changes need not meet the expectations
    case = Case(scenario, Present(scenario, simulation.tree()), result, executor)
    return case.explained(flow, lambda done: progress and progress(done), most)


def _check(result: RunResult, flow: str | None, source: str) -> None:
    schedules = [one.id for one in result.schedules]
    known = [*(one.id for one in result.flows), *schedules]
    if not known:
        others = ", ".join(_others(result))
        instead = f"peerlane run measures {others}, and explain is for [[flows]] and [[schedules]]"
        raise ScenarioError(
            f"{source}: there are no flows to explain; {instead if others else 'write [[flows]]'}"
        )
    twice = next((one for one in schedules if known.count(one) > 1), None)
    if twice is not None:
        raise ScenarioError(
            f"{source}: a flow and a schedule have the id {twice!r}; write another id for one"
        )
    if flow is not None and flow not in known:
        noun = "flow or schedule" if schedules else "flow"
        raise ScenarioError(f"{source}: there is no {noun} {flow!r}; {advice(flow, known)}")


def _others(result: RunResult) -> Iterator[str]:
    """For each section with workloads that are no flows, words about these workloads."""
    for section, rows in result.workloads.items():
        ids = [one.id for one in rows]
        if ids:
            more = ", ..." if len(ids) > _MOST_IDS else ""
            yield f"[[{section}]] ({', '.join(ids[:_MOST_IDS])}{more})"
