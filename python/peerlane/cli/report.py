"""`--report` of the commands: a page in a folder, beside what is printed."""

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
    """The folder of `--report`, if there is one, before any work is done.

    Raises:
        BadParameter: It cannot take a report.
        MissingPackageError: What makes reports is not installed.
    """
    if path is None:
        return None
    if path == "-":
        raise typer.BadParameter(
            "a report is a folder of files; name one, not standard output", param_hint="--report"
        )
    from peerlane.charts.vega import check_installed
    from peerlane.report.folder import Folder

    check_installed()
    with wrong_use("--report"):
        return Folder.open(path)


def origin(seed: str, digest: str | None = None, file: str = "-", name: str = "") -> Origin:
    """What made a page: this command, perhaps of a scenario in a file, which has a name."""
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
    """Writes pages where `--report` is given, and says where; false if that went wrong.

    What was found is printed by then, and a page that cannot be written takes nothing from it.
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
