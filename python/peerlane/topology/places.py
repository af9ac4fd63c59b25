"""Calculates the places of the routers of a network: on a grid, in two rows, or on a circle."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, cos, pi, sin
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from peerlane.fabric.tree import Fibre, Network
    from peerlane.topology.scene import Point


@dataclass(frozen=True, slots=True)
class Grid:
    """The places of routers on a grid of up to three dimensions, in units of the grid.

    `sides` has the number of places along each dimension, and `wraps` is whether the last place is
    connected to the first.
    """

    at: Mapping[str, tuple[float, ...]]
    sides: tuple[int, ...]
    wraps: bool


def grid_of(network: Network, fibres: Sequence[Fibre]) -> Grid | None:
    """The places of a network's routers; `None` if the network is no ring, mesh or torus."""
    count = len(network.routers)
    if network.sides is None:
        order = _circuit(network.routers, fibres)
        return None if order is None else _ring(order)
    sides = tuple(side for side in network.sides if side > 1) or (1,)
    if len(sides) == 1 and network.shape != "mesh" and count > 1:
        return _ring(network.routers)
    at = {}
    for number, router in enumerate(network.routers):
        left, place = number, []
        for side in sides:
            left, coordinate = divmod(left, side)
            place.append(float(coordinate))
        at[router] = tuple(place)
    return Grid(at, sides, wraps=network.shape != "mesh")


def circle_of(network: Network) -> dict[str, Point]:
    """The places of routers on a circle, with a distance of one unit between neighbours."""
    count = len(network.routers)
    radius = count / (2 * pi)
    angles = (2 * pi * number / count for number in range(count))
    return {
        router: (radius * (1 + sin(angle)), radius * (1 - cos(angle)))
        for router, angle in zip(network.routers, angles, strict=True)
    }


def _ring(order: Sequence[str]) -> Grid:
    """The places of a ring's routers in two rows, so that all fibres are short."""
    count = len(order)
    columns = ceil(count / 2)
    at = {
        router: (float(number), 0.0) if number < columns else (float(count - 1 - number), 1.0)
        for number, router in enumerate(order)
    }
    return Grid(at, (columns, 2), wraps=False)


def _circuit(routers: Sequence[str], fibres: Sequence[Fibre]) -> list[str] | None:
    """The routers in the order of the ring that the fibres form; `None` if they form no ring."""
    least = 3
    neighbours: dict[str, list[str]] = {router: [] for router in routers}
    for fibre in fibres:
        neighbours[fibre.source].append(fibre.target)
        neighbours[fibre.target].append(fibre.source)
    if len(routers) < least or any(len(set(ends)) != 2 for ends in neighbours.values()):  # noqa: PLR2004 - of a ring
        return None
    order = [routers[0]]
    before = neighbours[routers[0]][1]
    while True:
        here = order[-1]
        (after,) = set(neighbours[here]) - {before} or {before}
        if after == order[0]:
            return order if len(order) == len(routers) else None
        before = here
        order.append(after)
