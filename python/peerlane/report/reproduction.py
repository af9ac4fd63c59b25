"""Makes the page of a published system: figures, tables, fitted parameters, and the verdict."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from peerlane.report.charts.errors import deviations, errors
from peerlane.report.charts.published import published
from peerlane.report.page import Page, Section
from peerlane.report.table import Column, Line, Table
from peerlane.report.topology_section import topology
from peerlane.report.words import NONE, number, percent, slug
from peerlane.reproduction.machine import machine_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from peerlane.report.page import Origin
    from peerlane.reproduction.report import Report
    from peerlane.reproduction.row import Row

_NAMES = {"fig": "Figure", "table": "Table", "exp": "Experiment", "eq": "Equation"}


def system_page(report: Report, origin: Origin) -> Page:
    """The page of a system.

    Args:
        report: The report on the system.
        origin: The origin of the report.
    """
    figures: dict[str, list[Row]] = {}
    for row in report.rows:
        figures.setdefault(row.figure, []).append(row)
    sections = [
        _topology(report),
        *_overview(report, figures),
        *(_figure(report, name, rows) for name, rows in figures.items()),
        *_fitted(report),
        *_left_out([heading(name) for name in report.about if name not in figures]),
    ]
    tally = report.tally
    found = tally.predictions
    median = found.median_error_percent
    page = Page(
        name=slug(report.system),
        title=f"{report.system}: {report.title}",
        what=f"{report.source}.",
        figures=(
            ("predicted", str(found.count)),
            ("median error", NONE if median is None else f"{median:.2f} %"),
            ("worst error", percent(found.worst_error_percent)),
            ("fitted", str(tally.fitted)),
        ),
        sections=tuple(sections),
        origin=origin,
        source=report.source,
        verdict=_verdict(report),
        failed=bool(report.missed),
        keyed=True,
        deviations=deviations(report.rows),
    )
    return page.with_settings(report.settings)


def heading(figure: str) -> str:
    """The heading for a figure of the source, such as "Figure 3" for fig3."""
    match = re.fullmatch(r"([a-z]+)(\d+)(?:_(.*))?", figure)
    if match is None or match[1] not in _NAMES:
        return figure.replace("_", " ").capitalize()
    more = f", {match[3].upper()}" if match[3] else ""
    return f"{_NAMES[match[1]]} {match[2]}{more}"


def _verdict(report: Report) -> str:
    tally = report.tally
    count = tally.published
    words = f"{count.within} of {count.all} figures of the source are within their tolerance"
    kinds = ", ".join(f"{one.all} {kind}" for kind, one in tally.figures.items())
    words += f" ({kinds})" if kinds else ""
    if tally.gaps:
        words += f"; {tally.gaps} are not reproduced"
    words += f". The system {tally.predicts}"
    if tally.checks.all:
        words += f". {tally.checks.within} of {tally.checks.all} checks of our own hold"
    if tally.unpublished:
        words += f"; {tally.unpublished} rows have no published value"
    return f"{words}."


def _topology(report: Report) -> Section:
    simulation = machine_of(report.system, report.settings).simulation()
    caption = "The fabric of the system, with the negotiated width and the rate of each link."
    return topology(slug(report.system), caption, simulation)


def _overview(report: Report, figures: Mapping[str, Sequence[Row]]) -> Iterator[Section]:
    groups = {heading(name): deviations(rows) for name, rows in figures.items()}
    caption = "Error of every row that is held against the source, by figure and table."
    chart = errors(f"{slug(report.system)}-errors", caption, groups)
    if chart is not None:
        yield Section("Errors", charts=(chart,))


def _figure(report: Report, name: str, rows: Sequence[Row]) -> Section:
    plots = [plot for plot in report.plots if plot.figure == name]
    charts = [
        published(f"{slug(report.system)}-{name}{f'-{count}' * (len(plots) > 1)}", plot, rows)
        for count, plot in enumerate(plots, 1)
    ]
    held = [row for row in rows if row.expected.is_published]
    checks = [row for row in rows if row.expected.is_expected]
    others = [row for row in rows if not row.expected.is_held]
    tables = tuple(_rows(some) for some in (held, checks) if some)
    words = f"{len(others)} row{'s' * (len(others) > 1)} without a published value"
    hidden = ((words, _rows(others)),) if others else ()
    return Section(heading(name), report.about.get(name, ""), tuple(charts), tables, hidden)


def _rows(rows: Sequence[Row]) -> Table:
    notes = list(dict.fromkeys(row.expected.note for row in rows if row.expected.note))
    shown = any(row.expected.is_held for row in rows)
    ours = any(row.expected.is_expected for row in rows)
    changed = any(row.unchanged is not None for row in rows)
    sensitive = any(row.sensitivity for row in rows)
    columns = [Column("row", "name"), Column("what")]
    columns += [Column("our expectation" if ours else "published", "number")] * shown
    columns += [Column("simulated", "number"), Column("unit", "name")]
    columns += [Column("error", "number"), Column("within", "number")] * shown
    columns += [Column("kind", "kind")]
    columns += [Column("unchanged", "number"), Column("change", "number")] * changed
    columns += [Column("most sensitive to (10 % more)")] * sensitive
    lines = []
    for row in rows:
        cells = [row.id, row.expected.what]
        cells += [_published(row)] * shown
        cells += [number(row.simulated), "" if row.expected.unit == "1" else row.expected.unit]
        within = f"{number(row.expected.tolerance_percent)} %" if row.is_judged else NONE
        cells += [percent(row.error_percent), within] * shown
        cells += [row.expected.kind or NONE]
        cells += [number(row.unchanged), percent(row.change_percent)] * changed
        cells += [_sensitivity(row)] * sensitive
        note = notes.index(row.expected.note) + 1 if row.expected.note else None
        lines.append(Line(tuple(cells), anchor=_anchor(row.id), note=note, wrong=not row.passes))
    return Table(tuple(columns), tuple(lines), tuple(notes))


def _published(row: Row) -> str:
    if ends := row.expected.ends:
        return " to ".join(map(number, ends))
    return number(row.expected.value)


def _sensitivity(row: Row) -> str:
    if not row.sensitivity:
        return ""
    name, change = max(row.sensitivity.items(), key=lambda entry: abs(entry[1]))
    return f"{name} {change:+.1f} %"


def _fitted(report: Report) -> Iterator[Section]:
    if not report.calibration:
        return
    columns = (
        Column("parameter", "name"),
        Column("value", "number"),
        Column("meaning"),
        Column("fitted to the rows"),
    )
    there = {row.id for row in report.rows}
    lines = []
    for entry in report.calibration:
        value = f"{number(entry.value)} {entry.unit}".removesuffix(" 1")
        cells = (entry.name, value, entry.meaning)
        rows = entry.origin.split(", ")
        if there.issuperset(rows):
            links = tuple((row, _anchor(row)) for row in rows)
            lines.append(Line(cells, links=links))
        else:
            lines.append(Line((*cells, entry.origin)))
    words = "Every other parameter is from the source, from a specification, or our choice."
    yield Section("Fitted parameters", words, tables=(Table(columns, tuple(lines)),))


def _left_out(names: Sequence[str]) -> Iterator[Section]:
    if names:
        command = "peerlane reproduce SYSTEM --report DIR"
        yield Section("Not run", f"{', '.join(names)}. {command} runs everything of one system.")


def _anchor(row: str) -> str:
    return f"row-{slug(row)}"
