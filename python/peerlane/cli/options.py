"""Arguments, options and exit statuses that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

FAILED = 1
WRONG_USE = 2


def writable(path: str | None) -> str | None:
    """Refuses a file that could not be written, before any work is done."""
    if path is None or path == "-":
        return path
    if Path(path).is_dir():
        raise typer.BadParameter(f"{path} is a folder; name a file in it")
    if not Path(path).absolute().parent.is_dir():
        raise typer.BadParameter(f"there is no folder {Path(path).parent}")
    return path


Scenario = Annotated[str, typer.Argument(metavar="FILE", help="The scenario: a TOML file.")]

JsonTo = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE|-",
        callback=writable,
        help="Write the numbers as JSON to FILE; - is standard output, with nothing else on it.",
    ),
]
