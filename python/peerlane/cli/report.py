"""The option `--report` of commands: writes a page into a folder, in addition to the output."""

from __future__ import annotations

import shlex
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from peerlane.cli.console import complain, progress, say
from peerlane.cli.head import head
from peerlane.cli.options import wrong_use
from peerlane.cli.shipped import is_shipped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from peerlane.report.folder import Folder
    from peerlane.report.page import Origin, Page


def open_folder(path: str | None) -> Folder | None:
    """Opens the folder of `--report`, if it is given, before any work is done.

    Raises:
        BadParameter: A report cannot be written to the folder.
    """
    if path is None:
        return None
    if path == "-":
        raise typer.BadParameter(
            "a report is a folder of files; name one, not standard output", param_hint="--report"
        )
    from peerlane.report.folder import Folder

    with wrong_use("--report"):
        return Folder.open(path)


def origin(seed: str, digest: str | None = None, file: str = "-", name: str = "") -> Origin:
    """The origin of a page: this command, the seed, and, if given, the scenario's file and name."""
    from peerlane.report.page import Origin

    made = head("report")
    words = (shlex.join(made["command"]), made["version"], seed, digest)
    if file == "-":
        return Origin(*words, place=f"name {name}" if name else "")
    if is_shipped(file):
        return Origin(*words, file=file, place=f"shipped {file}")
    place = sha256(str(Path(file).resolve()).encode()).hexdigest()[:16]
    return Origin(*words, file=Path(file).name.removesuffix(".toml"), place=place)


def write_pages(folder: Folder | None, pages: Callable[[], Sequence[Page]]) -> bool:
    """Writes pages if `--report` is given, and prints their path; returns false if writing fails.

    The results are already printed, so they are not lost if a page cannot be written.
    """
    if folder is None:
        return True
    from peerlane.report.folder import ReportError

    try:
        with progress("drawing") as bar:
            first = folder.write(pages(), bar)
    except ReportError as error:
        complain(str(error))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        complain(f"{error.filename}: {reason}; the report is not whole")
    else:
        say(f"wrote {first}")
        return True
    return False
