"""Draws the rates of workloads as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.charts.bars import amounts
from peerlane.charts.chart import Chart
from peerlane.charts.lines import Axis
from peerlane.report.words import rate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from peerlane.results.workload import WorkloadResult

_MOST_ROWS = 24


def rates(name: str, workloads: Iterable[WorkloadResult]) -> Chart | None:
    """A chart with a bar for each workload that has a rate; of many workloads, only the slowest.

    Args:
        name: The name of the chart's images.
        workloads: The results of all workloads.
    """
    found = {
        one.id: value
        for one in workloads
        if one.METRIC.endswith("bytes_per_second")
        and (value := getattr(one, one.METRIC)) is not None
    }
    if not found:
        return None
    slowest = sorted(found, key=found.__getitem__)
    shown = [one for one in found if one in slowest[:_MOST_ROWS]]
    which = "each workload"
    if len(shown) < len(found):
        which = f"the {len(shown)} slowest of {len(found)} workloads"
    caption = f"Rate of {which}"
    text = f"{caption}, from {rate(found[slowest[0]])} ({slowest[0]})"
    text += f" to {rate(found[slowest[-1]])} ({slowest[-1]})."
    panel = amounts("", shown, [found[one] / 1e9 for one in shown], Axis("rate", "GB/s"))
    return Chart(name, f"{caption}.", text, (panel,))
