"""The style of charts, and the common parts of their specifications."""

from __future__ import annotations

from peerlane.charts import colours
from peerlane.charts.chart import CONFIG, Spec
from peerlane.charts.vega import SCHEMA

_LOOK: Spec = CONFIG | {
    # A font with the widths of the font that measures text when the chart is drawn.
    "font": "Arial, 'Liberation Sans', Helvetica, sans-serif",
    "legend": {
        "columnPadding": 18,
        "labelColor": "var(--ink)",
        "labelFontSize": 11,
        "labelLimit": 300,
        "orient": "top",
        "symbolStrokeWidth": 3,
        "title": None,
    },
    "range": {"category": list(colours.SERIES)},
}
"""The look of the report's charts, and legends."""


def style() -> str:
    """The colours of charts, in the light and the dark theme, as a style sheet."""
    dark = colours.properties(colours.DARK)
    return f"""\
body {{
{colours.properties(colours.LIGHT)}
}}

body[data-theme="dark"] {{
{dark}
}}

@media (prefers-color-scheme: dark) {{
body:not([data-theme="light"]) {{
{dark}
}}
}}
"""


def chart(values: list[Spec], **parts: object) -> Spec:
    """A specification of one view, or of layers, over the values."""
    return {
        "$schema": SCHEMA,
        "config": _LOOK,
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
