"""Searches for the inputs that change the rows of one figure.

Most inputs have almost no effect, so their values are changed in groups. If the changed values of a
whole group change no row by more than `STILL`, none of its inputs counts as effective. Any other
group is divided. Two inputs of a group whose effects cancel each other would not be found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from peerlane.reproduction.sensitivity.task import Move, Outcome, named
from peerlane.reproduction.steps import STEP

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

GROUP = 16
"""The number of inputs in a group before it is divided, if their effects are not known yet."""

STILL_GROUP = 64
"""The number of inputs in a group before it is divided, if they changed no row earlier."""

STILL = 0.2
"""The change of a row, in percent, up to which a group of inputs counts as without effect."""

SINGLY = {"scenario"}
"""The kinds of inputs that are changed one at a time, and not in groups."""

Group = tuple[Move, ...]


@dataclass
class Search:
    """State of the search for one figure: groups of inputs not tried yet, and changes found so far.

    Args:
        figure: The name of the figure.
        nominal: The values of the rows with unchanged inputs.
        watched: The rows whose changes are measured.
        seconds: The duration of one simulation of the figure, in seconds.
    """

    figure: str
    nominal: Mapping[str, float]
    watched: frozenset[str]
    seconds: float
    left: list[Group] = field(default_factory=list)
    running: int = 0
    changes: dict[str, dict[str, float]] = field(default_factory=dict)
    """For each effective move of an input, by its name, the changes of rows in percent."""
    refused: dict[str, str] = field(default_factory=dict)

    def add(self, moves: Iterable[Move], *, movers: set[str], still: set[str]) -> None:
        """Adds changes of inputs that are to be tried.

        Args:
            moves: The inputs and their changed values.
            movers: The inputs that are known to change rows; they are changed one at a time.
            still: The inputs that changed no row earlier; they are changed in large groups.
        """
        groups: dict[tuple[str, int], list[Move]] = {}
        for move in moves:
            name, kind = move.input.name, move.input.kind
            if name in movers or (name not in still and kind in SINGLY):
                self.left.append((move,))
            elif name in still:
                groups.setdefault(("", STILL_GROUP), []).append(move)
            else:
                groups.setdefault((kind, GROUP), []).append(move)
        for (_, most), together in groups.items():
            taken: list[list[Move]] = []
            for move in together:  # a group has at most one value of each input
                there = next(
                    (
                        one
                        for one in taken
                        if len(one) < most and all(o.input != move.input for o in one)
                    ),
                    None,
                )
                if there is None:
                    taken.append([move])
                else:
                    there.append(move)
            self.left += map(tuple, taken)

    def heard(self, group: Group, outcome: Outcome) -> None:
        """Handles the outcome of a simulation with the changed values of a group."""
        if self._is_still(outcome):
            return
        if len(group) > 1:
            half = len(group) // 2
            self.left += [group[:half], group[half:]]
            return
        (move,) = group
        if outcome.refused or outcome.rows.keys() != self.nominal.keys():
            self._refused(move, outcome)
        else:
            self._moved(move, outcome)

    def _is_still(self, outcome: Outcome) -> bool:
        """Whether the outcome has all rows, and no watched row has changed by more than `STILL`."""
        return outcome.rows.keys() == self.nominal.keys() and all(
            abs(outcome.rows[row] - self.nominal[row]) <= STILL / 100 * abs(self.nominal[row])
            for row in self.watched
        )

    def _refused(self, move: Move, outcome: Outcome) -> None:
        if outcome.more and move.to is None:
            self.left.append((Move(move.input, move.attempt + 1),))
            return
        why = outcome.refused or "the rows are others"
        self.refused[named(move)] = why

    def _moved(self, move: Move, outcome: Outcome) -> None:
        scale = 1.0 if outcome.share is None else STEP / outcome.share
        found = {}
        for row in self.watched:
            before, after = self.nominal[row], outcome.rows[row]
            if after != before:
                share = (after - before) / abs(before) if before else math.inf
                found[row] = 100 * share * scale
        self.changes[named(move)] = found

    @property
    def remaining_s(self) -> float:
        """An estimate of the seconds of the remaining simulations on one processor."""
        expected = sum(math.log2(len(group)) * 2 + 1 for group in self.left)
        return (expected + self.running) * self.seconds
