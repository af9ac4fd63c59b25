"""The directives `chart` and `topology`: drawings in the colours of the page, with a caption."""

from __future__ import annotations

import re
from abc import abstractmethod
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import vl_convert
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from extension.charts import link
from peerlane import Fabric
from peerlane.reproduction.catalogue import systems
from peerlane.reproduction.machine import machine_of
from peerlane.topology import draw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from peerlane.charts.chart import Spec

CHARTS: dict[str, Callable[[], Spec]] = {
    "wire": link.wire,
    "overhead": link.overhead,
    "credit": link.credit,
    "acknowledgement": link.acknowledgement,
    "replay-buffer": link.replay_buffer,
    "replay": link.replay,
    "errors": link.errors,
    "latency": link.latency,
}


class _Figure(SphinxDirective):
    """A directive for a drawing: its argument is the name, its content is the caption."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Makes the nodes of the figure."""
        caption = self.parse_content_to_nodes()
        text = escape(" ".join(node.astext() for node in caption))
        svg = self.drawing(self.arguments[0]).replace("<svg ", f'<svg aria-label="{text}" ', 1)
        opening = f'<figure class="drawing">{svg}<figcaption>'
        raw = (nodes.raw("", html, format="html") for html in (opening, "</figcaption></figure>"))
        return [next(raw), *caption, next(raw)]

    @abstractmethod
    def drawing(self, name: str) -> str:
        """The drawing, as an SVG element."""

    def unknown(self, name: str, known: Iterable[str]) -> Exception:
        """The error for a name of no chart and no fabric."""
        error: Exception = self.error(
            f"there is no {self.name} {name!r}; write one of {', '.join(known)}"
        )
        return error


class Chart(_Figure):
    """A chart of runs that are made while the site is built."""

    def drawing(self, name: str) -> str:
        """Draws the chart of the name."""
        if name not in CHARTS:
            raise self.unknown(name, CHARTS)
        svg: str = vl_convert.vegalite_to_svg(CHARTS[name]())
        # The drawings of a page share one space of names.
        svg = re.sub(r'(id="|url\(#)(\w+)', rf"\1{name}-\2", svg)
        return svg.replace("<svg ", '<svg role="img" ', 1)


class Topology(_Figure):
    """Draws the fabric of a published system, or of a scenario of the page after a run."""

    def drawing(self, name: str) -> str:
        """Draws the fabric of the name."""
        if name in systems():
            return _unlabelled(draw(machine_of(name).fabric()))
        page = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8")
        block = re.compile(rf"^```toml\n(# {re.escape(name)}\n.*?)^```$", re.MULTILINE | re.DOTALL)
        scenario = block.search(page)
        if scenario is None:
            raise self.unknown(name, [*systems(), "the scenarios of this page"])
        fabric = Fabric.from_toml(scenario[1])
        return _unlabelled(draw(fabric, fabric.run()))


def _unlabelled(svg: str) -> str:
    return re.sub(r' aria-label="[^"]*"', "", svg, count=1)
