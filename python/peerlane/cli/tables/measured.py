"""Makes the table of measured numbers beside simulated numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from peerlane.cli.tables.sheet import Sheet
from peerlane.fabric.variant import told
from peerlane.figures.headings import heading
from peerlane.formats import NONE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from peerlane.fabric.settings import Setting
    from peerlane.measured.beside import Beside


def beside(outcome: Beside) -> RenderableType:
    """A row for each measured number, with the simulated number and the error."""
    rows = Sheet("value")
    rows.numbers("measured", "simulated", "error")
    for pair in outcome.pairs:
        name, _, field = pair.name.rpartition(" ")
        words = heading(pair.metric or field)
        what = f"{name} {words.head}" if name else named(pair.metric or "", pair.settings)
        error = NONE if pair.error_percent is None else f"{pair.error_percent:+.2f} %"
        rows.add_row(what, words.text(pair.measured), words.text(pair.simulated), error)
    alone = [pair for pair in outcome.pairs if pair.simulated is None]
    if not alone:
        return rows
    why = (
        f"{len(alone)} of {len(outcome.pairs)} have no simulated number: a row of a tool needs the"
        " name of a workload, or a line in a TOML file; a point with settings needs the JSON of a"
        " sweep over these keys"
    )
    return Group(rows, Text(why, "bold"))


def named(metric: str, settings: Mapping[str, Setting]) -> str:
    """The metric of a point as text, with the settings of the point."""
    short = {key.rpartition(".")[2]: value for key, value in settings.items()}
    said = told(short if len(short) == len(settings) else settings)
    return heading(metric).head + (f", {said}" if said else "")
