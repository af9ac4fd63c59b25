"""`peerlane reproduce --sensitivity --save`: finds the inputs on which predicted rows depend."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from peerlane.cli.console import InterruptedWorkError, out, progress
from peerlane.cli.options import FAILED
from peerlane.formats import wall_time
from peerlane.reproduction.catalogue import folder_of
from peerlane.reproduction.expected import Expected
from peerlane.reproduction.reproduce import figure_of
from peerlane.reproduction.sensitivity.measure import save
from peerlane.reproduction.sensitivity.rule import concerns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane.reproduction.sensitivity.measure import Measured


def save_sensitivity(names: Sequence[str], figure: str | None) -> None:
    """Writes `sensitivity.toml` of each system, and prints each prediction that is not confirmed.

    Raises:
        Exit: A prediction is not confirmed: a predicted row depends on an input without a source.
    """
    wrong = []
    for name in names:
        only = figure_of(name, figure)
        figures = Expected.load(folder_of(name)).predicted()
        if only is not None and only not in figures:
            there = f"there are {', '.join(figures)}" if figures else "no other figure has any"
            raise typer.BadParameter(f"{name} {only} has no predicted rows to move; {there}")
        began = time.monotonic()
        with progress(f"{name}, what moves it") as bar:
            found = save(name, only=only, progress=bar)
        took = wall_time(time.monotonic() - began)
        if not found.is_whole:
            raise InterruptedWorkError(
                f"interrupted; {name}/sensitivity.toml has what was measured in {took}, and the"
                " same command goes on"
            )
        out().print(_said(name, found, took))
        wrong += concerns(name)
    for one in wrong:
        out().print(Text(one, "bold red"))
    if wrong:
        raise typer.Exit(FAILED)


def _said(name: str, found: Measured, took: str) -> Text:
    """A summary of the measurement in one line."""
    figures = found.record.figures
    if not figures:
        return Text(f"{name}: no figure has predicted rows, and nothing was moved")
    inputs = {one for figure in figures.values() for one in figure.inputs}
    refused = {one for figure in figures.values() for one in figure.refused}
    return Text(
        f"{name}: {len(inputs)} inputs of {len(figures)} figures with predicted rows;"
        f" {found.simulations} simulations in {took}; {len(refused)} moves were refused"
    )
