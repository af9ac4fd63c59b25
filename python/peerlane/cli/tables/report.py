"""The tables of a published system: its rows, its calibration, and the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from peerlane.cli.tables.cells import STYLE, blank, number, numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane.reproduction.report import Report, Row

VISIBLE = 0.05
"""Percent that are not shown as nothing."""


def report(outcome: Report) -> RenderableType:
    """A system's rows, its calibration, and the verdict."""
    rows = blank("row", "what")
    numbers(rows, "published", "simulated")
    rows.add_column("unit")
    numbers(rows, "error", "within")
    rows.add_column("kind")
    sensitive = any(row.sensitivity for row in outcome.rows)
    if sensitive:
        rows.add_column("most sensitive to (10 % more)")
    for row in outcome.rows:
        rows.add_row(*_row(row), *[_sensitivity(row)] * sensitive)
    parts: list[RenderableType] = [Text(f"{outcome.system}: {outcome.title}", style="bold"), rows]
    if outcome.calibration:
        fitted = blank("calibrated", "value", "meaning", "from")
        for entry in outcome.calibration:
            unit = "" if entry.unit == "1" else f" {entry.unit}"
            value = number(entry.value) + unit
            fitted.add_row(entry.name, value, entry.meaning, entry.origin)
        parts.append(fitted)
    return Group(*parts, _verdict(outcome.rows))


def _row(row: Row) -> list[RenderableType]:
    published = number(row.published)
    if row.published_range is not None:
        published = "..".join(map(number, row.published_range))
    error = "-" if row.error_percent is None else f"{row.error_percent:+.2f} %"
    is_judged = row.is_judged and row.kind != "gap"
    within = f"{number(row.tolerance_percent)} %" if is_judged else "-"
    style = "dim" if row.kind == "gap" else STYLE[row.passes]
    return [
        row.id,
        row.what,
        published,
        number(row.simulated),
        row.unit,
        Text(error, style=style),
        within,
        row.kind,
    ]


def _sensitivity(row: Row) -> str:
    """The calibration parameter that moves the row most, and how far 10 % of it do."""
    if not row.sensitivity:
        return ""
    name, percent = max(row.sensitivity.items(), key=lambda entry: abs(entry[1]))
    return f"{name} {percent:+.1f} %" if abs(percent) >= VISIBLE else "nothing fitted"


def _verdict(rows: Sequence[Row]) -> Text:
    claimed = [row for row in rows if row.kind != "gap"]
    held = [row for row in claimed if row.is_judged]
    missed = [row.id for row in held if not row.passes]
    verdict = Text(f"{len(held) - len(missed)} of {len(held)} rows within tolerance", "bold")
    if missed:
        verdict.append(f"; not {', '.join(missed)}", "bold red")
    if unjudged := len(claimed) - len(held):
        verdict.append(f"; {unjudged} without a published value")
    if gaps := len(rows) - len(claimed):
        verdict.append(f"; {gaps} not reproduced (gap)")
    return verdict
