"""Measures which inputs change the predicted rows of a system, and keeps earlier measurements."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, as_completed, wait
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from peerlane.progress import Progress
from peerlane.reproduction.catalogue import folder_of, scenario_text
from peerlane.reproduction.expected import Expected
from peerlane.reproduction.inputs import PROFILE, Input, is_name, of_scenario
from peerlane.reproduction.jobs import Job
from peerlane.reproduction.sensitivity import record
from peerlane.reproduction.sensitivity.record import LISTED, Figure, Record, base
from peerlane.reproduction.sensitivity.search import Search
from peerlane.reproduction.sensitivity.task import Move, fewer, look, probe, shown, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping
    from concurrent.futures import Executor, Future

    from peerlane.reproduction.sensitivity.search import Group
    from peerlane.reproduction.sensitivity.task import Look, Outcome

    Tell = Callable[[Progress], object]

KEEP_S = 30.0
"""The seconds after which new measurements are written to the file."""

SHARE_OF_GROUP = 0.3
"""The estimated number of simulations for each input, until it is known which inputs have effects.
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """The outcome of a study: its record, the number of simulations, and whether it is complete."""

    record: Record
    simulations: int
    is_whole: bool


def save(
    system: str,
    *,
    only: str | None = None,
    executor: Executor | None = None,
    progress: Tell | None = None,
) -> Measured:
    """Measures which inputs change the rows of a system, and writes `sensitivity.toml`.

    Values of an earlier `sensitivity.toml` that are still valid are not measured again. After
    Ctrl-C, the file is written with the measurements so far, and the outcome is not complete.

    Args:
        system: The name of the system.
        only: The figure to measure; all figures, if absent. Earlier measurements of other figures
            are kept.
        executor: The workers, which must be processes; the processors of this machine, if absent.
        progress: A function that is called with the present work and the time left.

    Raises:
        RuntimeError: A figure cannot be simulated with unchanged inputs.
        OSError: The file cannot be written.
    """
    path = Path(str(folder_of(system))) / record.FILE
    with path.open("a", encoding="utf-8"):  # fails before the work if the file cannot be written
        pass
    expected = Expected.load(folder_of(system))
    figures = expected.predicted()
    chosen = {name: frozenset(rows) for name, rows in figures.items() if only in {None, name}}
    work = _Work(system, chosen, expected, progress)

    def keep() -> Record:
        found = work.record(figures)
        if found.figures:
            _replace(path, record.text(system, found))
        elif not path.stat().st_size:
            path.unlink()
        return found

    try:
        work.run(keep, executor)
    except KeyboardInterrupt:
        is_whole = False
    else:
        is_whole = True
    finally:
        found = keep()
    return Measured(found, work.simulations, is_whole)


def _replace(path: Path, text: str) -> None:
    """Replaces a file in one step, so that it is complete at any time."""
    new = path.with_suffix(".part")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


class _Work:
    """The measurement of the sensitivity of some figures of a system."""

    def __init__(
        self,
        system: str,
        wanted: Mapping[str, frozenset[str]],
        expected: Expected,
        progress: Tell | None,
    ) -> None:
        self.simulations = 0
        self._system = system
        self._expected = expected
        self._ranges: dict[str, str] = {}
        self._progress = progress
        self._known = _known(system)
        self._digests = record.scenario_digest(system), record.experiments_digest(system)
        old = self._known
        self._is_of_now = old is not None and (old.scenario, old.experiments) == self._digests
        self._wanted = wanted
        self._searches: dict[str, Search] = {}
        self._inputs: dict[str, dict[str, Input]] = {}
        self._kept: dict[str, Figure] = {}
        self._todo: dict[str, list[Move]] = {}
        self._running: dict[Future[Outcome], tuple[str, Group]] = {}
        self._refused: dict[str, str] = {}
        self._kinds: set[str] = set()
        self._planned = False
        self._spent_s = 0.0
        self._share = 0.0

    def run(self, keep: Callable[[], object], executor: Executor | None) -> None:
        """Measures all figures on all processors, and calls `keep` every `KEEP_S` seconds."""
        pool = executor or ProcessPoolExecutor(mp_context=get_context("spawn"), initializer=_begin)
        try:
            self._look(pool)
            self._plan(pool)
            order = sorted(self._searches.values(), key=lambda one: one.seconds)
            kept_s = time.monotonic()
            while self._begin(pool, order):
                self._tell()
                if time.monotonic() > kept_s + KEEP_S:
                    keep()
                    kept_s = time.monotonic()
                done, _ = wait(self._running, return_when=FIRST_COMPLETED)
                for future in done:
                    self._heard(*self._running.pop(future), future.result())
        finally:
            if pool is not executor:
                pool.shutdown(cancel_futures=True)

    def _look(self, pool: Executor) -> None:
        """Simulates each figure with unchanged inputs, the longest figure first."""
        longest = sorted(self._wanted, key=lambda name: -Job(self._system, name).seconds)
        looks = {
            pool.submit(look, self._system, name, self._wanted[name]): name for name in longest
        }
        for future in as_completed(looks):
            self._looked(looks[future], future.result())

    def _looked(self, name: str, found: Look) -> None:
        """Stores the outcome of the simulation of a figure with unchanged inputs."""
        self.simulations += 1
        outcome = found.outcome
        if outcome.refused:
            raise RuntimeError(f"{self._system} {name} cannot be simulated: {outcome.refused}")
        watched = self._wanted[name] & outcome.rows.keys()
        self._searches[name] = Search(name, outcome.rows, watched, outcome.seconds)
        self._inputs[name] = {**found.inputs, **of_scenario(scenario_text(self._system))}
        for key, one in self._inputs[name].items():
            if (others := self._expected.others_of(one)) is not None:
                self._ranges[key] = " or ".join(map(shown, others))
        self._kinds |= found.kinds
        self._kept[name] = self._right(name)

    def _right(self, name: str) -> Figure:
        """The earlier measurements of a figure that are valid: for inputs with the same values."""
        search = self._searches[name]
        new = Figure(rows={row: search.nominal[row] for row in search.watched})
        known = self._known if self._is_of_now else None
        old = known.figures.get(name) if known else None
        if known is None or old is None or not new.rows.items() <= old.rows.items():
            return new
        there = self._inputs[name]
        new.inputs = {
            key: value
            for key, value in old.inputs.items()
            if not is_name(key)
            and (key not in there or there[key].value == value)
            and known.ranges.get(key) == self._ranges.get(key)
        }
        for row in new.rows.keys() & old.moved.keys():
            found = old.moved[row]
            new.moved[row] = {key: v for key, v in found.items() if base(key) in new.inputs}
        new.refused = {key: why for key, why in old.refused.items() if base(key) in new.inputs}
        new.little = [key for key in old.little if base(key) in new.inputs]
        return new

    def _plan(self, pool: Executor) -> None:
        """Finds the possible changes of each input that has not been measured yet."""
        missing = {
            key: one
            for name, inputs in self._inputs.items()
            for key, one in inputs.items()
            if key not in self._kept[name].inputs
        }
        moves = {}
        probes = {
            one.name: pool.submit(probe, self._system, one, self._expected.others_of(one))
            for one in missing.values()
        }
        for key, future in probes.items():
            moves[key], refused = future.result()
            self._refused |= refused
        for name, inputs in self._inputs.items():
            kept = self._kept[name].inputs
            self._todo[name] = [
                move for key in inputs if key not in kept for move in moves.get(key, [])
            ]
        self._planned = True

    def _begin(self, pool: Executor, order: Iterable[Search]) -> bool:
        """Begins simulations, the fastest figure first; returns false if all simulations ended."""
        for search in order:
            if todo := self._todo.pop(search.figure, None):
                search.add(todo, movers=self._movers(), still=self._still(search.figure))
            while search.left and len(self._running) < (os.cpu_count() or 1):
                group = search.left.pop(0)
                search.running += 1
                given = (self._system, search.figure, search.watched, group)
                self._running[pool.submit(simulate, *given)] = (search.figure, group)
        return bool(self._running)

    def _movers(self) -> set[str]:
        """The inputs that have changed any row of any figure."""
        found = {base(key) for one in self._searches.values() for key in one.changes}
        for known in self._known.figures.values() if self._known else ():
            found |= known.movers
        return found

    def _still(self, name: str) -> set[str]:
        """The inputs that changed no row of this figure in an earlier measurement."""
        old = self._known.figures.get(name) if self._known else None
        return old.inputs.keys() - old.movers if old else set()

    def _heard(self, name: str, group: Group, outcome: Outcome) -> None:
        search = self._searches[name]
        search.running -= 1
        self.simulations += 1
        self._spent_s += search.seconds
        search.heard(group, outcome)

    def _tell(self) -> None:
        """Reports the progress, if a function for this was given."""
        if self._progress is None:
            return
        remaining = sum(one.remaining_s for one in self._searches.values())
        for name, moves in self._todo.items():
            remaining += SHARE_OF_GROUP * len(moves) * self._searches[name].seconds
        total = self._spent_s + remaining
        self._share = max(self._share, self._spent_s / total if total else 1.0)
        running, _ = next(iter(self._running.values()))
        words = f"{self._system} {running}, what moves it"
        self._progress(Progress(self._share, words, remaining / (os.cpu_count() or 1)))

    def record(self, wanted: Container[str]) -> Record:
        """The record of all measurements so far, without figures that are not in `wanted`."""
        everything = {key: one for inputs in self._inputs.values() for key, one in inputs.items()}
        old = self._known or Record("", "", {}, {}, {})
        figures = {name: self._aged(one, everything) for name, one in old.figures.items()}
        figures |= {name: self._figure(name, everything) for name in self._kept}
        used = {key.rpartition(".")[0] for key in everything if key.startswith(PROFILE)}
        profiles = record.profile_digests(name.removeprefix(PROFILE) for name in used)
        defaults = record.default_digests(self._kinds)
        if self._kept.keys() < figures.keys():
            profiles, defaults = old.profiles | profiles, old.defaults | defaults
        return Record(
            *self._digests,
            profiles,
            defaults,
            {name: one for name, one in figures.items() if name in wanted},
            fewer(self._system),
            self._ranges,
        )

    def _aged(self, figure: Figure, everything: dict[str, Input]) -> Figure:
        """A figure that this study does not measure; inputs that have changed count as untried."""
        inputs = figure.inputs
        changed = {key for key, one in everything.items() if inputs.get(key) != one.value}
        if not self._is_of_now:
            changed = {*inputs}
        right = {key: value for key, value in inputs.items() if key not in changed}
        return replace(figure, inputs=right, untried=sorted({*figure.untried, *changed}))

    def _figure(self, name: str, everything: dict[str, Input]) -> Figure:
        """The measurements of a figure so far; inputs that it does not use count as tried."""
        search, figure = self._searches[name], self._kept[name]
        pending = {move.input.name for group in search.left for move in group}
        pending |= {
            move.input.name for at, group in self._running.values() if at == name for move in group
        }
        pending |= {move.input.name for move in self._todo.get(name, [])}
        if not self._planned:
            pending |= self._inputs[name].keys() - figure.inputs.keys()
        done = {key: one.value for key, one in everything.items() if key not in pending}
        merged = Figure(figure.inputs | done, figure.rows)
        merged.untried = sorted(pending - merged.inputs.keys())
        merged.refused = figure.refused | {
            key: why for key, why in (self._refused | search.refused).items() if base(key) in done
        }
        merged.moved = {row: dict(found) for row, found in figure.moved.items()}
        little = {*figure.little}
        for key, found in search.changes.items():
            much = {row: percent for row, percent in found.items() if abs(percent) > LISTED}
            for row, percent in much.items() if base(key) in done else ():
                merged.moved.setdefault(row, {})[key] = percent
            if not much and base(key) in done:
                little.add(key)
        merged.little = sorted(little)
        return merged


def _begin() -> None:
    """Ignores Ctrl-C in a worker process, because the process that began it handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _known(system: str) -> Record | None:
    try:
        return record.load(system)
    except ValueError:
        return None
