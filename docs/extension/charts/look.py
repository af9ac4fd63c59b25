"""The look of charts, and what their specifications share."""

from __future__ import annotations

from typing import Any

Spec = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""

COLOURS = ("var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)")
"""Colours of series: custom properties of the page's style sheet."""

_CONFIG: Spec = {
    "background": None,
    "font": "Arial, 'Liberation Sans', Helvetica, sans-serif",  # of the widths that are measured
    "view": {"stroke": None},
    "axis": {
        "domainColor": "var(--line)",
        "gridColor": "var(--line)",
        "gridOpacity": 0.6,
        "labelColor": "var(--muted)",
        "labelFontSize": 12,
        "tickColor": "var(--line)",
        "titleColor": "var(--muted)",
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    },
    "axisX": {"grid": False},
    "legend": {
        "columnPadding": 18,
        "labelColor": "var(--ink)",
        "labelFontSize": 12,
        "orient": "top",
        "symbolStrokeWidth": 3,
        "title": None,
    },
    "text": {"color": "var(--ink)", "fontSize": 11},
    "range": {"category": list(COLOURS)},
}


def chart(values: list[Spec], **parts: object) -> Spec:
    """A specification of one view, or of layers, over the values."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "config": _CONFIG,
        "data": {"values": values},
        "width": 620,
        "height": 260,
        **parts,
    }


def lines(values: list[Spec], x: Spec, y: Spec, series: str) -> Spec:
    """A line with points for each series."""
    encoding = {
        "x": {"type": "quantitative", **x},
        "y": {"type": "quantitative", **y},
        "color": {"field": series, "type": "nominal", "sort": None},
    }
    return chart(values, mark={"type": "line", "point": {"size": 30}}, encoding=encoding)


def powers(values: list[int], *, unit: str = "") -> Spec:
    """A logarithmic axis with a label at each of the values."""
    label = f"datum.value >= 1024 ? datum.value / 1024 + ' Ki{unit}' : datum.value + ' {unit}'"
    return {
        "scale": {"type": "log", "base": 2, "domain": [values[0], values[-1]]},
        "axis": {"values": values, "labelExpr": label},
    }
