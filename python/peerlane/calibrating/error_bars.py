"""Estimates the errors of a run's numbers that are due to defaults that no document states.

Each of these defaults is set to the lower and to the upper end of its range, at first in groups. If
a group changes no number by more than `STILL`, its defaults have no effect. Any other group is
halved, until single defaults are left.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from peerlane.fabric.variant import parsed, variant
from peerlane.progress import Progress
from peerlane.reproduction.expected import is_independent
from peerlane.reproduction.inputs import range_of, source_of, used, value_of
from peerlane.reproduction.steps import ends
from peerlane.results.error_bar import STILL, ErrorBar, ErrorBars, MovedDefault
from peerlane.results.workload import LISTS
from peerlane.varying.crew import crew
from peerlane.varying.work import Point, Study, lost_point, run_point

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Executor

    from peerlane._core import Scenario
    from peerlane.figures.metrics import Scalar
    from peerlane.varying.crew import Crew
    from peerlane.varying.work import SweepPoint

MEASURED = re.compile(
    r"(?!links|fibres|expectations|iommus|.*\.critical_path\.)"
    r".*(\b(bus_)?bytes_per_second|(latency|call|time)_ns(\.mean)?)"
)
"""The paths of the numbers that get error bars: rates and mean latencies of workloads."""

GROUP = 8
"""The largest number of defaults that are changed together at first."""


@dataclass(frozen=True, slots=True)
class Move:
    """A default with a changed value, and the keys of the scenario that set this value."""

    name: str
    value: str
    to: Any
    paths: tuple[str, ...]

    @property
    def words(self) -> str:
        """The changed value, in the form that scenarios have."""
        return str(self.to)


def error_bars(  # noqa: PLR0913 - each says one thing of the runs
    text: str,
    *,
    source: str = "<text>",
    settings: Mapping[str, Any] | None = None,
    seed: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> ErrorBars:
    """Runs a scenario with both ends of the range of each default that no document states.

    Args:
        text: The scenario, as TOML.
        source: The name of the scenario in messages.
        settings: Keys that are set in all runs.
        seed: The seed of all runs, instead of the scenario's own.
        executor: The workers, such as `ProcessPoolExecutor()` or `Client.get_executor()` of Dask.
        progress: A function that is called after each run with the share that is done.

    Raises:
        ScenarioError: The scenario cannot be built.
        RuntimeError: The unchanged scenario does not run to its end.
    """
    given = dict(settings or {})
    scenario = parsed(text, source)
    simulation = variant(scenario, given, seed=seed)
    first = simulation.result()
    scenario.update(given)
    with crew(executor=executor) as workers:
        study = _Study(Study(text, source, None), given, first.seed, workers, progress)
        (nominal,) = study.run([()])
        if nominal.status == "error":
            raise RuntimeError(f"the scenario as it is written does not run: {nominal.error}")
        numbers = dict(measured(nominal.metrics))
        moves = list(moves_of(scenario))
        found, refused = study.screen(moves, numbers)
    bars = {path: _bar(path, value, found) for path, value in numbers.items()}
    ranges: dict[str, tuple[str, ...]] = {}
    for move in moves:
        ranges[move.name] = (*ranges.get(move.name, ()), move.words)
    return ErrorBars(first.name, bars, ranges, refused, study.runs)


def measured(metrics: Mapping[str, Scalar]) -> Iterator[tuple[str, float]]:
    """The numbers of a result that get error bars, by their paths."""
    for path, value in metrics.items():
        if MEASURED.fullmatch(path) and isinstance(value, int | float) and value:
            yield path, float(value)


def moves_of(scenario: Scenario) -> Iterator[Move]:
    """The changes of all defaults and profiles' settings whose source is no document."""
    paths: dict[str, list[str]] = {}
    inputs = {}
    for use in used(scenario):
        if not is_independent(source_of(use.input.name)):
            paths.setdefault(use.input.name, []).append(use.path)
            inputs[use.input.name] = use.input
    for name, one in inputs.items():
        for to in values_of(name, value_of(one)):
            yield Move(name, one.value, to, tuple(paths[name]))


def values_of(name: str, value: object) -> list[Any]:
    """The ends of the range of a default; none for flags, named values and workloads.

    Flags and workloads are not changed, because the author of a scenario is expected to set them.

    Args:
        name: The name of the default or of a profile's setting, such as "default:hosts.latency".
        value: The value of the default, in the form of TOML.
    """
    _, _, path = name.partition(":")
    if isinstance(value, bool) or path.partition(".")[0] in {*LISTS, "buffers"}:
        return []
    stated = range_of(name)
    return [end for end in stated if end != value] or ends(path.rpartition(".")[2], value)


@dataclass
class _Study:
    """The runs of a scenario with changed defaults."""

    study: Study
    settings: Mapping[str, Any]
    seed: int
    workers: Crew
    progress: Callable[[Progress], object] | None
    runs: int = 0

    def run(self, groups: Sequence[tuple[Move, ...]]) -> list[SweepPoint]:
        """Runs the scenario once for each group of changes."""
        points = [
            Point(
                {**self.settings, **{path: move.to for move in group for path in move.paths}},
                self.seed,
            )
            for group in groups
        ]
        done: dict[int, SweepPoint] = {}
        for number, outcome in self.workers.each(run_point, self.study, points, lost_point):
            done[number] = outcome
            self.runs += 1
            if self.progress is not None:
                left = len(points) - len(done)
                self.progress(Progress.of(self.runs, self.runs + left, "runs"))
        return [done[number] for number in range(len(points))]

    def screen(
        self, moves: Sequence[Move], numbers: Mapping[str, float]
    ) -> tuple[dict[Move, Mapping[str, float]], dict[str, str]]:
        """The changes that have an effect, with the changed numbers; and the refused changes."""
        left = list(_groups(moves))
        found: dict[Move, Mapping[str, float]] = {}
        refused: dict[str, str] = {}
        while left:
            halves: list[tuple[Move, ...]] = []
            for group, outcome in zip(left, self.run(left), strict=True):
                now = dict(measured(outcome.metrics))
                if outcome.status != "error" and _is_still(numbers, now):
                    continue
                if len(group) > 1:
                    middle = len(group) // 2
                    halves += [group[:middle], group[middle:]]
                elif outcome.status == "error":
                    refused[f"{group[0].name}={group[0].words}"] = outcome.error or ""
                else:
                    found[group[0]] = now
            left = halves
        return found, refused


def _groups(moves: Sequence[Move]) -> Iterator[tuple[Move, ...]]:
    """Groups of at most `GROUP` changes; a group has at most one change of a default."""
    groups: list[list[Move]] = []
    for move in moves:
        for group in groups:
            if len(group) < GROUP and all(one.name != move.name for one in group):
                group.append(move)
                break
        else:
            groups.append([move])
    return map(tuple, groups)


def _is_still(numbers: Mapping[str, float], now: Mapping[str, float]) -> bool:
    return numbers.keys() == now.keys() and all(
        abs(now[path] - value) <= STILL * abs(value) for path, value in numbers.items()
    )


def _bar(path: str, value: float, found: Mapping[Move, Mapping[str, float]]) -> ErrorBar:
    """The error bar of a number, from its values with each change that has an effect."""
    return ErrorBar.of(
        value,
        (
            MovedDefault(move.name, move.value, move.words, numbers[path])
            for move, numbers in found.items()
            if path in numbers
        ),
    )
