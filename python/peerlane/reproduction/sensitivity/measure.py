"""Measures what moves the predicted rows of a system, and keeps what is known already."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from peerlane.reproduction.catalogue import folder_of, scenario_text
from peerlane.reproduction.expected import Expected
from peerlane.reproduction.jobs import Job, Progress
from peerlane.reproduction.sensitivity import record
from peerlane.reproduction.sensitivity.code import digests, used_by
from peerlane.reproduction.sensitivity.inputs import PROFILE, Input, is_name, of_scenario
from peerlane.reproduction.sensitivity.pool import Processes
from peerlane.reproduction.sensitivity.record import LISTED, Figure, Record, base
from peerlane.reproduction.sensitivity.search import Search
from peerlane.reproduction.sensitivity.task import Move, Outcome, probe, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from peerlane.reproduction.expected import ExpectedRow
    from peerlane.reproduction.sensitivity.search import Group

    Tell = Callable[[Progress], object]

LEAST_S = 60.0
"""Seconds that every simulation may take."""

SLOWER = 30
"""Times as long as with nothing moved that a simulation may take beyond that."""

BEGINNING_S = 900.0
"""Seconds that a figure may take with nothing moved."""

AT_FIRST = 60
"""Simulations of each figure, about, as long as nobody knows its inputs."""

KEEP_S = 30.0
"""Seconds after which what was measured is written."""

SHARE_OF_GROUP = 0.3
"""Simulations for each input, about, as long as nobody knows which of them move anything."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What came of it: the record, how many simulations it took, and whether it is whole."""

    record: Record
    simulations: int
    is_whole: bool


def needed(expected: Expected) -> list[str]:
    """The figures with predicted rows that have a published value."""
    return [name for name, rows in expected.by_figure().items() if predicted(rows)]


def predicted(rows: Iterable[ExpectedRow]) -> list[str]:
    """The ids of the predicted rows that have a published value."""
    return [row.id for row in rows if row.kind == "predicted" and row.is_published]


def save(system: str, *, only: str | None = None, progress: Tell | None = None) -> Measured:
    """Measures what moves the rows of a system, and writes it beside `expected.toml`.

    What the file there has, and what is still right, is not measured again. Ctrl-C keeps what was
    measured: the file is written, and the result is not whole.

    Args:
        system: One of `systems()`.
        only: Measures one figure; what is known of the others stays.
        progress: Called with what is done, and how long the rest will take.

    Raises:
        RuntimeError: A figure cannot be simulated with nothing moved.
        OSError: The file cannot be written.
    """
    path = Path(str(folder_of(system))) / record.FILE
    with path.open("a", encoding="utf-8"):  # before the work, whether it can be written
        pass
    expected = Expected.load(folder_of(system))
    figures = needed(expected)
    chosen = [name for name in figures if only in {None, name}]
    work = _Work(system, expected, chosen, progress)

    def keep() -> Record:
        found = work.record(figures)
        if found.figures:
            _replace(path, record.text(system, found))
        elif not path.stat().st_size:
            path.unlink()
        return found

    try:
        work.run(keep)
    except KeyboardInterrupt:
        is_whole = False
    else:
        is_whole = True
    finally:
        found = keep()
    return Measured(found, work.simulations, is_whole)


def _replace(path: Path, text: str) -> None:
    """Writes a file at once, so that it is whole at any time."""
    new = path.with_suffix(".part")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


class _Work:
    """The measurement of some figures."""

    def __init__(
        self, system: str, expected: Expected, figures: list[str], progress: Tell | None
    ) -> None:
        self.simulations = 0
        self._expected = expected.by_figure()
        self._system = system
        self._figures = figures
        self._progress = progress
        self._known = _known(system)
        self._code = digests(system, figures)
        self._searches: dict[str, Search] = {}
        self._inputs: dict[str, dict[str, Input]] = {}
        self._kept: dict[str, Figure] = {}
        self._todo: dict[str, list[Move]] = {}
        self._busy: dict[tuple[str, Group], None] = {}
        self._refused: dict[str, str] = {}
        self._kinds: set[str] = set()
        self._planned = False
        self._spent_s = 0.0
        self._share = 0.0

    def run(self, keep: Callable[[], object]) -> None:
        """Measures everything, and calls `keep` now and then."""
        pool: Processes[tuple[str, Group]] = Processes(self._system)
        with pool:
            self._look(pool)
            self._plan(pool)
            order = sorted(self._searches.values(), key=lambda one: one.seconds)
            kept_s = time.monotonic()
            while not pool.is_idle or any(one.left or self._todo.get(one.figure) for one in order):
                while pool.is_free and self._next(pool, order):
                    pass
                self._tell()
                if time.monotonic() > kept_s + KEEP_S:
                    keep()
                    kept_s = time.monotonic()
                if not pool.is_idle:
                    (name, group), outcome = pool.next()
                    self._heard(name, group, outcome)

    def _look(self, pool: Processes[tuple[str, Group]]) -> None:
        """Simulates each figure with nothing moved, the longest first."""
        waiting = sorted(self._figures, key=lambda name: Job(self._system, name).seconds)
        while waiting or not pool.is_idle:
            while waiting and pool.is_free:
                self._tell(name := waiting.pop())
                pool.begin((name, ()), _looked, self._system, name, most_s=BEGINNING_S)
            (name, _), outcome = pool.next()
            self._looked(name, outcome)

    def _looked(self, name: str, outcome: Outcome | TimeoutError) -> None:
        """Takes what a figure is with nothing moved."""
        self.simulations += 1
        if isinstance(outcome, TimeoutError) or outcome.refused:
            why = outcome if isinstance(outcome, TimeoutError) else outcome.refused
            raise RuntimeError(f"{self._system} {name} cannot be simulated: {why}")
        watched = frozenset(predicted(self._expected[name])) & outcome.rows.keys()
        self._searches[name] = Search(name, outcome.rows, watched, outcome.seconds)
        mentioned = used_by(self._system, name)
        self._inputs[name] = {
            key: one
            for key, one in outcome.inputs.items()
            if one.kind != "constant" or key.rpartition(".")[2] in mentioned
        } | of_scenario(scenario_text(self._system))
        self._kinds |= outcome.kinds
        self._kept[name] = self._right(name)

    def _right(self, name: str) -> Figure:
        """What is known of a figure and still right: of inputs that have the same value."""
        search = self._searches[name]
        new = Figure(self._code[name], rows={row: search.nominal[row] for row in search.watched})
        old = self._known.figures.get(name) if self._known else None
        if (
            self._known is None
            or old is None
            or self._known.scenario != record.scenario_digest(self._system)
            or old.experiments != new.experiments
            or not new.rows.items() <= old.rows.items()
        ):
            return new
        there = self._inputs[name]
        new.inputs = {
            key: value
            for key, value in old.inputs.items()
            if not is_name(key) and (key not in there or there[key].value == value)
        }
        for row in new.rows.keys() & old.moved.keys():
            found = old.moved[row]
            new.moved[row] = {key: v for key, v in found.items() if base(key) in new.inputs}
        new.refused = {key: why for key, why in old.refused.items() if base(key) in new.inputs}
        new.axes = [key for key in old.axes if key in new.inputs]
        new.little = [key for key in old.little if base(key) in new.inputs]
        return new

    def _plan(self, pool: Processes[tuple[str, Group]]) -> None:
        """Finds out which moves there are of the inputs that are not known."""
        missing = {
            key: one
            for name, inputs in self._inputs.items()
            for key, one in inputs.items()
            if key not in self._kept[name].inputs
        }
        moves: dict[str, list[Move]] = {}
        asked = {one.name: one for one in missing.values() if one.kind != "constant"}
        waiting = list(asked.values())
        while waiting or not pool.is_idle:
            while waiting and pool.is_free:
                one = waiting.pop()
                key = (one.name, (Move(one),))
                pool.begin(key, probe, self._system, one, most_s=LEAST_S)
            (name, _), found = pool.next()
            if isinstance(found, list):
                moves[name] = found
            else:
                self._refused[name] = str(found)
        moves |= {key: [Move(one)] for key, one in missing.items() if one.kind == "constant"}
        for name, inputs in self._inputs.items():
            kept = self._kept[name].inputs
            self._todo[name] = [
                move for key in inputs if key not in kept for move in moves.get(key, [])
            ]
        self._planned = True

    def _next(self, pool: Processes[tuple[str, Group]], order: Iterable[Search]) -> bool:
        """Begins the next simulation, of the quickest figure first; no if there is none."""
        for search in order:
            if todo := self._todo.pop(search.figure, None):
                search.add(todo, movers=self._movers(), still=self._still(search.figure))
            if search.left:
                group = search.left.pop(0)
                search.running += 1
                self._busy[search.figure, group] = None
                most_s = LEAST_S + SLOWER * search.seconds
                given = (self._system, search.figure, group)
                pool.begin((search.figure, group), simulate, *given, most_s=most_s)
                return True
        return False

    def _movers(self) -> set[str]:
        """The inputs that have moved a figure."""
        found = {base(key) for one in self._searches.values() for key in one.changes}
        for known in self._known.figures.values() if self._known else ():
            found |= known.movers
        return found

    def _still(self, name: str) -> set[str]:
        """The inputs that moved nothing of the figure when it was measured before."""
        old = self._known.figures.get(name) if self._known else None
        return old.inputs.keys() - old.movers if old else set()

    def _heard(self, name: str, group: Group, outcome: Outcome | TimeoutError) -> None:
        search = self._searches[name]
        search.running -= 1
        del self._busy[name, group]
        self.simulations += 1
        self._spent_s += search.seconds
        search.heard(group, outcome)

    def _tell(self, now: str = "") -> None:
        if self._progress is None:
            return
        remaining = sum(one.remaining_s for one in self._searches.values())
        for name, moves in self._todo.items():
            remaining += SHARE_OF_GROUP * len(moves) * self._searches[name].seconds
        if not self._planned:
            jobs = [Job(self._system, name) for name in self._figures]
            remaining = AT_FIRST * sum(job.seconds for job in jobs)
        elif self._todo or self._busy:
            total = self._spent_s + remaining
            self._share = max(self._share, self._spent_s / total if total else 1.0)
        running = now or next((name for name, _ in self._busy), "")
        words = f"{self._system} {running}, what moves it"
        self._progress(Progress(words, self._share, remaining / (os.cpu_count() or 1)))

    def record(self, wanted: Iterable[str]) -> Record:
        """What is known now, of figures that are still wanted."""
        everything = {key: one for inputs in self._inputs.values() for key, one in inputs.items()}
        old = self._known or Record("", {}, {}, {})
        figures = {name: self._aged(name, one, everything) for name, one in old.figures.items()}
        figures |= {name: self._figure(name, everything) for name in self._kept}
        used = {key.rpartition(".")[0] for key in everything if key.startswith(PROFILE)}
        profiles = record.profile_digests(name.removeprefix(PROFILE) for name in used)
        defaults = record.default_digests(self._kinds)
        if self._kept.keys() < figures.keys():
            profiles, defaults = old.profiles | profiles, old.defaults | defaults
        return Record(
            record.scenario_digest(self._system),
            profiles,
            defaults,
            {name: one for name, one in figures.items() if name in set(wanted)},
        )

    def _aged(self, name: str, figure: Figure, everything: dict[str, Input]) -> Figure:
        """A figure that is not measured now: inputs that are others now are left to move."""
        mentioned = used_by(self._system, name)
        inputs = dict(figure.inputs)
        for key, one in everything.items():
            if one.kind == "constant" and key.rpartition(".")[2] not in mentioned:
                inputs[key] = one.value
        if self._known and self._known.scenario == record.scenario_digest(self._system):
            changed = {key for key, one in everything.items() if inputs.get(key) != one.value}
        else:
            changed = {*inputs}
        right = {key: value for key, value in inputs.items() if key not in changed}
        return replace(figure, inputs=right, untried=sorted({*figure.untried, *changed}))

    def _figure(self, name: str, everything: dict[str, Input]) -> Figure:
        """What is known of a figure now; it was moved by all inputs that it does not have, too."""
        search, figure = self._searches[name], self._kept[name]
        pending = {move.input.name for group in search.left for move in group}
        pending |= {move.input.name for at, group in self._busy if at == name for move in group}
        pending |= {move.input.name for move in self._todo.get(name, [])}
        if not self._planned:
            pending |= self._inputs[name].keys() - figure.inputs.keys()
        done = {key: one.value for key, one in everything.items() if key not in pending}
        merged = Figure(figure.experiments, figure.inputs | done, figure.rows)
        merged.untried = sorted(pending - merged.inputs.keys())
        merged.axes = sorted({*figure.axes, *search.axes})
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


def _looked(system: str, figure: str) -> Outcome:
    return simulate(system, figure, (), looks=True)


def _known(system: str) -> Record | None:
    try:
        return record.load(system)
    except ValueError:
        return None
