"""Arguments, options and exit statuses that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from peerlane.cli.files import is_standard_output

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


def json_file(path: str | None) -> str | None:
    """A file that can be written; other names of standard output, such as /dev/stdout, become -."""
    return "-" if path is not None and is_standard_output(path) else writable(path)


Scenario = Annotated[
    str, typer.Argument(metavar="FILE|-", help="The scenario: a TOML file; - is standard input.")
]

JsonTo = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE|-",
        callback=json_file,
        help="Write the numbers as JSON to FILE; - is standard output, with nothing else on it.",
    ),
]
