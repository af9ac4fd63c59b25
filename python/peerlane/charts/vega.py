"""Makes images and the JavaScript of pages from charts, by the library `vl-convert-python`."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from peerlane.charts.chart import CONFIG
from peerlane.charts.colours import LIGHT, painted
from peerlane.charts.scales import NARROW
from peerlane.printable import printable

if TYPE_CHECKING:
    from types import ModuleType

    from peerlane.charts.chart import Chart, Panel, Spec

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
"""The name of the schema of specifications; nothing is downloaded from this address."""

_IMAGE_WIDTH, _PANEL_WIDTH = 520, 330
"""The width of a plot in an image, in pixels, for a single panel and for each of several panels."""

_HEAD = {
    "fontSize": 12,
    "color": "var(--ink)",
    "subtitleFontSize": 11,
    "subtitleColor": "var(--muted)",
}
"""The style of a panel's title in an image, with the title of the vertical axis below it."""

_NARROW = 600
"""The width of an image below which names are short, as on a narrow page, in pixels."""

INCH = 96
"""The number of pixels in an inch of a drawing."""

_LEAST_PANEL = 260
"""The least width of a panel with its margins, in pixels; narrower panels are not side by side."""

_TRIES = 3
"""The most attempts to give an image the required width."""

_SCALE = 2
"""The pixels of a PNG image for each pixel of its SVG drawing."""


@cache
def script() -> str:
    """The JavaScript that a page needs to draw its charts: `vega.parse` and `vega.View`."""
    bundle: str = _library().javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle


def compiled(panel: Panel, text: str) -> Spec:
    """The Vega specification of a panel, with custom properties of the page as colours.

    The page sets the `width` of the plot, and the parameter `narrow`.
    """
    whole = {"$schema": SCHEMA, "description": text, "config": CONFIG}
    whole |= _parameters(narrow=False)
    whole |= _wide(panel.spec, _PANEL_WIDTH)
    vega: dict[str, Any] = _library().vegalite_to_vega(_printable(whole))
    return vega


def specification(chart: Chart, width: float | None = None) -> Spec:
    """A chart as one Vega-Lite specification, in the colours of paper.

    Args:
        chart: The chart to convert.
        width: The width of the whole image in pixels; by default plots have their usual widths.
    """
    plot: float = _PANEL_WIDTH if len(chart.panels) > 1 else _IMAGE_WIDTH
    columns = min(len(chart.panels), 2)
    if width is not None and width < columns * _LEAST_PANEL:
        columns = 1
    narrow = width is not None and width / columns < _NARROW
    spec = _whole(chart, plot, columns, narrow=narrow)
    # Only the library can calculate the widths of names, labels and legends.
    for _ in range(_TRIES if width is not None else 0):
        plot = max(plot + ((width or 0.0) - _width_of(_drawn(spec))) / columns, 20)
        spec = _whole(chart, plot, columns, narrow=narrow)
    return spec


def _whole(chart: Chart, width: float, columns: int, *, narrow: bool) -> Spec:
    """The specification of a chart whose plots have the given widths."""
    several = len(chart.panels) > 1
    panels = [_wide(panel.spec, width) for panel in chart.panels]
    for panel, spec in zip(chart.panels, panels, strict=True):
        title = panel.title if several else chart.title or panel.title
        if title:
            spec["title"] = _HEAD | {"text": title, "subtitle": _above(spec)}
    whole: Spec = panels[0]
    if several:
        own = dict.fromkeys(("color", "shape", "opacity"), "independent")
        whole = {"concat": panels, "columns": columns, "resolve": {"scale": own}}
        whole |= {"title": _HEAD | {"text": chart.title}} if chart.title else {}
    config = CONFIG | {"background": LIGHT["paper"], "padding": 12}
    spec = _printable({"$schema": SCHEMA, "config": config} | _parameters(narrow=narrow) | whole)
    found: Spec = json.loads(painted(json.dumps(spec)))
    return found


def _parameters(*, narrow: bool) -> Spec:
    return {"params": [{"name": NARROW, "value": narrow}]}


def _above(spec: Spec) -> str:
    """The title of the vertical axis, which stands above a plot."""
    words = spec.get("title", "")
    return words if isinstance(words, str) else ""


def svg(chart: Chart, width: float | None = None) -> str:
    """A chart as an SVG drawing for paper, with the given width in pixels (96 for each inch)."""
    drawing = _drawn(specification(chart, width))
    if width is None:
        return drawing
    inches = (f'{name}="{_side(drawing, name) / INCH:.4g}in"' for name in ("width", "height"))
    plain = re.compile(r'(<svg[^>]*?) width="[\d.]+" height="[\d.]+"')
    return plain.sub(lambda found: f"{found[1]} {' '.join(inches)}", drawing, count=1)


def in_units(drawing: str, unit: float) -> str:
    """A drawing whose width is in inches, with `unit` numbers for an inch instead."""
    inches = re.compile(r'(<svg[^>]*?) width="([\d.]+)in" height="([\d.]+)in"')
    return inches.sub(
        lambda found: (
            f'{found[1]} width="{unit * float(found[2]):g}" height="{unit * float(found[3]):g}"'
        ),
        drawing,
        count=1,
    )


def _drawn(spec: Spec) -> str:
    drawing: str = _library().vegalite_to_svg(spec)
    return drawing


def _width_of(drawing: str) -> float:
    return _side(drawing, "width")


def _side(drawing: str, name: str) -> float:
    found = re.search(rf'<svg[^>]*? {name}="([\d.]+)"', drawing)
    return float(found[1]) if found else 0.0


def png(drawing: str, scale: float = _SCALE) -> bytes:
    """A drawing as a PNG image, with `scale` pixels for each pixel of the drawing."""
    pixels: bytes = _library().svg_to_png(drawing, scale=scale)
    return pixels


def pdf(drawing: str) -> bytes:
    """A drawing as a PDF page of the same size: a unit of the drawing is a point of the page."""
    page: bytes = _library().svg_to_pdf(drawing)
    return page


def _wide(spec: Spec, width: float) -> Spec:
    """A panel with the given width."""
    if "vconcat" in spec:
        return spec | {"vconcat": [view | {"width": width} for view in spec["vconcat"]]}
    return spec | {"width": width}


def _printable(part: Any) -> Any:  # noqa: ANN401 - any JSON
    """A specification in which characters that cannot be printed are escaped.

    The library uses names in expressions, in which it does not permit line ends.
    """
    if isinstance(part, str):
        return printable(part)
    if isinstance(part, dict):
        return {_printable(key): _printable(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_printable(one) for one in part]
    return part


def _library() -> ModuleType:
    import vl_convert  # noqa: PLC0415 - its library is large, and few commands draw

    return vl_convert
