"""Sweeps keys of a scenario: runs it once for each point, and makes a table of the points."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import product
from time import perf_counter
from typing import TYPE_CHECKING, Any

from peerlane._core import ScenarioError
from peerlane.fabric.variant import parsed, variant, warn_of_links
from peerlane.figures.metrics import check
from peerlane.figures.plot import plot_rows
from peerlane.figures.table import check_ending, frame, units_of, with_units, write_table
from peerlane.progress import Progress
from peerlane.results import markup
from peerlane.results.document import Document, schema_of
from peerlane.results.run import RunResult
from peerlane.varying.axes import Axis
from peerlane.varying.crew import crew
from peerlane.varying.journal import Journal, check_resumable, journal_of
from peerlane.varying.points import Sample, combinations
from peerlane.varying.uplinks import each_of, on_links
from peerlane.varying.work import Point, Study, SweepPoint, lost_point, run_point

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Executor
    from os import PathLike

    from pandas import DataFrame

    from peerlane._core import Scenario
    from peerlane.figures.figure import Figure

_ENDS = ("seed", "status", "error")
"""The columns after the columns of keys and metrics."""

_UNKNOWN_KEY = "unknown key"
"""The text in the simulator's error for an unknown key; no other value would avoid this error."""


@dataclass(frozen=True, slots=True)
class Sweep(Document):
    """The points of a sweep in their order, each with the keys that were set and the metrics.

    `wall_seconds` is the real time of the new runs, on `workers` processors; `resumed` is the
    number of points that were taken from an earlier, interrupted sweep.
    """

    name: str
    keys: tuple[str, ...]
    metrics: tuple[str, ...]
    points: tuple[SweepPoint, ...]
    workers: int = field(default=1, compare=False)
    wall_seconds: float = field(default=0.0, compare=False)
    resumed: int = field(default=0, compare=False)
    repeats: int = field(default=1, compare=False)
    """The number of runs of each combination, with different seeds; these runs are consecutive."""

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[SweepPoint]:
        return iter(self.points)

    @property
    def wrong(self) -> tuple[SweepPoint, ...]:
        """The points that failed, or have no result."""
        return tuple(point for point in self.points if point.status != "ok")

    @property
    def is_fixed(self) -> bool:
        """Whether all runs of each combination have the same metrics."""
        runs = [point.metrics for point in self.points]
        return all(one == runs[at - at % self.repeats] for at, one in enumerate(runs))

    @property
    def point_seconds(self) -> float:
        """The mean time of a worker for a point."""
        ran = len(self.points) - self.resumed
        return sum(point.seconds for point in self.points) / ran if ran else 0.0

    @property
    def overhead_seconds(self) -> float:
        """The mean time, for each new point, in which a worker ran no point."""
        ran = len(self.points) - self.resumed
        return max(self.wall_seconds * self.workers / ran - self.point_seconds, 0.0) if ran else 0.0

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table: keys, metrics, seed, status, error."""
        return _columns(self.keys, self.metrics)

    def rows(self) -> list[dict[str, Any]]:
        """The table: a mapping from columns to values for each point."""
        return [
            {"seed": point.seed, "status": point.status, "error": point.error}
            | dict(point.metrics)
            | dict(point.settings)
            for point in self.points
        ]

    def table(self) -> tuple[list[str], list[dict[str, Any]]]:
        """The columns and rows for a file; quantities are numbers, and names of columns have units.

        The column of `flows.up.size` is "flows.up.size [B]" if all its values are sizes.
        """
        rows = self.rows()
        return with_units(self.columns, rows, units_of(rows, self.keys))

    def to_json(self) -> dict[str, Any]:
        """The sweep as the command line writes it."""
        return {
            "name": self.name,
            "keys": list(self.keys),
            "metrics": list(self.metrics),
            "points": [
                {
                    "settings": dict(point.settings),
                    "seed": point.seed,
                    "status": point.status,
                    "error": point.error,
                    "metrics": dict(point.metrics),
                }
                for point in self.points
            ],
        }

    def _repr_html_(self) -> str:
        """The table as a notebook shows it, with the reasons of failed points."""
        rows = [[row.get(column) for column in self.columns] for row in self.rows()]
        runs = f"{len(rows)} point{'s' * (len(rows) != 1)}"
        wrong = [markup.line(f"{len(self.wrong)} failed", "wrong")] if self.wrong else []
        named = markup.title(f"{self.name}: {runs}")
        return markup.page(named, *wrong, markup.table(self.columns, rows))

    def to_pandas(self) -> DataFrame:
        """A pandas frame with a line for each point, as in a file; names of columns have units.

        Raises:
            MissingPackageError: pandas is not installed (`pip install 'peerlane[pandas]'`).
        """
        return frame(*self.table())

    def plot(self, x: str | None = None, y: str | Sequence[str] | None = None) -> Figure:
        """A figure of metrics over a key, with a line for each combination of the other keys.

        Points that differ only in the seed are shown as their mean, with its 95 % confidence
        interval.

        Args:
            x: The key of the horizontal axis; the first key, if absent.
            y: One or several metrics; the first metric, if absent.

        Raises:
            PlotError: A column does not exist, or has no numbers.
        """
        y = self.metrics[0] if y is None else y
        return plot_rows(self.rows(), x, y, keys=self.keys, title=self.name)

    def write(self, path: str | PathLike[str]) -> None:
        """Writes the table to a file that ends with .csv or .parquet.

        Raises:
            ValueError: The file has another ending.
            OSError: The file could not be written.
        """
        write_table(check_ending(path), *self.table())


def sweep_points(  # noqa: PLR0913 - each says one thing of a sweep
    text: str,
    vary: Mapping[str, str | Iterable[Any]] | Sequence[Axis],
    metrics: Iterable[str] = (),
    *,
    source: str = "<text>",
    settings: Mapping[str, Any] | None = None,
    sample: str | Sample | None = None,
    seed: int | None = None,
    repeat: int = 1,
    scheduler: str | None = None,
    executor: Executor | None = None,
    out: str | PathLike[str] | None = None,
    resume: bool = False,
    progress: Callable[[Progress], object] | None = None,
) -> Sweep:
    """Runs a scenario at every combination of the values of some keys, on every processor.

    Points that fail are in the table, with their reason, and do not end the sweep.

    Args:
        text: The scenario, as TOML.
        vary: The values of each key, by its path: a list, or a text such as "8..256*2".
        metrics: Paths in the JSON of results, such as "flows.up.bytes_per_second"; if absent, the
            rates of all workloads.
        source: The name of the scenario in messages.
        settings: Keys that are set in all points, and are not varied.
        sample: "random:N" or "lhs:N": N points that are drawn, instead of every combination.
        seed: The seed of the sample, and of all random streams of each run; it replaces the
            scenario's own.
        repeat: The number of runs of each combination, with consecutive seeds from `seed` or the
            scenario's own.
        scheduler: The address of a Dask scheduler, whose workers run the points.
        executor: The workers, such as `ProcessPoolExecutor()` or `Client.get_executor()` of Dask.
        out: A file for the table, which ends with .csv or .parquet. During the sweep, a journal in
            the same folder has the finished points.
        resume: Whether to continue an interrupted sweep from its journal, if there is one.
        progress: A function that is called after each point with the share that is done.

    Raises:
        CompleteError: The sweep to resume is already complete.
        JournalError: The file or the journal is of another sweep.
        ScenarioError: The scenario cannot be built, or does not have one of the keys.
        ValueError: Values, metrics, sample or output are wrong.
        ClusterError: The cluster cannot do the work.
    """
    table = None if out is None else check_ending(out)
    axes = _axes(vary)
    fixed = dict(settings or {})
    scenario = parsed(text, source)
    if fixed:
        _apply(fixed, scenario, axes)
    name, found = _checked(scenario, axes, tuple(metrics))
    draws = Sample.read(sample) if isinstance(sample, str) else sample
    grid = combinations(axes) if draws is None else draws.points(axes, seed or 0)
    own = scenario.effective("seed")[0] if seed is None else seed
    points = _points(grid, seed, own, repeat)
    study = Study(text, source, found, json.dumps(fixed) if fixed else "")
    keys = tuple(axis.key for axis in axes)
    if table is not None and resume:
        rows = [{"seed": own if one.seed is None else one.seed, **one.settings} for one in points]
        units = units_of(rows, keys)
        columns, rows = with_units(_columns(keys, found), rows, units)
        asked, _ = with_units(tuple(dict.fromkeys((*keys, "seed"))), [], units)
        check_resumable(table, columns, rows, asked)
    with ExitStack() as stack:
        journal = None
        if table is not None:
            journal = stack.enter_context(Journal(journal_of(table), study, keys, resume=resume))
        workers = stack.enter_context(crew(scheduler, executor))
        began = perf_counter()
        done = {n: one for n, p in enumerate(points) if journal and (one := journal.take(p))}
        resumed = len(done)
        left = [number for number in range(len(points)) if number not in done]
        wanted = [points[number] for number in left]
        for number, outcome in workers.each(run_point, study, wanted, lost_point):
            done[left[number]] = outcome
            if journal is not None:
                journal.add(wanted[number], outcome)
            if progress is not None:
                progress(Progress.of(len(done), len(points), "points"))
        wall = perf_counter() - began
        ordered = tuple(done[number] for number in range(len(points)))
        result = Sweep(name, keys, found, ordered, workers.count, wall, resumed, repeat)
        if journal is not None and table is not None:
            write_table(table, *result.table())
            journal.remove()
    return result


def _points(grid: Sequence[dict[str, Any]], seed: int | None, own: int, repeat: int) -> list[Point]:
    """The points of all runs: for each combination, one point for each of its seeds."""
    if repeat == 1:
        return [Point(one, seed) for one in grid]
    if grid and "seed" in grid[0]:
        raise ValueError("seed is varied; leave out --repeat, or the seeds")
    return [Point(one, (own + step) % 2**64) for one in grid for step in range(repeat)]


def _columns(keys: Sequence[str], metrics: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*keys, *metrics, *_ENDS)))


def _axes(vary: Mapping[str, str | Iterable[Any]] | Sequence[Axis]) -> list[Axis]:
    if isinstance(vary, Mapping):
        axes = [Axis.of(key, values) for key, values in vary.items()]
    else:
        axes = list(vary)
    if not axes:
        raise ValueError(
            "nothing is varied; name a key and its values, such as devices.a.tags=8,16"
        )
    keys = [axis.key for axis in axes]
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        raise ValueError(f"{twice} is varied twice; write all its values in one list")
    return axes


def _apply(settings: dict[str, Any], scenario: Scenario, axes: Sequence[Axis]) -> None:
    """Sets keys of a scenario; a setting of a varied key is an error, because it has no effect."""
    for axis in axes:
        if (last := scenario.in_order([*settings, axis.key])[-1]) != axis.key:
            raise ValueError(
                f"{axis.key} is varied of all members, and {last} is set of one, which writes them"
                f" out; leave out --set {last}, or write its table in the scenario"
            )
    scenario.update(settings)
    for path, axis in product(settings, axes):
        if scenario.covers(axis.key, path):
            raise ValueError(f"{axis.key} is varied; leave out --set {path}")
    warn_of_links(scenario, settings)


def _checked(
    scenario: Scenario, axes: Sequence[Axis], metrics: tuple[str, ...]
) -> tuple[str, tuple[str, ...]]:
    """Checks keys and metrics; returns the name of the scenario and the metrics of its results.

    Raises:
        ScenarioError: The scenario can be built neither unchanged nor at the first point, or a key
            is unknown.
        UnknownMetricError: A metric does not exist.
    """
    first = {axis.key: axis.at(0.0) for axis in axes}
    for key, value in first.items():
        scenario.copy().set(key, value)
        try:
            variant(scenario, {key: value}, warns=False)
        except ScenarioError as error:
            if _UNKNOWN_KEY in str(error):
                raise
    try:
        simulation = variant(scenario, {})
    except ScenarioError as as_it_is:
        try:
            simulation = variant(scenario, first)
        except ScenarioError:
            raise as_it_is from None
    warn_of_links(scenario, first)
    result = simulation.result()
    document = result.to_json()
    found = list(each_of(document, metrics, simulation))
    for path in on_links(found, simulation).values():
        check(document, schema_of(RunResult), path)
    return result.name, tuple(dict.fromkeys(found)) or tuple(result.usual_metrics())
