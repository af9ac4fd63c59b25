"""`peerlane check`: refuses and warns as a run would, without running."""

from __future__ import annotations

import warnings

from peerlane.cli.files import keep_apart
from peerlane.cli.options import Circuits, JsonTo, Models, Scenario, Settings


def check(
    file: Scenario,
    settings: Settings = None,
    _models: Models = None,
    rtl: Circuits = None,
    json_to: JsonTo = None,
) -> None:
    """Check a scenario: print what a run would refuse or warn about, without running it.

    The exit status is 0 when a run would begin, with warnings or without them, and 2 when it would
    be refused. JSON has the warnings as a list.
    """
    from peerlane.cli.console import emit, warn
    from peerlane.cli.head import head
    from peerlane.cli.scenarios import open_simulation
    from peerlane.fabric.scenario_warning import ScenarioWarning

    keep_apart([file], {"--json": json_to})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ScenarioWarning)
        simulation = open_simulation(file, settings=settings, circuits=rtl)
    found = [str(one.message) for one in caught if issubclass(one.category, ScenarioWarning)]
    for risk in found:
        warn(risk)
    result = simulation.result()
    work = sum(len(rows) for rows in result.workloads.values())
    counts = {"node": len(simulation.tree().nodes), "workload": work, "warning": len(found)}
    told = ", ".join(f"{count} {noun}{'s' * (count != 1)}" for noun, count in counts.items())
    document = head("check", scenario_digest=simulation.scenario_digest)
    document |= {"name": result.name, "warnings": found}
    emit(document, f"{result.name}: {told}", json_to)
