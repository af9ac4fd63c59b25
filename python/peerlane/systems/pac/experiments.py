"""A function for each experiment of the source, on the public API of `peerlane` alone."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from itertools import product
from typing import TYPE_CHECKING

from peerlane.opae import accelerators, configure
from peerlane.opae import sweep as sweep_cards
from peerlane.opae.diag import Mode, diagnose
from peerlane.opae.steady import steady_rates
from peerlane.planning.video import MIB, Chroma, Format, Video, use
from peerlane.reproduction.catalogue import system_fabric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from peerlane import Fabric
    from peerlane.opae.steady import Rates
    from peerlane.reproduction.jobs import Measurements

__all__ = ["efficiency", "fig3", "frame", "loopback", "sweep", "table2", "usage", "video"]

SECONDS = {"sweep": 28, "video": 7, "fig3": 3, "efficiency": 2.3}
"""About how long figures take on one processor; the longest are begun first."""

KIB, GIB = 1 << 10, 1 << 30

DIRECTIONS = ("host-to-fpga", "fpga-to-host")

WHOLE = 4 * GIB
"""Bytes that the source sweeps."""

SIZES = {
    f"{size}{unit}": size * factor
    for unit, factor, sizes in (
        ("KB", KIB, (4, 16, 64, 256)),
        ("MB", MIB, (1, 4, 16, 64, 100, 256)),
        ("GB", GIB, (1, 4)),
    )
    for size in sizes
}
"""Sizes of the transfers of the third figure."""

FROM_CARD = 5.9268
"""The rate from the card in the source's first table, in units of 1024 x 10^6 bytes a second."""

PRINTED = 1e6 * 1024
"""The unit of the source's first table, in bytes a second."""

GIGATRANSFERS = 8
"""GT/s of a Gen3 lane, a bit each: PCIe Base 8.2."""

LANE = GIGATRANSFERS * 128 / 130 / 8
"""GB/s of a Gen3 lane after its encoding."""

STEADY = 0.01
"""The share by which a rate may differ from that of the largest size to be called steady."""

FORMATS = list(product(Format, Chroma))


def sweep() -> Measurements:
    """4 GiB to the card and back, every byte compared; both rates in the log's unit and others."""
    simulation = _fabric().simulation()
    (swept,) = sweep_cards(simulation, accelerators(simulation), WHOLE)
    if not swept.intact:
        raise RuntimeError("some bytes came back changed")
    for direction, rate in zip(DIRECTIONS, (swept.host_to_card, swept.card_to_host), strict=True):
        yield f"sweep/{direction}", rate / 1e6
        yield f"reading/sweep/{direction}/2^20", rate / MIB
        yield f"reading/sweep/{direction}/table1", rate / PRINTED


def fig3() -> Measurements:
    """Transfers of 4 KB to 4 GB; those beyond 256 MiB by the steady rate, once that is proven."""
    found = steady_rates(_fabric().simulation, SIZES.values())
    for name, size in SIZES.items():
        for direction, rate in _both(found[size]):
            yield f"fig3/{name}/{direction}", rate / 1e6
    yield "fig3/steady-from", _steady_from(found) / GIB


def efficiency() -> Measurements:
    """Shares of the link's rate: what 128b/130b leaves of 8 GT/s."""
    yield "efficiency/gen3-lane-uncoded", GIGATRANSFERS / 8
    yield "efficiency/gen3-x8-uncoded", GIGATRANSFERS
    yield "efficiency/gen3-lane", LANE
    yield "efficiency/gen3-x8", 8 * LANE
    for direction, rate in _both(steady_rates(_fabric().simulation, [WHOLE])[WHOLE]):
        yield f"efficiency/{direction}", 100 * rate / PRINTED / (8 * LANE)
        yield f"check/efficiency/{direction}/10^9", 100 * rate / 1e9 / (8 * LANE)
        yield f"reading/efficiency/{direction}/two-way", 2 * rate / PRINTED


def loopback() -> Measurements:
    """The card's own diagnostics: the link without copies, in lines of 64 bytes."""
    for mode in (Mode.READ, Mode.WRITE, Mode.THROUGHPUT, Mode.LOOPBACK):
        simulation = _fabric().simulation()
        configure(simulation, "card", mode.image)
        (card,) = accelerators(simulation)
        found = card.thread.run(diagnose(card, mode, lines=65536))
        if mode is not Mode.WRITE:
            yield f"check/loopback/{mode}/read", found.read_bytes_per_second / 1e6
        if mode is not Mode.READ:
            yield f"check/loopback/{mode}/write", found.write_bytes_per_second / 1e6


def frame() -> Measurements:
    """Bytes of a frame with samples of 10 bits, in units of 2^20."""
    for form, chroma in FORMATS:
        yield f"frame/{form}/{chroma}", _printed(Video(form, chroma).frame_mib, 2)


def table2() -> Measurements:
    """The bandwidth of 60 frames a second, in units of 2^20 bytes a second."""
    for form, chroma in FORMATS:
        yield f"table2/{form}/{chroma}", _printed(Video(form, chroma).mib_per_second, 2)


def usage() -> Measurements:
    """The share of the published rate from the card, computed as the source does."""
    for form, chroma in FORMATS:
        needed = Video(form, chroma).mib_per_second
        yield f"usage/{form}/{chroma}", _printed(100 * needed / (FROM_CARD * 1024), 1)


def video() -> Measurements:
    """8K on one card and on two, each of which takes half of every frame, side by side."""
    both = _fabric().device("card2", "server", model="fpga-card", profile="pac", afu="dma_afu")
    for name, fabric in (("one-card", _fabric()), ("two-cards", both)):
        rates = steady_rates(fabric.simulation, [WHOLE])[WHOLE]
        for chroma in Chroma:
            shares = use(Video(Format.UHD_8K, chroma), dict(_both(rates))).percent
            yield f"check/video/8k/{chroma}/{name}", max(shares.values())


def _fabric() -> Fabric:
    return system_fabric("pac").without_flows()


def _steady_from(found: Mapping[int, Rates]) -> int:
    """The smallest size from which on both rates are close to those of the largest."""
    last = dict(_both(found[max(found)]))
    unsteady = [
        size
        for size, rates in found.items()
        if any(abs(rate / last[direction] - 1) > STEADY for direction, rate in _both(rates))
    ]
    return min(size for size in found if size > max(unsteady, default=0))


def _both(rates: Rates) -> tuple[tuple[str, float], tuple[str, float]]:
    return (DIRECTIONS[0], rates.host_to_card), (DIRECTIONS[1], rates.card_to_host)


def _printed(value: float, digits: int) -> float:
    """A number as tables print it: half of the last digit is rounded up."""
    last = Decimal(1).scaleb(-digits)
    return float(Decimal(value).quantize(last, ROUND_HALF_UP))
