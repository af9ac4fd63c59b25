"""`peerlane run --repeat`: runs a scenario with several seeds, for confidence intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from peerlane.cli.console import InterruptedWorkError, complain, emit, progress
from peerlane.cli.head import head
from peerlane.cli.options import FAILED
from peerlane.cli.scenarios import scenario_text
from peerlane.cli.tables.repeat import repeated as table
from peerlane.fabric.simulation import digest_of
from peerlane.varying.repeat import repeat

if TYPE_CHECKING:
    from peerlane.cli.request import RunRequest


def run_repeated(request: RunRequest) -> None:
    """Runs a scenario with several seeds, and prints the confidence intervals of its numbers."""
    scenario, count = request.scenario, request.repeat or 1
    text, source = scenario_text(scenario.file)
    try:
        with progress("running") as bar:
            outcome = repeat(
                text,
                count,
                source=source,
                settings=scenario.changed,
                seed=scenario.seed,
                progress=bar,
            )
    except KeyboardInterrupt:
        done = bar.now if bar.share else f"0 of {count} runs"
        raise InterruptedWorkError(f"interrupted after {done}") from None
    document = head("repeat", scenario_digest=digest_of(text)) | outcome.to_json()
    emit(document, table(outcome), request.outputs.json_to)
    if wrong := outcome.wrong:
        complain(
            f"{len(wrong)} of {count} runs failed, first that with seed {wrong[0].seed}:"
            f" {wrong[0].error}"
        )
        raise typer.Exit(FAILED)
