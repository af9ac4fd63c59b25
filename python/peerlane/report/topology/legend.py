"""What is above and below a drawing: the name of the fabric, and what colours and marks mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.report.topology.scene import SMALL, Scene, Swatch, Text, text_width
from peerlane.report.topology.use import IDLE, STALLED, STEPS
from peerlane.report.topology.words import counted

if TYPE_CHECKING:
    from peerlane.fabric.tree import Tree

SWATCH = 24.0
GAP = 14.0
WIDEST = 640.0
"""The legend goes on in a further line from there."""


def head_of(tree: Tree) -> Text:
    """The name of a fabric, and how many nodes it has of each kind."""
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
    """The scale of use, and what the two lines of a link and the marks are."""
    scene = Scene()
    names = ["share of the time in use:"]
    names += [f"under {IDLE:.0%}", *(f"to {step / STEPS:.0%}" for step in range(1, STEPS + 1))]
    x, y = 0.0, 14.0
    most = max(width, WIDEST)

    def put(text: str, swatch: Swatch | None = None) -> None:
        nonlocal x, y
        space = SWATCH + 6 if swatch else 0.0
        if x and x + space + text_width(text, SMALL) > most:
            x, y = 0.0, y + 18
        if swatch:
            scene.swatches.append(Swatch(x, y - 3.5, SWATCH, swatch.step))
        scene.texts.append(Text(x + space, y, text))
        x += space + text_width(text, SMALL) + GAP
        scene.width = max(scene.width, x - GAP)

    put(names[0])
    for step, name in enumerate(names[1:]):
        put(name.replace("%", " %"), Swatch(0, 0, SWATCH, step))
    put("each direction keeps to the right")
    if stalls:
        put(
            f"waited for credit, {STALLED:.0%} of the time or more".replace("%", " %"),
            Swatch(0, 0, 0, None),
        )
    scene.height = y + 6
    return scene
