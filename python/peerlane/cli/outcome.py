"""The outcome of a run: what is printed and written of it, and the exit status."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import typer

from peerlane import CheckpointError, Filter
from peerlane.cli.captures import empty, incomplete
from peerlane.cli.checkpoints import Checkpoints, Unwritten, save
from peerlane.cli.console import complain, emit, progress, warn
from peerlane.cli.head import head
from peerlane.cli.options import FAILED
from peerlane.cli.tables.cells import duration
from peerlane.cli.tables.run import run as tables
from peerlane.cli.termination import Terminated, termination_raised

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from peerlane import Simulation
    from peerlane.results.run import RunResult

MOST_FAILURES = 8
"""Told in one message; the table and JSON have all."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run: what it measured, what broke it off, and which captures or checkpoints are missing."""

    result: RunResult
    interrupt: KeyboardInterrupt | Terminated | None
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


def simulate(
    simulation: Simulation, what: str, threads: int | None, checkpoints: Checkpoints | None
) -> Outcome:
    """Runs to the end, or until the user interrupts; `what` is said of the progress.

    Without a number of threads, the run has as many as pay; with checkpoints, it has one.

    With checkpoints, a SIGTERM ends the run as an interrupt does.
    """
    count: int | Literal["auto"] = 1 if checkpoints else threads or "auto"
    interrupt = result = None
    missing: list[str] = []
    unwritten = Unwritten()
    with progress(what) as bar, termination_raised() if checkpoints else nullcontext():
        try:
            if save(simulation, checkpoints, lambda fraction: bar(what, fraction), unwritten):
                result = simulation.run(lambda fraction: bar(what, fraction), threads=count)
            elif checkpoints:
                missing = list(checkpoints.missing(simulation.now_ns))
        except (KeyboardInterrupt, Terminated) as raised:
            interrupt = raised
        except OSError as raised:
            unwritten.captures.append(raised)
    if interrupt is not None and checkpoints is not None:
        try:
            simulation.checkpoint_to(checkpoints.path)
        except (CheckpointError, OSError) as error:
            warn(str(error))
    result = result or simulation.result()
    lost = [*incomplete(simulation, unwritten.captures), *unwritten.told(), *missing]
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
        if isinstance(outcome.interrupt, Terminated):
            complain("terminated")
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
    """Warns of what may be no mistake, and ends with a failure if there is one.

    Args:
        simulation: The simulation that ran.
        result: The result of the run.
        lost: The captures that are incomplete, and the checkpoint that was not written.
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
