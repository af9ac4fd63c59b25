"""Sweeps of any key of a scenario: one run for each point, and the table of them."""

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
"""Columns after the columns of the keys and metrics."""

_UNKNOWN_KEY = "unknown key"
"""The simulator says so of a key that no value makes right."""


@dataclass(frozen=True, slots=True)
class Sweep(Document):
    """The points of a sweep in their order: the keys that were set, and what was measured.

    `wall_seconds` is the time of the runs that were made, on `workers` processors; `resumed` points
    were there before.
    """

    name: str
    keys: tuple[str, ...]
    metrics: tuple[str, ...]
    points: tuple[SweepPoint, ...]
    workers: int = field(default=1, compare=False)
    wall_seconds: float = field(default=0.0, compare=False)
    resumed: int = field(default=0, compare=False)
    repeats: int = field(default=1, compare=False)
    """Runs of each combination, with a seed each; they follow each other."""

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
        """The time that a worker took for a point, on average."""
        ran = len(self.points) - self.resumed
        return sum(point.seconds for point in self.points) / ran if ran else 0.0

    @property
    def overhead_seconds(self) -> float:
        """The time of a worker, for each point that was run, in which it ran no point."""
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
        """The columns and rows of a file: quantities are numbers, with their unit in the column.

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
        """The table as a notebook shows it; the reasons of failed points stand in it."""
        rows = [[row.get(column) for column in self.columns] for row in self.rows()]
        runs = f"{len(rows)} point{'s' * (len(rows) != 1)}"
        wrong = [markup.line(f"{len(self.wrong)} failed", "wrong")] if self.wrong else []
        named = markup.title(f"{self.name}: {runs}")
        return markup.page(named, *wrong, markup.table(self.columns, rows))

    def to_pandas(self) -> DataFrame:
        """One line for each point, as in a file: the columns of quantities have their unit.

        Raises:
            MissingPackageError: pandas is not installed (`pip install 'peerlane[pandas]'`).
        """
        return frame(*self.table())

    def plot(self, x: str | None = None, y: str | Sequence[str] | None = None) -> Figure:
        """A figure of metrics over a key: a line for each combination of the others.

        Points that differ in the seed alone are their mean, with its 95 % confidence interval.

        Args:
            x: A key, the first if absent.
            y: One or several metrics, the first if absent.

        Raises:
            PlotError: There is no such column, or it has no numbers.
        """
        y = self.metrics[0] if y is None else y
        return plot_rows(self.rows(), x, y, keys=self.keys, title=self.name)

    def write(self, path: str | PathLike[str]) -> None:
        """Writes the table to a file that ends with .csv or .parquet.

        Raises:
            ValueError: The file ends with something else.
            OSError: It could not be written.
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
        metrics: Paths in the JSON of results, such as "flows.up.bytes_per_second"; the rates of
            all workloads, if there are none.
        source: The name of the scenario in messages.
        settings: Keys that are set in all points, none of which is varied.
        sample: "random:N" or "lhs:N": N points that are drawn, not every combination.
        seed: Of the sample, and of all random streams of each run; replaces the scenario's own.
        repeat: Runs of each combination, with one seed after the other from `seed` or the
            scenario's own.
        scheduler: The address of a Dask scheduler, whose workers run the points.
        executor: Workers, such as `ProcessPoolExecutor()` or `Client.get_executor()` of Dask.
        out: A file for the table, which ends with .csv or .parquet. While the sweep goes on, its
            points are in a journal beside it.
        resume: Whether to go on with the journal of an interrupted sweep, if there is one.
        progress: Called after each point with the share that is done.

    Raises:
        CompleteError: The sweep to go on with has come to its end.
        JournalError: The file or the journal to go on with is of another sweep.
        ScenarioError: The scenario cannot be built, or has none of the keys.
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
    """The runs of each combination, which follow each other."""
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
    """Sets keys of a scenario; one that is varied would have no effect, and is refused."""
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
    """The name of the scenario, and the metrics that results of it have.

    Raises:
        ScenarioError: It cannot be built as it is, nor at the first point; or a key is unknown.
        UnknownMetricError: There is no such metric.
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
