"""Defines the options that capture packets on wires, and the options that filter these captures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from peerlane.cli.files import is_standard_output
from peerlane.cli.options import writable
from peerlane.fabric.filter import Filter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from peerlane import Simulation


def _capture_file(path: str | None) -> str | None:
    if path == "-" or (path is not None and is_standard_output(path) and Path(path).is_file()):
        raise typer.BadParameter("a capture goes to a file; standard output has the result")
    return writable(path)


def _file(help_: str) -> Any:  # noqa: ANN401 - as typer has it
    return typer.Option(metavar="FILE", callback=_capture_file, help=help_)


@dataclass(frozen=True, slots=True, kw_only=True)
class Captures:
    """The captures of a run, and the filter that applies to all of them."""

    trace: Annotated[
        str | None,
        _file(
            "Write each packet on a wire as a line of JSON: one object for every TLP, DLLP and "
            "ordered set and for every arrival, in which `ns` is when its first bit takes the wire "
            "(of an arrival, when its last bit is there), `length_ns` how long it is there, "
            "`length` the bytes that a request carries or reads. What leaves in each direction of "
            "each link is in the order of time, and so is what arrives; lines of different links "
            "interleave. docs/reference/trace.md lists all fields.",
        ),
    ] = None
    perfetto: Annotated[
        str | None,
        _file(
            "Write a timeline for https://ui.perfetto.dev: a Perfetto trace with a slice for each "
            "TLP, DLLP and ordered set on a wire, with the fields of its header; arrows from hop "
            "to hop; counters of queues and credit. 1 ns of the trace is 1 ps of simulated time.",
        ),
    ] = None
    vcd: Annotated[
        str | None,
        _file(
            "Write the activity of links for GTKWave: a value change dump of whether each "
            "direction is busy, and kind, sequence number and tag of what is on the wire, in ps.",
        ),
    ] = None
    pcap: Annotated[
        str | None,
        _file(
            "Write a pcapng file for Wireshark: it decodes, with integrations/wireshark, every "
            "TLP, DLLP, ordered set, frame and control block, as it is on the wire, and what "
            "became of it. Each direction of each link is an interface; --at LINK takes one link. "
            "docs/reference/capture.md describes the file.",
        ),
    ] = None
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at",
            metavar="LINK",
            help="Capture this link, fibre or cable alone: its name is that of results, such as "
            "`h0-s0`. May be repeated.",
        ),
    ] = None
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="Capture this kind alone, such as `MWr`: a TLP such as this, a DLLP such as "
            "`UpdateFC`, `SKP`, or a group: `tlp`, `dllp`, `ordered_set`, `frame`, `block`. "
            "May be repeated.",
        ),
    ] = None
    address: Annotated[
        str | None,
        typer.Option(
            metavar="FIRST-LAST",
            help="Capture only packets with an address in a range: from FIRST to LAST, such as "
            "`0x80000000-0x80000fff`, and the completions of these requests.",
        ),
    ] = None
    flow: Annotated[
        list[str] | None,
        typer.Option(
            "--flow",
            metavar="NAME",
            help="Capture only packets of this flow or other workload. May be repeated.",
        ),
    ] = None
    window: Annotated[
        str | None,
        typer.Option(
            metavar="FROM..TO",
            help="Capture only this time, such as `10us..20us`: what takes a wire or arrives then, "
            "counted from the beginning of the run as in results; also `10us..` or `..20us`.",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Refuses options for a filter if no capture is requested."""
        if not self.only or any(self.files.values()):
            return
        filters = "filter" if "," in self._parts() else "filters"
        options = " or ".join(f"{option} FILE" for option in self.files)
        raise typer.BadParameter(
            f"{self._parts()} {filters} a capture, and there is none; write {options}"
        )

    @property
    def files(self) -> dict[str, str | None]:
        """The files of captures, by their options."""
        forms = ("trace", "perfetto", "vcd", "pcap")
        return {f"--{form}": getattr(self, form) for form in forms}

    @property
    def only(self) -> Filter:
        """The filter of all captures."""
        return Filter(
            at=self.at or (),
            kind=self.kind or (),
            address=self.address,
            flow=self.flow or (),
            window=self.window,
        )

    def _parts(self) -> str:
        """The filter options that the user gave."""
        return ", ".join(f"--{part}" for part, value in vars(self.only).items() if value)

    def begin(self, simulation: Simulation) -> None:
        """Begins the captures."""
        for option, path in self.files.items():
            if path is None:
                continue
            form: Any = option.removeprefix("--")
            try:
                simulation.capture(form, path, only=self.only)
            except ValueError as error:
                raise typer.BadParameter(f"--{error}") from None

    def empty(self, simulation: Simulation) -> Iterator[str]:
        """Yields a message for each capture that has no records because of the filter."""
        for path in simulation.core.empty_captures() if self.only else ():
            yield f"{path} has no records: nothing that took a wire matches {self._parts()}"


def incomplete(simulation: Simulation, raised: Sequence[OSError] = ()) -> Iterator[str]:
    """Yields a message for each capture whose file is incomplete; errors in `raised` come first."""
    for error in (*raised, *_failures(simulation)):
        what = (error.strerror or str(error)).lower()
        yield (
            f"{error.filename}: {what}; the file is incomplete, and the result is that of the "
            "whole run"
        )


def _failures(simulation: Simulation) -> Iterator[OSError]:
    while True:
        try:
            simulation.core.capture_failure()
        except OSError as error:
            yield error
        else:
            return
