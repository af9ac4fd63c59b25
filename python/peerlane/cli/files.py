"""The files of a command: an output is no file that is read, and no file of another output."""

from __future__ import annotations

import os
import stat
import sys
from copy import deepcopy
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from peerlane._core import ScenarioError
from peerlane.cli import shipped
from peerlane.dotted import join_path
from peerlane.fabric.paths import read_setting, write_out
from peerlane.fabric.simulation import Simulation, read_scenario, scenario_of
from peerlane.fabric.variant import parsed, variant

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

STANDARD_INPUT, STANDARD_OUTPUT = 0, 1

_MOST_NAMES = 12
"""Devices that a message names."""

_Identity = tuple[int, int] | str


def keep_apart(reads: Iterable[str | None], writes: Mapping[str, str | None]) -> None:
    """Refuses outputs that would overwrite an input or each other.

    Args:
        reads: The inputs; - is standard input.
        writes: The outputs by the names of their options; - is standard output.
    """
    inputs = {_identity(path, STANDARD_INPUT) for path in reads if path is not None}
    outputs = {
        option: (path, _identity(path, STANDARD_OUTPUT))
        for option, path in writes.items()
        if path is not None
    }
    for option, (path, identity) in outputs.items():
        if identity is not None and identity in inputs:
            raise typer.BadParameter(
                f"{path} is the file that the command reads; name another file", param_hint=option
            )
    for (one, (_, file)), (other, (path, identity)) in combinations(outputs.items(), 2):
        if identity is not None and identity == file:
            raise typer.BadParameter(
                f"{path} is the file of {one}, too; name another file", param_hint=other
            )


def keep_from_tables(files: Mapping[str, str | None], folder: str | None) -> None:
    """Refuses files, by their options, that the tables of `--parquet` could replace."""
    for option, path in files.items():
        if folder is None or path is None or Path(path).suffix != ".parquet":
            continue
        if Path(path).resolve().parent == Path(folder).resolve():
            raise typer.BadParameter(
                f"{path} may be replaced by a table of --parquet; name a file elsewhere",
                param_hint=option,
            )


def scenario_text(file: str) -> tuple[str, str]:
    """The text of a scenario, and its name in messages; - is standard input.

    A name of a shipped scenario is that scenario, unless there is a file of this name.

    Raises:
        OSError: The file cannot be read.
        ScenarioError: It is not there, is empty, too long, or is not text.
    """
    if file == "-":
        return scenario_of(sys.stdin.buffer, "standard input"), "standard input"
    if shipped.is_shipped(file):
        return shipped.text_of(file), f"{file}.toml"
    try:
        return read_scenario(file), file
    except FileNotFoundError:
        raise ScenarioError(f"{file}: {shipped.advice(file)}") from None


def open_simulation(
    file: str,
    *,
    seed: int | None = None,
    settings: Sequence[str] | None = None,
    circuits: str | None = None,
) -> Simulation:
    """The simulation of a scenario, as `scenario_text` reads it, with some keys set otherwise.

    The devices named in `circuits`, the value of --rtl, are circuits instead of models.
    """
    text, source = scenario_text(file)
    if not settings and circuits is None:
        return Simulation(text, source=source, seed=seed)
    tables = parsed(text, source)
    values = dict(map(read_setting, settings or ()))
    if circuits is not None:
        values |= dict.fromkeys(_implementations(tables, circuits), "rtl")
    return variant(tables, values, source=source, seed=seed)


def _implementations(tables: Mapping[str, Any], circuits: str) -> list[str]:
    """The keys that make circuits of devices, whose names are separated by commas."""
    names = [name.strip() for name in circuits.split(",") if name.strip()]
    if not names:
        raise typer.BadParameter("write the names of devices, such as a,b", param_hint="--rtl")
    written = deepcopy(dict(tables))
    write_out(written)
    devices = list(written.get("devices", {}))
    for name in names:
        if name not in {*devices, *tables.get("devices", {})}:
            shown = ", ".join(devices[:_MOST_NAMES]) + ", ..." * (len(devices) > _MOST_NAMES)
            known = f"its devices are {shown}" if devices else "it has no devices"
            raise typer.BadParameter(
                f"there is no device {name!r} in the scenario; {known}", param_hint="--rtl"
            )
    return [join_path(("devices", name, "implementation")) for name in names]


def is_standard_output(path: str) -> bool:
    """Whether what is written to `path` goes where standard output goes."""
    mine = _identity("-", STANDARD_OUTPUT)
    return path == "-" or (mine is not None and _identity(path, STANDARD_OUTPUT) == mine)


def _identity(path: str, standard: int) -> _Identity | None:
    """A value that only names of one file share; none for a device, which keeps nothing."""
    try:
        status = os.fstat(standard) if path == "-" else Path(path).stat()
    except OSError:
        return os.path.realpath(path)
    if stat.S_ISCHR(status.st_mode):
        return None
    return status.st_dev, status.st_ino
