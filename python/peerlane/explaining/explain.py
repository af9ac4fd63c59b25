"""Explains why flows are as fast as they are: one run that is watched, and one for each lift."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from peerlane._core import ScenarioError
from peerlane.explaining.present import Present
from peerlane.explaining.what_if import Case
from peerlane.fabric.simulation import Simulation
from peerlane.fabric.variant import parsed
from peerlane.results.collection import Collection

if TYPE_CHECKING:
    from collections.abc import Callable

    from peerlane.results.explanation import Explanation
    from peerlane.results.run import RunResult


def explain(  # noqa: PLR0913 - each is an option
    text: str,
    *,
    source: str = "<text>",
    seed: int | None = None,
    flow: str | None = None,
    what_if: bool = True,
    progress: Callable[[float], object] | None = None,
) -> Explanation:
    """Runs a scenario and finds out what its flows wait for, and what comes next.

    Args:
        text: The scenario, as TOML.
        source: What to call the scenario in messages.
        seed: Replaces the scenario's own.
        flow: The flow to explain; all, if absent.
        what_if: Whether to run the scenario again with the limit of each flow lifted.
        progress: Hears the fraction done, 0 to 1.

    Raises:
        ScenarioError: The scenario cannot be built, has no flows, or none of this id.
    """
    simulation = Simulation(text, source=source, seed=seed)
    scenario = parsed(text, source)
    tree = simulation.tree()
    simulation.watch_waits(closely=True)
    planned = simulation.result()
    _check(planned, flow, source)
    share = 0.5 if what_if else 1.0
    result = simulation.run(lambda done: progress and progress(share * done))
    whole = result.explain()
    flows = [one for one in whole.flows if flow in {None, one.id}]
    case = Case(scenario, Present(scenario, tree), source, result)
    flows = [replace(one, amount=case.amount(one)) for one in flows]
    if what_if:
        flows = case.lifted(flows, lambda done: progress and progress(0.5 + 0.5 * done))
    return replace(whole, flows=Collection(flows))


def _check(result: RunResult, flow: str | None, source: str) -> None:
    known = [one.id for one in result.flows]
    if not known:
        raise ScenarioError(f"{source}: there are no flows to explain; write [[flows]]")
    if flow is not None and flow not in known:
        near = get_close_matches(flow, known, n=1, cutoff=0.5)
        advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known[:12])}"
        raise ScenarioError(f"{source}: there is no flow {flow!r}; {advice}")
