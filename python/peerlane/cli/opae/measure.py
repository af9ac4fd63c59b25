"""`peerlane opae diag` and `dma-test`: measures the speed of cards."""

from __future__ import annotations

from typing import Annotated

import typer

from peerlane.cli.console import emit, progress
from peerlane.cli.files import keep_apart
from peerlane.cli.opae.cards import Card, Scenario, Slot, first, simulation_of
from peerlane.cli.options import JsonTo, wrong_use
from peerlane.cli.tables.sheet import Sheet
from peerlane.opae.diag import Mode
from peerlane.opae.sweep import CardSweep


def diag(  # noqa: PLR0913 - a command has the options that it has
    modes: Annotated[
        list[Mode] | None,
        typer.Argument(
            metavar="[MODE]...", help="read, write, trput, lpbk1 or sw; all, if absent."
        ),
    ] = None,
    *,
    scenario: Scenario = None,
    card: Card = None,
    slot: Slot = 0,
    lines: Annotated[
        int, typer.Option(min=1, max=1 << 24, metavar="N", help="Number of lines of 64 bytes.")
    ] = 16384,
    request_lines: Annotated[
        int, typer.Option("--multi-cl", metavar="1|2|4", help="Lines of a request.")
    ] = 4,
    json_to: JsonTo = None,
) -> None:
    """Measure a card's link with the native loopback, as the card's own diagnostics do.

    A rate is the number of lines divided by the cycles of the accelerator's clock, both as counted
    by the accelerator.
    """
    from peerlane.cli.opae.incidents import with_incidents
    from peerlane.cli.tables.sheet import Sheet
    from peerlane.opae.card import accelerators
    from peerlane.opae.diag import run_diagnosis

    if request_lines not in {1, 2, 4}:
        raise typer.BadParameter("a request has 1, 2 or 4 lines", param_hint="--multi-cl")
    keep_apart([scenario], {"--json": json_to})
    found = []
    for mode in modes or list(Mode):
        simulation = simulation_of(scenario, mode.image, card, slot)
        wanted = card or first(simulation), slot
        slots = {(one.name, one.place.slot): one for one in accelerators(simulation)}
        accelerator = slots[wanted]
        with with_incidents(simulation):
            found.append(
                run_diagnosis(
                    simulation, accelerator, mode, lines=lines, request_lines=request_lines
                )
            )
    table = Sheet("mode")
    table.numbers("reads", "writes", "link reads", "link writes", "cycles")
    table.numbers("read GB/s", "write GB/s")
    for one in found:
        rates = one.read_bytes_per_second, one.write_bytes_per_second
        gigabytes = [f"{rate / 1e9:.3f}" if rate else "" for rate in rates]
        counts = one.reads, one.writes, one.link_reads, one.link_writes, one.cycles
        table.add_row(one.mode, *map(str, counts), *gigabytes)
    emit([one.to_json() for one in found], table, json_to)


def dma_test(
    size: Annotated[
        str, typer.Option(metavar="SIZE", help='Bytes each way, such as "64 MiB".')
    ] = "4 GiB",
    *,
    scenario: Scenario = None,
    json_to: JsonTo = None,
) -> None:
    """Write the memory of all cards at the same time, read it back, and compare every byte.

    The time is the time of a call of the DMA sample's library, including its copies through pinned
    buffers. Rates are in 10^6 bytes a second.
    """
    from peerlane.cli.opae.incidents import with_incidents
    from peerlane.opae.card import accelerators, configure, places
    from peerlane.opae.sweep import sweep

    keep_apart([scenario], {"--json": json_to})
    number = _bytes(size)
    simulation = simulation_of(scenario)
    with wrong_use():
        for place in places(simulation):
            configure(simulation, place.name, "dma_afu", place.slot)
        with with_incidents(simulation), progress("sweeping the memory of cards"):
            swept = sweep(simulation, accelerators(simulation), number)
    emit([one.to_json() for one in swept], _sweeps(swept), json_to)
    if not all(one.intact for one in swept):
        raise RuntimeError("some bytes came back changed")


def _sweeps(swept: list[CardSweep]) -> Sheet:
    from peerlane.cli.tables.sheet import Sheet

    table = Sheet("card")
    table.numbers("bytes", "to the card MB/s", "from the card MB/s")
    table.add_column("data")
    for one in swept:
        rates = [f"{rate / 1e6:.2f}" for rate in (one.host_to_card, one.card_to_host)]
        table.add_row(one.card, str(one.size), *rates, "intact" if one.intact else "differs")
    return table


def _bytes(text: str) -> int:
    from peerlane import _core

    with wrong_use():
        number = _core.read_size(text)
    if number == 0 or number % 64:
        raise typer.BadParameter(f"{text} cannot be swept; take a multiple of 64 B")
    return number
