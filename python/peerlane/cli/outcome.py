"""The outcome of a run: what is printed and written of it, and the exit status."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import typer

from peerlane import Filter
from peerlane.cli.captures import empty, incomplete
from peerlane.cli.console import complain, emit, progress, warn
from peerlane.cli.head import head
from peerlane.cli.options import FAILED
from peerlane.cli.tables.cells import duration
from peerlane.cli.tables.run import run as tables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from peerlane import Simulation
    from peerlane.results.run import RunResult

MOST_FAILURES = 8
"""Told in one message; the table and JSON have all."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run: what it measured, what broke it off, and which captures are incomplete."""

    result: RunResult
    interrupt: KeyboardInterrupt | None
    lost: list[str]
    fewer_threads: str | None
    """Why the run had fewer threads than the user has asked for."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where the numbers of a run go, and what else there is to do with it."""

    json_to: str | None
    parquet_to: str | None
    only: Filter
    lines: Sequence[str] = ()
    """Lines below the tables."""
    more: Callable[[], bool] = field(default=lambda: True)
    """Writes more of the run; false if that has failed."""


def simulate(simulation: Simulation, what: str, threads: int | None) -> Outcome:
    """Runs to the end, or until the user interrupts; `what` is said of the progress.

    Without a number of threads, the run has as many as pay.
    """
    interrupt = result = None
    unwritten: list[OSError] = []
    with progress(what) as bar:
        try:
            result = simulation.run(lambda fraction: bar(what, fraction), threads=threads or "auto")
        except KeyboardInterrupt as raised:
            interrupt = raised
        except OSError as raised:
            unwritten.append(raised)
    result = result or simulation.result()
    lost = list(incomplete(simulation, unwritten))
    fewer_threads = simulation.fewer_threads if threads is not None else None
    return Outcome(result, interrupt, lost, fewer_threads)


def conclude(simulation: Simulation, outcome: Outcome, told: RunResult, outputs: Outputs) -> None:
    """Prints and writes a result, `told` in JSON, and ends with a failure if there is one."""
    made = head("result", scenario_digest=simulation.scenario_digest)
    shown = tables(outcome.result, simulation.tree(), outputs.lines)
    emit(made | told.to_json(), shown, outputs.json_to)
    _write_tables(told, made, outputs.parquet_to)
    is_written = outputs.more()
    if outcome.interrupt is not None:
        sys.stdout.flush()
        if outcome.lost:
            warn("; ".join(outcome.lost))
        raise outcome.interrupt
    for warning in empty(simulation, outputs.only):
        warn(warning)
    if outcome.fewer_threads:
        warn(outcome.fewer_threads)
    _judge(simulation, outcome.result, outcome.lost)
    if not is_written:
        raise typer.Exit(FAILED)


def _write_tables(result: RunResult, made: Mapping[str, Any], folder: str | None) -> None:
    """Writes the tables of a result, and what made it, where `--parquet` is given."""
    if folder is not None:
        known = {key: made[key] for key in ("version", "scenario_digest", "command")}
        replace(result, **known).to_parquet(folder)


def _judge(simulation: Simulation, result: RunResult, lost: list[str]) -> None:
    """Prints warnings, and ends the command with an error if the run has failed.

    Args:
        simulation: The simulation that ran.
        result: The result of the run.
        lost: The captures that are incomplete.
    """
    if simulation.measure_ns and simulation.measure_ns[0] >= result.simulated_ns:
        warn(
            f"[measure] begins after the run, which ends at {duration(result.simulated_ns)}, and "
            "measures nothing; write an earlier from, or longer flows"
        )
    for warning in result.warnings:
        warn(warning)
    judge_failures([*lost, *result.failures])


def judge_failures(failures: Sequence[str]) -> None:
    """Ends with a failure if there is one."""
    if failures:
        more = len(failures) - MOST_FAILURES
        shown = failures if more <= 0 else [*failures[:MOST_FAILURES], f"and {more} more"]
        complain("; ".join(shown))
        raise typer.Exit(FAILED)
