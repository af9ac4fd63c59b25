"""A function for each experiment of the source, on the public API of `peerlane` alone."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from peerlane.opae import accelerators, configure
from peerlane.opae import sweep as sweep_cards
from peerlane.opae.diag import Mode, diagnose
from peerlane.reproduce import system_fabric
from peerlane.video import MIB, Chroma, Format, Video, use

if TYPE_CHECKING:
    from collections.abc import Mapping

    from peerlane import Fabric
    from peerlane.opae import Sweep
    from peerlane.reproduce import Measurements

__all__ = ["efficiency", "fig3", "frame", "loopback", "sweep", "table2", "usage", "video"]

KIB, GIB = 1 << 10, 1 << 30

DIRECTIONS = ("host-to-fpga", "fpga-to-host")

WHOLE = 4 * GIB
"""What the source sweeps."""

SIZES = {
    f"{size}{unit}": size * factor
    for unit, factor, sizes in (
        ("KB", KIB, (4, 16, 64, 256)),
        ("MB", MIB, (1, 4, 16, 64, 100, 256)),
        ("GB", GIB, (1, 4)),
    )
    for size in sizes
}
"""Of the transfers of the third figure."""

SIMULATED = 256 * MIB
"""Larger transfers go on as the last half of this one does, if that went on as the half before."""

STEADY = 0.002
"""By so much two successive shares of a transfer may differ in their time."""

TABLE1 = {"host-to-fpga": 6.7139, "fpga-to-host": 5.9268}
"""Of the source's first table, in units of 1024 x 10^6 bytes a second."""

PRINTED = 1e6 * 1024
"""That unit."""

FORMATS = list(product(Format, Chroma))


def sweep() -> Measurements:
    """4 GiB to the card and back, every byte compared; both rates in the log's unit and others."""
    rates = _rates(_swept(_fabric(), WHOLE))
    for direction, rate in rates.items():
        yield f"sweep/{direction}", rate / 1e6
        yield f"reading/sweep/{direction}/2^20", rate / MIB
        yield f"reading/sweep/{direction}/table1", rate / PRINTED


def fig3() -> Measurements:
    """Transfers of 4 KB to 4 GB; those beyond 256 MiB by the steady rate, once that is proven."""
    times: dict[int, tuple[float, float]] = {}
    for size in sorted({*SIZES.values(), SIMULATED // 4, SIMULATED // 2, SIMULATED}):
        if size <= SIMULATED:
            times[size] = _times(_swept(_fabric(), size))
    for (name, size), (number, direction) in product(SIZES.items(), enumerate(DIRECTIONS)):
        known = {done: both[number] for done, both in times.items()}
        yield f"fig3/{name}/{direction}", size / _time(known, size) * 1e3


def efficiency() -> Measurements:
    """Shares of the link's rate: what 128b/130b leaves of 8 GT/s."""
    yield "efficiency/gen3-lane", 128 / 130
    yield "efficiency/gen3-x8", 8 * 128 / 130
    rates = _steady_rates(_fabric())
    for direction, rate in rates.items():
        yield f"efficiency/{direction}", 100 * rate / PRINTED / (8 * 128 / 130)
        yield f"check/efficiency/{direction}/10^9", 100 * rate / 1e9 / (8 * 128 / 130)
        yield f"reading/efficiency/{direction}/two-way", 2 * rate / PRINTED


def loopback() -> Measurements:
    """The card's own diagnostics: the link without copies, in lines of 64 bytes."""
    for mode in Mode:
        simulation = _fabric().simulation()
        configure(simulation, "card", mode.image)
        (card,) = accelerators(simulation)
        found = card.hand.run(diagnose(card, mode, lines=65536))
        if mode is not Mode.WRITE:
            yield f"check/loopback/{mode}/read", found.read_bytes_per_second / 1e6
        if mode is not Mode.READ:
            yield f"check/loopback/{mode}/write", found.write_bytes_per_second / 1e6


def frame() -> Measurements:
    """Bytes of a frame with samples of 10 bits, in units of 2^20."""
    for form, chroma in FORMATS:
        yield f"frame/{form}/{chroma}", round(Video(form, chroma).frame_mib, 2)


def table2() -> Measurements:
    """What 60 of them a second need, in units of 2^20 bytes a second."""
    for form, chroma in FORMATS:
        yield f"table2/{form}/{chroma}", round(Video(form, chroma).mib_per_second, 2)


def usage() -> Measurements:
    """The share of the published rate from the card, computed as the source does."""
    for form, chroma in FORMATS:
        needed = Video(form, chroma).mib_per_second
        share = 100 * needed / (TABLE1["fpga-to-host"] * 1024)
        yield f"usage/{form}/{chroma}", round(share, 1)


def video() -> Measurements:
    """8K on one card and on two, each of which takes half of every frame, side by side."""
    one = _steady_rates(_fabric())
    fabric = _fabric()
    two = _steady_rates(fabric.device("card2", "server", **_card(fabric)))
    for chroma in Chroma:
        video = Video(Format.UHD_8K, chroma)
        for name, rates in (("one-card", one), ("two-cards", two)):
            shares = use(video, rates).percent
            yield f"check/video/8k/{chroma}/{name}", max(shares.values())


def _fabric() -> Fabric:
    return system_fabric("pac").without_flows()


def _card(fabric: Fabric) -> dict[str, str | int]:
    """The settings of the published card, for one more."""
    del fabric
    return {
        "model": "fpga-card",
        "afu": "dma_afu",
        "max_payload_supported": "256 B",
        "max_read_request": "256 B",
    }


def _swept(fabric: Fabric, size: int) -> list[Sweep]:
    """One sweep of all cards side by side, every byte of which came back as it was sent."""
    simulation = fabric.simulation()
    swept = sweep_cards(simulation, accelerators(simulation), size)
    if not all(one.intact for one in swept):
        raise RuntimeError("some bytes did not come back as they were sent")
    return swept


def _times(swept: list[Sweep]) -> tuple[float, float]:
    """Nanoseconds each way, until the last card is done."""
    to_cards = max(one.host_to_card_ns for one in swept)
    return to_cards, max(one.card_to_host_ns for one in swept)


def _rates(swept: list[Sweep]) -> dict[str, float]:
    """Bytes per second each way, of all cards together."""
    size = sum(one.size for one in swept)
    return {name: size / ns * 1e9 for name, ns in zip(DIRECTIONS, _times(swept), strict=True)}


def _steady_rates(fabric: Fabric) -> dict[str, float]:
    """Bytes per second each way, of all cards together, in a transfer of 4 GiB."""
    sizes = (SIMULATED // 4, SIMULATED // 2, SIMULATED)
    swept = {size: _swept(fabric, size) for size in sizes}
    times = {size: _times(one) for size, one in swept.items()}
    cards = len(swept[SIMULATED])
    return {
        name: cards * WHOLE / _time({size: both[n] for size, both in times.items()}, WHOLE) * 1e9
        for n, name in enumerate(DIRECTIONS)
    }


def _time(times: Mapping[int, float], size: int) -> float:
    """Nanoseconds of a transfer: simulated, or by the steady rate of the largest ones.

    Raises:
        RuntimeError: Their rate is not steady.
    """
    if size in times:
        return times[size]
    quarter, half, whole = (times[SIMULATED // part] for part in (4, 2, 1))
    late = (whole - half) / (SIMULATED // 2)
    early = (half - quarter) / (SIMULATED // 4)
    if abs(late / early - 1) > STEADY:
        raise RuntimeError(f"a transfer of {SIMULATED} bytes is not steady: {early}, {late} ns/B")
    return whole + (size - SIMULATED) * late
