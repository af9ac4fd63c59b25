"""Reads the tables of `rocm-smi --showtopo`, with or without `--showbus`.

KFD, the source of these tables, has no PCI bridges: a path over PCI Express has 2 hops within a
NUMA node, and 3 hops from one node to another.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from peerlane.importing.listing import ListingError, Slot
from peerlane.importing.lspci import AROUND
from peerlane.importing.paths import Level, Range
from peerlane.importing.statements import FUNCTION, NUMA_NODE, Place
from peerlane.importing.tables import Table

if TYPE_CHECKING:
    from peerlane.importing.statements import Statements

_TITLE = re.compile(r"=+(?: (.*) )?=+")
_OF_A_GPU = re.compile(r"GPU[\[ ](\d+)\]?\s*: (?:\(Topology\) )?([\w ]+): (\S+)")
_HOPS = {"2": Range(Level.PIX, Level.NODE), "3": Range.exactly(Level.SYS)}


def is_table(text: str) -> bool:
    """Whether a text has the title of one of the tables."""
    return re.search(r"(?:Hops|Weight|Link Type) between two GPUs", text) is not None


def read(text: str, source: str, statements: Statements) -> Table:
    """The table of a file, whose lines that are not understood are left out.

    Raises:
        ListingError: Lines are inconsistent, or a part of a table is missing.
    """
    table = Table(source)
    cells: dict[tuple[str, str, str], tuple[str, Place]] = {}
    title = ""
    columns: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        row, place = line.split(), Place(source, number)
        if new := _TITLE.fullmatch(line.strip()):
            title, columns = (new[1] or "").strip("= ").partition(" between")[0], []
        elif of_one := _OF_A_GPU.fullmatch(line.strip()):
            _read_one(f"GPU{of_one[1]}", of_one[2], of_one[3], place, statements)
        elif row and title in _TABLES and all(name.startswith("GPU") for name in row):
            columns = row
        elif row and title in _TABLES and row[0] in columns:
            if len(row) != len(columns) + 1:
                raise ListingError(
                    f"{place}: the row of {row[0]} has {len(row) - 1} of {len(columns)} columns; "
                    "write all of `rocm-smi --showtopo`"
                )
            table.devices.setdefault(row[0], place)
            for other, cell in zip(columns, row[1:], strict=True):
                cells[title, row[0], other] = cell, place
        elif row and not AROUND.match(line):
            statements.leave_out("line with unknown text", place, line.strip())
    table.check([other for _, _, other in cells], "rocm-smi --showtopo")
    _read_paths(table, cells, statements)
    return table


_TABLES = ("Weight", "Hops", "Link Type")


def _read_one(name: str, what: str, value: str, place: Place, statements: Statements) -> None:
    slot = Slot.of(value)
    if what == "PCI Bus" and slot is not None:
        statements.state(FUNCTION, name, slot, place)
    elif what in {"Numa Node", "Numa Affinity"} and re.fullmatch(r"-?\d{1,4}", value):
        if what == "Numa Node" and int(value) >= 0:
            statements.state(NUMA_NODE, name, int(value), place)
    else:
        statements.leave_out("line with unknown text", place, f"{what} of {name}: {value}")


def _read_paths(
    table: Table, cells: dict[tuple[str, str, str], tuple[str, Place]], statements: Statements
) -> None:
    """The paths over PCI Express, from their hops."""
    for (title, one, other), (kind, place) in cells.items():
        if title != "Link Type" or one == other:
            continue
        hops, _ = cells.get(("Hops", one, other), ("", place))
        path = _HOPS.get(hops)
        if kind == "PCIE" and path:
            table.state(one, other, path, place)
        elif kind == "XGMI":
            if list(table.devices).index(one) < list(table.devices).index(other):
                what = f"XGMI between {one} and {other}: not PCI Express"
                statements.leave_out("XGMI connection", place, what)
        else:
            what = f"{kind} with {hops or 'unknown'} hops between {one} and {other}"
            statements.leave_out("table cell", place, f"{what} is not understood")
