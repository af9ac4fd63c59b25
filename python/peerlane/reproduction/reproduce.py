"""Runs a published system's experiments and compares them with the values of its source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from peerlane._core import nearest
from peerlane.fabric.variant import parsed, variant
from peerlane.reproduction.catalogue import folder_of, scenario_text, systems
from peerlane.reproduction.expected import Expected
from peerlane.reproduction.jobs import OUTCOMES, Job, Outcome, about, has_outcomes, run
from peerlane.reproduction.machine import machine_of
from peerlane.reproduction.report import CalibrationEntry, Report
from peerlane.reproduction.row import Row
from peerlane.reproduction.steps import STEP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from concurrent.futures import Executor

    from peerlane.fabric.settings import Setting
    from peerlane.progress import Progress
    from peerlane.reproduction.expected import ExpectedRow


MOVED = ("predicted", None)
"""The kinds of rows whose sensitivity is measured; a row that is only simulated has no kind."""


class UnknownNameError(LookupError):
    """The system or figure does not exist; the message has the possible names."""


def reproduce(  # noqa: PLR0913 - each is an option
    system: str,
    *,
    only: str | None = None,
    sensitivity: bool = False,
    settings: Mapping[str, Setting] | None = None,
    executor: Executor | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Report:
    """Runs the experiments of `system`.

    Args:
        system: The name of the system.
        only: The figure of the source to run; all figures, if absent.
        sensitivity: Whether to run each figure that has predicted rows, or rows without a value,
            once more for each fitted parameter, with this parameter increased by 10 %.
        settings: The new values of keys of the system's scenario. With new values, each row also
            has the value that is simulated with the unchanged scenario.
        executor: The workers, such as `ProcessPoolExecutor()` or `Client.get_executor()` of Dask.
        progress: A function that is called several times a second, with the present job and the
            time left.

    Raises:
        UnknownNameError: The system or figure does not exist.
        ScenarioError: The scenario does not have a key, or cannot be built with these values.
    """
    (report,) = reproduce_all(
        [system],
        only=only,
        sensitivity=sensitivity,
        settings=settings,
        executor=executor,
        progress=progress,
    )
    return report


def reproduce_all(  # noqa: PLR0913 - each is an option
    names: Iterable[str],
    *,
    only: str | None = None,
    published_only: bool = False,
    sensitivity: bool = False,
    settings: Mapping[str, Setting] | None = None,
    executor: Executor | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> list[Report]:
    """Runs the experiments of several systems at the same time; `reproduce` runs one system.

    With `published_only`, figures are left out if none of their rows is compared with a value.
    """
    wanted = [_Wanted.of(name, only, settings or {}) for name in names]
    if published_only:
        wanted = [one.judged() for one in wanted]
    jobs = [job for one in wanted for job in one.jobs(sensitivity=sensitivity)]
    outcomes = run(jobs, progress, executor)
    return [one.report(outcomes) for one in wanted]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A system, and, for each figure to simulate, its rows."""

    system: str
    expected: Expected
    figures: Mapping[str, list[ExpectedRow]]
    settings: Mapping[str, Setting]

    @classmethod
    def of(cls, system: str, only: str | None, settings: Mapping[str, Setting]) -> _Wanted:
        only = figure_of(system, only)
        expected = Expected.load(folder_of(system))
        if settings:
            source = f"{system}/scenario.toml"
            variant(parsed(scenario_text(system), source), settings, warns=False)
        if machine_of(system, settings).runs_circuits:
            expected = expected.with_circuits()
        figures = expected.by_figure()
        if only is not None:
            figures = {only: figures[only]}
        return cls(system, expected, figures, settings)

    def judged(self) -> _Wanted:
        """The system without the figures of which no row is compared with a value."""
        judged = {
            name: rows for name, rows in self.figures.items() if any(row.is_held for row in rows)
        }
        return replace(self, figures=judged)

    @property
    def measures_parameters(self) -> bool:
        """Whether the run simulates circuits, on which fitted parameters can be measured."""
        return machine_of(self.system, self.settings).runs_circuits and has_outcomes(self.system)

    def jobs(self, *, sensitivity: bool) -> Iterator[Job]:
        if self.measures_parameters:
            yield self._job(OUTCOMES)
        for name, wanted in self.figures.items():
            yield self._job(name)
            if self.settings:
                yield Job(self.system, name)
            if sensitivity and any(row.kind in MOVED for row in wanted):
                for entry in self.expected.calibration:
                    yield self._job(name, entry.where)

    def _job(self, figure: str, where: tuple[str, ...] = ()) -> Job:
        return Job(self.system, figure, where, tuple(self.settings.items()))

    def report(self, outcomes: Mapping[Job, Outcome]) -> Report:
        rows: list[Row] = []
        for name, wanted in self.figures.items():
            simulated = outcomes[self._job(name)].values
            published = outcomes[Job(self.system, name)].values if self.settings else {}
            _same_rows(name, wanted, simulated)
            moved_figures = {
                entry.name: outcomes[job]
                for entry in self.expected.calibration
                if (job := self._job(name, entry.where)) in outcomes
            }
            known = (
                Row(row, name, simulated.get(row.id), unchanged=published.get(row.id))
                for row in wanted
            )
            rows += [_with_sensitivity(row, moved_figures) for row in known]
        outcome = outcomes[self._job(OUTCOMES)].values if self.measures_parameters else {}
        calibration = _calibration(self.system, self.expected, self.settings, outcome)
        expected = self.expected
        return Report(
            system=self.system,
            title=expected.title,
            source=expected.source,
            rows=tuple(rows),
            calibration=calibration,
            settings=self.settings,
            plots=tuple(plot for plot in expected.plots if plot.figure in self.figures),
            about=about(self.system, expected.by_figure()),
        )


def figure_of(system: str, only: str | None) -> str | None:
    """The name of a figure in `expected.toml` of a system; "-" may be written for "_".

    Raises:
        UnknownNameError: The system or figure does not exist.
    """
    _known("system", system, systems())
    if only is None:
        return None
    only = only.replace("-", "_")
    _known("figure", only, Expected.load(folder_of(system)).by_figure())
    return only


def _known(what: str, name: str, names: Iterable[str]) -> None:
    known = list(names)
    if name not in known:
        meant = f"did you mean {near}? There" if (near := nearest(name, known)) else "there"
        raise UnknownNameError(f"there is no {what} {name!r}; {meant} are {', '.join(known)}")


def _same_rows(figure: str, expected: list[ExpectedRow], simulated: dict[str, float]) -> None:
    wanted = {row.id for row in expected if row.kind != "gap"}
    known = {row.id for row in expected}
    if wrong := (wanted - simulated.keys()) | (simulated.keys() - known):
        raise RuntimeError(f"{figure}: experiments and expected.toml differ in {sorted(wrong)}")


def _with_sensitivity(row: Row, by_parameter: Mapping[str, Outcome]) -> Row:
    """The row with its change for each parameter that is increased, if its kind is in `MOVED`."""
    if row.expected.kind not in MOVED or not row.simulated or not by_parameter:
        return row
    changes = {
        name: 100 * (outcome.values[row.id] / row.simulated - 1) * STEP / (outcome.share or STEP)
        for name, outcome in by_parameter.items()
    }
    return replace(row, sensitivity=changes)


def _calibration(
    system: str,
    expected: Expected,
    settings: Mapping[str, Setting],
    outcomes: Mapping[str, float],
) -> tuple[CalibrationEntry, ...]:
    if not expected.calibration:
        return ()
    machine = machine_of(system, settings)
    entries = []
    for entry in expected.calibration:
        found = machine.quantity(entry.where[0])
        value, unit = float(found.number), found.unit or "1"
        origin = ", ".join(entry.origin)
        outcome = outcomes.get(entry.name)
        entries.append(CalibrationEntry(entry.name, value, unit, entry.meaning, origin, outcome))
    return tuple(entries)
