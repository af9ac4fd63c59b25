"""Makes the section of a page with the drawing of a fabric."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from peerlane.charts.colours import LIGHT
from peerlane.report.page import Drawing, Section
from peerlane.topology import draw

if TYPE_CHECKING:
    from peerlane import Simulation
    from peerlane.results.run import RunResult


def topology(
    name: str, caption: str, simulation: Simulation, result: RunResult | None = None
) -> Section:
    """The section with the topology of a fabric; with a result, it shows the use of links.

    Args:
        name: The name of the page.
        caption: The caption of the drawing.
        simulation: The fabric.
        result: The result of a run of the fabric.
    """
    page = draw(simulation, result)
    paper = _on_paper(draw(simulation, result, theme="light"))
    drawing = Drawing(f"{name}-topology", caption, page, paper)
    return Section("Topology", drawing=drawing)


def _on_paper(drawing: str) -> str:
    """Adds a background to a drawing, because image viewers do not add one."""
    paper = f'<rect x="-50%" y="-50%" width="200%" height="200%" fill="{LIGHT["paper"]}"/>'
    return re.sub(r"(<svg[^>]*>)", rf"\1{paper}", drawing, count=1)
