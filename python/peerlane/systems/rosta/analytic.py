"""Tables 1 and 2: the share of a link that data can have, and what that is in MiB/s."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from peerlane.reproduction.jobs import Measurements
    from peerlane.systems.rosta.machine import Machine

PAYLOADS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
_MIB = 1 << 20


def share(machine: Machine, payload: int) -> Fraction:
    """The source's formula (1): xi = x / (x + 23)."""
    return Fraction(payload, payload + machine.constants.overhead)


def line_rate(machine: Machine, generation: int, lanes: int) -> Fraction:
    """MiB/s of a link as the source counts them: without 128b/130b in generation 3."""
    gbit = machine.constants.lane_gbit[generation - 1]
    return Fraction(gbit * lanes * 10**9, 8 * _MIB)


def table1(machine: Machine) -> Measurements:
    """The share for each payload, cut off after three decimals as in print."""
    for payload in PAYLOADS:
        yield f"table1/{payload}", int(1000 * share(machine, payload)) / 1000


def table2(machine: Machine) -> Measurements:
    """Rates of each link and of data on it, by the formula and by the source's own arithmetic."""
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
    """The rate without its fraction, times table 1's 0.917."""
    return int(int(rate) * Fraction(917, 1000))


def _printed_128(rate: Fraction, two_lanes: Fraction) -> int:
    """476 times table 1's 0.847, doubled or halved from Gen1 x2 to every other link."""
    return int(int(two_lanes) * Fraction(847, 1000) * (rate / two_lanes))
