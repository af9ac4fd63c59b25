"""`peerlane import`: makes scenarios from real machines."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from peerlane.cli.console import progress, warn, write
from peerlane.cli.files import keep_apart
from peerlane.cli.group import Command, group
from peerlane.cli.options import writable
from peerlane.importing import Speed

_MOST_LINKS = 4
"""The most links that a warning names."""

import_app = group(
    "Make a scenario from a real machine.",
    {"lspci": Command("peerlane.cli.importing", "import_lspci")},
)


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
    *,
    speed: Annotated[
        Speed | None,
        typer.Option(
            help="The speed of links: as they were trained (LnkSta), the default, or the fastest "
            "that both ends are capable of (LnkCap), for devices that were idle.",
            show_choices=True,
        ),
    ] = None,
    left_out: Annotated[
        bool,
        typer.Option(
            "--left-out",
            help="Write a comment for each part of the machine that is left out, with its reason.",
        ),
    ] = False,
) -> None:
    """Write the scenario of a machine from its listing.

    `sudo lspci -vvv | peerlane import lspci - -o machine.toml`

    All PCI domains are root ports of one host, for they share the memory of the machine; NUMA nodes
    are its sockets. Links have their trained width and speed; max payload and max read request
    sizes, tags, attributes of requests, ACS services, ASPM, error messages, ECRC, containment,
    virtual functions, BARs and the read completion boundary have the values of the listing.
    Parameters that a listing does not have, such as buffers and latencies, keep their defaults. A
    comment has the number of items that are left out: functions beyond 0, integrated endpoints,
    conventional PCI, links that are down; `--left-out` names each item.
    """
    from peerlane.importing import load, scenario_of, separate_hosts, slow_links

    keep_apart([file], {"--output": output})
    listing = load(file)
    with progress(f"importing {file}"):
        scenario = scenario_of(
            listing, speed=speed or Speed.TRAINED, with_left_out=left_out
        ).encode()
        slow = [] if speed else slow_links(listing)
        separate = separate_hosts(listing)
    if separate:
        warn(separate)
    if slow:
        more = len(slow) - _MOST_LINKS
        shown = ", ".join(slow[:_MOST_LINKS]) + (f" and {more} more" if more > 0 else "")
        warn(
            f"links that were trained below the speed of both ends: {shown}; if they were idle, as "
            "GPUs are, add --speed capable, else --speed trained"
        )
    if output is None or output == "-":
        sys.stdout.buffer.write(scenario)
    else:
        write(output, scenario)
