"""The section of a page with the drawing of a fabric."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from peerlane.report.colours import LIGHT
from peerlane.report.page import Drawing, Section
from peerlane.report.topology import draw

if TYPE_CHECKING:
    from peerlane import Simulation
    from peerlane.results.run import RunResult


def topology(
    name: str, caption: str, simulation: Simulation, result: RunResult | None = None
) -> Section:
    """The topology of a fabric, with the use of its links where there is a result.

    Args:
        name: That of its page.
        caption: What it shows.
        simulation: The fabric.
        result: Of a run of it.
    """
    page = draw(simulation, result)
    paper = _resolved(draw(simulation, result, theme="light"))
    drawing = Drawing(f"{name}-topology", caption, page, paper)
    return Section("Topology", drawing=drawing)


def _resolved(drawing: str) -> str:
    """A drawing whose colours are plain, on paper: not every program knows properties and mixes."""
    known = dict(re.findall(r"(--t-[\w-]+):([^;}]+)", drawing))
    plain = re.sub(r"var\((--t-[\w-]+)\)", lambda found: known.get(found[1], found[0]), drawing)
    mix = r"color-mix\(in srgb, ?(#\w{6}) ?(\d+)?%?, ?(#\w{6}) ?(\d+)?%?\)"
    plain = re.sub(mix, _mixed, plain)
    paper = f'<rect x="-50%" y="-50%" width="200%" height="200%" fill="{LIGHT["paper"]}"/>'
    return re.sub(r"(<svg[^>]*>)", rf"\1{paper}", plain, count=1)


def _mixed(found: re.Match[str]) -> str:
    one, share, other, rest = found.groups()
    of_other = int(rest) / 100 if rest else 1 - int(share or 50) / 100
    pairs = zip(bytes.fromhex(one[1:]), bytes.fromhex(other[1:]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * of_other):02x}" for a, b in pairs)
