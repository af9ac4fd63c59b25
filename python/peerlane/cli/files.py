"""Checks the files of a command: an output must not be an input or another output."""

from __future__ import annotations

import os
import stat
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

STANDARD_INPUT, STANDARD_OUTPUT = 0, 1

_Identity = tuple[int, int] | str


def keep_apart(reads: Iterable[str | None], writes: Mapping[str, str | None]) -> None:
    """Refuses an output that would overwrite an input or another output.

    Args:
        reads: The paths of the inputs; - is standard input.
        writes: The paths of the outputs, by the options that name them; - is standard output.
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
    """Refuses a file, named by an option, that a table of `--parquet` could replace."""
    for option, path in files.items():
        if folder is None or path is None or Path(path).suffix != ".parquet":
            continue
        if Path(path).resolve().parent == Path(folder).resolve():
            raise typer.BadParameter(
                f"{path} may be replaced by a table of --parquet; name a file elsewhere",
                param_hint=option,
            )


def is_standard_output(path: str) -> bool:
    """Whether `path` is the same file as standard output."""
    mine = _identity("-", STANDARD_OUTPUT)
    return path == "-" or (mine is not None and _identity(path, STANDARD_OUTPUT) == mine)


def _identity(path: str, standard: int) -> _Identity | None:
    """A value that is equal for all names of one file; `None` for a device, which has no data."""
    try:
        status = os.fstat(standard) if path == "-" else Path(path).stat()
    except OSError:
        return os.path.realpath(path)
    if stat.S_ISCHR(status.st_mode):
        return None
    return status.st_dev, status.st_ino
