"""`peerlane plan`: finds which workloads a fabric can carry, from its measured rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from peerlane.cli import completion
from peerlane.cli.console import emit, progress
from peerlane.cli.files import keep_apart
from peerlane.cli.group import Command, group
from peerlane.cli.head import head
from peerlane.cli.opae.cards import text_of
from peerlane.cli.options import JsonTo
from peerlane.planning.video import Chroma, Format, Uses, use, videos

if TYPE_CHECKING:
    from collections.abc import Mapping

    from peerlane.cli.tables.sheet import Sheet

plan_app = group(
    "Find out what would fit on a fabric.", {"video": Command("peerlane.cli.plan", "video")}
)

TRANSFER = 4 << 30
"""The bytes of the measured transfer, which is so long that its beginning and its end do not affect
the rate."""


def video(  # noqa: PLR0913, PLR0917 - a command has the options that it has
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE|NAME|-]",
            help="The scenario, or the name of a shipped one; the published card, if absent.",
            autocompletion=completion.scenarios,
        ),
    ] = None,
    formats: Annotated[
        list[Format] | None,
        typer.Option("--format", help="Pixels of a frame; all formats, if absent."),
    ] = None,
    chromas: Annotated[
        list[Chroma] | None, typer.Option("--chroma", help="Sampling of colour; all, if absent.")
    ] = None,
    depths: Annotated[
        list[int] | None,
        typer.Option(
            "--depth", min=1, max=16, metavar="BITS", help="Bits of a sample; the default is 10."
        ),
    ] = None,
    frame_rates: Annotated[
        list[float] | None,
        typer.Option(
            "--fps", min=1, max=1000, metavar="N", help="Frames in a second; the default is 60."
        ),
    ] = None,
    json_to: JsonTo = None,
) -> None:
    """Compare video formats with the measured rates of a fabric.

    In a fabric with FPGA cards, the rates are measured by transfers to and from the memories of all
    cards at the same time, each of which has a share of every frame. In any other fabric, the rates
    of the flows are measured, as in `peerlane run`. A format fits if it needs no more than the
    slowest rate.
    """
    from peerlane.results.document import encode

    keep_apart([file], {"--json": json_to})
    rates = _rates(file)
    wanted = videos(
        formats or list(Format), chromas or list(Chroma), depths or [10], frame_rates or [60.0]
    )
    found = Uses(dict(rates), tuple(use(one, rates) for one in wanted))
    emit(head("video") | encode(found), _table(found), json_to)


def _rates(file: str | None) -> Mapping[str, float]:
    """The measured rates of a fabric in bytes per second, by their names."""
    from peerlane import Fabric, Simulation
    from peerlane.opae.card import configure, places
    from peerlane.opae.steady import steady_rates

    text, source = text_of(file)
    if not places(Simulation(text, source=source)):
        fabric = Fabric.from_toml(text, source=source)
        with progress(f"measuring {source}") as bar:
            result = fabric.run(progress=bar)
        known = {
            flow.id: flow.steady_bytes_per_second or flow.bytes_per_second for flow in result.flows
        }
        found = {name: rate for name, rate in known.items() if rate}
        if not found:
            raise RuntimeError(f"{source}: no flow has a rate; write [[flows]], or an fpga-card")
        return found

    def make() -> Simulation:
        simulation = Fabric.from_toml(text, source=source).without_flows().simulation()
        for place in places(simulation):
            configure(simulation, place.name, "dma_afu")
        return simulation

    with progress(f"measuring {source}"):
        rates = steady_rates(make, [TRANSFER])[TRANSFER]
    return {"to the cards": rates.host_to_card, "from the cards": rates.card_to_host}


def _table(found: Uses) -> Sheet:
    from peerlane.cli.tables.sheet import Sheet

    rates = found.rates_bytes_per_second
    measured = ", ".join(f"{name} {rate / 1e9:.3f} GB/s" for name, rate in rates.items())
    table = Sheet("format", title=f"measured: {measured}")
    table.numbers("chroma", "bits", "1/s", "frame MiB", "needed MB/s")
    table.numbers(*(f"{name} %" for name in rates))
    table.add_column("fits")
    table.fold("bits", "1/s", "frame MiB")
    for one in found.videos:
        table.add_row(
            one.format,
            one.chroma,
            str(one.depth),
            f"{one.frames_per_second:g}",
            f"{one.frame_bytes / 2**20:.2f}",
            f"{one.bytes_per_second / 1e6:.2f}",
            *(f"{share:.1f}" for share in one.percent.values()),
            "yes" if one.fits else f"{one.needed_times} times as much does",
        )
    return table
