"""Measures what a function gains by priority, by weights and by more queue pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.systems.chpp.machine import WAY, alone_ns
from peerlane.systems.measured import latency, sound, steady

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane import Fabric
    from peerlane.reproduction.jobs import Measurements
    from peerlane.systems.chpp.machine import Machine

ARBITERS = ("round-robin", "priority")

FEWER_UNDER_WAY = (1, 4)
"""Smaller numbers of messages that the program of the physical function has under way."""

WEIGHTS = (2, 4)
"""Packets of the physical function in its turn; each other function has one."""

PAIRS: dict[str, tuple[int, ...]] = {
    "own-function": (0, 0, 1, 2, 3, 4, 5, 6, 7),
    "shared-function": (0, 1, 1, 2, 3, 4, 5, 6, 7),
    "two-functions": (0, 1, 2, 3, 4, 5, 6, 7),
}
"""For each case, the functions of all queue pairs.

The first two queue pairs belong to one program; each further queue pair belongs to another program.
The second queue pair belongs to the function of the first one, to a function that another program
also uses, or to a function that no other program uses.
"""


LOOKS = {"before-move": (0.5, 1), "after-move": (1.5, 2)}
"""The windows in which the shares of a program are measured, in parts of the time of the move."""


def services(machine: Machine) -> Measurements:
    """The gain of the physical function beside seven others by priority, and by a second pair.

    The gain by priority is measured as share and latency, and the gain by a second queue pair as
    the share of the program that has this pair.
    """
    its = machine.constants
    everyone = range(its.functions)
    for arbiter in ARBITERS:
        fabric = machine.fabric().set(WAY[0], arbiter=arbiter)
        yield f"qos/share/{arbiter}", _share(machine, fabric, everyone)
    for most in FEWER_UNDER_WAY:
        fabric = machine.fabric().set(WAY[0], arbiter="priority")
        share = _share(machine, fabric, everyone, first_outstanding=most)
        yield f"qos/share/priority/{most}-under-way", share
    fabric = machine.fabric().set(WAY[0], arbiter="priority", sharing="packet")
    yield "qos/share/priority/by-packets", _share(machine, fabric, everyone)
    for weight in WEIGHTS:
        fabric = machine.fabric().set(WAY[0], sharing="packet", weights=str(weight))
        yield f"qos/share/weight/{weight}", _share(machine, fabric, everyone)

    yield "qos/latency/alone", alone_ns(machine, "put", 1) / 1e3
    for arbiter in ARBITERS:
        fabric = machine.fabric().set(WAY[0], arbiter=arbiter)
        yield f"qos/latency/{arbiter}", _latency_us(machine, fabric)
        fabric = machine.fabric().set(WAY[0], arbiter=arbiter, descriptors=1, messages=1)
        yield f"qos/latency/{arbiter}/one-at-a-time", _latency_us(machine, fabric)

    for name, functions in PAIRS.items():
        yield f"qos/pairs/{name}", _share(machine, machine.fabric(), functions, mine=2)
    yield from _moved(machine)


def _share(
    machine: Machine,
    fabric: Fabric,
    functions: Sequence[int],
    *,
    mine: int = 1,
    first_outstanding: int | None = None,
) -> float:
    """The percentage of the bandwidth that the first `mine` queue pairs have at full load."""
    its = machine.constants
    fabric.measure(its.crowded_from, its.crowded_until)
    for number, function in enumerate(functions):
        most = first_outstanding if number == 0 else None
        _send_all(machine, fabric, function, most or its.outstanding // functions.count(function))
    rates = [steady(flow) for flow in sound(fabric.run()).flows]
    return 100 * sum(rates[:mine]) / sum(rates)


def _moved(machine: Machine) -> Measurements:
    """Share of a program with two queue pairs, of which one moves to a function that is free.

    A move is the end of a queue pair, after which the program goes on with another one.
    """
    its = machine.constants
    own, *others, free = range(its.functions)
    fabric = machine.fabric()
    whole, half = f"{2 * its.move_us} us", f"{its.move_us} us"
    _send_all(machine, fabric, own, its.outstanding // 2, duration=whole)
    _send_all(machine, fabric, own, its.outstanding // 2, duration=half)
    _send_all(machine, fabric, free, its.outstanding, start=half, duration=half)
    for function in others:
        _send_all(machine, fabric, function, its.outstanding, duration=whole)
    simulation = fabric.simulation()
    for name, window in LOOKS.items():
        moved: list[list[int]] = []
        for part in window:
            simulation.run_until(part * its.move_us * 1e3)
            moved.append([flow.bytes for flow in simulation.result().flows])
        each = [after - before for before, after in zip(*moved, strict=True)]
        yield f"qos/pairs/{name}", 100 * sum(each[:3]) / sum(each)


def _latency_us(machine: Machine, fabric: Fabric) -> float:
    """The latency in us of a PUT of one byte by the physical function, if all others are busy."""
    its = machine.constants
    for function in range(1, its.functions):
        _send_all(machine, fabric, function, its.outstanding)
    fabric.flow(
        *WAY,
        function=0,
        request_size="1 B",
        outstanding=1,
        start=its.crowded_from,
        count=its.seldom_count,
    )
    return latency(sound(fabric.run()).flows[-1]) / 1e3


def _send_all(
    machine: Machine, fabric: Fabric, function: int, outstanding: int, **when: str
) -> None:
    """All messages that a function can send, for a `duration` from a `start` on."""
    its = machine.constants
    fabric.flow(
        *WAY,
        function=function,
        request_size=f"{its.message} B",
        outstanding=outstanding,
        **{"duration": its.crowded_until, **when},
    )
