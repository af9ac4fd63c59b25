"""Draws figures of a result: fields of all entries of a list, or samples over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from peerlane.dotted import join_path, split_path
from peerlane.figures.figure import PlotError
from peerlane.figures.metrics import leaves, named
from peerlane.figures.plot import plot_bars, plot_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from peerlane.figures.figure import Figure


def plot_result(document: Mapping[str, Any], x: str | None, y: Sequence[str], title: str) -> Figure:
    """A figure of fields of all entries of a list of a result, such as `links.utilisation`.

    Raises:
        PlotError: The result does not have the fields.
    """
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
    """A figure of samples over time, for all entries of a list or for a single entry."""
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
"""The largest number of lines over time; of more lines, those with the greatest sums are shown."""
