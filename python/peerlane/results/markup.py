"""Results as HTML for notebooks: small tables in the colours of the page, without scripts."""

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
"""Further rows of a table are counted."""

_CSS = (files("peerlane.results") / "markup.css").read_text(encoding="utf-8")
_STYLE = f"<style>{_CSS}</style>".replace("\n", "")

NOTEBOOK = (
    "--ink:var(--jp-content-font-color0,var(--vscode-editor-foreground));"
    "--paper:var(--jp-layout-color0,var(--vscode-editor-background));"
    "--muted:var(--jp-content-font-color2,var(--vscode-descriptionForeground));"
    "--line:var(--jp-content-font-color3,var(--vscode-editorLineNumber-foreground));"
    "--accent:var(--jp-brand-color1,var(--vscode-textLink-foreground))"
)
"""The colours of a drawing, of the themes of Jupyter and of Visual Studio Code."""

_MEASURES = ("bytes_per_second", "ns", "bytes")
"""The ends of the names of fields that say the unit."""
_SHARES = frozenset({"utilisation", "full"})
_UNITS = (
    (("bytes_per_second",), RATES),
    (("_ns",), TIMES),
    (("bytes", "size", "max_payload", "max_read_request", "aperture"), SIZES),
)
"""The units of values whose columns end so."""
_OF_LATENCY = ("p50", "p99")
_OF_TIMES = frozenset({"min", "p50", "p90", "p99", "p999", "max", "mean", "0", "1"})
"""The parts of a latency, or of an interval, which are times, too."""


def escape(text: str) -> str:
    """A text of a page, without markup, and with escapes for characters that are not printable."""
    return html.escape(printable(text))


def page(*parts: str) -> str:
    """Several parts, with the style that they share."""
    return f'<div class="peerlane">{_STYLE}{"".join(parts)}</div>'


def line(text: str, kind: str = "") -> str:
    """A line of text; its kind is "less" or "wrong", or nothing."""
    return f'<div class="{kind}">{escape(text)}</div>' if kind else f"<div>{escape(text)}</div>"


def title(text: str) -> str:
    """What follows is of this."""
    return f'<div class="of"><b>{escape(text)}</b></div>'


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table; the unit of a value is in the name of its column, as in JSON.

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
    """A table of dataclasses, with a column for each field that is one value.

    Args:
        rows: Dataclasses of one kind.
        without: Fields that are left out.
    """
    found = [_flat(row) for row in rows]
    columns = list(
        dict.fromkeys(column for row in found for column in row if column not in without)
    )
    return table(columns, [[row.get(column) for column in columns] for row in found])


def bar(share: float) -> str:
    """A bar that is as long as a share."""
    return f'<span class="bar" style="width:{8 * min(max(share, 0), 1):.2f}em"></span>'


def said(column: str, value: object) -> str:
    """A value as text, with its unit where the name of its column has one."""
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
    """The unit in which the values of a column are, by its name; empty for plain numbers."""
    return _units_of(column)[-1][0] if _units_of(column) else ""


def _units_of(column: str) -> Units:
    path, _, name = column.rpartition(".")
    if path.endswith("_ns") and name in _OF_TIMES:
        name = path
    return next((units for ends, units in _UNITS if name.endswith(ends)), ())


def _heading(column: str) -> str:
    """The name of a column without its unit, which its values have; a path stays as it is."""
    if "." in column:
        return column
    for measure in _MEASURES:
        if column.endswith(f"_{measure}"):
            column = column.removesuffix(f"_{measure}")
            break
    return {"bytes_per_second": "rate"}.get(column, column.replace("_", " "))


def _flat(row: object) -> Mapping[str, Any]:
    """The fields of a row that are one value each, and of its latencies the quantiles."""
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
