"""`peerlane check`: prints the errors and warnings of a run, without running."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import typer

from peerlane.cli.files import keep_apart
from peerlane.cli.options import WRONG_USE, Circuits, JsonTo, Libraries, Models, Scenario, Settings

if TYPE_CHECKING:
    from peerlane import Simulation


def check(
    file: Scenario,
    settings: Settings = None,
    _models: Models = None,
    _libraries: Libraries = None,
    rtl: Circuits = None,
    json_to: JsonTo = None,
) -> None:
    """Check a scenario: print what a run would refuse or warn about, without running it.

    All errors that are independent of each other are printed, each with its line. The exit status
    is 0 if a run would begin, even with warnings, and 2 if it would be refused. JSON has a list of
    the warnings.
    """
    from peerlane.cli.console import emit, warn
    from peerlane.cli.head import head
    from peerlane.cli.scenarios import scenario_text
    from peerlane.fabric.scenario_warning import ScenarioWarning
    from peerlane.formats import counted

    keep_apart([file], {"--json": json_to})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ScenarioWarning)
        simulation = _simulation(*scenario_text(file), settings, rtl)
    found = [str(one.message) for one in caught if issubclass(one.category, ScenarioWarning)]
    for risk in found:
        warn(risk)
    result = simulation.result()
    work = sum(len(rows) for rows in result.workloads.values())
    counts = {"node": len(simulation.tree().nodes), "workload": work}
    counts |= {"expectation": len(result.expectations)} if result.expectations else {}
    counts["warning"] = len(found)
    told = ", ".join(counted(count, noun) for noun, count in counts.items())
    document = head("check", scenario_digest=simulation.scenario_digest)
    document |= {"name": result.name, "warnings": found}
    emit(document, f"{result.name}: {told}", json_to)


def _simulation(
    text: str, source: str, settings: Settings = None, circuits: Circuits = None
) -> Simulation:
    """Creates the simulation of a scenario; if the scenario has errors, prints them and exits."""
    from peerlane._core import ScenarioError
    from peerlane.cli.console import complain
    from peerlane.cli.scenarios import faults_of, simulation_of

    try:
        return simulation_of(text, source, settings=settings, circuits=circuits)
    except ScenarioError as error:
        first = str(error)
    found = faults_of(text, source, settings, circuits)
    for fault in found if first in found else [first]:
        complain(fault)
    raise typer.Exit(WRONG_USE)
