"""Simulates each experiment of the source by a function that uses only the public API."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from itertools import product
from typing import TYPE_CHECKING

from peerlane.opae import accelerators, configure
from peerlane.opae import sweep as sweep_cards
from peerlane.opae.diag import Mode, diagnose
from peerlane.opae.steady import steady_rates
from peerlane.planning.video import MIB, Chroma, Format, Video, use
from peerlane.systems.pac.frames import carry
from peerlane.systems.pac.machine import Constants

if TYPE_CHECKING:
    from collections.abc import Mapping

    from peerlane import Fabric
    from peerlane.opae.steady import Rates
    from peerlane.reproduction.jobs import Measurements
    from peerlane.systems.pac.machine import Machine

__all__ = [
    "Constants",
    "efficiency",
    "fig3",
    "first_touch",
    "frame",
    "frames",
    "loopback",
    "sweep",
    "table2",
    "usage",
    "video",
]

SECONDS = {"sweep": 28, "frames": 12, "video": 7, "fig3": 3, "efficiency": 2.3}
"""The approximate simulation time of figures on one processor, in seconds."""

KIB, GIB = 1 << 10, 1 << 30

DIRECTIONS = ("host-to-fpga", "fpga-to-host")

SIZES = {
    f"{size}{unit}": size * factor
    for unit, factor, sizes in (
        ("KB", KIB, (4, 16, 64, 256)),
        ("MB", MIB, (1, 4, 16, 64, 100, 256)),
        ("GB", GIB, (1, 4)),
    )
    for size in sizes
}
"""The sizes of the transfers in figure 3 of the source, in bytes."""

FORMATS = list(product(Format, Chroma))

FRAMES = {
    "422/one-card": (Chroma.YUV_422, 1, False),
    "422/two-cards": (Chroma.YUV_422, 2, False),
    "444/one-card": (Chroma.RGB_444, 1, False),
    "444/two-cards": (Chroma.RGB_444, 2, False),
    "444/two-cards-in-turn": (Chroma.RGB_444, 2, True),
    "444/three-cards": (Chroma.RGB_444, 3, False),
}
"""Videos of 8K that go to cards and back: chroma sampling, number of cards, and whether each card
takes whole frames instead of a part of each frame."""


def sweep(machine: Machine) -> Measurements:
    """Rates of a transfer of 4 GiB to the card and back, in the log's unit and in other units."""
    simulation = machine.fabric().simulation()
    (swept,) = sweep_cards(simulation, accelerators(simulation), machine.constants.whole)
    if not swept.intact:
        raise RuntimeError("some bytes came back changed")
    for direction, rate in zip(DIRECTIONS, (swept.host_to_card, swept.card_to_host), strict=True):
        yield f"sweep/{direction}", rate / 1e6
        yield f"reading/sweep/{direction}/2^20", rate / MIB
        yield f"reading/sweep/{direction}/table1", rate / machine.constants.printed


def fig3(machine: Machine) -> Measurements:
    """Rates of transfers of 4 KB to 4 GB; above 256 MiB, from the steady rate of a part."""
    found = steady_rates(machine.fabric().simulation, SIZES.values())
    for name, size in SIZES.items():
        for direction, rate in _both(found[size]):
            yield f"fig3/{name}/{direction}", rate / 1e6
    yield "fig3/steady-from", _steady_from(found, machine.constants.steady) / GIB


def first_touch(machine: Machine) -> Measurements:
    """Rate of a transfer from the card to new memory, whose pages fault, as the source suspects."""
    simulation = machine.fabric().simulation()
    size, fault = SIZES["256MB"], machine.constants.page_fault
    (swept,) = sweep_cards(simulation, accelerators(simulation), size, page_fault_ns=fault)
    yield "first-touch/256MB/fpga-to-host", swept.card_to_host / 1e6


def efficiency(machine: Machine) -> Measurements:
    """Rates as shares of the link's rate, which is 8 GT/s for each lane, less 128b/130b."""
    its = machine.constants
    yield "efficiency/gen3-lane-uncoded", its.gigatransfers / 8
    yield "efficiency/gen3-x8-uncoded", its.gigatransfers
    yield "efficiency/gen3-lane", its.lane
    yield "efficiency/gen3-x8", 8 * its.lane
    for direction, rate in _both(steady_rates(machine.fabric().simulation, [its.whole])[its.whole]):
        yield f"efficiency/{direction}", 100 * rate / its.printed / (8 * its.lane)
        yield f"check/efficiency/{direction}/10^9", 100 * rate / 1e9 / (8 * its.lane)
        yield f"reading/efficiency/{direction}/two-way", 2 * rate / its.printed


def loopback(machine: Machine) -> Measurements:
    """Rates of the card's own diagnostics, which use the link without copies, in lines of 64 B."""
    for mode in (Mode.READ, Mode.WRITE, Mode.THROUGHPUT, Mode.LOOPBACK):
        simulation = machine.fabric().simulation()
        configure(simulation, "card", mode.image)
        (card,) = accelerators(simulation)
        found = card.thread.run(diagnose(card, mode, lines=machine.constants.lines))
        if mode is not Mode.WRITE:
            yield f"check/loopback/{mode}/read", found.read_bytes_per_second / 1e6
        if mode is not Mode.READ:
            yield f"check/loopback/{mode}/write", found.write_bytes_per_second / 1e6


def frame(_: Machine) -> Measurements:
    """The size of a video frame with samples of 10 bits, in units of 2^20 bytes."""
    for form, chroma in FORMATS:
        yield f"frame/{form}/{chroma}", _printed(Video(form, chroma).frame_mib, 2)


def table2(_: Machine) -> Measurements:
    """The bandwidth of 60 video frames a second, in units of 2^20 bytes a second."""
    for form, chroma in FORMATS:
        yield f"table2/{form}/{chroma}", _printed(Video(form, chroma).mib_per_second, 2)


def usage(machine: Machine) -> Measurements:
    """The share that video needs of the published rate from the card, as the source calculates."""
    its = machine.constants
    for form, chroma in FORMATS:
        needed = Video(form, chroma).mib_per_second
        yield f"usage/{form}/{chroma}", _printed(100 * needed / (its.from_card * 1024), 1)


def video(machine: Machine) -> Measurements:
    """The share that 8K video needs of the rates of one card, and of two cards with half frames."""
    its = machine.constants
    for name, cards in (("one-card", 1), ("two-cards", 2)):
        rates = steady_rates(_with(machine, cards).simulation, [its.whole])[its.whole]
        for chroma in Chroma:
            shares = use(Video(Format.UHD_8K, chroma), dict(_both(rates))).percent
            yield f"check/video/8k/{chroma}/{name}", max(shares.values())


def frames(machine: Machine) -> Measurements:
    """The times of 8K frames that are written to cards and read back, and the late frames."""
    for name, (chroma, cards, in_turn) in FRAMES.items():
        simulation = _with(machine, cards).simulation()
        video = Video(Format.UHD_8K, chroma)
        found = carry(simulation, video, machine.constants.frames, in_turn=in_turn)
        yield f"video/8k/{name}/time", found.first_ns / 1e6
        yield f"video/8k/{name}/late", found.late


def _with(machine: Machine, cards: int) -> Fabric:
    """The fabric with several cards like the first one, each at another root port."""
    fabric = machine.fabric()
    for number in range(2, cards + 1):
        fabric.device(f"card{number}", "server", model="fpga-card", profile="pac", afu="dma_afu")
    return fabric


def _steady_from(found: Mapping[int, Rates], steady: float) -> int:
    """The smallest size from which on both rates are close to the rates of the largest size."""
    last = dict(_both(found[max(found)]))
    unsteady = [
        size
        for size, rates in found.items()
        if any(abs(rate / last[direction] - 1) > steady for direction, rate in _both(rates))
    ]
    return min(size for size in found if size > max(unsteady, default=0))


def _both(rates: Rates) -> tuple[tuple[str, float], tuple[str, float]]:
    return (DIRECTIONS[0], rates.host_to_card), (DIRECTIONS[1], rates.card_to_host)


def _printed(value: float, digits: int) -> float:
    """A number as the source's tables print it: a half of the last digit is rounded up."""
    last = Decimal(1).scaleb(-digits)
    return float(Decimal(value).quantize(last, ROUND_HALF_UP))
