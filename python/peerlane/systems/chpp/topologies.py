"""Direct networks of controllers, each with one processor, and the latency of a message in them."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import prod
from statistics import mean
from typing import TYPE_CHECKING

from peerlane.fabric.simulation import already_warned
from peerlane.systems.measured import latency, sound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerlane import Fabric
    from peerlane.fabric.settings import Setting
    from peerlane.reproduction.jobs import Measurements
    from peerlane.systems.chpp.machine import Machine

Place = tuple[int, ...]
"""Coordinates of a processor."""

Sides = tuple[int, ...]
"""Processors along each dimension."""

SIDES: dict[str, tuple[Sides, ...]] = {
    "hypercube": ((2,) * 4, (2,) * 6, (2,) * 8),
    "torus-2d": ((4, 4), (8, 8), (16, 16)),
    "torus-3d": ((4, 4, 4), (4, 8, 8)),
}
"""The networks that are simulated."""

CROWDED: dict[str, Sides] = {"hypercube": (2,) * 6, "torus-2d": (8, 8), "torus-3d": (4, 4, 4)}
"""The networks in which all processors send at once."""

PAIR = 2
"""Nodes of a ring that has one cable."""


def simulated(machine: Machine) -> Measurements:
    """Microseconds from doorbell to notice, in the mean over all destinations of one processor."""
    for topology, sizes in SIDES.items():
        for sides in sizes:
            hops = distances(sides)
            counts = Counter(hops.values())
            times = _times_us(machine, sides, hops)
            total = sum(times[distance] * count for distance, count in counts.items())
            yield f"fig5/simulated/{topology}/{prod(sides)}", total / len(hops)
    longest = _times_us(machine, (2,) * 8, distances((2,) * 8))
    yield "fig5/measured/hop", (longest[8] - longest[1]) / 7 * 1e3


def crowded(machine: Machine) -> Measurements:
    """Microseconds where all processors send at once, each to where its coordinates, turned, point.

    So many messages meet on the same cables.
    """
    for topology, sides in CROWDED.items():
        fabric = network(machine, sides)
        for place in turned_hops(sides):
            ends = name("n", place), name("n", place[::-1])
            fabric.flow(
                *ends,
                size=f"{machine.constants.message} B",
                start=f"{machine.constants.apart_us} us",
            )
        with already_warned():  # as above
            flows = sound(fabric.run()).flows
        yield f"fig5/crowded/{topology}/{prod(sides)}", mean(map(latency, flows)) / 1e3


def turned_hops(sides: Sides) -> dict[Place, int]:
    """Hops from each place to that with its coordinates in reverse order, if the two differ."""
    places = (place for place in _places(sides) if place != place[::-1])
    return {
        place: _hops(tuple(abs(a - b) for a, b in zip(place, place[::-1], strict=True)), sides)
        for place in places
    }


def distances(sides: Sides) -> dict[Place, int]:
    """Hops from the first place to each of the other places."""
    origin = (0,) * len(sides)
    return {place: _hops(place, sides) for place in _places(sides) if place != origin}


def _times_us(machine: Machine, sides: Sides, hops: dict[Place, int]) -> dict[int, float]:
    """Latency of a message in microseconds, for each number of hops between two places."""
    origin = (0,) * len(sides)
    nearest = {distance: place for place, distance in reversed(hops.items())}
    fabric = network(machine, sides)
    for number, place in enumerate(nearest.values(), 1):
        start = f"{number * machine.constants.apart_us} us"
        fabric.flow(
            name("n", origin), name("n", place), size=f"{machine.constants.message} B", start=start
        )
    with already_warned():  # rings of four can deadlock, under load
        flows = sound(fabric.run()).flows
    return {hop: latency(flow) / 1e3 for hop, flow in zip(nearest, flows, strict=True)}


def network(machine: Machine, sides: Sides) -> Fabric:
    """A network of the source's controllers, with the source's PCI Express core at each cable end.

    Each controller has one host and one network interface controller.
    """
    core = str(machine.setting("profiles.virtex6.send_latency"))
    settings: dict[str, Setting] = {
        "ports": 1,
        "crossbar_cycles": machine.setting("controllers.crossbar.crossbar_cycles"),
        "cable_send_latency": core,
        "cable_receive_latency": core,
    }
    fabric = machine.fabric().without_nodes()
    for place in _places(sides):
        controller, host = name("c", place), name("h", place)
        fabric.controller(controller, **settings)
        fabric.host(host, profile="processor")
        fabric.device(name("n", place), host, model="nic", profile="virtex6", controller=controller)
    for place, next_place in _neighbours(sides):
        fabric.cable(name("c", place), name("c", next_place))
    return fabric


def _places(sides: Sides) -> Iterator[Place]:
    return product(*map(range, sides))


def _neighbours(sides: Sides) -> Iterator[tuple[Place, Place]]:
    """Each place with its next neighbour in each dimension, one pair for each cable.

    The neighbour of the last place is the first one, except in a dimension of two places.
    """
    for dimension, side in enumerate(sides):
        for place in _places(sides):
            here = place[dimension]
            if here + 1 < side or side > PAIR:
                yield place, (*place[:dimension], (here + 1) % side, *place[dimension + 1 :])


def _hops(place: Place, sides: Sides) -> int:
    return sum(min(here, side - here) for here, side in zip(place, sides, strict=True))


def name(kind: str, place: Place) -> str:
    """The name of the host ("h"), the device ("n") or the controller ("c") at a place."""
    return kind + "-".join(map(str, place))
