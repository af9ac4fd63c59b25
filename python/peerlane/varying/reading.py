"""Tables that a figure is made of: what sweeps and runs have written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerlane._core import ScenarioError
from peerlane.fabric.paths import is_key, join_path, split_path
from peerlane.results.reading import FileError, csv_of, document_of, json_of, text_of
from peerlane.varying.metrics import ENCODED, leaves, named
from peerlane.varying.plot import PlotError, plot_bars, plot_rows
from peerlane.varying.table import check_ending

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from matplotlib.figure import Figure

_ENDS = ("seed", "status", "error")


def plot_file(path: str | PathLike[str], x: str | None, y: Sequence[str]) -> Figure:
    """The figure of a table of a sweep (.csv, .parquet), or of the JSON of a sweep or a run.

    Raises:
        FileError: It is none of these.
        PlotError: It has no such columns.
        MissingPackageError: matplotlib, or pandas for Parquet, is not installed.
        OSError: It cannot be read.
    """
    found = Path(path)
    if found.suffix in {".csv", ".parquet"}:
        rows = _csv(found) if found.suffix == ".csv" else _parquet(found)
        return plot_rows(rows, x, y, keys=_keys(rows), title=found.stem)
    document = document_of(text_of(found), str(path), "result", "points", "sweep")
    return plot_document(document, x, y)


def plot_document(document: Mapping[str, Any], x: str | None, y: Sequence[str]) -> Figure:
    """The figure of the JSON of a sweep or a run.

    Raises:
        PlotError: It has no such columns.
        MissingPackageError: matplotlib is not installed.
    """
    title = str(document.get("name", ""))
    if isinstance(points := document.get("points"), list):
        rows = [point_row(point) for point in points]
        keys = document.get("keys", [])
        return plot_rows(rows, x, y or _usual(rows, keys), keys=keys, title=title)
    return _plot_result(document, x, y, title)


def _plot_result(
    document: Mapping[str, Any], x: str | None, y: Sequence[str], title: str
) -> Figure:
    """Fields of all entries of a list of a result, such as `links.utilisation`."""
    wanted = list(y) or ["links.utilisation"]
    if all(name.startswith("series.") for name in wanted):
        return _plot_series(document, wanted, title)
    sections = {name.partition(".")[0] for name in (*wanted, *([x] if x else []))}
    lists = [key for key, value in document.items() if list(named(value))]
    if len(sections) > 1 or not sections <= set(lists):
        raise PlotError(
            f"{', '.join(sorted(sections))}: write fields of one of the lists of the result, such"
            f" as links.utilisation; it has {', '.join(lists)}"
        )
    (section,) = sections
    rows: list[dict[str, Any]] = [
        {join_path((section, *parts)): value for parts, value in leaves(entry)} | {"name": name}
        for name, entry in named(document[section])
    ]
    if not rows:
        raise PlotError(f"{section} is no list of entries with names")
    columns = list(dict.fromkeys(column for row in rows for column in row))
    rows = [{column: row.get(column) for column in columns} for row in rows]
    if x is not None or len(wanted) > 1:
        return plot_rows(rows, x or "name", wanted, title=title, joined=False)
    return plot_bars(rows, "name", wanted[0], title)


def _plot_series(document: Mapping[str, Any], y: Sequence[str], title: str) -> Figure:
    """Samples over time: of all entries of a list, or of the one that the path names."""
    series = document.get("series")
    if not isinstance(series, dict):
        raise PlotError("the result has no samples; run with --interval, such as --interval 10us")
    lines: dict[str, Sequence[float]] = {}
    keys: list[str] = []
    for path in y:
        _, section, *middle, key = split_path(path) if path.count(".") > 1 else ("", "", "")
        known = {
            name: entry
            for name, entry in named(series.get(section))
            if isinstance(entry.get(key), list | tuple)
        }
        if not known:
            found = [
                f"series.{section}.{key}"
                for section, entries in series.items()
                for _, entry in list(named(entries))[:1]
                for key, values in entry.items()
                if isinstance(values, list | tuple)
            ]
            raise PlotError(f"there are no samples {path}; there are {', '.join(found)}")
        chosen = {name: one for name, one in known.items() if name.split()[: len(middle)] == middle}
        if not chosen:
            raise PlotError(f"{path}: there is no {' '.join(middle)}; there are {', '.join(known)}")
        keys.append(key)
        lines |= {f"{name} {key}": entry[key] for name, entry in chosen.items()}
    if any(len(values) != len(series["end_ns"]) for values in lines.values()):
        raise PlotError("series is damaged: its lists have different lengths")
    busiest = sorted(lines, key=lambda name: -sum(lines[name]))[:_MOST_LINES]
    label = y[0] if len(y) == 1 else ", ".join(dict.fromkeys(keys))
    rows = [
        {"time": f"{end / 1e3} us", "name": name, label: value}
        for name, values in lines.items()
        if name in busiest
        for end, value in zip(series["end_ns"], values, strict=True)
    ]
    return plot_rows(rows, "time", label, keys=["name"], title=title)


_MOST_LINES = 12
"""Lines over time, those with the greatest sums: more cannot be told apart."""


def point_row(point: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a sweep; that of a sweep of loads has its fields side by side."""
    if "settings" in point:
        ends = {name: point.get(name) for name in _ENDS}
        return {**point["settings"], **point["metrics"], **ends}
    values = dict(leaves(point))
    return {join_path(parts): value for parts, value in values.items() if parts[-1] not in ENCODED}


def _usual(rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> list[str]:
    """What is plotted of a sweep of loads that is asked for nothing: the latency."""
    return ["latency_ns.mean"] if not keys and rows and "latency_ns.mean" in rows[0] else []


def _keys(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns of a table that are keys of scenarios, and no values of results."""
    if not rows:
        return []
    columns = list(rows[0])
    has_seeds = columns[-len(_ENDS) :] != list(_ENDS)  # then the seeds are among the keys
    try:
        return [one for one in columns if is_key(one) and (one != "seed" or has_seeds)]
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
    check_ending(path)  # says what is not installed
    import pandas as pd  # noqa: PLC0415 - optional, and slow to load

    try:
        frame = pd.read_parquet(path)
    except (ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise FileError(f"{path} is no Parquet file; name a table that Peerlane wrote") from None
    rows: list[dict[str, Any]] = json.loads(frame.to_json(orient="records", double_precision=15))
    return rows
