"""`peerlane run --error-bars`: how far the numbers of a run may be off, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.cli.console import InterruptedWorkError, emit, progress
from peerlane.cli.head import head
from peerlane.cli.scenarios import scenario_text
from peerlane.cli.tables.error_bars import bars as table
from peerlane.fabric.simulation import digest_of
from peerlane.varying.error_bars import error_bars

if TYPE_CHECKING:
    from peerlane.cli.request import RunRequest


def run_with_error_bars(request: RunRequest) -> None:
    """Runs a scenario with its unsourced defaults moved, and prints the range of each number."""
    scenario = request.scenario
    text, source = scenario_text(scenario.file)
    try:
        with progress("moving defaults") as bar:
            outcome = error_bars(
                text, source=source, settings=scenario.changed, seed=scenario.seed, progress=bar
            )
    except KeyboardInterrupt:
        done = bar.now if bar.share else "the first run"
        raise InterruptedWorkError(f"interrupted in {done}") from None
    document = head("error-bars", scenario_digest=digest_of(text)) | outcome.to_json()
    emit(document, table(outcome), request.outputs.json_to)
