"""Measures rates of transfers; the rates of large transfers are extrapolated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from peerlane.opae.card import accelerators
from peerlane.opae.sweep import sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from peerlane.fabric.simulation import Simulation

MIB = 1 << 20

SIMULATED = 256 * MIB
"""The bytes of the largest transfer that is simulated; larger transfers are extrapolated from the
second half of this transfer."""

STEADY = 0.002
"""If the times of two successive parts of a transfer differ by at most this share, the rate is
steady."""


@dataclass(frozen=True, slots=True)
class Rates:
    """The sums of the rates of all cards, in bytes per second, in transfers at the same time."""

    host_to_card: float
    card_to_host: float


def steady_rates(make: Callable[[], Simulation], sizes: Iterable[int]) -> dict[int, Rates]:
    """The rates of transfers of several sizes, each with a new fabric.

    Transfers of up to 256 MiB are simulated. For larger transfers, transfers of 64, 128 and 256 MiB
    are simulated, and the remaining time is calculated from the time of the last 128 MiB. An error
    is raised if the time per byte of the last 128 MiB differs by more than 0.2 % from the 64 MiB
    before them.

    Args:
        make: A function that creates the fabric, whose cards have the memory-mapped DMA sample
            loaded.
        sizes: The bytes for each card, which are multiples of 64.

    Raises:
        ValueError: The fabric has no card, or a size is wrong.
        RuntimeError: Bytes that were read back differ, or transfers are not steady.
    """
    wanted = set(sizes)
    simulated = {size for size in wanted if size <= SIMULATED}
    if simulated != wanted:
        simulated |= {SIMULATED // 4, SIMULATED // 2, SIMULATED}
    measured = {size: _times(make(), size) for size in sorted(simulated)}
    cards = next(iter(measured.values()))[0]
    rates = {}
    for size in wanted:
        both = [
            _time({known: times[way] for known, times in measured.items()}, size) for way in (1, 2)
        ]
        rates[size] = Rates(*(cards * size / ns * 1e9 for ns in both))
    return rates


def _times(simulation: Simulation, size: int) -> tuple[int, float, float]:
    """The number of cards, and the time in each direction until the last card was done, in ns."""
    swept = sweep(simulation, accelerators(simulation), size)
    if not all(one.intact for one in swept):
        raise RuntimeError("some bytes came back changed")
    to_cards = max(one.host_to_card_ns for one in swept)
    return len(swept), to_cards, max(one.card_to_host_ns for one in swept)


def _time(times: Mapping[int, float], size: int) -> float:
    """The time of a transfer in nanoseconds, from a simulation or extrapolated."""
    if size in times:
        return times[size]
    quarter, half, whole = (times[SIMULATED // part] for part in (4, 2, 1))
    late = (whole - half) / (SIMULATED // 2)
    early = (half - quarter) / (SIMULATED // 4)
    if abs(late / early - 1) > STEADY:
        raise RuntimeError(
            f"a transfer of {SIMULATED} bytes is not steady: {early} and then {late} ns a byte"
        )
    return whole + (size - SIMULATED) * late
