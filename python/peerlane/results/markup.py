"""Writes results as HTML for notebooks: small tables in the notebook's colours, without scripts."""

from __future__ import annotations

import html
from dataclasses import fields, is_dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from peerlane.formats import RATES, SIZES, TIMES, Units, percent, scaled
from peerlane.printable import printable
from peerlane.results.document import keys_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MOST_ROWS = 60
"""The largest number of rows that a table shows; of further rows, only the number is shown."""

_CSS = (files("peerlane.results") / "markup.css").read_text(encoding="utf-8")
_STYLE = f"<style>{_CSS}</style>".replace("\n", "")

NOTEBOOK = (
    "--ink:var(--jp-content-font-color0,var(--vscode-editor-foreground));"
    "--paper:var(--jp-layout-color0,var(--vscode-editor-background));"
    "--muted:var(--jp-content-font-color2,var(--vscode-descriptionForeground));"
    "--line:var(--jp-content-font-color3,var(--vscode-editorLineNumber-foreground));"
    "--accent:var(--jp-brand-color1,var(--vscode-textLink-foreground))"
)
"""The colours of drawings, from the themes of Jupyter and of Visual Studio Code."""

_MEASURES = ("bytes_per_second", "ns", "bytes")
"""The units at the ends of the names of fields."""
_SHARES = frozenset({"utilisation", "full"})
_UNITS = (
    (("bytes_per_second",), RATES),
    (("_ns",), TIMES),
    (("bytes", "size", "max_payload", "max_read_request", "aperture"), SIZES),
)
"""The units in which values are shown, by the last words of the names of their columns."""
_OF_LATENCY = ("p50", "p99")
_OF_TIMES = frozenset({"min", "p50", "p90", "p99", "p999", "max", "mean", "0", "1"})
"""The fields of a latency, and the positions in an interval; their values are times."""


def escape(text: str) -> str:
    """A text for a page of HTML, in which markup and unprintable characters are escaped."""
    return html.escape(printable(text))


def page(*parts: str) -> str:
    """Joins several parts of HTML, and adds the style that they need."""
    return f'<div class="peerlane">{_STYLE}{"".join(parts)}</div>'


def line(text: str, kind: str = "") -> str:
    """A line of text; its kind is "less" or "wrong", or empty."""
    return f'<div class="{kind}">{escape(text)}</div>' if kind else f"<div>{escape(text)}</div>"


def title(text: str) -> str:
    """HTML of a title, for the parts that follow it."""
    return f'<div class="of"><b>{escape(text)}</b></div>'


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """HTML of a table; the name of a column has the unit of its values, as in JSON.

    Columns without any value are left out.
    """
    shown = rows[:MOST_ROWS]
    kept = [n for n, _ in enumerate(columns) if any(row[n] is not None for row in rows)]
    numeric = {n for n in kept if all(_is_number(row[n]) for row in rows)}
    head = "".join(_cell("th", _heading(columns[n]), numeric=n in numeric) for n in kept)
    body = "".join(
        "<tr>"
        + "".join(_cell("td", said(columns[n], row[n]), numeric=n in numeric) for n in kept)
        + "</tr>"
        for row in shown
    )
    left = len(rows) - len(shown)
    more = line(f"{left} more rows", "less") if left else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def table_of(rows: Iterable[Any], without: frozenset[str] = frozenset()) -> str:
    """HTML of a table of dataclasses, with a column for each field that is a single value.

    Args:
        rows: Dataclasses of one kind.
        without: The fields that are left out.
    """
    found = [_flat(row) for row in rows]
    columns = list(
        dict.fromkeys(column for row in found for column in row if column not in without)
    )
    return table(columns, [[row.get(column) for column in columns] for row in found])


def bar(share: float) -> str:
    """HTML of a bar whose length shows a share from 0 to 1."""
    return f'<span class="bar" style="width:{8 * min(max(share, 0), 1):.2f}em"></span>'


def said(column: str, value: object) -> str:
    """A value as text, with its unit if the name of its column has one."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _measured(column, value)
    return "" if value is None else str(value)


def _measured(column: str, value: float) -> str:
    if column.rpartition(".")[2] in _SHARES:
        return percent(value)
    if units := _units_of(column):
        return scaled(value, units)
    return str(value) if isinstance(value, int) else f"{value:.4g}"


def base_unit(column: str) -> str:
    """The unit of the values of a column, from the column's name; empty for plain numbers."""
    return _units_of(column)[-1][0] if _units_of(column) else ""


def _units_of(column: str) -> Units:
    path, _, name = column.rpartition(".")
    if path.endswith("_ns") and name in _OF_TIMES:
        name = path
    return next((units for ends, units in _UNITS if name.endswith(ends)), ())


def _heading(column: str) -> str:
    """The name of a column without its unit, which each value shows; a path is not changed."""
    if "." in column:
        return column
    for measure in _MEASURES:
        if column.endswith(f"_{measure}"):
            column = column.removesuffix(f"_{measure}")
            break
    return {"bytes_per_second": "rate"}.get(column, column.replace("_", " "))


def _flat(row: object) -> Mapping[str, Any]:
    """The fields of a row that are single values, and the quantiles of its latencies."""
    flat: dict[str, Any] = {}
    if not is_dataclass(row):
        return flat
    key_of = keys_of(type(row))
    for field in fields(row):
        value = getattr(row, field.name)
        if field.name == "latency_ns":
            flat |= {f"latency {one}_ns": getattr(value, one, None) for one in _OF_LATENCY}
        elif value is None or isinstance(value, str | int | float):
            flat[key_of(field.name)] = value
    return flat


def _cell(tag: str, text: str, *, numeric: bool) -> str:
    kind = ' class="number"' if numeric else ""
    return f"<{tag}{kind}>{escape(text)}</{tag}>"


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
