"""The table of repeated runs: the mean of each number, and its confidence interval."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from peerlane.cli.tables.cells import blank, numbers
from peerlane.cli.tables.cells import number as number_of

if TYPE_CHECKING:
    from peerlane.varying.repeat import Repeated

_SHOWN = re.compile(
    r"simulated_ns|(?!links|fibres).*(_per_second|\btime_ns|_ns\.(mean|p50|p99)|fairness|conflicts)"
)
"""The values that the table has; JSON has all."""


def repeated(outcome: Repeated) -> RenderableType:
    """A row for each rate and latency."""
    rows = blank("value")
    numbers(rows, "mean", "±", "% of mean", "least", "most")
    for path, value in outcome.values.items():
        if not _SHOWN.fullmatch(path):
            continue
        half = value.half_width
        share = f"{100 * half / abs(value.mean):.2f}" if half is not None and value.mean else "-"
        rows.add_row(
            path,
            *map(number_of, (value.mean, half)),
            share,
            *map(number_of, (value.least, value.most)),
        )
    seeds = [run.seed for run in outcome.runs]
    title = f"{outcome.name}: {len(seeds)} runs, seeds {seeds[0]} to {seeds[-1]}"
    if outcome.is_fixed:
        last = "all runs have the same numbers: nothing in this scenario is random"
    else:
        last = "±: half of the 95 % confidence interval of the mean, by Student's t distribution"
    return Group(Text(title, style="bold"), rows, Text(last))
