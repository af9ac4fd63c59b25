"""Reads files of sweeps and runs, and makes figures from them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerlane._core import ScenarioError, is_key
from peerlane.dotted import join_path
from peerlane.figures.metrics import ENCODED, leaves
from peerlane.figures.plot import plot_rows
from peerlane.figures.result import plot_result
from peerlane.figures.table import check_ending
from peerlane.results.reading import FileError, csv_of, document_of, json_of, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from peerlane.figures.figure import Figure

_ENDS = ("seed", "status", "error")
_UNIT = re.compile(r" \[[^]]+\]$")
"""The unit at the end of the name of a column."""


TABLES = {".csv", ".parquet"}


def plot_file(path: str | PathLike[str], x: str | None, y: Sequence[str]) -> Figure:
    """Makes a figure from a table of a sweep (.csv, .parquet), or from the JSON of a sweep or run.

    Raises:
        FileError: The file is none of these.
        PlotError: The file does not have the columns.
        MissingPackageError: The file is Parquet, and pandas is not installed.
        OSError: The file cannot be read.
    """
    found = Path(path)
    if found.suffix in TABLES:
        rows = rows_of(found)
        return plot_rows(rows, x, y, keys=keys_of(rows), title=found.stem)
    document = document_of(text_of(found), str(path), "result", "points", "sweep")
    return plot_document(document, x, y)


def rows_of(path: str | PathLike[str]) -> list[dict[str, Any]]:
    """The rows of a table of a sweep, .csv or .parquet.

    Raises:
        FileError: The file is no table of a sweep.
        MissingPackageError: The file is Parquet, and pandas is not installed.
        OSError: The file cannot be read.
    """
    found = Path(path)
    return _csv(found) if found.suffix == ".csv" else _parquet(found)


def plot_document(document: Mapping[str, Any], x: str | None, y: Sequence[str]) -> Figure:
    """Makes a figure from the JSON of a sweep or a run.

    Raises:
        PlotError: The document does not have the columns.
    """
    title = str(document.get("name", ""))
    if isinstance(points := document.get("points"), list):
        rows = [point_row(point) for point in points]
        keys = document.get("keys", [])
        return plot_rows(rows, x, y or _usual(rows, keys), keys=keys, title=title)
    return plot_result(document, x, y, title)


def point_row(point: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a table for a point of a sweep; the fields of a point with a load are columns."""
    if "settings" in point:
        ends = {name: point.get(name) for name in _ENDS}
        return {**point["settings"], **point["metrics"], **ends}
    values = dict(leaves(point))
    return {join_path(parts): value for parts, value in values.items() if parts[-1] not in ENCODED}


def _usual(rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> list[str]:
    """The column that is plotted by default for a sweep of loads: the latency."""
    return ["latency_ns.mean"] if not keys and rows and "latency_ns.mean" in rows[0] else []


def keys_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns of a table that are keys of scenarios, and not values of results."""
    if not rows:
        return []
    columns = {name: _UNIT.sub("", name) for name in rows[0]}
    has_seeds = list(columns)[-len(_ENDS) :] != list(_ENDS)  # if so, the column of seeds is a key
    try:
        return [one for one, key in columns.items() if is_key(key) and (key != "seed" or has_seeds)]
    except ScenarioError:
        return []


def _csv(path: Path) -> list[dict[str, Any]]:
    head, rows = csv_of(text_of(path), str(path))
    return [dict(zip(head, map(_value, row), strict=True)) for row in rows]


def _value(text: str) -> object:
    if not text:
        return None
    try:
        return json_of(text, "the cell")
    except FileError:
        return text


def _parquet(path: Path) -> list[dict[str, Any]]:
    check_ending(path)  # raises an error that names a missing package
    import pandas as pd  # noqa: PLC0415 - optional, and slow to load

    try:
        frame = pd.read_parquet(path)
    except (ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise FileError(f"{path} is no Parquet file; name a table that Peerlane wrote") from None
    rows: list[dict[str, Any]] = json.loads(frame.to_json(orient="records", double_precision=15))
    return rows
