"""Options that capture what takes a wire, and the filter of the captures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerlane.cli.files import is_standard_output
from peerlane.cli.options import writable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from peerlane import Filter, Simulation


def _capture_file(path: str | None) -> str | None:
    if path == "-" or (path is not None and is_standard_output(path) and Path(path).is_file()):
        raise typer.BadParameter("a capture goes to a file; standard output has the result")
    return writable(path)


Trace = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        callback=_capture_file,
        help="Write one JSON object to FILE for every TLP, DLLP and ordered set on a wire and "
        "for every arrival: `ns` is when its first bit takes the wire (of an arrival, when its "
        "last bit is there), `length_ns` how long it is there, `length` the bytes that a "
        "request carries or asks for. What leaves in each direction of each link is in the "
        "order of time, and so is what arrives; lines of different links interleave. "
        "docs/reference/trace.md lists all fields.",
    ),
]

Perfetto = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        callback=_capture_file,
        help="Write a timeline to FILE, as a Perfetto trace for https://ui.perfetto.dev: a slice "
        "for each TLP, DLLP and ordered set on a wire, with the fields of its header; arrows from "
        "hop to hop; counters of queues and credit. 1 ns of the trace is 1 ps of simulated time.",
    ),
]

Vcd = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        callback=_capture_file,
        help="Write the activity of links to FILE, as a value change dump for GTKWave: whether "
        "each direction is busy, and kind, sequence number and tag of what is on the wire, in ps.",
    ),
]

Pcap = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        callback=_capture_file,
        help="Write a pcapng FILE for Wireshark, which decodes it with integrations/wireshark: "
        "every TLP, DLLP, ordered set, frame and control block, as it is on the wire, and what "
        "became of it. Each direction of each link is an interface; --at LINK takes one link. "
        "docs/reference/capture.md describes the file.",
    ),
]

At = Annotated[
    list[str] | None,
    typer.Option(
        "--at",
        metavar="LINK",
        help="Capture this link, fibre or cable alone, by its name in results, such as `h0-s0`. "
        "May be repeated.",
    ),
]

Kind = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="Capture this kind alone: a TLP such as `MWr`, a DLLP such as `UpdateFC`, `SKP`, or a "
        "group: `tlp`, `dllp`, `ordered_set`, `frame`, `block`. May be repeated.",
    ),
]

Address = Annotated[
    str | None,
    typer.Option(
        metavar="FIRST-LAST",
        help="Capture only packets that name an address from FIRST to LAST, such as "
        "`0x80000000-0x80000fff`, and the completions of such requests.",
    ),
]

Flow = Annotated[
    list[str] | None,
    typer.Option(
        "--flow",
        metavar="NAME",
        help="Capture only packets of this flow or other workload. May be repeated.",
    ),
]

Window = Annotated[
    str | None,
    typer.Option(
        metavar="FROM..TO",
        help="Capture only what takes a wire or arrives in this time, counted from the beginning "
        "of the run as in results: `10us..20us`, `10us..` or `..20us`.",
    ),
]


def check_only(only: Filter, captures: Mapping[str, str | None]) -> None:
    """Refuses a filter without a capture; `captures` are files by the names of their options."""
    if not only or any(captures.values()):
        return
    given = _parts(only)
    filters = "filter" if "," in given else "filters"
    options = " or ".join(f"{option} FILE" for option in captures)
    raise typer.BadParameter(f"{given} {filters} a capture, and there is none; write {options}")


def empty(simulation: Simulation, only: Filter) -> Iterator[str]:
    """Says of each capture in which a filter has left nothing that it has no records."""
    for path in simulation.empty_captures() if only else ():
        yield f"{path} has no records: nothing that took a wire meets {_parts(only)}"


def _parts(only: Filter) -> str:
    """The options that are given."""
    return ", ".join(f"--{part}" for part, value in vars(only).items() if value)


def capture(simulation: Simulation, captures: Mapping[str, str | None], only: Filter) -> None:
    """Begins the captures; they are files by the names of their options."""
    begin = {
        "--trace": simulation.trace_to,
        "--perfetto": simulation.perfetto_to,
        "--vcd": simulation.vcd_to,
        "--pcap": simulation.pcap_to,
    }
    for option, path in captures.items():
        if path is None:
            continue
        try:
            begin[option](path, only=only)
        except ValueError as error:
            raise typer.BadParameter(f"--{error}") from None


def incomplete(simulation: Simulation, raised: Sequence[OSError] = ()) -> Iterator[str]:
    """Says of each capture whose file took no more that it is incomplete, `raised` at first."""
    for error in (*raised, *_failures(simulation)):
        what = (error.strerror or str(error)).lower()
        yield (
            f"{error.filename}: {what}; the file is incomplete, and the result is that of the "
            "whole run"
        )


def _failures(simulation: Simulation) -> Iterator[OSError]:
    while True:
        try:
            simulation.capture_failure()
        except OSError as error:
            yield error
        else:
            return
