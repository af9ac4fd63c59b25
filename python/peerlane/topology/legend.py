"""Makes the head and the legend of a drawing, which explains colours and marks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.formats import counted
from peerlane.topology.scene import Scene, Swatch, Text
from peerlane.topology.use import IDLE, STALLED, STEPS

if TYPE_CHECKING:
    from peerlane.fabric.tree import Tree

SWATCH = 36.0
IDLE_SWATCH = 54.0
MARK = 12.0
"""The widths of samples in the legend: of a colour, of the colour for idle, and of a mark."""
GAP = 12.0
WIDE = 500.0
"""A drawing that is at least this wide has space for explanations beside the scale of colours."""


def head_of(tree: Tree) -> Text:
    """The name of a fabric, and the number of nodes of each kind."""
    found: dict[str, int] = {}
    for node in tree.nodes:
        kind = {"io-port": "I/O port"}.get(node.kind, node.kind)
        kind = "router" if node.model == "router" else kind
        found[kind] = found.get(kind, 0) + 1
    if tree.controllers:
        found["controller"] = len(tree.controllers)
    counts = ", ".join(counted(number, kind) for kind, number in found.items())
    return Text(0.0, 12.0, f"{tree.name}: {counts}", style="title")


def legend(*, stalls: bool, width: float) -> Scene:
    """The legend: the scale of colours, and what the two lines of a link and the marks mean.

    Args:
        stalls: Whether the drawing has marks for stalls.
        width: The width of the drawing; explanations that do not fit beside the scale are below it.
    """
    scene = Scene()
    scene.texts.append(Text(0.0, 10.0, "time in use, while flows ran"))
    scene.swatches.append(Swatch(0.0, 19.0, IDLE_SWATCH, 0))
    scene.texts.append(Text(IDLE_SWATCH / 2, 34.0, f"under {_percent(IDLE)}", "middle"))
    left = IDLE_SWATCH + GAP
    for step in range(1, STEPS + 1):
        x = left + SWATCH * (step - 1)
        scene.swatches.append(Swatch(x, 19.0, SWATCH, step))
        scene.texts.append(Text(x + SWATCH, 34.0, _percent(step / STEPS), "middle"))
    scene.width = left + SWATCH * (STEPS + 0.6)
    x, y = (scene.width + GAP, 10.0) if width >= WIDE else (0.0, 54.0)
    scene.texts.append(Text(x, y, "each direction keeps to the right"))
    if stalls:
        said = f"waited for credit, {_percent(STALLED)} of the time or more"
        scene.swatches.append(Swatch(x, y + 14.5, MARK, None))
        scene.texts.append(Text(x + MARK + 6, y + 18, said))
    scene.height = max(text.y for text in scene.texts) + 6
    return scene


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
