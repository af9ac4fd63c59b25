"""Networks of controllers, and the latency of a message in them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import product
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
"""Coordinates of a processor or a controller."""

Cable = tuple[Place, Place]
"""The controllers that a cable joins."""


@dataclass(frozen=True)
class Network:
    """Controllers joined by cables."""

    cables: tuple[Cable, ...]
    senders: dict[Place, Place]
    """The processor that sends by each controller, in the order of the processors."""
    receivers: dict[Place, Place]
    """The processor that receives by each controller, in the same order."""

    @cached_property
    def neighbours(self) -> dict[Place, list[Place]]:
        """The controllers to which cables join each controller."""
        found: dict[Place, list[Place]] = {place: [] for place in self.senders | self.receivers}
        for one, other in self.cables:
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)
        return found

    @cached_property
    def distances(self) -> Counter[int]:
        """The number of pairs of different processors, by the hops between both."""
        return Counter(
            hops[receiver]
            for sender, processor in self.senders.items()
            for hops in [self.hops(sender)]
            for receiver, other in self.receivers.items()
            if other != processor
        )

    @property
    def mean_distance(self) -> float:
        """Mean hops between two different processors."""
        return sum(hops * count for hops, count in self.distances.items()) / self.distances.total()

    @property
    def turned(self) -> list[Cable]:
        """Sender and receiver of each message to the processor with the coordinates in reverse.

        A processor that is this processor itself has none.
        """
        receivers = {processor: place for place, processor in self.receivers.items()}
        return [
            (place, receivers[processor[::-1]])
            for place, processor in self.senders.items()
            if processor != processor[::-1]
        ]

    def hops(self, start: Place) -> dict[Place, int]:
        """Cables on the shortest path from a controller to each controller."""
        found, reached = {start: 0}, [start]
        for place in reached:
            for neighbour in self.neighbours[place]:
                if neighbour not in found:
                    found[neighbour] = found[place] + 1
                    reached.append(neighbour)
        return found


def grid(*sides: int, wraps: bool = True) -> Network:
    """A mesh, or a torus if it `wraps`, with a processor at each controller.

    Two controllers along a dimension are joined by one cable, so that a torus of these is a
    hypercube.
    """

    def cables() -> Iterator[Cable]:
        for dimension, side in enumerate(sides):
            for place in places:
                here = place[dimension]
                if here + 1 < side or (wraps and side > PAIR):
                    yield place, _changed(place, dimension, (here + 1) % side)

    places = list(product(*map(range, sides)))
    processors = {place: place for place in places}
    return Network(tuple(cables()), processors, processors)


def fat_tree(degree: int, levels: int) -> Network:
    """A tree whose nodes have `degree` children, and below the highest level as many parents.

    The controllers of processors are its leaves; the controllers above them have no processor.
    """

    def cables() -> Iterator[Cable]:
        for processor in processors:
            yield (0, *processor), (1, *processor[:-1])
        for level in range(1, levels):
            for digits in product(range(degree), repeat=levels - 1):
                for digit in range(degree):
                    above = _changed(digits, levels - 1 - level, digit)
                    yield (level, *digits), (level + 1, *above)

    processors = list(product(range(degree), repeat=levels))
    leaves = {(0, *processor): processor for processor in processors}
    return Network(tuple(cables()), leaves, leaves)


def butterfly(stages: int) -> Network:
    """Ranks of controllers, in which each stage chooses one bit of the destination.

    A processor sends by a controller of the first rank and receives by a controller of the last
    one. With one controller for both, packets could turn back before the last rank, as a cable
    carries packets both ways.
    """

    def cables() -> Iterator[Cable]:
        for stage in range(stages):
            for row in rows:
                for bit in range(2):
                    yield (stage, *row), (stage + 1, *_changed(row, stage, bit))

    rows = list(product(range(2), repeat=stages))
    first, last = ({(rank, *row): row for row in rows} for rank in (0, stages))
    return Network(tuple(cables()), first, last)


def _changed(place: Place, dimension: int, coordinate: int) -> Place:
    return (*place[:dimension], coordinate, *place[dimension + 1 :])


PAIR = 2
"""Nodes of a ring that has one cable."""

NETWORKS: dict[str, tuple[Network, ...]] = {
    "hypercube": (grid(*(2,) * 4), grid(*(2,) * 6), grid(*(2,) * 8)),
    "butterfly": (butterfly(4), butterfly(6)),
    "fat-tree": (fat_tree(4, 2), fat_tree(4, 3), fat_tree(4, 4)),
    "mesh-2d": tuple(grid(side, side, wraps=False) for side in (4, 8, 16)),
    "torus-2d": tuple(grid(side, side) for side in (4, 8, 16)),
    "mesh-3d": (grid(4, 4, 4, wraps=False), grid(4, 8, 8, wraps=False)),
    "torus-3d": (grid(4, 4, 4), grid(4, 8, 8)),
}
"""The networks that are simulated, of 16, 64 and 256 processors.

16 are no cube. A butterfly of 256 processors has 512 network interface controllers, of which a
scenario has at most 256.
"""


def simulated(machine: Machine) -> Measurements:
    """Microseconds from doorbell to notice, in the mean over all pairs of processors."""
    for topology, networks in NETWORKS.items():
        for one in networks:
            times = _times_us(machine, one)
            total = sum(times[hops] * count for hops, count in one.distances.items())
            yield f"fig5/simulated/{topology}/{len(one.senders)}", total / one.distances.total()
    longest = _times_us(machine, grid(*(2,) * 8))
    yield "fig5/measured/hop", (longest[8] - longest[1]) / 7 * 1e3


def crowded(machine: Machine) -> Measurements:
    """Microseconds where all processors send at once, each to where its coordinates, turned, point.

    So many messages meet on the same cables.
    """
    for topology, one in crowds(machine).items():
        fabric = network(machine, one)
        for ends in one.turned:
            fabric.flow(
                *(name("n", end) for end in ends),
                size=f"{machine.constants.message} B",
                start=f"{machine.constants.apart_us} us",
            )
        with already_warned():  # as below
            flows = sound(fabric.run()).flows
        yield f"fig5/crowded/{topology}/{len(one.senders)}", mean(map(latency, flows)) / 1e3


def crowds(machine: Machine) -> dict[str, Network]:
    """The network of each topology in which all processors send at once."""
    return {
        topology: one
        for topology, networks in NETWORKS.items()
        for one in networks
        if len(one.senders) == machine.constants.crowd
    }


def _times_us(machine: Machine, one: Network) -> dict[int, float]:
    """Latency of a message in microseconds, for each number of hops between two processors."""
    first, processor = next(iter(one.senders.items()))
    hops = one.hops(first)
    nearest = {
        hops[place]: place for place, other in reversed(one.receivers.items()) if other != processor
    }
    fabric = network(machine, one)
    for number, place in enumerate(nearest.values(), 1):
        start = f"{number * machine.constants.apart_us} us"
        fabric.flow(
            name("n", first), name("n", place), size=f"{machine.constants.message} B", start=start
        )
    with already_warned():  # rings of four, and butterflies, can deadlock under load
        flows = sound(fabric.run()).flows
    return {hops: latency(flow) / 1e3 for hops, flow in zip(nearest, flows, strict=True)}


def network(machine: Machine, one: Network) -> Fabric:
    """A network of the source's controllers, with the source's PCI Express core at each cable end.

    A network interface controller joins each controller that has a processor to its host.
    """
    core = str(machine.setting("profiles.virtex6.send_latency"))
    settings: dict[str, Setting] = {
        "ports": 1,
        "crossbar_cycles": machine.setting("controllers.crossbar.crossbar_cycles"),
        "cable_send_latency": core,
        "cable_receive_latency": core,
    }
    fabric = machine.fabric().without_nodes()
    for place in one.neighbours:
        fabric.controller(name("c", place), **settings)
    for processor in one.senders.values():
        fabric.host(name("h", processor), profile="processor")
    for place, processor in (one.senders | one.receivers).items():
        controller, host = name("c", place), name("h", processor)
        fabric.device(name("n", place), host, model="nic", profile="virtex6", controller=controller)
    for here, there in one.cables:
        fabric.cable(name("c", here), name("c", there))
    return fabric


def name(kind: str, place: Place) -> str:
    """The name of the host ("h"), the device ("n") or the controller ("c") at a place."""
    return kind + "-".join(map(str, place))
