"""Calculates the lines of fibres on a grid: straight, beside another fibre, or wrap-around."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from peerlane.fabric.tree import Fibre
    from peerlane.topology.places import Grid
    from peerlane.topology.scene import Box, Point

OUT = 15.0
"""The distance by which a wrap-around link extends beyond the last router."""
COLUMN = 0.2
"""The horizontal position at which fibres leave a router upwards and downwards, as a share of the
router's width from its left edge."""


@dataclass(frozen=True, slots=True)
class Way:
    """The kind of a fibre's line, and the axis of the grid to which it is parallel, or `None`."""

    axis: int | None
    how: Literal["straight", "beside", "around"] = "straight"


def way_of(grid: Grid, fibre: Fibre, seen: set[tuple[str, str]]) -> Way:
    """The kind of a fibre's line; a second fibre between two routers is drawn beside the first."""
    if fibre.source not in grid.at or fibre.target not in grid.at:
        return Way(None)
    one, other = grid.at[fibre.source], grid.at[fibre.target]
    pair = (min(fibre.source, fibre.target), max(fibre.source, fibre.target))
    again = pair in seen
    seen.add(pair)
    axes = [axis for axis, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
    if len(axes) != 1:
        return Way(None)
    axis = axes[0]
    far = abs(one[axis] - other[axis])
    if far == 1:
        return Way(axis, "beside" if again else "straight")
    if grid.wraps and far == grid.sides[axis] - 1:
        return Way(axis, "around")
    return Way(None)


def orthogonal(source: Box, target: Box, way: Way) -> tuple[Point, ...]:
    """A fibre's line along a row or column of boxes; in a column it is left in the routers."""
    if way.axis == 0:
        first, last = sorted((source, target), key=lambda box: box.x)
        line = _along_row(first, last, way)
        return line if first is source else line[::-1]
    first, last = sorted((source, target), key=lambda box: box.y)
    if way.axis == 1:
        line = _along_column(first, last, way)
        return line if first is source else line[::-1]
    if first.y != last.y and first.x > last.x:  # the end of a ring of an odd number of routers
        x = first.x + first.width * COLUMN
        line = ((x, first.bottom), (x, last.centre[1]), (last.right, last.centre[1]))
        return line if first is source else line[::-1]
    return direct(source, target, way)


def _along_row(first: Box, last: Box, way: Way) -> tuple[Point, ...]:
    y = first.centre[1]
    if way.how == "straight":
        return ((first.right, y), (last.x, y))
    back = first.bottom + OUT * 0.9
    if way.how == "beside":
        start, end = first.right - OUT, last.x + OUT
        return ((start, first.bottom), (start, back), (end, back), (end, last.bottom))
    left, right = first.x - OUT, last.right + OUT
    turns = ((left, y), (left, back), (right, back), (right, y))
    return ((first.x, y), *turns, (last.right, y))


def _along_column(first: Box, last: Box, way: Way) -> tuple[Point, ...]:
    x = first.x + first.width * COLUMN
    if way.how == "straight":
        return ((x, first.bottom), (x, last.y))
    back = first.x - OUT * 1.5
    if way.how == "beside":
        start, end = first.centre[1], last.centre[1]
        return ((first.x, start), (back, start), (back, end), (last.x, end))
    top, bottom = first.y - OUT, last.bottom + OUT * 1.4
    turns = ((x, top), (back, top), (back, bottom), (x, bottom))
    return ((x, first.y), *turns, (x, last.bottom))


def direct(source: Box, target: Box, way: Way) -> tuple[Point, ...]:
    """A straight line from mark to mark; a wrap-around link has a line beside the marks between."""
    (x, y), (to_x, to_y) = source.centre, target.centre
    if way.how == "straight":
        return _edge(source, target.centre), _edge(target, source.centre)
    length = hypot(to_x - x, to_y - y) or 1.0
    dx, dy = (to_x - x) / length, (to_y - y) / length
    aside = source.width / 2 + 5
    # Both directions use the same side: below rows, left of columns, below lines of the third
    # dimension.
    nx, ny = {0: (0.0, aside), 1: (-aside, 0.0)}.get(way.axis or 0, (aside * 0.6, aside * 0.8))
    if way.how == "beside":
        before = (x + nx + dx * length * 0.3, y + ny + dy * length * 0.3)
        after = (to_x + nx - dx * length * 0.3, to_y + ny - dy * length * 0.3)
        return _edge(source, before), before, after, _edge(target, after)
    out = source.width / 2 + 6
    before, after = (x - dx * out, y - dy * out), (to_x + dx * out, to_y + dy * out)
    return (
        _edge(source, before),
        before,
        (before[0] + nx, before[1] + ny),
        (after[0] + nx, after[1] + ny),
        after,
        _edge(target, after),
    )


def _edge(box: Box, to: Point) -> Point:
    """The point where the line from the middle of a box to another point leaves the box."""
    x, y = box.centre
    dx, dy = to[0] - x, to[1] - y
    shares_ = [half / abs(d) for half, d in ((box.width / 2, dx), (box.height / 2, dy)) if d]
    share = min(shares_, default=0.0)
    return x + dx * share, y + dy * share
