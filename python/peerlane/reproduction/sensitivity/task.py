"""Simulates a figure with changed values of some inputs."""

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
    """A change of an input: the number of a step in `steps_of`, or another value."""

    input: Input
    attempt: int = 0
    to: object = None
    """The new value, if the value of the input is our own choice; otherwise `attempt` has the step.
    """


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a simulation: values of rows, or the error's type and first line."""

    rows: Mapping[str, float] = field(default_factory=dict)
    refused: str = ""
    share: float | None = None
    """The relative change of the input, if only one input was changed, by a step."""
    more: bool = False
    """Whether the last changed input has another step to try."""
    seconds: float = 0
    """The duration of the simulation, in seconds."""


@dataclass(frozen=True, slots=True)
class Look:
    """The outcome of a figure with unchanged inputs, and the inputs that the figure uses."""

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
    """Simulates a figure with changed inputs, until all wanted rows have values.

    Args:
        system: The published system.
        figure: The name of the figure's function in the experiments.
        wanted: The ids of the wanted rows.
        moves: The changes of inputs, which are all made together.
        watch: A function that is called with each scenario that is simulated.
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
    """The machine of a system in a sensitivity study, with the constants `FEWER` if it has them."""
    machine = machine_of(system)
    constants = getattr(experiments_of(system), "FEWER", machine.constants)
    return replace(machine, constants=constants)


def fewer(system: str) -> dict[str, str]:
    """The constants that the study changes from the values in `reproduce`, with study values."""
    usual, here = asdict(machine_of(system).constants), asdict(studied(system).constants)
    return {name: repr(value) for name, value in here.items() if value != usual[name]}


def constants_of(system: str) -> dict[str, Input]:
    """The constants of a system's experiments that are inputs, because another value exists."""
    values = asdict(studied(system).constants)
    return {
        CONSTANT + name: Input("constant", CONSTANT + name, repr(value))
        for name, value in values.items()
        if constant_steps(value)
    }


def probe(system: str, one: Input, others: list[Any] | None) -> tuple[list[Move], dict[str, str]]:
    """Finds the changes of an input that the system's fabric accepts, and the refused changes.

    An input whose value is our own choice, or is no number, is tried with each of `others`. Any
    other input is tried with the first step that the fabric accepts.
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
    """The name of a change: the name of its input, with the new value if it is not a step."""
    return move.input.name if move.to is None else f"{move.input.name}={shown(move.to)}"


def shown(value: object) -> str:
    """A new value, in the form in which names of changes have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _refusal(system: str, move: Move) -> str:
    """The error of the system's fabric with a changed input; empty if there is no error."""
    try:
        with already_warned():
            _moved(studied(system), move)[0].simulation()
    except ScenarioError as error:
        return str(error).splitlines()[0]
    return ""


def _moved(machine: Machine[Any], move: Move) -> tuple[Machine[Any], float | None, bool]:
    """The machine with a changed input, the relative change, and whether there is a next step."""
    if move.to is not None:
        return machine.moved(move.input.name, move.to), None, False
    found = steps_of(move.input)
    step = found[min(move.attempt, len(found) - 1)]
    return machine.moved(move.input.name, step.value), step.share, move.attempt + 1 < len(found)


def is_movable(key: str, one: Input) -> bool:
    """Whether a default or a profile's setting can be tried with another value.

    A flag or name in a workload, such as reading or writing, is not changed, because it is no
    property of the simulator.
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
