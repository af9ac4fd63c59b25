"""The directive `chart`, whose argument names a chart and whose text is its caption."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

import vl_convert
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from extension.charts import link

if TYPE_CHECKING:
    from collections.abc import Callable

    from peerlane.report.charts.chart import Spec

CHARTS: dict[str, Callable[[], Spec]] = {
    "wire": link.wire,
    "overhead": link.overhead,
    "credit": link.credit,
    "replay-buffer": link.replay_buffer,
    "replay": link.replay,
    "errors": link.errors,
    "latency": link.latency,
}


class Chart(SphinxDirective):
    """A chart with its caption, drawn in the colours of the page."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Makes the nodes of the figure."""
        name = self.arguments[0]
        if name not in CHARTS:
            raise self.error(f"there is no chart {name!r}; write one of {', '.join(CHARTS)}")
        caption = self.parse_content_to_nodes()
        text = " ".join(node.astext() for node in caption)
        opening = f'<figure class="chart" id="chart-{name}">{_drawing(name, text)}<figcaption>'
        raw = (nodes.raw("", html, format="html") for html in (opening, "</figcaption></figure>"))
        return [next(raw), *caption, next(raw)]


def _drawing(name: str, text: str) -> str:
    svg: str = vl_convert.vegalite_to_svg(CHARTS[name]())
    # Several drawings share a page, and so the space of names.
    svg = re.sub(r'(id="|url\(#)(\w+)', rf"\1{name}-\2", svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(text)}" ', 1)
