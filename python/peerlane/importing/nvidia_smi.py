"""Reads the table of `nvidia-smi topo -m`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from peerlane.importing.listing import ListingError
from peerlane.importing.lspci import AROUND
from peerlane.importing.paths import Level, Range
from peerlane.importing.statements import NUMA_NODE, Place
from peerlane.importing.tables import Table

if TYPE_CHECKING:
    from peerlane.importing.statements import Statements

_HEADER = re.compile(r"^[ \t]*(?:[\w-]+[ \t]+)+CPU Affinity", re.MULTILINE)
_STYLE = re.compile(r"\x1b\[[\d;]*m")
_AFFINITIES = re.compile(r"CPU Affinity|NUMA Affinity|GPU NUMA ID")
_LEGEND = re.compile(r"\s*(?:(?:NIC )?Legend:|(?:X|SYS|SOC|NODE|PHB|PXB|PIX|PSB|NV#)\s+= .*)\s*")
_OTHER_NAME = re.compile(r"\s*(NIC\d+): (\S+)\s*")
_LEVELS = {level.name: level for level in Level} | {"SOC": Level.SYS}


def is_table(text: str) -> bool:
    """Whether a text has the first line of the table."""
    return _HEADER.search(_STYLE.sub("", text)) is not None


def read(text: str, source: str, statements: Statements) -> Table:
    """The table of a file, whose lines that are not understood are left out.

    Raises:
        ListingError: Two lines of the table are inconsistent, or a part of the table is missing.
    """
    table = Table(source, is_in_bus_order=True)
    columns: list[str] = []
    affinities: list[str] = []
    for number, raw in enumerate(_STYLE.sub("", text).splitlines(), 1):
        line, place = raw.rstrip(), Place(source, number)
        row = line.split()
        if not row or AROUND.match(line) or _LEGEND.fullmatch(line):
            continue
        if not columns and _HEADER.match(line):
            affinities = _AFFINITIES.findall(line)
            columns = line[: line.index(affinities[0])].split()
        elif name := _OTHER_NAME.fullmatch(line):
            table.other_names[name[1]] = name[2]
        elif row[0] in columns:
            table.devices[row[0]] = place
            _read_cells(table, columns, row, place, statements)
            _read_affinities(row[0], affinities, row[1 + len(columns) :], place, statements)
        else:
            statements.leave_out("line with unknown text", place, line.strip())
    table.check(columns, "nvidia-smi topo -m")
    return table


def _read_cells(
    table: Table, columns: list[str], row: list[str], place: Place, statements: Statements
) -> None:
    cells = row[1 : 1 + len(columns)]
    if len(cells) < len(columns):
        raise ListingError(
            f"{place}: the row of {row[0]} has {len(cells)} of {len(columns)} columns; "
            "write all of `nvidia-smi topo -m`"
        )
    for other, cell in zip(columns, cells, strict=True):
        if cell in _LEVELS and other != row[0]:
            table.state(row[0], other, Range.exactly(_LEVELS[cell]), place)
        elif cell.startswith("NV"):
            if columns.index(row[0]) < columns.index(other):
                what = f"{cell} between {row[0]} and {other}: not PCI Express"
                statements.leave_out("NVLink connection", place, what)
        elif cell != "X":
            what = f"{cell!r} between {row[0]} and {other} is not understood"
            statements.leave_out("table cell", place, what)


def _read_affinities(
    name: str, columns: list[str], cells: list[str], place: Place, statements: Statements
) -> None:
    """The NUMA node of a GPU, if it is a single one; rows of network cards have none."""
    if not cells:
        return
    if len(cells) != len(columns):
        statements.leave_out("table cell", place, f"affinities of {name}: {' '.join(cells)}")
        return
    node = dict(zip(columns, cells, strict=True)).get("NUMA Affinity", "")
    if re.fullmatch(r"\d{1,4}", node):
        statements.state(NUMA_NODE, name, int(node), place)
