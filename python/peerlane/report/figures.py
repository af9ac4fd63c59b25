"""Draws figures from the JSON of `peerlane reproduce --json`: published and simulated values."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from peerlane import _core
from peerlane.charts.chart import Chart
from peerlane.figures.figure import Figure, PlotError
from peerlane.report.charts.held import held
from peerlane.report.charts.published import SHAPES, published
from peerlane.report.reproduction import heading
from peerlane.reproduction.written import reports_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from peerlane.reproduction.report import Report
    from peerlane.reproduction.row import Row


_LEGEND_COLUMNS = 3
"""The number of columns of a legend, which fits into the narrowest figure."""


def plot_report(document: Mapping[str, Any], figure: str | None) -> Figure:
    """Draws a figure or table of a source, with the same marks as the page of its system.

    Args:
        document: The JSON of one system, or of several systems.
        figure: The name of the figure, such as fig3; with several systems, SYSTEM/fig3. It may be
            absent if there is only one figure.

    Raises:
        PlotError: The figure does not exist.
    """
    reports = reports_of(document)
    several = len(reports) > 1
    known = {
        f"{report.system}/{row.figure}" if several else row.figure: (report, row.figure)
        for report in reports
        for row in report.rows
        if row.simulated is not None or row.expected.is_held
    }
    if figure is None and len(known) != 1:
        raise PlotError(f"name a figure with --figure: {', '.join(known)}")
    wanted = next(iter(known)) if figure is None else figure.replace("-", "_")
    if wanted not in known:
        near = _core.nearest(wanted, list(known))
        meant = f"did you mean {near}? There" if near else "there"
        raise PlotError(f"there is no figure {figure!r}; {meant} are {', '.join(known)}")
    report, name = known[wanted]
    return Figure(_chart(report, name, [row for row in report.rows if row.figure == name]))


def _chart(report: Report, name: str, rows: list[Row]) -> Chart:
    """All plots of a figure of the source, in one chart."""
    plots = [plot for plot in report.plots if plot.figure == name]
    title = f"{report.system}, {heading(name)}"
    marks = f"{title} (rings: published)"
    if not plots:
        caption = f"{title}: published and simulated values."
        shown = [row for row in rows if row.simulated is not None]
        return _with_legend(replace(held("figure", caption, shown), title=marks))
    charts = [published("figure", plot, rows) for plot in plots]
    return _with_legend(
        Chart(
            "figure",
            " ".join(chart.caption for chart in charts),
            " ".join(chart.text for chart in charts),
            tuple(panel for chart in charts for panel in chart.panels),
            marks,
        )
    )


def _with_legend(chart: Chart) -> Chart:
    """The chart with a legend of the shapes of simulated points, if there are several shapes."""
    points = [point for panel in chart.panels for point in panel.spec["data"]["values"]]
    there = {point["kind"] for point in points if point["simulated"] is not None}
    if len(there) < 2:  # noqa: PLR2004 - one needs no legend
        return chart
    first, *others = chart.panels
    spec = deepcopy(first.spec)
    for layer in (layer for view in spec.get("vconcat", [spec]) for layer in view["layer"]):
        if "shape" in layer["encoding"]:
            layer["encoding"]["shape"]["legend"] = {
                "orient": "bottom",
                "columns": _LEGEND_COLUMNS,
                "title": None,
                "values": [kind for kind in SHAPES if kind in there],
                "symbolFillColor": "var(--muted)",
                "symbolStrokeColor": "var(--muted)",
                "labelColor": "var(--muted)",
            }
    return replace(chart, panels=(replace(first, spec=spec), *others))
