"""The search for the inputs that move the rows of one figure.

Most inputs have almost no effect, so they are moved in groups. If a whole group moves no row by
more than a tenth of the change that counts, none of its inputs counts; any other group is divided.
Two inputs of a group whose effects cancel each other within this limit would not be found.
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
"""The inputs of a group at first, if their effects are not known yet."""

STILL_GROUP = 64
"""The inputs of a group at first, if they moved no row in an earlier measurement."""

STILL = 0.2
"""The change of a row, in percent, up to which a group counts as without effect."""

SINGLY = {"scenario"}
"""The kinds of inputs that are moved one at a time from the beginning."""

Group = tuple[Move, ...]


@dataclass
class Search:
    """The groups of inputs of one figure that are left to be moved, and the changes found so far.

    Args:
        figure: The name of the figure.
        nominal: The values of rows with unchanged inputs.
        watched: The rows whose changes are wanted.
        seconds: The seconds of the simulation.
    """

    figure: str
    nominal: Mapping[str, float]
    watched: frozenset[str]
    seconds: float
    left: list[Group] = field(default_factory=list)
    running: int = 0
    changes: dict[str, dict[str, float]] = field(default_factory=dict)
    """The changes of rows in percent, by the name of the input that was moved by 10 %."""
    refused: dict[str, str] = field(default_factory=dict)

    def add(self, moves: Iterable[Move], *, movers: set[str], still: set[str]) -> None:
        """Adds inputs to move.

        Args:
            moves: The moves of these inputs.
            movers: Inputs that are known to move rows, which are moved one at a time.
            still: Inputs that moved no row before, which are moved in large groups.
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
            for move in together:  # alternatives of one choice cannot be taken together
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
        """Handles the outcome of moving a group."""
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
        """Whether all rows exist, and the watched rows have not changed by more than `STILL`."""
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
