"""Repeats a run with other seeds, and calculates confidence intervals of its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from peerlane.fabric.variant import parsed, variant
from peerlane.figures.intervals import CONFIDENCE, Interval
from peerlane.progress import Progress
from peerlane.results.document import Document, encode
from peerlane.varying.crew import crew
from peerlane.varying.work import Point, Status, Study, lost_point, run_point

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor

    from peerlane.figures.metrics import Scalar
    from peerlane.varying.work import SweepPoint

_MOST_SEED = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Run(Document):
    """One of several runs of a scenario, with its seed."""

    seed: int
    status: Status
    error: str | None


@dataclass(frozen=True, slots=True)
class Repeated(Document):
    """A scenario that was run once for each seed, and the numbers of its results by their paths."""

    name: str
    confidence: float
    runs: tuple[Run, ...]
    values: dict[str, Interval]
    is_random: bool = True

    @property
    def is_fixed(self) -> bool:
        """Whether all runs have the same numbers.

        If they have, nothing in the scenario is random; or, if `is_random` is set, no random event
        happened in these runs.
        """
        return all(value.least == value.most for value in self.values.values())

    @property
    def wrong(self) -> tuple[Run, ...]:
        """The runs that failed."""
        return tuple(run for run in self.runs if run.status != "ok")

    def to_json(self) -> dict[str, Any]:
        """The runs as the command line writes them."""
        return encode(self)


def repeat(  # noqa: PLR0913 - each says one thing of the runs
    text: str,
    count: int,
    *,
    source: str = "<text>",
    settings: Mapping[str, Any] | None = None,
    seed: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Repeated:
    """Runs a scenario with `count` consecutive seeds, on every processor.

    Args:
        text: The scenario, as TOML.
        count: The number of runs.
        source: The name of the scenario in messages.
        settings: Keys that are set in all runs.
        seed: The first seed; the scenario's own seed, if absent.
        executor: The workers, such as `ProcessPoolExecutor()` or `Client.get_executor()` of Dask.
        progress: A function that is called after each run with the share that is done.

    Raises:
        ScenarioError: The scenario cannot be built.
    """
    given = dict(settings or {})
    simulation = variant(parsed(text, source), given, seed=seed)
    first = simulation.result()
    given.pop("seed", None)
    points = [Point(given, (first.seed + step) % (_MOST_SEED + 1)) for step in range(count)]
    done: dict[int, SweepPoint] = {}
    with crew(executor=executor) as workers:
        study = Study(text, source, None)
        for number, outcome in workers.each(run_point, study, points, lost_point):
            done[number] = outcome
            if progress is not None:
                progress(Progress.of(len(done), count, "runs"))
    found = [done[number] for number in range(count)]
    runs = tuple(Run(one.seed, one.status, one.error) for one in found)
    intervals = _intervals(found)
    return Repeated(first.name, CONFIDENCE, runs, intervals, simulation.is_random)


def _intervals(runs: Sequence[SweepPoint]) -> dict[str, Interval]:
    values: dict[str, list[float]] = {}
    for run in runs:
        for path, value in run.metrics.items():
            if _is_measured(path, value):
                values.setdefault(path, []).append(float(value))  # type: ignore[arg-type]
    return {path: Interval.of(found) for path, found in values.items()}


def _is_measured(path: str, value: Scalar) -> bool:
    return path != "seed" and isinstance(value, int | float) and not isinstance(value, bool)
