"""Simulates the measured points as a function of the fitted keys."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Any

from peerlane.calibrating.key import CalibrationError
from peerlane.fabric.variant import told
from peerlane.varying.work import Point as Run
from peerlane.varying.work import lost_point, run_point

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from peerlane.measured.point import Point
    from peerlane.varying.crew import Crew
    from peerlane.varying.work import Study, SweepPoint

FAILED = 3.0
"""The residual of a point whose run fails; a number that is 20 times too large has this
residual."""


class Model:
    """Runs a scenario with values of keys, only once for the same values.

    Args:
        study: The scenario, and the metrics of all points.
        points: The measured points.
        seed: The seed of each run; the scenario's own, if absent.
        workers: The workers that make the runs.
        ran: A function that is called after each run.
    """

    def __init__(
        self,
        study: Study,
        points: Sequence[Point],
        seed: int | None,
        workers: Crew,
        ran: Callable[[], object],
    ) -> None:
        self._study = study
        self._seed = seed
        self._workers = workers
        self._ran = ran
        self._runs: dict[str, SweepPoint] = {}
        self.points = points

    @property
    def simulations(self) -> int:
        """The number of runs that were made."""
        return len(self._runs)

    def simulated(self, values: Sequence[Mapping[str, Any]]) -> list[list[float | None]]:
        """The numbers of all points for each set of values of the keys; `None` if a run fails."""
        runs = [{**one, **point.settings} for one in values for point in self.points]
        wanted = {told(settings): settings for settings in runs}
        missing = [Run(one, self._seed) for name, one in wanted.items() if name not in self._runs]
        for number, outcome in self._workers.each(run_point, self._study, missing, lost_point):
            self._runs[told(missing[number].settings)] = outcome
            self._ran()
        return [[self._value(one, point) for point in self.points] for one in values]

    def residuals(self, values: Sequence[Mapping[str, Any]]) -> list[list[float]]:
        """The residuals of all points: the logarithm of the simulated number over the measured one.

        A small residual is about the relative error.
        """
        return [
            [
                FAILED if value is None else log(value / float(point.value))
                for value, point in zip(one, self.points, strict=True)
            ]
            for one in self.simulated(values)
        ]

    def check(self, values: Mapping[str, Any]) -> None:
        """Checks that each point has a simulated number with these values of the keys.

        Raises:
            CalibrationError: A point has no number; the message has the reason.
        """
        (simulated,) = self.simulated([values])
        for value, point in zip(simulated, self.points, strict=True):
            if value is None:
                run = self._runs[told({**values, **point.settings})]
                reason = run.error or "nothing was observed"
                raise CalibrationError(
                    f"{point.where}: no run has its {point.metric}; with {told(values)}: {reason}"
                )

    def _value(self, values: Mapping[str, Any], point: Point) -> float | None:
        run = self._runs[told({**values, **point.settings})]
        value = run.metrics.get(point.metric)
        is_number = isinstance(value, int | float) and value > 0
        return float(value) if run.status == "ok" and is_number else None  # type: ignore[arg-type]
