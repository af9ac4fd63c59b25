"""`--error-bars`: determines the range of each number of a run, and the defaults that cause it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.calibrating.error_bars import error_bars
from peerlane.cli.console import InterruptedWorkError, emit, progress
from peerlane.cli.head import head
from peerlane.cli.tables.error_bars import bars as table
from peerlane.fabric.simulation import digest_of

if TYPE_CHECKING:
    from peerlane.cli.request import RunRequest, ScenarioRequest
    from peerlane.results.error_bar import ErrorBars


def run_with_error_bars(request: RunRequest, read: tuple[str, str]) -> ErrorBars:
    """Varies the defaults that have no source, and prints the range of each number of the run."""
    outcome = found(request.scenario, read)
    document = head("error-bars", scenario_digest=digest_of(read[0])) | outcome.to_json()
    emit(document, table(outcome), request.outputs.json_to)
    return outcome


def found(scenario: ScenarioRequest, read: tuple[str, str]) -> ErrorBars:
    """Determines the error bars of a scenario.

    Args:
        scenario: The scenario with its settings.
        read: The text of the scenario, and its name in messages.
    """
    text, source = read
    try:
        with progress("moving defaults") as bar:
            return error_bars(
                text, source=source, settings=scenario.changed, seed=scenario.seed, progress=bar
            )
    except KeyboardInterrupt:
        done = bar.now if bar.share else "the first run"
        raise InterruptedWorkError(f"interrupted in {done}") from None
