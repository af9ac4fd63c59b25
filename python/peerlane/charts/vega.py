"""The library of charts, out of `vl-convert-python`: its JavaScript for pages, and images."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from peerlane.charts.chart import CONFIG
from peerlane.charts.colours import LIGHT, painted
from peerlane.charts.scales import NARROW
from peerlane.errors import optional
from peerlane.printable import printable

if TYPE_CHECKING:
    from types import ModuleType

    from peerlane.charts.chart import Chart, Panel, Spec

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
"""The name of the form of specifications, which is not an address that anything is fetched from."""

_IMAGE_WIDTH, _PANEL_WIDTH = 520, 330
"""Pixels of the plot of an image: of one panel, and of each of several side by side."""

_HEAD = {
    "fontSize": 12,
    "color": "var(--ink)",
    "subtitleFontSize": 11,
    "subtitleColor": "var(--muted)",
}
"""The title of a panel of an image, above the words of its vertical axis."""

_PARAMETERS = [{"name": NARROW, "value": False}]

_SCALE = 2
"""Pixels of a PNG for each of its SVG."""

_NEEDED = ("a figure needs vl-convert-python", "plot")


def check_installed() -> None:
    """Makes sure that pages with charts can be made.

    Raises:
        MissingPackageError: They cannot.
    """
    with optional("a report needs vl-convert-python and jinja2", "report"):
        import jinja2  # noqa: F401, PLC0415 - optional
        import vl_convert  # noqa: F401, PLC0415 - optional, and slow to load


@cache
def script() -> str:
    """The JavaScript that a page needs to draw its charts: `vega.parse` and `vega.View`."""
    bundle: str = _library().javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle


def compiled(panel: Panel, text: str) -> Spec:
    """The Vega of a panel, whose colours are custom properties of its page.

    The page sets its `width`, which is that of the plot, and its parameter `narrow`.
    """
    whole = {"$schema": SCHEMA, "description": text, "config": CONFIG, "params": _PARAMETERS}
    whole |= _wide(panel.spec, _PANEL_WIDTH)
    vega: dict[str, Any] = _library().vegalite_to_vega(_printable(whole))
    return vega


def specification(chart: Chart) -> Spec:
    """A chart as one Vega-Lite specification, in the colours of paper."""
    several = len(chart.panels) > 1
    width = _PANEL_WIDTH if several else _IMAGE_WIDTH
    panels = [_wide(panel.spec, width) for panel in chart.panels]
    for panel, spec in zip(chart.panels, panels, strict=True):
        if panel.title:
            spec["title"] = _HEAD | {"text": panel.title, "subtitle": spec.get("title", "")}
    whole: Spec = panels[0]
    if several:
        own = dict.fromkeys(("color", "shape", "opacity"), "independent")
        whole = {"concat": panels, "columns": 2, "resolve": {"scale": own}}
    config = CONFIG | {"background": LIGHT["paper"], "padding": 12}
    spec = _printable({"$schema": SCHEMA, "config": config, "params": _PARAMETERS} | whole)
    found: Spec = json.loads(painted(json.dumps(spec)))
    return found


def svg(chart: Chart) -> str:
    """A chart as a drawing for paper."""
    drawing: str = _library().vegalite_to_svg(specification(chart))
    return drawing


def png(drawing: str) -> bytes:
    """A drawing as pixels."""
    pixels: bytes = _library().svg_to_png(drawing, scale=_SCALE)
    return pixels


def pdf(drawing: str) -> bytes:
    """A drawing as a page of its size."""
    page: bytes = _library().svg_to_pdf(drawing)
    return page


def _wide(spec: Spec, width: int) -> Spec:
    """A panel of a width."""
    if "vconcat" in spec:
        return spec | {"vconcat": [view | {"width": width} for view in spec["vconcat"]]}
    return spec | {"width": width}


def _printable(part: Any) -> Any:  # noqa: ANN401 - any JSON
    """A specification in which signs that cannot be printed are escaped.

    Names become parts of expressions, in which the library does not expect the ends of lines.
    """
    if isinstance(part, str):
        return printable(part)
    if isinstance(part, dict):
        return {_printable(key): _printable(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_printable(one) for one in part]
    return part


def _library() -> ModuleType:
    with optional(*_NEEDED):
        import vl_convert  # noqa: PLC0415 - optional, and slow to load
    return vl_convert
