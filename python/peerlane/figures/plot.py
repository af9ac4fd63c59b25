"""Draws figures of tables: columns plotted over another column, or a bar for each row."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from peerlane import _core
from peerlane.charts.bars import amounts
from peerlane.charts.chart import Chart
from peerlane.charts.lines import Axis, Line, lines
from peerlane.dotted import split_path
from peerlane.figures.figure import Figure, PlotError
from peerlane.figures.headings import heading, headings
from peerlane.figures.intervals import Interval
from peerlane.figures.metrics import UnknownMetricError, expanded
from peerlane.figures.quantities import in_unit, unit_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from peerlane.charts.chart import Panel
    from peerlane.figures.headings import Heading

    Row = Mapping[str, Any]
    Groups = Mapping[str, Sequence[Row]]

_ENDS = {"seed", "status", "error"}
MOST_SERIES = 20
"""The largest number of lines of one figure, because more lines cannot be distinguished."""
_MOST_NAMES = 12
"""The largest number of columns that a message names."""


def plot_rows(  # noqa: PLR0913 - each says one thing of the figure
    rows: Sequence[Row],
    x: str | None = None,
    y: str | Sequence[str] | None = None,
    *,
    keys: Iterable[str] = (),
    title: str = "",
    joined: bool = True,
) -> Figure:
    """A figure of columns of a table, plotted over another column.

    A line has the rows with equal values of all other keys. Rows that differ only in the seed are
    shown as one point: their mean with its 95 % confidence interval. Texts with units, such as
    "4 KiB", are plotted on a scale; other texts are placed side by side.

    Args:
        rows: The table.
        x: The column of the horizontal axis; the first key, if absent.
        y: The columns of the vertical axis; a `*` in a path stands for every name. If absent, the
            first column that is no key, seed, status or error.
        keys: The columns that were varied.
        title: The title of the figure.
        joined: Whether the points of a line are joined.

    Raises:
        PlotError: A column does not exist, or has no numbers.
    """
    if not rows:
        raise PlotError("the table has no rows")
    columns = list(rows[0])
    keys = [key for key in keys if key in columns]
    x = _column(columns, x or (keys or columns)[0])
    free = [name for name in columns if name not in {*keys, *_ENDS, x} and _has_numbers(rows, name)]
    wanted = [y] if isinstance(y, str) else list(y or free[:1])
    ys = list(dict.fromkeys(column for name in wanted for column in _each(columns, name)))
    if not ys:
        there = _some([name for name in columns if name != x])
        advice = f"the other columns are {there}" if there else "there is no other column"
        raise PlotError(f"no column with numbers can be plotted over {x}; {advice}")
    if empty := [name for name in ys if not _has_numbers(rows, name)]:
        raise PlotError(f"{empty[0]} has no numbers")
    for column in (x, *ys):
        _check_range(column, [row[column] for row in rows])
    groups = grouped(rows, [key for key in keys if key not in {x, "seed"}])
    has_lines = any(len({repr(row[x]) for row in group}) > 1 for group in groups.values())
    if not has_lines and len(groups) > 1:
        groups = {"": list(rows)}  # the rows are a sample: each differs in all keys
    if (count := len(groups) * len(ys)) > MOST_SERIES:
        raise PlotError(
            f"{count} lines are too many; plot over another key than {x}, or fewer points"
        )
    panel = plotted(groups, x, ys, title=title, joined=joined and has_lines)
    return _figure(f"{', '.join(ys)} over {x}", panel)


def plot_bars(rows: Sequence[Row], name: str, value: str, title: str = "") -> Figure:
    """A bar for each row, the first one on top.

    Args:
        rows: The table.
        name: The column with the names of the bars.
        value: The column with the lengths of the bars; rows without a number have no bar.
        title: The title of the figure.

    Raises:
        PlotError: A column does not exist, or has no numbers.
    """
    value = _column(list(rows[0]), value)
    shown = [row for row in rows if is_number(row[value])]
    if not shown:
        raise PlotError(f"{value} has no numbers")
    _check_range(value, [row[value] for row in shown])
    words = heading(value)
    names = [str(row[name]) for row in shown]
    panel = amounts(title, names, [words.factor * row[value] for row in shown], words.axis)
    return _figure(f"{value} of each {name}", panel)


def _figure(what: str, panel: Panel) -> Figure:
    caption = f"{panel.title}: {what}." if panel.title else f"{what}."
    return Figure(Chart("figure", caption, caption, (panel,)))


def plotted(
    groups: Groups, x: str, ys: Sequence[str], *, title: str = "", joined: bool = True
) -> Panel:
    """A plot of columns over another column, with a line for each column of each group.

    The lines of a group have one colour, if there are several groups and columns.

    Args:
        groups: The rows of each line, by the name of the line.
        x: The column of the horizontal axis.
        ys: The columns of the vertical axis; rows without a number have no point.
        title: The title above the plot.
        joined: Whether a line joins the means of the values at each x, which have confidence
            intervals; otherwise every value is shown as a point.
    """
    unit = next((one for rows in groups.values() for row in rows if (one := unit_of(row[x]))), "")
    is_scale = all(in_unit(row[x], unit) is not None for rows in groups.values() for row in rows)
    words = list(headings(ys).values())
    across = heading(x)
    quantities = {(one.quantity, one.unit) for one in words}
    drawn = []
    for y, of_y in zip(ys, words, strict=True):
        own = of_y.of if len(quantities) == 1 and of_y.of else of_y.axis.label
        for label, rows in groups.items():
            found: dict[float | str, list[float]] = {}
            for row in rows:
                place = in_unit(row[x], unit) if is_scale else None
                if place is not None and not unit:
                    place *= across.factor
                at = found.setdefault(str(row[x]) if place is None else place, [])
                if is_number(row[y]):
                    at.append(of_y.factor * row[y])
            name = ", ".join([own] * (len(ys) > 1) + [label] * bool(label))
            line = _line(name, found, joined=joined, is_scale=is_scale)
            drawn.append(replace(line, hue=label if len(ys) > 1 else ""))
    up = words[0].axis if len(ys) == 1 else _common(words)
    along = Axis(across.axis.label, unit or across.unit)
    return lines(title, drawn, along, up, joined=joined and is_scale, is_wide=joined)


def _line(
    name: str, found: Mapping[float | str, Sequence[float]], *, joined: bool, is_scale: bool
) -> Line:
    if not joined:
        pairs = [(place, value) for place, values in found.items() for value in values]
        return Line(name, [place for place, _ in pairs], [value for _, value in pairs])
    places = sorted(found) if is_scale else list(found)
    means = [Interval.of([*found[place]]) if found[place] else None for place in places]
    values = [None if one is None else one.mean for one in means]
    spread = [None if one is None else one.half_width for one in means]
    return Line(name, places, values, spread)


def _common(words: Sequence[Heading]) -> Axis:
    """The axis for several columns: its title has the quantity and unit that all columns share."""
    quantities, units = {one.quantity for one in words}, {one.unit for one in words}
    quantity = quantities.pop() if len(quantities) == 1 else ""
    return Axis(quantity, units.pop() if len(units) == 1 else "")


def grouped(rows: Sequence[Row], keys: Sequence[str]) -> dict[str, list[Row]]:
    """The rows of each line of a figure: the rows with equal values of `keys`."""
    varied = [key for key in keys if len({repr(row[key]) for row in rows}) > 1]
    ends = [heading(key).quantity for key in varied]
    names = ends if len(set(ends)) == len(ends) else [heading(key).head for key in varied]
    found: dict[str, list[Row]] = {}
    for row in rows:
        pairs = zip(varied, names, strict=True)
        values = [
            str(row[key]) if key == "name" else f"{name} {row[key]} {heading(key).unit}".strip()
            for key, name in pairs
        ]
        found.setdefault(", ".join(values), []).append(row)
    return found


def _each(columns: Sequence[str], name: str) -> list[str]:
    """The columns with a name; several columns, if the name is a path with `*`."""
    tree: dict[str, Any] = {}
    for column in columns:
        with suppress(ValueError):  # the name is no path
            here = tree
            for part in split_path(column):
                here = here.setdefault(part, {})
    known, paths = set(columns), list[str]()
    with suppress(UnknownMetricError, ValueError):
        paths = [path for path in expanded(tree, name) if path in known]
    return paths or [_column(columns, name)]


def _column(columns: Sequence[str], name: str) -> str:
    if name in columns:
        return name
    if (
        with_unit := next((one for one in columns if one.startswith(f"{name} [")), None)
    ) is not None:
        return with_unit
    heads = {one.head: column for column, one in headings(columns).items()}
    if name in heads:
        return heads[name]
    near = _core.nearest(name, list(columns))
    advice = f"did you mean {near}?" if near else f"there are {_some(columns)}"
    raise PlotError(f"there is no column {name!r}; {advice}")


def _some(columns: Sequence[str]) -> str:
    """The first columns of a table, for a message, because a sweep may have thousands."""
    return ", ".join(columns[:_MOST_NAMES]) + (", ..." if len(columns) > _MOST_NAMES else "")


def _has_numbers(rows: Sequence[Row], name: str) -> bool:
    return any(is_number(row[name]) for row in rows)


def is_number(value: object) -> bool:
    """Whether a cell of a table has a number, which is not NaN."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value  # noqa: PLR0124 - not a number


def _check_range(name: str, values: Iterable[object]) -> None:
    """Refuses numbers whose squares exceed double precision; deviations and scales need squares."""
    for value in values:
        if is_number(value) and abs(value) > _LARGEST:  # type: ignore[arg-type]
            raise PlotError(f"{name} has the number {value:g}; a figure has numbers up to 1e150")


_LARGEST = 1e150
