"""`peerlane import`: makes scenarios from real machines."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from peerlane.cli.console import progress, warn, write
from peerlane.cli.files import keep_apart
from peerlane.cli.group import Command, group
from peerlane.cli.options import writable
from peerlane.importing import Form, Speed

_MOST_LINKS = 4
"""The most links that a warning names."""

_SPEED = typer.Option(
    help="The speed of links: as they were trained (LnkSta), the default, or the fastest "
    "that both ends are capable of (LnkCap), for devices that were idle.",
    show_choices=True,
)
_LEFT_OUT = typer.Option(
    "--left-out",
    help="Write a comment for each part of the machine that is left out, with its reason.",
)
_OUTPUT = typer.Option(
    "--output",
    "-o",
    metavar="FILE|-",
    callback=writable,
    help="The scenario to write; standard output, if absent.",
)

import_app = group(
    "Make a scenario from a real machine.",
    {
        "lspci": Command("peerlane.cli.importing", "import_lspci"),
        "machine": Command("peerlane.cli.importing", "import_machine"),
    },
)


def import_lspci(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|-",
            help="The output of `sudo lspci -vvv`; - is standard input.",
        ),
    ],
    output: Annotated[str | None, _OUTPUT] = None,
    *,
    speed: Annotated[Speed | None, _SPEED] = None,
    left_out: Annotated[bool, _LEFT_OUT] = False,
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
    _import([file], Form.LSPCI, output, speed, with_left_out=left_out)


def import_machine(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|-...",
            help="Files of one machine, at most one of each form; - is standard input.",
        ),
    ],
    output: Annotated[str | None, _OUTPUT] = None,
    *,
    speed: Annotated[Speed | None, _SPEED] = None,
    left_out: Annotated[bool, _LEFT_OUT] = False,
) -> None:
    """Write the scenario of a machine from the output of several tools.

    `peerlane import machine lspci.txt topo.txt nccl.xml -o machine.toml`

    The content of each file shows its form:

    - `sudo lspci -vvv`: the whole tree, as of `peerlane import lspci`; add `-nn` for the numbers by
      which known devices have their names
    - `lstopo --of xml`: the tree, data rates of links, NUMA nodes, sockets
    - the file of `NCCL_TOPO_DUMP_FILE`: GPUs and network cards that NCCL uses, the switches above
      them, width and speed of which links are capable
    - `nvidia-smi topo -m`, `rocm-smi --showtopo`: paths between GPUs and network cards; alone, the
      smallest tree that has these paths

    If there are several files, the device tree is read from the one whose form is highest in this
    list. The other files add NUMA nodes, sockets, numbers and names of devices. If two files state
    different values, the import fails, and the message has both lines. A comment has the number of
    items that are left out, such as NVLinks and lines that are not understood; `--left-out` names
    each item.
    """
    _import(files, None, output, speed, with_left_out=left_out)


def _import(
    files: list[str],
    form: Form | None,
    output: str | None,
    speed: Speed | None,
    *,
    with_left_out: bool,
) -> None:
    from peerlane.importing import load, scenario_of, separate_hosts, slow_links

    keep_apart(files, {"--output": output})
    with progress(f"importing {', '.join(files)}"):
        machine = load(files, form)
        scenario = scenario_of(
            machine, speed=speed or Speed.TRAINED, with_left_out=with_left_out
        ).encode()
    separate = separate_hosts(machine)
    slow = [] if speed else slow_links(machine)
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
