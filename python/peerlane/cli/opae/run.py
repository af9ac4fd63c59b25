"""`peerlane opae run`: runs a real program on a simulated host."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Annotated

import typer

from peerlane.cli.captures import Captures, incomplete
from peerlane.cli.files import is_standard_output, keep_apart
from peerlane.cli.opae.cards import (
    Card,
    Scenario,
    Slot,
    first,
    image_of,
    load_configured,
    text_of,
)
from peerlane.cli.options import FAILED, writable, wrong_use


def _json_file(path: str | None) -> str | None:
    if path is not None and (path == "-" or is_standard_output(path)):
        raise typer.BadParameter("the JSON goes to a file; the program has standard output")
    return writable(path)


NO_PROGRAM = 127
"""The exit status if the program does not exist, as in shells; the program itself may return 2."""

NOT_EXECUTABLE = 126
"""The exit status if the file exists but cannot be run, as in shells."""


def _has_no_program(name: str) -> bool:
    return not name or not Path(name).exists()


def _no_program(name: str, error: OSError) -> str:
    """The reason why a program does not start, and the correction."""
    path = Path(name)
    if _has_no_program(name):
        return f"there is no program {name!r}; name a program in PATH, or the path of one"
    if path.is_dir():
        return f"{name!r} is a folder; name a program"
    if isinstance(error, PermissionError):
        return f"{name} cannot be run; make it executable with: chmod +x {name}"
    if isinstance(error, FileNotFoundError):
        return f"{name} cannot be run: there is no interpreter as its first line or header names it"
    return (
        f"{name} cannot be run: it is no program for this machine, nor a script that begins with #!"
    )


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
    slot: Slot = 0,
    captures: Captures,
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
            callback=_json_file,
            help="Write the status, the simulated time by what it was spent on, bytes and use of "
            "links, and where the constants come from as JSON to FILE; the program has standard "
            "output.",
        ),
    ] = None,
) -> None:
    """Run a program that is linked with libopae-c on a simulated host.

    The exit status is the status of the program; it is 127 if the program does not exist, and 126
    if it cannot be run. A card has the accelerator that `peerlane opae conf` loaded, or else the
    accelerator of the scenario.
    """
    if afu is None and (card is not None or slot):
        raise typer.BadParameter("--card and --slot say where --afu loads its image; write --afu")
    from peerlane import Simulation
    from peerlane.cli.console import complain, warn, write
    from peerlane.cli.opae.incidents import warn_of_incidents
    from peerlane.opae.afu import split
    from peerlane.opae.session import run_program
    from peerlane.opae.stuck import StuckUnitError

    own = [word for word in program[1:] if Path(word).is_file()]
    images_read = [split(one)[0] for one in (*(model or ()), *filter(None, [afu]))]
    binary = shutil.which(program[0]) or program[0]
    keep_apart([scenario, binary, *own, *images_read], {"--json": json_to, **captures.files})
    text, source = text_of(scenario)
    simulation = Simulation(text, source=source)
    images = {}
    if afu is not None:
        images[card or first(simulation), slot] = image_of(afu)
    captures.begin(simulation)
    with wrong_use():
        place = next(iter(images), None)
        models = [*(model or ()), *load_configured(simulation, scenario, source, but=place)]
        try:
            outcome = run_program(
                program, simulation, host=host, images=images, models=models, wall=wall
            )
        except OSError as error:
            if error.filename != program[0]:
                raise
            complain(_no_program(program[0], error))
            raise typer.Exit(
                NO_PROGRAM if _has_no_program(program[0]) else NOT_EXECUTABLE
            ) from None
        except StuckUnitError as error:
            complain(str(error))
            os._exit(FAILED)
    if json_to is not None:
        document = {
            "exit_status": outcome.status,
            "simulated_ns": outcome.simulated_ns,
            "wall_seconds": outcome.wall_seconds,
            **outcome.evidence.to_json(),
        }
        write(json_to, (json.dumps(document, indent=2) + "\n").encode())
    for line in captures.empty(simulation):
        warn(line)
    warn_of_incidents(simulation)
    lost = list(incomplete(simulation))
    for line in lost:
        complain(line)
    raise typer.Exit(outcome.status or (FAILED if lost else 0))
