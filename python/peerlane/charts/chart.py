"""Defines a chart: panels side by side, with a title, a caption and a description."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

Spec = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""

FONT = "system-ui, 'Helvetica Neue', Arial, sans-serif"

LEFT = 46
"""The pixels left of a plot, for its vertical axis."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot; `right` is the width of the labels on its right, in pixels.

    If `narrow` is set, the panel has rows with names: it fills the width of the page, and `narrow`
    is the width of its labels on a narrow page.
    """

    title: str
    spec: Spec
    right: int = 12
    narrow: int | None = None

    @property
    def margins(self) -> tuple[int, int]:
        """The pixels left and right of the plot, on a wide page and on a narrow page."""
        return LEFT + self.right, LEFT + (self.right if self.narrow is None else self.narrow)


@dataclass(frozen=True, slots=True)
class Chart:
    """Panels with one caption, which is a sentence; image files of the chart have its `name`.

    `text` describes the chart for readers who cannot see it. `title` is printed above all panels of
    an image.
    """

    name: str
    caption: str
    text: str
    panels: tuple[Panel, ...]
    title: str = ""

    def labelled(self, x: str | None, y: str | None) -> Chart:
        """The chart with other titles of its axes; `None` leaves an axis unchanged."""
        panels = (replace(one, spec=_labelled(deepcopy(one.spec), x, y)) for one in self.panels)
        return replace(self, panels=tuple(panels))

    @property
    def is_wide(self) -> bool:
        """Whether each panel fills the whole width of a page."""
        return len(self.panels) == 1 or any(panel.narrow is not None for panel in self.panels)


def _labelled(spec: Spec, x: str | None, y: str | None) -> Spec:
    """A specification with other titles of its axes; `y` stands above the first plot."""
    if y is not None and isinstance(spec.get("title"), str):
        spec["title"] = y
    for number, view in enumerate(spec.get("vconcat", ())):
        _labelled(view, x, y if number == 0 else None)
    for view in (spec, *spec.get("layer", ())):
        axis = view.get("encoding", {}).get("x", {}).get("axis") or {}
        if x is not None and axis.get("title"):
            axis["title"] = x
    return spec


CONFIG: Spec = {
    "background": None,
    "font": FONT,
    "padding": {"left": 0, "right": 0, "top": 4, "bottom": 2},
    "view": {"stroke": None},
    "concat": {"spacing": 12},
    "axis": {
        "domainColor": "var(--line)",
        "gridColor": "var(--line)",
        "gridOpacity": 0.6,
        "labelColor": "var(--muted)",
        "labelFontSize": 11,
        "labelSeparation": 8,
        "tickColor": "var(--line)",
        "tickSize": 4,
        "titleColor": "var(--muted)",
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "titlePadding": 6,
    },
    "axisY": {"domain": False, "ticks": False, "minExtent": LEFT - 6, "maxExtent": LEFT - 6},
    "axisX": {"grid": False},
    "title": {
        "anchor": "start",
        "color": "var(--muted)",
        "fontSize": 11,
        "fontWeight": "normal",
        "frame": "group",
        "offset": 8,
    },
    "text": {"color": "var(--ink)", "fontSize": 11},
}
"""The Vega-Lite configuration of every chart: no frame, few lines, text in one size."""
