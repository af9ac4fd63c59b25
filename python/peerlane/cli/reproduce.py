"""`peerlane reproduce`: holds published systems against their published figures."""

from __future__ import annotations

from typing import Annotated

import typer

from peerlane.cli.console import emit, progress
from peerlane.cli.options import FAILED, JsonTo
from peerlane.cli.tables.cells import stack
from peerlane.cli.tables.report import report as table
from peerlane.reproduction.catalogue import systems
from peerlane.reproduction.reproduce import reproduce as reproduce_system


def reproduce(
    system: Annotated[
        str | None,
        typer.Argument(metavar="[SYSTEM]", help="One of `peerlane list systems`; all, if absent."),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only this figure or table, such as table3."),
    ] = None,
    json_to: JsonTo = None,
    *,
    no_sensitivity: Annotated[
        bool, typer.Option("--no-sensitivity", help="Run each figure once, as published.")
    ] = False,
) -> None:
    """Run a published system's experiments and hold them against its published figures.

    Figures with predicted rows are run again with each fitted parameter 10 % larger, to see what
    depends on it: the table shows what moves a row most, JSON all of them in percent. JSON also has
    a note on each row, such as the arithmetic behind a limit.

    The exit status is 1 when a row is further from the published value than its tolerance.
    """
    reports = []
    for name in systems() if system is None else [system]:
        with progress(f"reproducing {name}") as bar:
            reports.append(
                reproduce_system(name, only=figure, sensitivity=not no_sensitivity, progress=bar)
            )
    documents = [report.to_json() for report in reports]
    shown = stack([table(report) for report in reports])
    emit(documents[0] if system else {"systems": documents}, shown, json_to)
    if not all(report.passes for report in reports):
        raise typer.Exit(FAILED)
