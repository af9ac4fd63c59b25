"""`peerlane new`: writes a first scenario."""

from __future__ import annotations

import json
import os
import shlex
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from peerlane.cli import completion, shipped
from peerlane.cli.beside import program
from peerlane.cli.console import say


def new(
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME]",
            help="The file to write; .toml is added if need be. Or `model`, or `circuit`.",
        ),
    ] = "fabric",
    of: Annotated[
        str | None,
        typer.Argument(metavar="[MODEL]", help="The name of the device model or circuit."),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A copy of this shipped scenario: `peerlane list scenarios`.",
            autocompletion=completion.shipped_scenarios,
        ),
    ] = None,
    *,
    python: Annotated[
        bool, typer.Option("--python", help="With `model`: a class in Python, and its test.")
    ] = False,
    rust: Annotated[
        bool, typer.Option("--rust", help="With `model`: a crate in Rust, and its test.")
    ] = False,
) -> None:
    """Write a first scenario to begin with: a host, a switch, two devices and their flows.

    `peerlane new mine; peerlane run mine.toml`

    `peerlane new model --python NAME` writes a device model with its test, NAME.py and
    test_NAME.py, and `peerlane new model --rust NAME` a crate in the folder NAME. `peerlane new
    circuit NAME` writes a circuit in SystemVerilog with a scenario, tests and a bench.
    """
    from peerlane.cli.new_model import write_circuit, write_model

    if name == "circuit" and of is not None and not (python or rust or like):
        say(write_circuit(of))
        return
    if python or rust or of is not None:
        if name != "model" or of is None or python == rust or like is not None:
            right = "peerlane new model --python NAME, or peerlane new model --rust NAME"
            raise typer.BadParameter(
                f"a device model is written by {right}, a circuit by peerlane new circuit NAME"
            )
        say(write_model(of, "python" if python else "rust"))
        return
    if not name or not name.isprintable():
        raise typer.BadParameter("write the name of a file, without control characters")
    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    if name.endswith(os.sep):
        inside = Path(name) / "fabric.toml"
        raise typer.BadParameter(f"{name} is a folder; name a file in it, such as {inside}")
    if not path.stem.removesuffix(".toml").strip("."):
        raise typer.BadParameter(f"{path} would be a hidden file; write a name before .toml")
    text = _text(path, like)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        message = f"{path} exists, and nothing is overwritten; write another name"
        raise typer.BadParameter(message) from None
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    given = _argument(path)
    command = program("peerlane")
    say(f"{path} is written; {command} show {given} draws it, {command} run {given} simulates it")


def _argument(path: Path) -> str:
    """The path of a file as an argument for a command in a shell."""
    return shlex.quote(f"./{path}" if str(path).startswith("-") else str(path))


def _text(path: Path, like: str | None) -> str:
    from peerlane import _core

    if like is None:
        first = (files("peerlane.cli") / "first.toml.template").read_text("utf-8")
        return first.format(file=_argument(path), name=json.dumps(path.stem, ensure_ascii=False))
    known = shipped.names()
    if like not in known:
        advice = _core.advice(like, known)
        message = f"there is no shipped scenario {like!r}; {advice}"
        raise typer.BadParameter(message, param_hint="--like")
    return shipped.text_of(like)
