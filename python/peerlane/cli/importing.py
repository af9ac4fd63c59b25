"""`peerlane import`: makes scenarios from real machines, and flows from recorded traffic."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from peerlane.cli.console import progress, warn, write
from peerlane.cli.files import keep_apart
from peerlane.cli.group import Command, group
from peerlane.cli.options import writable, wrong_use
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
    "Make a scenario from a real machine, or flows from recorded traffic.",
    {
        "lspci": Command("peerlane.cli.importing", "import_lspci"),
        "machine": Command("peerlane.cli.importing", "import_machine"),
        "traffic": Command("peerlane.cli.importing", "import_traffic"),
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


def import_traffic(  # noqa: PLR0913 - its options
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|-...",
            help="Files of recorded traffic of one machine; - is standard input, with a text.",
        ),
    ],
    output: Annotated[str | None, _OUTPUT] = None,
    *,
    fabric: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|NAME",
            help="Write this scenario with the flows or the schedule after its own; without it, "
            "only these.",
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="NODE",
            help="The node that makes all requests; as recorded, if absent.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="NODE", help="The node where all requests end; as recorded, if absent."
        ),
    ] = None,
    devices: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME,...",
            help="The GPUs of Chakra execution traces, in the order of their ranks.",
        ),
    ] = None,
    window: Annotated[
        str,
        typer.Option(
            metavar="SIZE", help="The memory that the buffers of a block device use in turn."
        ),
    ] = "16 MiB",
    unpaced: Annotated[
        bool,
        typer.Option(
            "--unpaced",
            help="Leave out the times, so that each request is made as early as possible; of "
            "Chakra execution traces, the times of compute nodes.",
        ),
    ] = False,
) -> None:
    """Write flows that make the requests of recorded traffic, or the schedule of a Chakra trace.

    `peerlane import traffic fio.log --from nvme0 --to server --fabric machine.toml -o replay.toml`

    There is a flow for each combination of both ends and direction. Times count from the first
    request of all files. The content of each file shows its form:

    - a packet trace of `peerlane run --trace`: memory requests, each where it leaves its requester;
      offsets count from the lowest address of the flow. Interrupts are left out
    - a table (.csv, .parquet) with the columns from, to, direction (read or write), offset or
      address, size, and perhaps time: with units, or time_ns, time_us, time_ms, time_s. An address
      becomes an offset from the lowest address of the flow
    - the file of fio's `write_iolog`, version 2 or 3, or of `write_lat_log`, whose times are the
      ends of I/Os in milliseconds
    - the output of `blkparse`: requests that were issued to the drive (D), or else queued (Q)

    Logs of fio and blktrace need --from DRIVE and --to MEMORY: a read of a program is a write of
    the drive to memory, and a write is a read of memory. Offsets on the drive are not used, because
    these logs have no addresses of buffers: each request uses the next bytes of a window. Trims,
    syncs and opens are left out, and a comment has their number.

    Chakra execution traces (.et, one file for each rank) become a schedule whose steps are their
    compute and communication nodes, each after the nodes that it depends on. They need --devices:

    `peerlane import traffic trace.*.et --devices gpu0,gpu1 --fabric machine.toml -o replay.toml`

    Devices of the models nvme, nic and sg-dma cannot make recorded requests. In the scenario, give
    the device model = "dma".
    """
    keep_apart([*files, fabric], {"--output": output})
    from peerlane._core import ScenarioError
    from peerlane.cli.scenarios import scenario_text
    from peerlane.fabric.simulation import Simulation

    before = f"{scenario_text(fabric)[0].rstrip()}\n\n" if fabric is not None else ""
    with progress(f"importing {', '.join(files)}"):
        if any(file.endswith(".et") for file in files):
            found = _schedule(files, devices, source or target, paced=not unpaced)
        elif devices is not None:
            raise typer.BadParameter(
                "only Chakra execution traces (.et) have ranks; leave it out",
                param_hint="--devices",
            )
        else:
            found = _flows(files, (source, target), window, paced=not unpaced)
    if fabric is not None:
        try:
            Simulation(before + found)
        except ScenarioError as error:
            warn(f"the scenario with its recorded traffic is not right yet: {error}")
    _write((before + found).encode(), output)


def _flows(
    files: list[str], ends: tuple[str | None, str | None], window: str, *, paced: bool
) -> str:
    from peerlane.importing import traffic
    from peerlane.importing.traffic.request import amount

    with wrong_use("--window"):
        buffers = amount(window, "B")
        if buffers == 0:
            raise ValueError("a window of 0 B has no buffers; write 1 B at least")
    recording = traffic.read(files, traffic.Ends(*(end or None for end in ends)))
    return traffic.flows_of(recording, buffers, paced=paced)


def _schedule(files: list[str], devices: str | None, end: str | None, *, paced: bool) -> str:
    from peerlane.importing.traffic import chakra

    if end:
        raise typer.BadParameter(
            "a Chakra execution trace has ranks; leave it out, and name their GPUs by --devices",
            param_hint="--from / --to",
        )
    if not devices:
        right = "add --devices with the GPU of each rank, such as --devices gpu0,gpu1"
        raise typer.BadParameter(f"Chakra execution traces have ranks; {right}")
    names = [name.strip() for name in devices.split(",")]
    return chakra.schedule_of(chakra.read(files), names, paced=paced)


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
    _write(scenario, output)


def _write(scenario: bytes, output: str | None) -> None:
    if output is None or output == "-":
        sys.stdout.buffer.write(scenario)
    else:
        write(output, scenario)
