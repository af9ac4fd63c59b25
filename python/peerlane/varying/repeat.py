"""A run repeated with other seeds, and the confidence intervals of its values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import atan, cos, pi, sin, sqrt
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from peerlane.fabric.variant import parsed, variant
from peerlane.varying.crew import crew
from peerlane.varying.work import Point, Study, lost_point, run_point

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from peerlane.varying.metrics import Scalar
    from peerlane.varying.work import SweepPoint

CONFIDENCE = 0.95
"""The share of such intervals that have the true mean, if values are distributed normally."""

_MOST_SEED = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Interval:
    """The mean of `count` runs and its confidence interval, `mean` ± `half_width`.

    The half width is by Student's t distribution, as the deviation is estimated from the same few
    runs; `None` for a single one.
    """

    count: int
    mean: float
    half_width: float | None
    deviation: float | None
    least: float
    most: float

    @classmethod
    def of(cls, values: list[float]) -> Interval:
        """The interval of values, of which there is at least one."""
        count, mean = len(values), fmean(values)
        if count == 1:
            return cls(1, mean, None, None, mean, mean)
        deviation = stdev(values)
        half = student_t(count - 1, CONFIDENCE) * deviation / sqrt(count)
        return cls(count, mean, half, deviation, min(values), max(values))


@dataclass(frozen=True, slots=True)
class Repeated:
    """A scenario that was run once for each seed, and the numbers of its results by their paths."""

    name: str
    runs: tuple[SweepPoint, ...]
    values: Mapping[str, Interval]

    @property
    def is_fixed(self) -> bool:
        """Whether all runs have the same numbers: then nothing in the scenario is random."""
        return all(value.least == value.most for value in self.values.values())

    @property
    def wrong(self) -> tuple[SweepPoint, ...]:
        """The runs that failed."""
        return tuple(run for run in self.runs if run.status != "ok")

    def to_json(self) -> dict[str, Any]:
        """The runs as the command line writes them."""
        return {
            "name": self.name,
            "confidence": CONFIDENCE,
            "runs": [
                {"seed": run.seed, "status": run.status, "error": run.error} for run in self.runs
            ],
            "values": {path: asdict(value) for path, value in self.values.items()},
        }


def repeat(  # noqa: PLR0913 - each says one thing of the runs
    text: str,
    count: int,
    *,
    source: str = "<text>",
    settings: Mapping[str, Any] | None = None,
    seed: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Repeated:
    """Runs a scenario with `count` seeds, one after the other from its own, on every processor.

    Args:
        text: The scenario, as TOML.
        count: The number of runs.
        source: The name of the scenario in messages.
        settings: Keys that are set in all runs.
        seed: The first seed, instead of the scenario's own.
        scheduler: The address of a Dask scheduler, whose workers make the runs.
        progress: Hears how many runs are done, and how many there are.

    Raises:
        ScenarioError: The scenario cannot be built.
        ClusterError: The cluster cannot do the work.
    """
    given = dict(settings or {})
    first = variant(parsed(text, source), given, source=source, seed=seed).result()
    given.pop("seed", None)
    points = [Point(given, (first.seed + step) % (_MOST_SEED + 1)) for step in range(count)]
    done: dict[int, SweepPoint] = {}
    with crew(scheduler) as workers:
        study = Study(text, source, None)
        for number, outcome in workers.each(run_point, study, points, lost_point):
            done[number] = outcome
            if progress is not None:
                progress(len(done), count)
    runs = tuple(done[number] for number in range(count))
    return Repeated(first.name, runs, _intervals(runs))


def _intervals(runs: tuple[SweepPoint, ...]) -> dict[str, Interval]:
    values: dict[str, list[float]] = {}
    for run in runs:
        for path, value in run.metrics.items():
            if _is_measured(path, value):
                values.setdefault(path, []).append(float(value))  # type: ignore[arg-type]
    return {path: Interval.of(found) for path, found in values.items()}


def _is_measured(path: str, value: Scalar) -> bool:
    return path != "seed" and isinstance(value, int | float) and not isinstance(value, bool)


def student_t(freedom: int, confidence: float) -> float:
    """The t that a variable of Student's distribution exceeds in magnitude with 1 - `confidence`.

    Args:
        freedom: Degrees of freedom, at least 1.
        confidence: Greater than 0 and less than 1.
    """
    low, high = 0.0, 1.0
    while _within(high, freedom) < confidence:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < confidence else (low, middle)
    return (low + high) / 2


def _within(t: float, freedom: int) -> float:
    """The probability that a variable of Student's distribution is from -t to t.

    Abramowitz, Stegun: "Handbook of Mathematical Functions", 26.7.3 (odd) and 26.7.4 (even).
    """
    angle = atan(t / sqrt(freedom))
    is_odd = freedom % 2
    term = cos(angle) if is_odd else 1.0
    total = 0.0
    for number in range(is_odd, freedom - 1, 2):
        total += term
        term *= (number + 1) / (number + 2) * cos(angle) ** 2
    if is_odd:
        return 2 / pi * (angle + sin(angle) * total)
    return sin(angle) * total
