"""`peerlane plan`: finds out what fits on a fabric, from its measured rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from peerlane.cli import completion
from peerlane.cli.console import emit, progress
from peerlane.cli.files import keep_apart
from peerlane.cli.group import Command, group
from peerlane.cli.head import head
from peerlane.cli.opae.cards import text_of
from peerlane.cli.options import JsonTo
from peerlane.planning.video import Chroma, Format

if TYPE_CHECKING:
    from collections.abc import Mapping

    from peerlane.cli.tables.sheet import Sheet

plan_app = group(
    "Find out what would fit on a fabric.", {"video": Command("peerlane.cli.plan", "video")}
)

TRANSFER = 4 << 30
"""Bytes of the transfer that is measured: so many that its beginning and end do not count."""


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
    """Hold video formats against the rates that a fabric is measured to have.

    A fabric with FPGA cards is measured by sweeps of their memories, all cards side by side, each
    with a share of every frame; any other one by its own flows, as `peerlane run` runs it. A
    format fits if it needs no more than the slowest of these rates.
    """
    from peerlane.planning.video import use, videos

    keep_apart([file], {"--json": json_to})
    rates = _rates(file)
    wanted = videos(
        formats or list(Format), chromas or list(Chroma), depths or [10], frame_rates or [60.0]
    )
    uses = [use(one, rates) for one in wanted]
    rows: list[dict[str, Any]] = [
        {
            "format": one.video.format,
            "chroma": one.video.chroma,
            "depth": one.video.depth,
            "frames_per_second": one.video.frames_per_second,
            "frame_bytes": one.video.frame_bytes,
            "bytes_per_second": one.video.bytes_per_second,
            "percent": dict(one.percent),
            "fits": one.fits,
            "needed_times": one.times,
        }
        for one in uses
    ]
    document = {"rates_bytes_per_second": dict(rates), "videos": rows}
    emit(head("video") | document, _table(rows, rates), json_to)


def _rates(file: str | None) -> Mapping[str, float]:
    """Bytes per second, by name."""
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


def _table(rows: list[dict[str, Any]], rates: Mapping[str, float]) -> Sheet:
    from peerlane.cli.tables.sheet import Sheet

    measured = ", ".join(f"{name} {rate / 1e9:.3f} GB/s" for name, rate in rates.items())
    table = Sheet("format", title=f"measured: {measured}")
    shares = [f"{name} %" for name in rates]
    table.numbers("chroma", "bits", "1/s", "frame MiB", "needed MB/s", *shares)
    table.add_column("fits")
    table.fold("bits", "1/s", "frame MiB")
    for row in rows:
        shares = [f"{share:.1f}" for share in row["percent"].values()]
        fits = "yes" if row["fits"] else f"{row['needed_times']} times as much does"
        table.add_row(
            row["format"],
            row["chroma"],
            str(row["depth"]),
            f"{row['frames_per_second']:g}",
            f"{row['frame_bytes'] / 2**20:.2f}",
            f"{row['bytes_per_second'] / 1e6:.2f}",
            *shares,
            fits,
        )
    return table
