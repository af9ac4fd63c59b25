"""Runs a published system's experiments and holds them against what its source published."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from importlib import import_module, resources
from typing import TYPE_CHECKING, Any

from peerlane.fabric.builder import Fabric
from peerlane.reproduction.calibration import moved, moves, quantity, setting
from peerlane.reproduction.expected import Expected, ExpectedRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from importlib.resources.abc import Traversable

    from peerlane.reproduction.expected import Kind

Measurements = Iterator[tuple[str, float]]
"""What a function of `experiments.py` gives: a row's id and its simulated value, row by row."""


class UnknownNameError(LookupError):
    """There is no such system, or no such figure in it; the message says which there are."""


@dataclass(frozen=True, slots=True)
class Row:
    """One published value beside the simulated one; the error is in percent of the published."""

    id: str
    figure: str
    what: str
    published: float | None
    published_range: tuple[float, float] | None
    simulated: float | None
    unit: str
    error_percent: float | None
    tolerance_percent: float
    kind: Kind
    note: str
    sensitivity: dict[str, float] | None = None
    """By how many percent the value moves when each calibration parameter grows by 10 %."""

    @property
    def is_judged(self) -> bool:
        """Whether there is a published value to be close to, or no simulated one."""
        published = self.published is not None or self.published_range is not None
        return published or self.simulated is None

    @property
    def passes(self) -> bool:
        """Whether the row is as close as it must be; a gap always is."""
        if self.kind == "gap":
            return True
        if self.simulated is None:
            return False
        return self.error_percent is None or abs(self.error_percent) <= self.tolerance_percent


@dataclass(frozen=True, slots=True)
class CalibrationEntry:
    """A fitted parameter, with the value that the system's scenario gives it."""

    name: str
    value: float
    unit: str
    meaning: str
    origin: str


@dataclass(frozen=True, slots=True)
class Report:
    """A system's rows and calibration."""

    system: str
    title: str
    source: str
    rows: tuple[Row, ...]
    calibration: tuple[CalibrationEntry, ...]

    @property
    def passes(self) -> bool:
        """Whether every row is within its tolerance."""
        return all(row.passes for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """The report as the command line writes it."""
        calibration = []
        for entry in self.calibration:
            fields = asdict(entry)
            fields["from"] = fields.pop("origin")
            calibration.append(fields)
        return {
            "system": self.system,
            "rows": [asdict(row) for row in self.rows],
            "calibration": calibration,
        }


def systems() -> dict[str, str]:
    """The systems that can be reproduced, and their titles."""
    folders = (f for f in _shelf().iterdir() if f.is_dir() and (f / "expected.toml").is_file())
    return {f.name: Expected.load(f).title for f in sorted(folders, key=lambda f: f.name)}


def system_fabric(system: str) -> Fabric:
    """The machine of a published system, as its `scenario.toml` describes it.

    While the sensitivity of its rows is measured, one of its calibration parameters is moved.
    """
    fabric = Fabric.from_toml(_scenario(system), source=f"{system}/scenario.toml")
    for where, value in moves().items():
        fabric.override(where, value)
    return fabric


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
    folder = _shelf() / system
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
    for job, outcome in _in_parallel(jobs):
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


@dataclass(frozen=True, slots=True)
class Job:
    """A figure to simulate, with the parameter at these keys moved; with none, as published."""

    system: str
    figure: str
    where: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The values of a figure's rows, and the share by which the parameter was moved."""

    values: dict[str, float]
    share: float


def _in_parallel(jobs: list[Job]) -> Iterator[tuple[Job, Outcome]]:
    """Each job with its outcome, in the order in which they are there; on every processor."""
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        running = {pool.submit(_simulate, job): job for job in jobs}
        for done in as_completed(running):
            yield running[done], done.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _simulate(job: Job) -> Outcome:
    experiments = import_module(f"peerlane.systems.{job.system}.experiments")
    figure: Callable[[], Measurements] = getattr(experiments, job.figure)
    if not job.where:
        return Outcome(dict(figure()), 0)
    value = setting(tomllib.loads(_scenario(job.system)), job.where[0])
    with moved(value, job.where, STEP) as share:
        return Outcome(dict(figure()), share)


def _with_sensitivity(row: Row, by_parameter: Mapping[str, Outcome]) -> Row:
    """The row, with what becomes of it when each parameter is moved if it is predicted."""
    if row.kind != "predicted" or not row.simulated or not by_parameter:
        return row
    changes = {
        name: 100 * (outcome.values[row.id] / row.simulated - 1) * STEP / outcome.share
        for name, outcome in by_parameter.items()
    }
    return replace(row, sensitivity=changes)


STEP = 0.1
"""The share by which a parameter is moved."""


def _known(what: str, name: str, names: Iterable[str]) -> None:
    if name not in names:
        raise UnknownNameError(f"no {what} {name!r}; there is {', '.join(names)}")


def _shelf() -> Traversable:
    return resources.files("peerlane.systems")


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


def _calibration(system: str, expected: Expected) -> tuple[CalibrationEntry, ...]:
    if not expected.calibration:
        return ()
    scenario = tomllib.loads(_scenario(system))
    entries = []
    for entry in expected.calibration:
        value, unit = quantity(setting(scenario, entry.where[0]))
        origin = ", ".join(entry.origin)
        entries.append(CalibrationEntry(entry.name, value, unit, entry.meaning, origin))
    return tuple(entries)


def _scenario(system: str) -> str:
    return (_shelf() / system / "scenario.toml").read_text(encoding="utf-8")
