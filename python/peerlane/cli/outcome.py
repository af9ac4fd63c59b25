"""Runs a simulation, prints and writes its numbers, and determines the exit status."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import typer

from peerlane._core import ModelError, UnitError
from peerlane.cli.captures import incomplete
from peerlane.cli.console import complain, emit, progress, warn, write
from peerlane.cli.head import head
from peerlane.cli.options import FAILED
from peerlane.cli.tables.run import run as tables
from peerlane.formats import duration, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from peerlane import Simulation
    from peerlane.cli.request import RunRequest
    from peerlane.results.run import RunResult

MOST_FAILURES = 8
"""The most failures that one message names; the table and the JSON have all failures."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run, the exception that stopped it, and messages of incomplete captures."""

    result: RunResult
    broken_off: KeyboardInterrupt | ModelError | UnitError | None
    lost: list[str]


def simulate(simulation: Simulation, request: RunRequest) -> Outcome:
    """Runs a simulation to its end, or until the user interrupts it or a model fails.

    If the request has no number of threads, the simulator chooses the number that saves most time.
    """
    broken_off = result = None
    unwritten: list[OSError] = []
    with progress(request.scenario.running) as bar:
        try:
            result = simulation.run(bar, threads=request.threads or "auto")
        except (KeyboardInterrupt, ModelError, UnitError) as raised:
            broken_off = raised
        except OSError as raised:
            unwritten.append(raised)
    lost = list(incomplete(simulation, unwritten))
    return Outcome(result or simulation.result(), broken_off, lost)


def conclude(
    simulation: Simulation,
    outcome: Outcome,
    request: RunRequest,
    lines: Sequence[str],
    write_more: Callable[[], bool],
) -> None:
    """Prints and writes a result; ends the command with a failure if something has failed.

    Args:
        simulation: The simulation that ran.
        outcome: The outcome of the run.
        request: The request of the run.
        lines: The lines to print below the tables.
        write_more: A function that writes further files of the run; it returns false if writing
            fails.
    """
    result, outputs = outcome.result, request.outputs
    kept = result if request.interval is not None else replace(result, series=None)
    kept = kept if request.explain else replace(kept, waits=None)
    made = head("result", scenario_digest=simulation.scenario_digest)
    emit(made | kept.to_json(), tables(result, simulation.tree(), lines), outputs.json_to)
    if request.junit is not None:
        from peerlane.cli.junit import junit

        stopped = ["the run was stopped before its end"] * result.partial
        write(request.junit, junit(result, [*stopped, *outcome.lost, *result.faults]))
    if outputs.parquet_to is not None:
        known = {key: made[key] for key in ("version", "scenario_digest", "command")}
        replace(kept, **known).to_parquet(outputs.parquet_to)
    is_written = write_more()
    if outcome.broken_off is not None:
        sys.stdout.flush()
        if outcome.lost:
            warn("; ".join(outcome.lost))
        raise outcome.broken_off
    for warning in request.captures.empty(simulation):
        warn(warning)
    if request.threads is not None and (fewer := simulation.fewer_threads):
        warn(fewer)
    if simulation.measure_ns and simulation.measure_ns[0] >= result.simulated_ns:
        warn(
            f"[measure] begins after the run, which ends at {duration(result.simulated_ns)}, and "
            "measures nothing; write an earlier from, or longer flows"
        )
    for warning in result.warnings:
        warn(warning)
    judge_failures([*outcome.lost, *result.failures])
    if not is_written:
        raise typer.Exit(FAILED)


def judge_failures(failures: Sequence[str]) -> None:
    """Ends the command with a failure if there is one."""
    if failures:
        complain("; ".join(shortened(failures, MOST_FAILURES)))
        raise typer.Exit(FAILED)
