"""A function for each machine: rates of copies between GPUs and hosts, and times of collectives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.systems.machines.machine import Constants
from peerlane.systems.measured import known, sound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane.reproduction.jobs import Measurements
    from peerlane.systems.machines.machine import Machine

__all__ = ["Constants", "desk", "l40s", "storage", "v100", "wrx90"]

Pair = tuple[str, str]
"""The GPU whose copy engine makes the requests, and the other end."""


def wrx90(machine: Machine) -> Measurements:
    """Eight RTX PRO 6000 below two switches: copies, and what several of them share."""
    across = [(f"pro{number}", f"pro{number + 4}") for number in range(4)]
    yield "wrx90/pair", _total(machine, [("pro0", "pro1")])
    yield "wrx90/pair/both", _total(machine, [("pro0", "pro1"), ("pro1", "pro0")])
    yield "wrx90/uplink/2", _total(machine, across[:2])
    yield "wrx90/uplink/4", _total(machine, across)
    yield "wrx90/uplink/both", _total(machine, [("pro0", "pro4"), ("pro5", "pro1")])
    yield "wrx90/to-gpu", _total(machine, [("pro0", "wrx90")], direction="read")
    yield "wrx90/to-host", _total(machine, [("pro0", "wrx90")])
    each = [(f"pro{number}", "wrx90") for number in range(8)]
    yield "wrx90/to-gpu/8", _total(machine, each, direction="read")
    yield "wrx90/to-host/8", _total(machine, each)


def l40s(machine: Machine) -> Measurements:
    """Eight L40S at the root ports of two sockets: rings of copies."""
    yield "l40s/ring/4", _least(machine, _ring(4))
    yield "l40s/ring/8", _least(machine, _ring(8))


def desk(machine: Machine) -> Measurements:
    """Two RTX 3090 at x8: one copy."""
    yield "3090/pair", _total(machine, [("3090-0", "3090-1")])


def v100(machine: Machine) -> Measurements:
    """Four V100 below one switch: a one-shot all-reduce."""
    for size in machine.constants.all_reduce:
        fabric = machine.fabric()
        gpus = [f"v100-{number}" for number in range(4)]
        fabric.schedule("all-reduce", gpus, algorithm="one-shot", size=size)
        (result,) = sound(fabric.run()).schedules
        if result.time_ns is None:
            raise RuntimeError(f"the all-reduce of {size} has no time")
        yield f"v100/all-reduce/{size.replace(' ', '')}", result.time_ns / 1e3


def storage(machine: Machine) -> Measurements:
    """Sixteen drives below two switches: reads to the host, and to a GPU."""
    for target, row in (("storage", "to-host"), ("l4", "to-gpu")):
        fabric = machine.fabric()
        for number in range(16):
            fabric.flow(f"drive{number}", target, direction="write", size=machine.constants.size)
        flows = sound(fabric.run()).flows
        yield f"storage/{row}", sum(known(flow, flow.bytes_per_second) for flow in flows) / 1e9


def _ring(count: int) -> list[Pair]:
    return [(f"l40s-{one}", f"l40s-{(one + 1) % count}") for one in range(count)]


def _rates(machine: Machine, pairs: Sequence[Pair], direction: str = "write") -> list[float]:
    """GB/s of copies at the same time."""
    fabric = machine.fabric().steady()
    for source, target in pairs:
        fabric.flow(source, target, direction=direction, size=machine.constants.size)
    flows = sound(fabric.run()).flows
    return [known(flow, flow.bytes_per_second) / 1e9 for flow in flows]


def _total(machine: Machine, pairs: Sequence[Pair], direction: str = "write") -> float:
    return sum(_rates(machine, pairs, direction))


def _least(machine: Machine, pairs: Sequence[Pair]) -> float:
    return min(_rates(machine, pairs))
