"""Writes a drawing as one SVG element, for a page or a file.

Every name is escaped. The elements of nodes and links have their names in the attributes
`data-nodes` and `data-links`, as JSON lists. Elements have no ids, so a page can have several
drawings.
"""

from __future__ import annotations

import json
from importlib.resources import files
from itertools import pairwise
from math import hypot
from string import Template
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from peerlane.charts.lettering import text_width
from peerlane.printable import printable
from peerlane.topology.palette import coloured
from peerlane.topology.scene import BOLD, FONT, SMALL
from peerlane.topology.use import STALLED, STEPS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from peerlane.topology.palette import Theme
    from peerlane.topology.scene import Box, Point, Scene, Swatch, Text, Wire

MARGIN = 12.0
LINE = 15.0
CORNER = 7.0
"""The radius of the bends of wires."""
BETWEEN = 1.6
"""The space between the lines of the two directions of a link."""

_SIZES = {"small": SMALL, "font": FONT, "title": FONT + 1, "more": FONT - 1}
_RULES = Template(
    (files("peerlane.topology") / "rules.css").read_text(encoding="utf-8")
).substitute({name: f"{size:g}" for name, size in _SIZES.items()}) + "".join(
    f".peerlane-topology .use-{step}{{stroke:var(--t-use-{step})}}"
    f".peerlane-topology .fill-{step}{{fill:var(--t-use-{step})}}"
    for step in range(STEPS + 1)
)


def written(scene: Scene, label: str, theme: Theme) -> str:
    """The SVG element as text; `label` describes the drawing for readers who cannot see it."""
    spans = [_span(text) for text in scene.texts]
    left = min([0.0, *(start for start, _ in spans)]) - MARGIN
    width = max([scene.width, *(end for _, end in spans)]) + MARGIN - left
    height = scene.height + 2 * MARGIN
    rules = coloured(_RULES.replace("\n", ""), theme)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="peerlane-topology" role="img"'
        f' viewBox="{_n(left)} {_n(-MARGIN)} {_n(width)} {_n(height)}"'
        f' width="{_n(width)}" height="{_n(height)}" aria-label={quoteattr(printable(label))}>'
        f"<style>{rules}</style>"
        f'<rect class="paper" x="{_n(left)}" y="{_n(-MARGIN)}" width="{_n(width)}"'
        f' height="{_n(height)}"/>'
    )
    parts = [_wire(wire) for wire in scene.wires if wire.kind != "socket"]
    parts += [_box(box) for box in scene.boxes]
    parts += [_wire(wire) for wire in scene.wires if wire.kind == "socket"]
    parts += [_stalls(wire) for wire in scene.wires]
    parts += [_swatch(swatch) for swatch in scene.swatches]
    parts += [_text(text) for text in scene.texts]
    return "".join([head, *parts, "</svg>"])


def _box(box: Box) -> str:
    x, y, width, height = box.x, box.y, box.width, box.height
    links = f" data-links={_names(box.links)}" if box.links else ""
    said = [f"<g data-nodes={_names(box.names)}{links}>{_title(box.note)}"]
    if len(box.names) > 1 and box.lines:
        said += [
            f'<rect class="box kind-{box.kind}" x="{_n(x + shift)}" y="{_n(y + shift)}"'
            f' width="{_n(width)}" height="{_n(height)}" rx="4"/>'
            for shift in (5, 2.5)
        ]
    radius = {"host": 4, "router": 9}.get(box.kind, 2)
    said.append(
        f'<rect class="box kind-{box.kind}{_fill(box)}" x="{_n(x)}" y="{_n(y)}"'
        f' width="{_n(width)}" height="{_n(height)}" rx="{radius}"/>'
    )
    top = y + (height - LINE * len(box.lines)) / 2
    if box.cells or box.ports:
        top = y + 5
    for number, line in enumerate(box.lines):
        kind = "more" if number else "name"
        said.append(
            f'<text class="{kind}" x="{_n(x + width / 2)}" y="{_n(top + LINE * number + 11)}"'
            f' text-anchor="middle">{_escaped(line)}</text>'
        )
    for left, cell, label in box.cells:
        said.append(
            f'<rect class="port" x="{_n(left)}" y="{_n(box.bottom - 36)}" width="{_n(cell)}"'
            f' height="22" rx="2"/><text x="{_n(left + cell / 2)}" y="{_n(box.bottom - 21)}"'
            f' text-anchor="middle">{_escaped(label)}</text>'
        )
    for middle, edge, label in box.ports:
        half = 5 + 2.9 * len(label)
        said.append(
            f'<rect class="port" x="{_n(middle - half)}" y="{_n(edge - 13)}"'
            f' width="{_n(2 * half)}" height="13"/>'
            f'<text x="{_n(middle)}" y="{_n(edge - 3)}" text-anchor="middle">'
            f"{_escaped(label)}</text>"
        )
    return "".join([*said, "</g>"])


def _fill(box: Box) -> str:
    return "" if box.fill is None else f" fill-{box.fill}"


def _wire(wire: Wire) -> str:
    attributes = f" data-links={_names(wire.ids)}" if wire.ids else ""
    if wire.ends:
        attributes += f" data-ends={_names(wire.ends)}"
    kind = f"wire {wire.kind}" + " broken" * bool(wire.broken)
    paths = [
        f'<path class="{kind}{colour}" d="{path}" stroke-width="{_n(width)}"/>'
        for path, width, colour in _strokes(wire)
    ]
    around = "".join(map(_path, wire.lines))
    paths.append(f'<path class="around" d="{around}"/>')
    return f"<g{attributes}>{_title(wire.note)}{''.join(paths)}</g>"


def _strokes(wire: Wire) -> Iterator[tuple[str, float, str]]:
    """Yields the line of a wire, or a line for each direction, on the right of its direction."""
    if wire.uses is None:
        yield "".join(map(_path, wire.lines)), wire.thickness, ""
        return
    width = max(1.4, 0.62 * wire.thickness)
    for sign, use in zip((1, -1), wire.uses, strict=True):
        lines = [shifted(line, sign * (width + BETWEEN) / 2) for line in wire.lines]
        yield "".join(map(_path, lines)), width, f" use-{use.step}"


def _stalls(wire: Wire) -> str:
    """The marks of stalls, each near the end of the wire from which packets waited for credit."""
    if wire.uses is None or len(wire.lines) > 1:
        return ""
    (line,) = wire.lines
    said = []
    for points, use in ((line, wire.uses[0]), (line[::-1], wire.uses[1])):
        if use.stalled >= STALLED:
            said.append(stall_mark(*along(points, 13)))
    return f"<g>{_title(wire.note)}{''.join(said)}</g>" if said else ""


def stall_mark(x: float, y: float) -> str:
    """The mark of a stall: packets of a direction waited for credit."""
    return (
        f'<circle class="stall" cx="{_n(x)}" cy="{_n(y)}" r="6"/>'
        f'<path class="bars" d="M{_n(x - 1.8)} {_n(y - 3)}v6m3.6 0v-6"/>'
    )


def along(points: Sequence[Point], distance: float) -> Point:
    """The point at a distance from the beginning of a line; near the middle of a short line."""
    (x, y), (to_x, to_y) = points[0], points[1]
    length = hypot(to_x - x, to_y - y)
    share = min(distance / length, 0.4) if length else 0.0
    return x + (to_x - x) * share, y + (to_y - y) * share


def shifted(points: Sequence[Point], by: float) -> list[Point]:
    """A line beside another line, on the right of the line's direction if `by` is positive."""
    normals = []
    for (x, y), (to_x, to_y) in pairwise(points):
        length = hypot(to_x - x, to_y - y) or 1.0
        normals.append((-(to_y - y) / length, (to_x - x) / length))
    moved = []
    for index, (x, y) in enumerate(points):
        before, after = normals[max(index - 1, 0)], normals[min(index, len(normals) - 1)]
        nx, ny = before[0] + after[0], before[1] + after[1]
        square = nx * nx + ny * ny
        factor = 2 * by / square if square > 0.1 else 0.0  # noqa: PLR2004 - a turn back
        moved.append((x + nx * factor, y + ny * factor))
    return moved


def _path(points: Sequence[Point]) -> str:
    """The SVG path commands of a line with round bends."""
    said = [f"M{_n(points[0][0])} {_n(points[0][1])}"]
    for before, (x, y), after in zip(points, points[1:], points[2:], strict=False):
        lengths = [hypot(px - x, py - y) for px, py in (before, after)]
        radius = min(CORNER, *(length / 2 for length in lengths))
        one, other = (
            (x + (px - x) * radius / length, y + (py - y) * radius / length) if length else (x, y)
            for (px, py), length in zip((before, after), lengths, strict=True)
        )
        said.append(f"L{_n(one[0])} {_n(one[1])}Q{_n(x)} {_n(y)} {_n(other[0])} {_n(other[1])}")
    return "".join([*said, f"L{_n(points[-1][0])} {_n(points[-1][1])}"])


def _swatch(swatch: Swatch) -> str:
    if swatch.step is None:
        return stall_mark(swatch.x + swatch.width / 2, swatch.y)
    return (
        f'<path class="use-{swatch.step}" d="M{_n(swatch.x)} {_n(swatch.y)}h{_n(swatch.width)}"'
        ' stroke-width="5"/>'
    )


def _span(text: Text) -> tuple[float, float]:
    """The horizontal range of a line of text."""
    width = text_width(text.text, SMALL if text.style == "label" else BOLD * (FONT + 1))
    left = text.x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[text.anchor]
    return left, left + width


def _text(text: Text) -> str:
    kind = "" if text.style == "label" else f' class="{text.style}"'
    anchor = "" if text.anchor == "start" else f' text-anchor="{text.anchor}"'
    behind = ""
    if text.anchor == "middle":  # beside a wire, where other wires may cross the text
        width = text_width(text.text, SMALL)
        behind = (
            f'<rect class="paper" x="{_n(text.x - width / 2)}" y="{_n(text.y - SMALL + 0.5)}"'
            f' width="{_n(width)}" height="{_n(SMALL + 2)}"/>'
        )
    place = f'x="{_n(text.x)}" y="{_n(text.y)}"{anchor}'
    return f"{behind}<text{kind} {place}>{_escaped(text.text)}</text>"


def _title(note: str) -> str:
    return f"<title>{_escaped(note)}</title>" if note else ""


def _escaped(text: str) -> str:
    return escape(printable(text))


def _names(names: Sequence[str]) -> str:
    return quoteattr(json.dumps(names))


def _n(number: float) -> str:
    """A number with at most one digit after the point."""
    return f"{round(number, 1):g}" if abs(number) < 1e5 else f"{number:.0f}"  # noqa: PLR2004
