"""Calculates tables 1 and 2: the share of data in a link's rate, and its rate in MiB/s."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from peerlane.reproduction.jobs import Measurements
    from peerlane.systems.rosta.machine import Machine

PAYLOADS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
_MIB = 1 << 20


def share(machine: Machine, payload: int) -> Fraction:
    """The share of data in the link's rate, by the source's formula (1): xi = x / (x + 23)."""
    return Fraction(payload, payload + machine.constants.overhead)


def line_rate(machine: Machine, generation: int, lanes: int) -> Fraction:
    """The rate of a link in MiB/s as the source calculates it: for Gen3, 128b/130b is ignored."""
    gbit = machine.constants.lane_gbit[generation - 1]
    return Fraction(gbit * lanes * 10**9, 8 * _MIB)


def table1(machine: Machine) -> Measurements:
    """The share of data for each payload, cut off after three decimals as in the source."""
    for payload in PAYLOADS:
        yield f"table1/{payload}", int(1000 * share(machine, payload)) / 1000


def table2(machine: Machine) -> Measurements:
    """Rates of each link, and of data on it by the formula and by the source's own arithmetic."""
    yield "text/gen3-x8", float(line_rate(machine, 3, 8) * share(machine, 128)) * _MIB / 1e9
    yield "reading/table2/gen3-x1/gbit/coded", 8 * 128 / 130
    two_lanes = line_rate(machine, 1, 2)
    for generation, gbit in enumerate(machine.constants.lane_gbit, 1):
        for lanes in (1, 2, 4, 8):
            rate = line_rate(machine, generation, lanes)
            link = f"table2/gen{generation}-x{lanes}"
            yield f"{link}/gbit", gbit * lanes
            yield f"{link}/theory", int(rate)
            yield f"{link}/128", float(rate * share(machine, 128))
            yield f"{link}/256", float(rate * share(machine, 256))
            yield f"reading/{link}/128/as-printed", _printed_128(rate, two_lanes)
            yield f"reading/{link}/256/as-printed", _printed_256(rate)


def _printed_256(rate: Fraction) -> int:
    """The printed rate for payloads of 256 bytes: the link's rate without fraction, times 0.917."""
    return int(int(rate) * Fraction(917, 1000))


def _printed_128(rate: Fraction, two_lanes: Fraction) -> int:
    """The printed rate for payloads of 128 bytes: 476 x 0.847 for Gen1 x2, scaled to any link."""
    return int(int(two_lanes) * Fraction(847, 1000) * (rate / two_lanes))
