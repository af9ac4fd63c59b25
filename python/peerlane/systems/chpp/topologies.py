"""Builds networks of controllers, and measures the latency of a message in each of them."""

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
"""The two controllers that a cable joins."""


@dataclass(frozen=True)
class Network:
    """Controllers joined by cables."""

    cables: tuple[Cable, ...]
    senders: dict[Place, Place]
    """For each controller, the processor that sends through it, in the order of the processors."""
    receivers: dict[Place, Place]
    """For each controller, the processor that receives through it, in the order of `senders`."""

    @cached_property
    def neighbours(self) -> dict[Place, list[Place]]:
        """For each controller, the controllers at the other ends of its cables."""
        found: dict[Place, list[Place]] = {place: [] for place in self.senders | self.receivers}
        for one, other in self.cables:
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)
        return found

    @cached_property
    def distances(self) -> Counter[int]:
        """For each number of hops, the number of pairs of processors with this distance."""
        return Counter(
            hops[receiver]
            for sender, processor in self.senders.items()
            for hops in [self.hops(sender)]
            for receiver, other in self.receivers.items()
            if other != processor
        )

    @property
    def mean_distance(self) -> float:
        """The mean number of hops between two different processors."""
        return sum(hops * count for hops, count in self.distances.items()) / self.distances.total()

    @property
    def turned(self) -> list[Cable]:
        """The sender and receiver of each message to the processor with reversed coordinates.

        A processor whose reversed coordinates are its own sends no message.
        """
        receivers = {processor: place for place, processor in self.receivers.items()}
        return [
            (place, receivers[processor[::-1]])
            for place, processor in self.senders.items()
            if processor != processor[::-1]
        ]

    def hops(self, start: Place) -> dict[Place, int]:
        """The number of cables on the shortest path from a controller to each controller."""
        found, reached = {start: 0}, [start]
        for place in reached:
            for neighbour in self.neighbours[place]:
                if neighbour not in found:
                    found[neighbour] = found[place] + 1
                    reached.append(neighbour)
        return found


def grid(*sides: int, wraps: bool = True) -> Network:
    """A mesh, or a torus if it `wraps`, with a processor at each controller.

    If a dimension has two controllers, one cable joins them, so that a torus with two controllers
    along each dimension is a hypercube.
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
    """A fat tree: a node has `degree` children and, below the highest level, `degree` parents.

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
    """A butterfly: ranks of controllers; each stage between ranks chooses a bit of the destination.

    A processor sends through a controller of the first rank, and receives through a controller of
    the last rank. If one controller did both, packets could turn back before the last rank, because
    a cable carries packets in both directions.
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
"""The number of controllers in a ring with only one cable."""

NETWORKS: dict[str, tuple[Network, ...]] = {
    "hypercube": (grid(*(2,) * 4), grid(*(2,) * 6), grid(*(2,) * 8)),
    "butterfly": (butterfly(4), butterfly(6)),
    "fat-tree": (fat_tree(4, 2), fat_tree(4, 3), fat_tree(4, 4)),
    "mesh-2d": tuple(grid(side, side, wraps=False) for side in (4, 8, 16)),
    "torus-2d": tuple(grid(side, side) for side in (4, 8, 16)),
    "mesh-3d": (grid(4, 4, 4, wraps=False), grid(4, 8, 8, wraps=False)),
    "torus-3d": (grid(4, 4, 4), grid(4, 8, 8)),
}
"""The simulated networks of 16, 64 and 256 processors, by topology.

A 3-D mesh or torus of 16 processors is left out, because 16 is no cube. A butterfly of 256
processors is left out, because it has 512 network interface controllers, and a scenario has at most
256.
"""


def simulated(machine: Machine) -> Measurements:
    """The time from doorbell to notice, in microseconds: the mean over all pairs of processors."""
    for topology, networks in NETWORKS.items():
        for one in networks:
            times = _times_us(machine, one)
            total = sum(times[hops] * count for hops, count in one.distances.items())
            yield f"fig5/simulated/{topology}/{len(one.senders)}", total / one.distances.total()
    longest = _times_us(machine, grid(*(2,) * 8))
    yield "fig5/measured/hop", (longest[8] - longest[1]) / 7 * 1e3


def crowded(machine: Machine) -> Measurements:
    """The latency in microseconds, if each processor sends to the one with reversed coordinates.

    All processors send at once, so that many messages use the same cables.
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
    """For each number of hops between two processors, the latency of a message in microseconds."""
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
    """A fabric of the source's controllers, with the source's PCI Express core at each cable end.

    Each controller that has a processor is connected to the host by a network interface controller.
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
