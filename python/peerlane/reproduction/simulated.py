"""Reads and writes `simulated.toml`: simulated values of published rows, from the last runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tomli_w

from peerlane.reproduction.catalogue import folder_of
from peerlane.reproduction.expected import Expected
from peerlane.reproduction.row import Row
from peerlane.results.document import Document
from peerlane.results.reading import read_toml

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.resources.abc import Traversable

FILE = "simulated.toml"

_HEAD = """\
# Simulated value of each published row of {system}, in six digits, in the unit of the row.
# Written by `peerlane reproduce {system} --save`; see docs/reference/rows.md.

"""


@dataclass(frozen=True)
class _File(Document):
    rows: dict[str, float]


def load(folder: Traversable) -> dict[str, float]:
    """Reads the simulated values of a system's rows; empty if there is no `simulated.toml`.

    Args:
        folder: The folder of the system.

    Raises:
        FileError: The file is not a record; the message has the first error.
    """
    path = folder / FILE
    if not path.is_file():
        return {}
    return read_toml(_File, path.read_bytes(), f"{folder.name}/{FILE}").rows


def save(system: str, rows: Iterable[Row]) -> None:
    """Writes the simulated values of published rows; values of rows that were not run are kept.

    Args:
        system: The name of the system.
        rows: The rows of the system that were run.
    """
    folder = folder_of(system)
    known = load(folder) | {
        row.id: rounded(row.simulated) for row in rows if row.simulated is not None
    }
    wanted = (row for figure in Expected.load(folder).figures for row in figure.rows)
    kept = {row.id: known[row.id] for row in wanted if row.is_published and row.id in known}
    text = _HEAD.format(system=system) + tomli_w.dumps({"rows": kept})
    (Path(str(folder)) / FILE).write_text(text, encoding="utf-8")


def published_rows(system: str) -> list[Row]:
    """The published rows of a system with their values in `simulated.toml`; a gap may have none."""
    folder = folder_of(system)
    known = load(folder)
    return [
        Row(row, figure, known.get(row.id))
        for figure, rows in Expected.load(folder).by_figure().items()
        for row in rows
        if row.is_published
    ]


def rounded(value: float) -> float:
    """Rounds a value to the number of digits that `simulated.toml` has."""
    return float(f"{value:.6g}")
