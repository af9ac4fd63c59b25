"""`peerlane import`: makes scenarios from real machines."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from peerlane.cli.console import write
from peerlane.cli.files import keep_apart
from peerlane.cli.group import group
from peerlane.cli.options import writable
from peerlane.importing import load, scenario_of

import_app = group("Make a scenario from a real machine.")


@import_app.command("lspci")
def import_lspci(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|-",
            help="The output of `sudo lspci -vvv`; - is standard input.",
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE|-",
            callback=writable,
            help="The scenario to write; standard output, if absent.",
        ),
    ] = None,
) -> None:
    """Write the scenario of a machine from its listing.

    `sudo lspci -vvv | peerlane import lspci - -o machine.toml`

    Each PCI domain becomes a host. Links have their trained width and speed; max payload and max
    read request sizes, tags, ACS services, BARs and the read completion boundary are as set.
    Parameters that a listing does not have, such as buffers and latencies, keep their defaults.
    Comments mark what is left out: functions beyond 0, integrated endpoints, conventional PCI,
    links that are down.
    """
    keep_apart([file], {"--output": output})
    scenario = scenario_of(load(file)).encode()
    if output is None or output == "-":
        sys.stdout.buffer.write(scenario)
    else:
        write(output, scenario)
