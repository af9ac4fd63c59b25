"""Makes the table of repeated runs: the mean of each number, and its confidence interval."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from peerlane.cli.tables.points import MOST_ALIKE, why_fixed
from peerlane.cli.tables.sheet import Sheet
from peerlane.formats import number as number_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from peerlane.figures.intervals import Interval
    from peerlane.varying.repeat import Repeated

_SHOWN = re.compile(
    r"simulated_ns|(?!links|fibres).*(_per_second|\btime_ns|_ns\.(mean|p50|p99)|fairness|conflicts)"
)
"""The paths of the values that the table shows; JSON has all values."""
_NUMBER = re.compile(r"\d+(?=.*\.)")
"""Matches numbers in a path, such as in the name of a flow, but not in the last key of the path,
where a number can be a percentile."""


def repeated(outcome: Repeated) -> RenderableType:
    """A row for each rate and latency, or three rows for many that differ only in numbers."""
    rows = Sheet("value")
    rows.numbers("mean", "±", "% of mean", "least", "most")
    values = {path: value for path, value in outcome.values.items() if _SHOWN.fullmatch(path)}
    shown = _folded(values)
    for path in shown:
        value = values[path]
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
    if not outcome.values:
        return Text(f"{title}; no run gave numbers", "bold")
    if outcome.is_fixed:
        last = f"all runs have the same numbers: {why_fixed(is_random=outcome.is_random)}"
    else:
        last = "±: half of the 95 % confidence interval of the mean, by Student's t distribution"
    parts: list[RenderableType] = [Text(title, style="bold"), rows, Text(last)]
    if len(shown) < len(values):
        parts.append(
            Text(
                f"of more than {MOST_ALIKE} values that are alike, those with the least, the "
                "median and the most mean; JSON has all",
                "dim",
            )
        )
    return Group(*parts)


def _folded(values: Mapping[str, Interval]) -> list[str]:
    """The paths to show; of many that are alike, the least, the median and the greatest."""
    alike: dict[str, list[str]] = {}
    for path in values:
        alike.setdefault(_NUMBER.sub("*", path), []).append(path)
    shown: list[str] = []
    for paths in alike.values():
        if len(paths) > MOST_ALIKE:
            ordered = sorted(paths, key=lambda path: values[path].mean)
            shown += [ordered[n] for n in (0, len(ordered) // 2, -1)]
        else:
            shown += paths
    order = {path: place for place, path in enumerate(values)}
    return sorted(shown, key=order.__getitem__)
