"""One simulation of a figure with inputs moved."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from peerlane._core import ScenarioError
from peerlane.fabric.simulation import already_warned
from peerlane.figures.quantities import Quantity
from peerlane.reproduction.inputs import (
    CONSTANT,
    Input,
    is_name,
    kinds,
    used,
    value_of,
)
from peerlane.reproduction.machine import Machine, experiments_of, machine_of
from peerlane.reproduction.steps import alternatives, constant_steps, steps_of
from peerlane.results.workload import LISTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from peerlane._core import Scenario


@dataclass(frozen=True, slots=True)
class Move:
    """An input, and the number of its step, or the value to which it is moved."""

    input: Input
    attempt: int = 0
    to: object = None
    """The value to which a choice is moved; other inputs are moved by a step."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a simulation: the rows, or the first line of the error."""

    rows: Mapping[str, float] = field(default_factory=dict)
    refused: str = ""
    share: float | None = None
    """The share by which the input was moved, if only one was moved."""
    more: bool = False
    """Whether the input has another step to try."""
    seconds: float = 0
    """The seconds of the simulation."""


@dataclass(frozen=True, slots=True)
class Look:
    """A figure with unchanged inputs."""

    outcome: Outcome
    inputs: Mapping[str, Input]
    """The constants of the figure's system, and the defaults and settings of profiles that it
    uses."""
    kinds: frozenset[str]
    """The kinds of tables in the figure's scenarios."""


def simulate(
    system: str,
    figure: str,
    wanted: frozenset[str],
    moves: tuple[Move, ...] = (),
    *,
    watch: Callable[[Scenario], object] | None = None,
) -> Outcome:
    """Simulates a figure with moved inputs, up to the last wanted row.

    Args:
        system: The published system.
        figure: The name of the figure's function in the experiments.
        wanted: The ids of the wanted rows.
        moves: The inputs to move, all at once.
        watch: A function that is called with each scenario.
    """
    machine, share, more = replace(studied(system), watch=watch), None, False
    began = time.monotonic()
    try:
        with already_warned():
            for move in moves:
                machine, share, more = _moved(machine, move)
            rows: dict[str, float] = {}
            for row, value in getattr(experiments_of(system), figure)(machine):
                rows[row] = float(value)
                if wanted <= rows.keys():
                    break
    except Exception as error:  # noqa: BLE001 - whatever a moved value leads to
        lines = str(error).splitlines() or [""]
        return Outcome(refused=f"{type(error).__name__}: {lines[0]}", more=more)
    return Outcome(rows, "", share, more, time.monotonic() - began)


def look(system: str, figure: str, wanted: frozenset[str]) -> Look:
    """Simulates a figure with unchanged inputs, and finds its inputs."""
    inputs, found = constants_of(system), set[str]()

    def watch(scenario: Scenario) -> None:
        found.update(kinds(scenario))
        uses = (use for use in used(scenario) if is_movable(use.key, use.input))
        inputs.update({use.input.name: use.input for use in uses})

    outcome = simulate(system, figure, wanted, watch=watch)
    return Look(outcome, inputs, frozenset(found))


def studied(system: str) -> Machine[Any]:
    """The machine of a system in a sensitivity study, with the constants `FEWER`, if any."""
    machine = machine_of(system)
    constants = getattr(experiments_of(system), "FEWER", machine.constants)
    return replace(machine, constants=constants)


def fewer(system: str) -> dict[str, str]:
    """The constants whose values differ between the study and `reproduce`, with study values."""
    usual, here = asdict(machine_of(system).constants), asdict(studied(system).constants)
    return {name: repr(value) for name, value in here.items() if value != usual[name]}


def constants_of(system: str) -> dict[str, Input]:
    """The constants of a system that can be moved."""
    values = asdict(studied(system).constants)
    return {
        CONSTANT + name: Input("constant", CONSTANT + name, repr(value))
        for name, value in values.items()
        if constant_steps(value)
    }


def probe(system: str, one: Input, others: list[Any] | None) -> tuple[list[Move], dict[str, str]]:
    """The moves of an input that the system's fabric accepts, and the refused moves, by name.

    An input that is a choice of ours, or is no number, has a move for each of its other values.
    """
    found = steps_of(one)
    if others is None and (not found or isinstance(value_of(one), bool)):
        others = alternatives(one)
    if others is not None:
        moves = [Move(one, to=value) for value in others]
        refusals = {move: _refusal(system, move) for move in moves}
        refused = {named(move): why for move, why in refusals.items() if why}
        return [move for move in moves if not refusals[move]], refused
    for attempt in range(len(found)):
        refusal = _refusal(system, Move(one, attempt))
        if not refusal:
            return [Move(one, attempt)], {}
    return [], {one.name: refusal}


def named(move: Move) -> str:
    """The name of a move: the name of its input, with the value to which a choice is moved."""
    return move.input.name if move.to is None else f"{move.input.name}={shown(move.to)}"


def shown(value: object) -> str:
    """The value to which a choice is moved, as a part of the name of its move."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _refusal(system: str, move: Move) -> str:
    """The error of the system's fabric with a move; empty if there is none."""
    try:
        with already_warned():
            _moved(studied(system), move)[0].simulation()
    except ScenarioError as error:
        return str(error).splitlines()[0]
    return ""


def _moved(machine: Machine[Any], move: Move) -> tuple[Machine[Any], float | None, bool]:
    """The machine with a moved input, the share, and whether the input has another step."""
    if move.to is not None:
        return machine.moved(move.input.name, move.to), None, False
    found = steps_of(move.input)
    step = found[min(move.attempt, len(found) - 1)]
    return machine.moved(move.input.name, step.value), step.share, move.attempt + 1 < len(found)


def is_movable(key: str, one: Input) -> bool:
    """Whether a default or a setting is a number or a choice that can be moved.

    A choice in a workload, such as reading or writing, is not a choice of the simulator.
    """
    value = value_of(one)
    if is_name(key) or value == "none":
        return False
    if steps_of(one):
        return not (isinstance(value, bool) and _of_workload(one))
    return isinstance(value, str) and Quantity.read(value) is None and not _of_workload(one)


def _of_workload(one: Input) -> bool:
    """Whether a default belongs to tables that experiments write: workloads and buffers."""
    return one.name.partition(":")[2].partition(".")[0] in {*LISTS, "buffers"}
