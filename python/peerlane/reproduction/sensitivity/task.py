"""One simulation of a figure with inputs moved, in a process of its own."""

from __future__ import annotations

import re
import time
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import tomli_w

from peerlane._core import ScenarioError
from peerlane.dotted import split_path
from peerlane.fabric.simulation import Simulation, already_warned
from peerlane.figures.quantities import Quantity
from peerlane.reproduction.calibration import placed
from peerlane.reproduction.catalogue import system_fabric
from peerlane.reproduction.sensitivity.code import FEWER, imported
from peerlane.reproduction.sensitivity.inputs import (
    Input,
    is_name,
    tables,
    used,
    value_of,
)
from peerlane.reproduction.sensitivity.steps import Step, constant_steps, steps
from peerlane.results.workload import LISTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_CHOICES = re.compile(r'is not known; write (".*)')


@dataclass(frozen=True, slots=True)
class Move:
    """An input, and which of its steps it takes; a choice is moved to an alternative."""

    input: Input
    attempt: int = 0
    to: object = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a task: the rows, or the first line of why there are none."""

    rows: Mapping[str, float] = field(default_factory=dict)
    refused: str = ""
    share: float | None = None
    """The share by which the input was moved, if there was only one."""
    more: bool = False
    """Whether the input has another step to try."""
    inputs: Mapping[str, Input] = field(default_factory=dict)
    """The defaults, settings of profiles and constants that were used, if these were wanted."""
    kinds: frozenset[str] = frozenset()
    """The kinds of tables that were in the scenarios."""
    seconds: float = 0
    """How long it took."""


def simulate(system: str, figure: str, moves: tuple[Move, ...], *, looks: bool = False) -> Outcome:
    """Simulates a figure with inputs moved.

    Args:
        system: The published system.
        figure: The function of its experiments.
        moves: The inputs to move, all at once.
        looks: Whether to say which inputs the figure has.
    """
    mover = _Mover(system, moves, looks=looks)
    began = time.monotonic()
    try:
        with mover.in_place(), already_warned():
            experiments = import_module(f"peerlane.systems.{system}.experiments")
            rows = {row: float(value) for row, value in getattr(experiments, figure)()}
    except Exception as error:  # noqa: BLE001 - whatever a moved value leads to
        lines = str(error).splitlines() or [""]
        return Outcome(refused=f"{type(error).__name__}: {lines[0]}", more=mover.more)
    seconds = time.monotonic() - began
    kinds = frozenset(mover.kinds)
    return Outcome(rows, "", mover.share, mover.more, mover.inputs, kinds, seconds)


def probe(system: str, one: Input) -> list[Move] | str:
    """The moves of a key, a setting or a default that the system's fabric takes, or its refusal.

    A choice has a move for each alternative.
    """
    key, value = split_path(one.name)[-1], value_of(one)
    if isinstance(value, bool):
        other = Move(one, to=not value)
        return _refusal(system, other) or [other]
    found = steps(key, value)
    refused = ""
    for attempt in range(len(found)):
        refused = _refusal(system, Move(one, attempt))
        if not refused:
            return [Move(one, attempt)]
    if not isinstance(value, str) or value == "none":
        return refused or []
    listed = _CHOICES.search(_refusal(system, Move(one, to="no such choice")))
    choices = re.findall(r'"([^"]+)"', listed[1]) if listed else []
    moves = [Move(one, to=choice) for choice in choices if choice != value]
    return moves or refused or []


def _refusal(system: str, move: Move) -> str:
    """What is wrong with a move by the system's fabric alone."""
    try:
        with _Mover(system, (move,)).in_place(), already_warned():
            system_fabric(system).simulation()
    except ScenarioError as error:
        return str(error).splitlines()[0]
    return ""


class _Mover:
    """Moves inputs, and notes which there are."""

    def __init__(self, system: str, moves: tuple[Move, ...], *, looks: bool = False) -> None:
        self._system = system
        self._looks = looks
        self._constants = {one.input.name: one for one in moves if one.input.kind == "constant"}
        self._used = {
            one.input.name: one for one in moves if one.input.kind in {"default", "profile"}
        }
        # The name, since experiments may take fewer samples while any key is moved.
        self._placed: dict[str, Any] = {"name": system}
        self._placed |= {
            one.input.name: self._value(one) for one in moves if one.input.kind == "scenario"
        }
        self.share: float | None = None
        self.more = False
        self.inputs: dict[str, Input] = {}
        self.kinds: set[str] = set()
        for one in moves:
            if one.input.kind != "constant":
                self._value(one)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        with imported(self._system, self._constant), placed(self._placed), _rewritten(self._text):
            yield

    def _value(self, move: Move) -> Any:  # noqa: ANN401 - any setting
        if move.to is not None:
            return move.to
        found = steps(split_path(move.input.name)[-1], value_of(move.input))
        return self._taken(found, move)

    def _taken(self, found: list[Step], move: Move) -> Any:  # noqa: ANN401 - as above
        step = found[min(move.attempt, len(found) - 1)]
        self.share = step.share
        self.more = move.attempt + 1 < len(found)
        return step.value

    def _constant(self, name: str, value: object) -> object:
        fewer = _fewer(self._system)
        if name.startswith("experiments.") and name.partition(".")[2] in fewer:
            value = fewer[name.partition(".")[2]]
        if self._looks and constant_steps(value):
            self.inputs[name] = Input("constant", name, repr(value))
        if name in self._constants:
            return self._taken(constant_steps(value), self._constants[name])
        return value

    def _text(self, text: str) -> str:
        """A scenario with the moved defaults in it."""
        if not self._looks and not self._used:
            return text
        scenario = tomllib.loads(text)
        if self._looks:
            self.kinds.update(kind for kinds, _ in tables(scenario) for kind in kinds)
        for use in list(used(scenario)):
            if self._looks and is_movable(use.key, use.input):
                self.inputs[use.input.name] = use.input
            if move := self._used.get(use.input.name):
                use.table[use.key] = self._value(move)
        return tomli_w.dumps(scenario) if self._used else text


def is_movable(key: str, one: Input) -> bool:
    """Whether a default or a setting is a number or a choice that can be moved.

    What a workload does, such as reading or writing, is no choice of the simulator's.
    """
    value = value_of(one)
    if is_name(key) or value == "none":
        return False
    if steps(key, value):
        return not (isinstance(value, bool) and _of_workload(one))
    return isinstance(value, str) and Quantity.read(value) is None and not _of_workload(one)


def _of_workload(one: Input) -> bool:
    """Whether a default is of what experiments write: their workloads, and buffers for these."""
    return one.name.partition(":")[2].partition(".")[0] in {*LISTS, "buffers"}


def _fewer(system: str) -> Mapping[str, object]:
    """The values of constants that make the experiments of a system quicker."""
    return _FEWER.get(system, {})


_FEWER: dict[str, Mapping[str, object]] = {}
"""The values by system, which each process learns once."""


def learn(system: str) -> None:
    """Reads which constants of a system have other values here."""
    experiments = import_module(f"peerlane.systems.{system}.experiments")
    _FEWER[system] = getattr(experiments, FEWER, {})


@contextmanager
def _rewritten(by: Callable[[str], str]) -> Iterator[None]:
    """Rewrites the text of every simulation of this process for a while, in all its threads."""
    make = Simulation.__init__

    def rewrite(self: Simulation, text: str, **more: Any) -> None:  # noqa: ANN401 - as it has them
        make(self, by(text), **more)

    setattr(Simulation, "__init__", rewrite)  # noqa: B010 - a method, which no checker lets set
    try:
        yield
    finally:
        setattr(Simulation, "__init__", make)  # noqa: B010 - as above
