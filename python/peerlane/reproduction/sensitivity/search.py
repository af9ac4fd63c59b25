"""The search for the inputs that move the rows of one figure.

Most inputs move next to nothing, so that they are moved in groups: where a whole group moves no row
by more than a tenth of what counts, none of its inputs counts, and any other group is divided. Two
inputs of a group that balance each other within that would be overlooked.
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
"""Inputs of a group at first, where nobody knows which of them move anything."""

STILL_GROUP = 64
"""The same of inputs that moved nothing when they were measured before."""

STILL = 0.2
"""Percent of each row by which a group may move it and count as moving nothing."""

SINGLY = {"scenario"}
"""Kinds of inputs that are moved one at a time from the start."""

Group = tuple[Move, ...]


@dataclass
class Search:
    """The groups of inputs of one figure that are left to move, and what was found so far.

    Args:
        figure: The name of the figure.
        nominal: The rows with nothing moved.
        watched: The rows whose changes are wanted.
        seconds: How long the simulation takes.
    """

    figure: str
    nominal: Mapping[str, float]
    watched: frozenset[str]
    seconds: float
    left: list[Group] = field(default_factory=list)
    running: int = 0
    changes: dict[str, dict[str, float]] = field(default_factory=dict)
    """Percent by which rows change, by the name of the input that was moved by 10 %."""
    refused: dict[str, str] = field(default_factory=dict)

    def add(self, moves: Iterable[Move], *, movers: set[str], still: set[str]) -> None:
        """Adds inputs to move.

        Args:
            moves: Their moves.
            movers: Inputs that are known to move something, which are moved singly.
            still: Inputs that moved nothing before, which are moved in large groups.
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
        """Takes what came of moving a group."""
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
        """Whether all rows are there, and those that are watched moved next to nothing."""
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
        """Seconds that what is left takes on one processor, about."""
        expected = sum(math.log2(len(group)) * 2 + 1 for group in self.left)
        return (expected + self.running) * self.seconds
