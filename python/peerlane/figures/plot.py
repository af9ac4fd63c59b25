"""Figures of tables and results, by matplotlib: `pip install 'peerlane[plot]'`."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerlane import _core
from peerlane.errors import PeerlaneError, optional
from peerlane.figures.intervals import Interval
from peerlane.figures.quantities import in_unit, unit_of
from peerlane.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Row = Mapping[str, Any]

FORMATS = (".svg", ".png", ".pdf")

_ENDS = {"seed", "status", "error"}
_MOST_SERIES = 20
"""Lines of one figure; more cannot be distinguished."""
_MOST_NAMES = 12
"""Columns that a message names."""
_MARKED = 60
"""Points of a line that are marked."""
_RATE = "bytes_per_second"


class PlotError(PeerlaneError, ValueError):
    """A table has no such column, or nothing to plot; the message says what it has."""


@dataclass(slots=True)
class _Series:
    """The values of y at each x, in the order in which they came."""

    found: dict[Any, list[float]] = field(default_factory=dict)

    def add(self, x: object, y: float) -> None:
        self.found.setdefault(x, []).append(y)


def plot_rows(  # noqa: PLR0913 - each says one thing of the figure
    rows: Sequence[Row],
    x: str | None = None,
    y: str | Sequence[str] | None = None,
    *,
    keys: Iterable[str] = (),
    title: str = "",
    joined: bool = True,
) -> Figure:
    """A figure of columns of a table over another one.

    Rows that differ in another key are another line; those that differ in the seed alone are one
    point, their mean, with its 95 % confidence interval. Texts with units are put on a scale, other
    texts stand side by side.

    Args:
        rows: The table.
        x: A column; the first key, if absent.
        y: One or several columns; the first that is neither key, seed, status nor error, if absent.
        keys: The columns that were varied.
        title: Of the figure.
        joined: Whether the points of a line are joined.

    Raises:
        PlotError: There is no such column, or it has no numbers.
        MissingPackageError: matplotlib is not installed.
    """
    if not rows:
        raise PlotError("the table has no rows")
    columns = list(rows[0])
    keys = [key for key in keys if key in columns]
    x = _column(columns, x or (keys or columns)[0])
    free = [name for name in columns if name not in {*keys, *_ENDS, x} and _has_numbers(rows, name)]
    wanted = [y] if isinstance(y, str) else list(y or free[:1])
    ys = [_column(columns, name) for name in wanted]
    if not ys:
        there = _some([name for name in columns if name != x])
        advice = f"the other columns are {there}" if there else "there is no other column"
        raise PlotError(f"no column with numbers can be plotted over {x}; {advice}")
    if empty := [name for name in ys if not _has_numbers(rows, name)]:
        raise PlotError(f"{empty[0]} has no numbers")
    figure, axes = _empty()
    unit = next((unit_of(row[x]) for row in rows if unit_of(row[x])), "")
    places = [in_unit(row[x], unit) for row in rows]
    _check_range(x, places)
    for column in ys:
        _check_range(column, [row[column] for row in rows])
    is_scale = all(place is not None for place in places)
    names = [str(row[x]) for row in rows]
    numbered = {name: number for number, name in enumerate(dict.fromkeys(names))}
    at = places if is_scale else [numbered[name] for name in names]
    others = [k for k in keys if k not in {x, "seed"} and len({repr(row[k]) for row in rows}) > 1]
    series = _series(rows, at, ys, others)
    has_lines = any(len(one.found) > 1 for one in series.values())
    if not has_lines and others:
        series = _series(rows, at, ys, [])  # a sample: every point differs in everything
    if len(series) > _MOST_SERIES:
        raise PlotError(
            f"{len(series)} lines are too many; plot over another key than {x}, or fewer points"
        )
    for label, one in series.items():
        _draw(axes, label, one, linked=joined and has_lines and is_scale)
    if is_scale:
        _scale(axes, sorted({place for place in places if place is not None}))
    else:
        axes.set_xticks(list(numbered.values()), [_words(name, most=40) for name in numbered])
    axes.set_xlabel(_words(f"{x} ({unit})" if unit else x))
    _name_values(axes, ys)
    if len(series) > 1:
        axes.legend(fontsize="small")
    axes.set_title(_words(title))
    axes.grid(visible=True, alpha=0.3)
    return figure


def plot_bars(rows: Sequence[Row], name: str, value: str, title: str = "") -> Figure:
    """A bar for each row, the first one on top.

    Args:
        rows: The table.
        name: The column of the names of bars.
        value: The column of their lengths; rows without one have no bar.
        title: Of the figure.

    Raises:
        PlotError: There is no such column, or it has no numbers.
        MissingPackageError: matplotlib is not installed.
    """
    value = _column(list(rows[0]), value)
    shown = [row for row in rows if _is_number(row[value])]
    if not shown:
        raise PlotError(f"{value} has no numbers")
    _check_range(value, [row[value] for row in shown])
    figure, axes = _empty(height=max(2.0, 0.25 * len(shown) + 1.2))
    axes.barh(range(len(shown)), [row[value] for row in shown])
    axes.set_yticks(range(len(shown)), [_words(str(row[name])) for row in shown], fontsize="small")
    axes.invert_yaxis()
    axes.set_xlabel(_words(value))
    axes.set_title(_words(title))
    axes.grid(visible=True, axis="x", alpha=0.3)
    return figure


def save(figure: Figure, path: str | PathLike[str]) -> None:
    """Writes a figure in the format of the file's ending; the same figure is the same file.

    Raises:
        OSError: The file could not be written; the error has its name.
    """
    from matplotlib import rc_context  # noqa: PLC0415 - there is a figure, so it is installed

    path = check_format(path)
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    try:
        with rc_context({"svg.hashsalt": "peerlane", "svg.fonttype": "none"}):
            figure.savefig(path, metadata=dates.get(path.suffix), dpi=150)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def check_format(path: str | PathLike[str]) -> Path:
    """The path of a figure, if its ending is that of a format.

    Raises:
        PlotError: It is not.
    """
    found = Path(path)
    if found.suffix not in FORMATS:
        raise PlotError(f"{path}: write a name that ends with .svg, .png or .pdf")
    return found


def _empty(height: float = 4.0) -> tuple[Figure, Axes]:
    with optional("figures need matplotlib", "plot"):
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional, and slow to load
    figure = Figure(figsize=(7.0, height), layout="constrained")
    return figure, figure.subplots()


def _scale(axes: Axes, places: Sequence[float]) -> None:
    """Puts values that grow by a factor on a logarithmic axis."""
    if _is_geometric(places):
        axes.set_xscale("log", base=2)
        axes.set_xticks(places, [f"{place:g}" for place in places])
        axes.minorticks_off()


def _name_values(axes: Axes, ys: Sequence[str]) -> None:
    """Names the vertical axis; rates are in GB/s."""
    what = ys[0] if len(ys) == 1 else ""
    if all(name.endswith(_RATE) for name in ys):
        what = f"{what} (GB/s)" if what else "GB/s"
        axes.yaxis.set_major_formatter(lambda value, _position: f"{value / 1e9:g}")
    axes.set_ylabel(_words(what))


def _words(text: str, most: int = 1000) -> str:
    """A text for a figure, cut to the given number of characters, with formulas as plain text."""
    shown = text if len(text) <= most else f"{text[:most]}..."
    return printable(shown).replace("$", r"\$")


def _column(columns: Sequence[str], name: str) -> str:
    if name in columns:
        return name
    near = _core.nearest(name, list(columns))
    advice = f"did you mean {near}?" if near else f"there are {_some(columns)}"
    raise PlotError(f"there is no column {name!r}; {advice}")


def _some(columns: Sequence[str]) -> str:
    """The columns of a table for a message: a sweep may have thousands."""
    return ", ".join(columns[:_MOST_NAMES]) + (", ..." if len(columns) > _MOST_NAMES else "")


def _has_numbers(rows: Sequence[Row], name: str) -> bool:
    return any(_is_number(row[name]) for row in rows)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value  # noqa: PLR0124 - not a number


def _check_range(name: str, values: Iterable[object]) -> None:
    """Refuses numbers whose squares no double has: deviations and scales are computed of them."""
    for value in values:
        if _is_number(value) and abs(value) > _LARGEST:  # type: ignore[arg-type]
            raise PlotError(f"{name} has the number {value:g}; a figure has numbers up to 1e150")


_LARGEST = 1e150


def _series(
    rows: Sequence[Row], at: Sequence[Any], ys: Sequence[str], others: Sequence[str]
) -> dict[str, _Series]:
    """The lines of a figure by their labels."""
    found: dict[str, _Series] = {}
    for row, place in zip(rows, at, strict=True):
        for name in ys:
            if _is_number(row[name]):
                which = [
                    str(row[key]) if key == "name" else f"{key} = {row[key]}" for key in others
                ]
                label = ", ".join([name] * (len(ys) > 1) + which)
                found.setdefault(_words(label), _Series()).add(place, row[name])
    return found


def _draw(axes: Axes, label: str, series: _Series, *, linked: bool) -> None:
    places = sorted(series.found) if linked else list(series.found)
    intervals = [Interval.of(series.found[place]) for place in places]
    means = [one.mean for one in intervals]
    style = "o" if not linked else "o-" if len(places) <= _MARKED else "-"
    if any(one.half_width is not None for one in intervals):
        halves = [one.half_width or 0.0 for one in intervals]
        axes.errorbar(places, means, yerr=halves, fmt=style, capsize=3, markersize=4, label=label)
    else:
        axes.plot(places, means, style, markersize=4, label=label)


def _is_geometric(values: Sequence[float]) -> bool:
    """Whether each value is the same multiple of the one before, and there are several."""
    if len(values) < 3 or values[0] <= 0:  # noqa: PLR2004 - two are a ratio of anything
        return False
    ratio = values[1] / values[0]
    return all(isclose(after / before, ratio, rel_tol=1e-6) for before, after in pairwise(values))
