"""`peerlane opae run`: runs a real program on a simulated host."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from peerlane import Simulation
from peerlane.cli.console import write
from peerlane.cli.files import keep_apart
from peerlane.cli.opae.cards import Card, Scenario, first, image_of, text_of, wrong_use
from peerlane.cli.options import writable
from peerlane.opae import slots
from peerlane.opae.session import run_program


def run(  # noqa: PLR0913 - a command has the options that it has
    program: Annotated[
        list[str],
        typer.Argument(metavar="PROGRAM [ARGS]...", help="The program, with its arguments."),
    ],
    *,
    scenario: Scenario = None,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The host that runs it; the first one with a card, if absent."
        ),
    ] = None,
    afu: Annotated[
        str | None,
        typer.Option(
            metavar="IMAGE", help="The image to load before: a name, a .gbs file or FILE.py."
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE.py[:CLASS]",
            help="A model in Python whose bitstream the program may load; may be repeated.",
        ),
    ] = None,
    card: Card = None,
    wall: Annotated[
        bool,
        typer.Option(
            "--wall",
            help="The program reads the clock of this machine, while the simulation runs as fast "
            "as it can; without it, the program reads simulated time.",
        ),
    ] = False,
    json_to: Annotated[
        str | None,
        typer.Option(
            "--json",
            metavar="FILE",
            callback=writable,
            help="Write status and times as JSON to FILE; the program has standard output.",
        ),
    ] = None,
) -> None:
    """Run a program that is linked with libopae-c on a simulated host.

    Its exit status is that of the program. Cards have loaded what `peerlane opae conf` configured,
    or else what the scenario says.
    """
    keep_apart([scenario, program[0], afu and afu.partition(":")[0]], {"--json": json_to})
    text, source = text_of(scenario)
    images = slots.loaded(source)
    if afu is not None:
        images[card or first(Simulation(text, source=source))] = image_of(afu)
    with wrong_use():
        try:
            outcome = run_program(
                program, (text, source), host=host, images=images, models=model or (), wall=wall
            )
        except FileNotFoundError:
            raise typer.BadParameter(f"there is no program {program[0]!r}") from None
        except PermissionError:
            raise typer.BadParameter(f"{program[0]} cannot be run") from None
    if json_to is not None:
        document = {
            "exit_status": outcome.status,
            "simulated_ns": outcome.simulated_ns,
            "wall_seconds": outcome.wall_seconds,
        }
        write(json_to, (json.dumps(document, indent=2) + "\n").encode())
    raise typer.Exit(outcome.status)
