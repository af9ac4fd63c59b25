"""Makes the tables of a published system: its rows, its fitted parameters, and a summary."""

from __future__ import annotations

from dataclasses import replace
from math import isclose
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from peerlane.cli.tables.cells import STYLE
from peerlane.cli.tables.sheet import Sheet
from peerlane.fabric.variant import told
from peerlane.formats import counted, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane.reproduction.report import Report
    from peerlane.reproduction.row import Row
    from peerlane.reproduction.tally import Count, Tally

VISIBLE = 0.05
"""A percentage that is smaller than this is not shown."""


def report(outcome: Report, *, every: bool) -> RenderableType:
    """Returns the tables of a published system: its rows, its fitted parameters, and a summary.

    Rows with a published value come first. Rows without a published value follow only if `every` is
    set, or if no row has a published value.
    """
    published = [row for row in outcome.rows if row.expected.is_published]
    checks = [row for row in outcome.rows if row.expected.is_expected]
    others = [row for row in outcome.rows if not row.expected.is_held]
    held = [*published, *checks]
    shown = [*held, *others] if every or not held else held
    title = f"{outcome.system}: {outcome.title}"
    if outcome.settings:
        title += f", with {told(outcome.settings)}"
    parts: list[RenderableType] = [Text(title, style="bold"), _rows(shown)]
    if left := len(outcome.rows) - len(shown):
        parts.append(Text(f"rows without a published value: {left} (--all shows them)\n"))
    if outcome.calibration:
        fitted = Sheet("calibrated")
        fitted.add_column("value")
        measured = any(entry.outcome is not None for entry in outcome.calibration)
        if measured:
            fitted.add_column("of the circuits")
        fitted.add_column("meaning", "prose")
        fitted.add_column("from", "prose")
        for entry in outcome.calibration:
            unit = "" if entry.unit == "1" else f" {entry.unit}"
            value = number(entry.value) + unit
            found = "-" if entry.outcome is None else number(entry.outcome) + unit
            fitted.add_row(entry.name, value, *[found] * measured, entry.meaning, entry.origin)
        parts.append(fitted)
    return Group(*parts, _counts(outcome.tally), _verdict(outcome))


MOST_CHANGED = 30
"""The most rows of a comparison that are shown without --all."""


def comparison_of_reports(
    before: Sequence[Report], after: Sequence[Report], names: tuple[str, str], *, every: bool
) -> RenderableType:
    """Returns a table of the rows whose simulated values differ between two reproductions.

    Each row has its published value, too. The row with the largest change is first.
    """
    known = {(report.system, row.id): row for report in before for row in report.rows}
    pairs = [
        (f"{report.system} {row.id}" if len(after) > 1 else row.id, old, row)
        for report in after
        for row in report.rows
        if (old := known.get((report.system, row.id))) is not None
    ]
    changed = [
        (name, old, replace(new, unchanged=old.simulated))
        for name, old, new in pairs
        if not _is_same(old.simulated, new.simulated)
    ]
    changed.sort(key=lambda one: -abs(one[2].change_percent or float("inf")))
    if not changed:
        return Text(f"no change: all {len(pairs)} rows have the same simulated value", "bold")
    table = Sheet("row")
    table.numbers("published", *names, "change", "error before", "after")
    for name, old, new in changed if every else changed[:MOST_CHANGED]:
        change = new.change_percent
        table.add_row(
            name,
            _published(new),
            number(old.simulated),
            number(new.simulated),
            "-" if change is None else f"{change:+.2f} %",
            *(Text(error_of(row), style=_style(row)) for row in (old, new)),
        )
    more = 0 if every else len(changed) - MOST_CHANGED
    words = f"{counted(len(changed), 'row')} changed, {len(pairs) - len(changed)} are the same"
    return Group(
        table, Text(words + (f"; {more} of smaller changes: --all" if more > 0 else ""), "bold")
    )


def _is_same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return isclose(one, other, rel_tol=1e-12)


def _published(row: Row) -> str:
    if ends := row.expected.ends:
        return "..".join(map(number, ends))
    return number(row.expected.value)


def _style(row: Row) -> str:
    return "dim" if row.expected.kind == "gap" else STYLE[row.passes]


def summary(outcomes: Sequence[Report]) -> RenderableType:
    """Returns a table with a line for each system, the rows that missed their tolerance, and hints.

    The hints name further commands.
    """
    table = Sheet("system")
    table.add_column("what", "prose")
    table.numbers("figures within", "gaps", "checks within", "fitted", "predicted")
    table.numbers("median error", "worst error")
    table.add_column("of row")
    table.fold("of row", "checks within", "gaps")
    for outcome in outcomes:
        tally = outcome.tally
        found = tally.predictions
        table.add_row(
            outcome.system,
            outcome.title,
            _share(tally.published),
            str(tally.gaps),
            _share(tally.checks),
            str(tally.fitted),
            str(found.count),
            _percent(found.median_error_percent),
            _percent(found.worst_error_percent, signed=True),
            found.worst_row or "",
        )
    parts: list[RenderableType] = [table, Text(COUNTED)]
    parts += [
        Text(f"{outcome.system}: {row.id} is off by {error_of(row)}", "bold red")
        for outcome in outcomes
        for row in outcome.missed
    ]
    return Group(*parts, Text(NEXT))


COUNTED = """\
figures within: values of the source that are within their tolerance, of all but gaps;
checks: against our own arithmetic; errors: of the figures that are predicted.
"""


NEXT = """\
Where to look next:
  peerlane reproduce SYSTEM           the rows of one system beside the published values
  peerlane list systems               the systems; each has a README.md in python/peerlane/systems/
  peerlane show FILE, run FILE        a scenario of your own; begin with a copy from scenarios/
  peerlane --help                     all commands"""


def error_of(row: Row) -> str:
    """The error of a row in percent; a dash if the source has no value."""
    return "-" if row.error_percent is None else f"{row.error_percent:+.2f} %"


def _rows(shown: Sequence[Row]) -> RenderableType:
    table = Sheet("row")
    table.add_column("what", "prose")
    ours = any(row.expected.is_expected for row in shown)
    table.numbers("published or expected" if ours else "published", "simulated")
    table.add_column("unit")
    table.numbers("error", "within")
    table.add_column("kind")
    changed = any(row.unchanged is not None for row in shown)
    if changed:
        table.numbers("unchanged", "change")
    sensitive = any(row.sensitivity for row in shown)
    if sensitive:
        table.add_column("most sensitive to (10 % more)", "prose")
    table.fold("within", "kind")
    for row in shown:
        table.add_row(*_row(row), *_change(row) * changed, *[_sensitivity(row)] * sensitive)
    return table


def _row(row: Row) -> list[str | Text]:
    within = f"{number(row.expected.tolerance_percent)} %" if row.is_judged else "-"
    return [
        row.id,
        row.expected.what,
        _published(row),
        number(row.simulated),
        row.expected.unit,
        Text(error_of(row), style=_style(row)),
        within,
        row.expected.kind or "-",
    ]


def _change(row: Row) -> tuple[str, str]:
    """The simulated value in the unchanged scenario, and the change from it in percent."""
    percent = row.change_percent
    return number(row.unchanged), "-" if percent is None else f"{percent:+.2f} %"


def _sensitivity(row: Row) -> str:
    """The fitted parameter that changes the row most, and the change for a 10 % larger value."""
    if not row.sensitivity:
        return ""
    name, percent = max(row.sensitivity.items(), key=lambda entry: abs(entry[1]))
    return f"{name} {percent:+.1f} %" if abs(percent) >= VISIBLE else "nothing fitted"


def _counts(tally: Tally) -> RenderableType:
    """Returns a table that states how many published values, checks, gaps and other rows there are.

    The other rows have no published value.
    """
    table = Sheet("counted apart")
    table.numbers("rows", "within tolerance", "missed")
    figures = [(f"figures of the source, {kind}", one) for kind, one in tally.figures.items()]
    for words, count in (*figures, ("own checks", tally.checks)):
        if count.all:
            style = STYLE[True] if not count.missed else STYLE[False]
            missed = Text(str(count.missed), style=style)
            table.add_row(words, str(count.all), str(count.within), missed)
    if tally.gaps:
        table.add_row("figures of the source, not reproduced (gap)", str(tally.gaps), "-", "-")
    if tally.unpublished:
        table.add_row("without a published value", str(tally.unpublished), "-", "-")
    return table


def _share(count: Count) -> Text:
    return Text(f"{count.within} of {count.all}" if count.all else "-", STYLE[not count.missed])


def _percent(value: float | None, *, signed: bool = False) -> str:
    if value is None:
        return "-"
    return f"{value:+.2f} %" if signed else f"{value:.2f} %"


def _verdict(outcome: Report) -> Text:
    missed = [row.id for row in outcome.missed]
    verdict = Text(f"{outcome.system} {outcome.tally.predicts}", "bold")
    if missed:
        verdict.append(f"\nnot within tolerance: {', '.join(missed)}", "bold red")
    return verdict
