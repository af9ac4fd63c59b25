"""Runs a published system's experiments and holds them against what its source published."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING

from peerlane.reproduction.calibration import quantity, setting
from peerlane.reproduction.catalogue import folder_of, scenario_text, systems
from peerlane.reproduction.expected import Expected
from peerlane.reproduction.jobs import STEP, Job, Outcome, in_parallel
from peerlane.reproduction.report import CalibrationEntry, Report, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from peerlane.reproduction.expected import ExpectedRow


class UnknownNameError(LookupError):
    """There is no such system, or no such figure in it; the message says which there are."""


def reproduce(
    system: str,
    *,
    only: str | None = None,
    sensitivity: bool = True,
    progress: Callable[[str, float], object] | None = None,
) -> Report:
    """Runs the experiments of `system`.

    Args:
        system: One of `systems()`.
        only: Runs one figure of the source instead of all.
        sensitivity: Runs each figure with predicted rows once more for each calibration parameter,
            with the parameter moved by 10 %.
        progress: Hears the name of each figure as it is simulated, and the fraction done.

    Raises:
        UnknownNameError: There is no such system or figure.
    """
    _known("system", system, systems())
    folder = folder_of(system)
    expected = Expected.load(folder)
    figures = expected.by_figure()
    if only is not None:
        only = only.replace("-", "_")
        _known("figure", only, figures)
        figures = {only: figures[only]}
    moved_too = [entry.where for entry in expected.calibration] if sensitivity else []
    jobs = [
        Job(system, name, where)
        for name, wanted in figures.items()
        for where in [(), *(moved_too if any(row.kind == "predicted" for row in wanted) else ())]
    ]
    total = sum(len(figures[job.figure]) for job in jobs)
    done = 0
    outcomes: dict[Job, Outcome] = {}
    for job, outcome in in_parallel(jobs):
        outcomes[job] = outcome
        done += len(figures[job.figure])
        if progress is not None:
            progress(job.figure, done / total)
    rows: list[Row] = []
    for name, wanted in figures.items():
        simulated = outcomes[Job(system, name, ())].values
        _same_rows(name, wanted, simulated)
        known = [_row(name, row, simulated.get(row.id)) for row in wanted]
        moved_figures = {
            entry.name: outcomes[job]
            for entry in expected.calibration
            if (job := Job(system, name, entry.where)) in outcomes
        }
        rows += [_with_sensitivity(row, moved_figures) for row in known]
    calibration = _calibration(system, expected)
    return Report(system, expected.title, expected.source, tuple(rows), calibration)


def _known(what: str, name: str, names: Iterable[str]) -> None:
    if name not in names:
        raise UnknownNameError(f"no {what} {name!r}; there is {', '.join(names)}")


def _same_rows(figure: str, expected: list[ExpectedRow], simulated: dict[str, float]) -> None:
    wanted = {row.id for row in expected if row.kind != "gap"}
    known = {row.id for row in expected}
    if wrong := (wanted - simulated.keys()) | (simulated.keys() - known):
        raise RuntimeError(f"{figure}: experiments and expected.toml differ in {sorted(wrong)}")


def _row(figure: str, expected: ExpectedRow, simulated: float | None) -> Row:
    return Row(
        id=expected.id,
        figure=figure,
        what=expected.what,
        published=expected.published,
        published_range=expected.published_range,
        simulated=simulated,
        unit=expected.unit,
        error_percent=_error_percent(expected, simulated),
        tolerance_percent=expected.tolerance_percent,
        kind=expected.kind,
        note=expected.note,
    )


def _error_percent(expected: ExpectedRow, simulated: float | None) -> float | None:
    """The distance from the published value, or from the nearer end of the published range."""
    if simulated is None:
        return None
    nearest = expected.published
    if expected.published_range is not None:
        low, high = expected.published_range
        if low <= simulated <= high:
            return 0.0
        nearest = low if simulated < low else high
    if nearest is None:
        return None
    if nearest == 0:
        return 0.0 if simulated == 0 else float("inf")
    return 100 * (simulated - nearest) / nearest


def _with_sensitivity(row: Row, by_parameter: Mapping[str, Outcome]) -> Row:
    """The row, with what becomes of it when each parameter is moved if it is predicted."""
    if row.kind != "predicted" or not row.simulated or not by_parameter:
        return row
    changes = {
        name: 100 * (outcome.values[row.id] / row.simulated - 1) * STEP / outcome.share
        for name, outcome in by_parameter.items()
    }
    return replace(row, sensitivity=changes)


def _calibration(system: str, expected: Expected) -> tuple[CalibrationEntry, ...]:
    if not expected.calibration:
        return ()
    scenario = tomllib.loads(scenario_text(system))
    entries = []
    for entry in expected.calibration:
        value, unit = quantity(setting(scenario, entry.where[0]))
        origin = ", ".join(entry.origin)
        entries.append(CalibrationEntry(entry.name, value, unit, entry.meaning, origin))
    return tuple(entries)
