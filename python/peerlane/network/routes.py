"""Calculates the load of the busiest fibre from the routes of messages.

The load is the traffic on the busiest fibre if every node sends one unit (Dally and Towles,
"Principles and Practices of Interconnection Networks", chapters 3 and 8).
"""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerlane.fabric.tree import Network, Traffic

_Direction = tuple[int, int, int]
"""A direction of a fibre: its first node, its dimension, and 1 for up or -1 for down."""


def busiest_fibre(network: Network, traffic: Traffic) -> float | None:
    """The load of the fibre direction that is busiest, if every node sends one unit.

    The load is `None` if the routes are not known, and 0 if no message leaves its node.
    """
    sides = network.sides
    if sides is None or (network.routing == "adaptive" and traffic.pattern != "uniform"):
        return None
    uniform = _uniform_share(traffic)
    loads: defaultdict[_Direction, float] = defaultdict(float)
    for source, target, share in _partners(sides, traffic):
        for fibre, part in _way(network, source, target):
            loads[fibre] += share * part
    if not loads:
        return uniform * max(_uniform_load(network, fibre) for fibre in _one_line(sides))
    every = product(range(prod(sides)), range(len(sides)), (1, -1))
    return max(loads[fibre] + uniform * _uniform_load(network, fibre) for fibre in every)


def _uniform_share(traffic: Traffic) -> float:
    if traffic.pattern == "uniform":
        return 1
    return 0 if traffic.hot_share is None else 1 - traffic.hot_share


def _uniform_load(network: Network, fibre: _Direction) -> float:
    """The load of a fibre direction under uniform traffic; nodes also send to themselves."""
    node, dimension, step = fibre
    sides = network.sides or ()
    side = sides[dimension]
    if side == 1:
        return 0
    if network.shape != "mesh":
        return (side * side - side % 2) / (8 * side)
    here = node // prod(sides[:dimension]) % side
    behind = here + 1 if step > 0 else side - here
    return behind * (side - behind) / side


def _one_line(sides: tuple[int, ...]) -> Iterator[_Direction]:
    """Yields the fibres along one line of nodes in each dimension, in upward direction."""
    for dimension, side in enumerate(sides):
        for here in range(side):
            yield here * prod(sides[:dimension]), dimension, 1


def _partners(sides: tuple[int, ...], traffic: Traffic) -> Iterator[tuple[int, int, float]]:
    """Yields sources, targets and shares of a source's messages, if traffic is not uniform."""
    for source in range(prod(sides)):
        place = _place(sides, source)
        match traffic.pattern:
            case "hot-spot" if traffic.hot_node is not None and traffic.hot_share is not None:
                yield source, traffic.hot_node, traffic.hot_share
                continue
            case "transpose":
                place[0], place[1] = place[1], place[0]
            case "tornado":
                place = [
                    (here + -(-side // 2) - 1) % side
                    for here, side in zip(place, sides, strict=True)
                ]
            case "neighbour":
                place[0] = (place[0] + 1) % sides[0]
            case _:
                return
        yield source, _number(sides, place), 1.0


def _way(network: Network, source: int, target: int) -> Iterator[tuple[_Direction, float]]:
    """Yields the fibres on the route between two nodes, each with its share of the messages.

    The route is in dimension order. If both directions around a ring are equally long, each has
    half of the messages.
    """
    sides = network.sides or ()
    here, there = _place(sides, source), _place(sides, target)
    for dimension, side in enumerate(sides):
        up = (there[dimension] - here[dimension]) % side
        steps = {1: up, -1: side - up}
        if network.shape == "mesh":
            taken = [1 if there[dimension] > here[dimension] else -1]
        else:
            taken = [step for step in steps if steps[step] == min(steps.values())]
        for step in taken if up else ():
            at = list(here)
            for _ in range(steps[step]):
                yield (_number(sides, at), dimension, step), 1 / len(taken)
                at[dimension] = (at[dimension] + step) % side
        here[dimension] = there[dimension]


def _place(sides: tuple[int, ...], number: int) -> list[int]:
    """The coordinates of a node; the first coordinate changes fastest with its number."""
    return [number // prod(sides[:dimension]) % side for dimension, side in enumerate(sides)]


def _number(sides: tuple[int, ...], place: list[int]) -> int:
    return sum(here * prod(sides[:dimension]) for dimension, here in enumerate(place))
