"""Searches for the values of keys with which a scenario is closest to the measured points.

Keys have numbers or named values (choices). For each combination of choices, a coarse sample of the
numbers gives starting points. From these points, SciPy's least squares search for the minimum;
residuals between two whole numbers are interpolated. At the end, each whole number is rounded, and
tried one higher and one lower, each time with a new fit of the other numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import ceil, floor, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import least_squares
from scipy.stats import qmc

from peerlane.calibrating.key import CalibrationError
from peerlane.calibrating.model import FAILED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from peerlane.calibrating.key import Key
    from peerlane.calibrating.model import Model

    Numbers = NDArray[np.float64]

_MOST_COMBINATIONS = 256
_SAMPLE = 64
"""The number of points of the coarse sample, for all combinations of choices together; each
combination has at least `_LEAST` points."""
_LEAST = 8
_BEGINNINGS = 2
"""The number of points from which least squares start, for each combination of choices."""
_STEP = 0.05
"""The relative step for derivatives; it is large, because any small change of a key also shifts the
phases of packets on links."""
_LEAST_STEP = 0.01
"""The least step for derivatives, as a share of a key's range."""
_WIDE = 4.0
"""The factor by which the steps for derivatives are larger when the certainty of a fit is
judged."""
_TOLERANCE = 1e-4
_MOST_STEPS = 12
_WORTH = 25.0
"""If the cost of a combination of choices is this many times the least cost, its whole numbers are
not rounded."""
_SAMPLED, _RELAXED = 0.2, 0.8
"""The progress, from 0 to 1, after the coarse sample, and after least squares."""
_NO_COST = 1e-6
"""A difference of costs below this is due to rounding."""
_MOST_ROUNDS = 50


@dataclass(frozen=True, slots=True)
class Fit:
    """A set of values of the keys, the choices and the numbers, and the residuals with them."""

    choices: tuple[Any, ...]
    numbers: Numbers
    residuals: Numbers

    @property
    def cost(self) -> float:
        """The sum of the squares of the residuals."""
        return float(self.residuals @ self.residuals)


class Search:
    """The search for the values of a model's keys, which are choices or numbers."""

    def __init__(self, model: Model, keys: Sequence[Key]) -> None:
        self.chosen = [key for key in keys if key.choices]
        self.numeric = [key for key in keys if not key.choices]
        self._model = model
        self._low: Numbers = np.array([key.low for key in self.numeric])
        self._span: Numbers = np.array([key.high - key.low for key in self.numeric])
        count = prod(len(key.choices) for key in self.chosen)
        if count > _MOST_COMBINATIONS:
            raise CalibrationError(
                f"{count} combinations of choices are more than {_MOST_COMBINATIONS}; name fewer"
                " values, such as --free devices.d.datapath=16 B,32 B"
            )

    def values(self, choices: Sequence[Any], numbers: Sequence[float] | Numbers) -> dict[str, Any]:
        """The values of all keys, in the form of a scenario."""
        chosen = dict(zip((key.path for key in self.chosen), choices, strict=True))
        return chosen | {
            key.path: key.written(float(number))
            for key, number in zip(self.numeric, numbers, strict=True)
        }

    def fits(self, progress: Callable[[float], object]) -> list[Fit]:
        """The best fit of each combination of choices, the best one first.

        Whole numbers of the worst combinations are not rounded.
        """
        relaxed: list[Fit] = []
        sampled = self._sampled()
        for done, (choices, beginnings) in enumerate(sampled, 1):
            fit = self._refined(choices, beginnings[0], is_whole=False)
            if fit.cost > _WORTH * min(map(_cost, relaxed), default=fit.cost) + _NO_COST:
                fits = [self._refined(choices, one, is_whole=False) for one in beginnings[1:]]
                fit = min([fit, *fits], key=_cost)
            relaxed.append(fit)
            progress(_SAMPLED + (_RELAXED - _SAMPLED) * done / len(sampled))
        # A fit with fractional numbers is never worse than a fit with whole numbers.
        found: list[Fit] = []
        for fit in sorted(relaxed, key=_cost):
            is_worth = fit.cost <= _WORTH * min(map(_cost, found), default=fit.cost) + _NO_COST
            found.append(self._whole(fit) if is_worth else fit)
        return sorted(found, key=_cost)

    def neighbours(self, fit: Fit) -> Iterator[tuple[int, Fit]]:
        """Fits with a whole number one lower or one higher, each with the position of its key."""
        for place, key in enumerate(self.numeric):
            for step in (-1, 1) if key.is_whole else ():
                numbers = fit.numbers.copy()
                numbers[place] += step
                if key.low <= numbers[place] <= key.high:
                    yield place, self._refined(fit.choices, numbers, is_whole=True)

    def slopes(self, fit: Fit) -> Numbers:
        """The derivative of each residual by each number; a whole number is changed by one."""
        return self._slopes(fit.choices, fit.numbers, _WIDE)

    def reach(self, fit: Fit) -> Numbers:
        """For each number, the largest change of a residual if it moves to an end of its range."""
        ends = [
            np.where(np.arange(len(self.numeric)) == place, end, fit.numbers)
            for place, key in enumerate(self.numeric)
            for end in (key.low, key.high)
        ]
        found = [np.abs(one - fit.residuals).max() for one in self._residuals(fit.choices, ends)]
        return np.array([max(pair) for pair in zip(found[::2], found[1::2], strict=True)])

    def _sampled(self) -> list[tuple[tuple[Any, ...], list[Numbers]]]:
        """The best starting numbers for each combination of choices, from one batch of runs."""
        combinations = list(product(*(key.choices for key in self.chosen)))
        drawn = np.zeros((1, 0))
        if self.numeric:
            count = max(_SAMPLE // len(combinations), _LEAST)
            hypercube = qmc.LatinHypercube(len(self.numeric), rng=np.random.default_rng(1))
            # The numbers are squared, so that more of them are small.
            drawn = self._floored(self._low + self._span * hypercube.random(count) ** 2)
        tried = [(choices, numbers) for choices in combinations for numbers in drawn]
        residuals = self._model.residuals([self.values(*one) for one in tried])
        costs = [float(np.square(one).sum()) for one in residuals]
        if all(FAILED in one for one in residuals):
            self._model.check(self.values(*tried[costs.index(min(costs))]))
        found = []
        for place, choices in enumerate(combinations):
            part = costs[place * len(drawn) : (place + 1) * len(drawn)]
            best = sorted(range(len(drawn)), key=part.__getitem__)[:_BEGINNINGS]
            found.append((choices, [drawn[number] for number in best]))
        return found

    def _whole(self, fit: Fit) -> Fit:
        """A fit with whole numbers that no change of one of these numbers by one improves."""
        ends = [
            sorted({floor(number), ceil(number)}) if key.is_whole else [float(number)]
            for key, number in zip(self.numeric, fit.numbers, strict=True)
        ]
        around = [
            self._refined(fit.choices, np.array(one, float), is_whole=True)
            for one in product(*ends)
        ]
        best = min(around, key=lambda one: one.cost)
        for _ in range(_MOST_ROUNDS):
            better = min((one for _, one in self.neighbours(best)), key=_cost, default=best)
            if better.cost >= best.cost:
                break
            best = better
        return best

    def _refined(self, choices: tuple[Any, ...], start: Numbers, *, is_whole: bool) -> Fit:
        """A least-squares fit from a start; with `is_whole`, whole numbers are not changed."""
        free = np.array([not (is_whole and key.is_whole) for key in self.numeric], bool)
        if not free.any():
            return Fit(choices, start, self._residuals(choices, [start])[0])

        def numbers(shares: Numbers) -> Numbers:
            made = start.copy()
            made[free] = (self._low + self._span * np.clip(_put(free, shares), 0, 1))[free]
            return made

        def slopes(shares: Numbers) -> Numbers:
            # The derivatives are calculated at the whole numbers below, which are already
            # simulated.
            found: Numbers = self._slopes(choices, self._floored(numbers(shares)))
            return (found * self._span)[:, free]

        found = least_squares(
            lambda shares: self._residuals(choices, [numbers(shares)])[0],
            np.clip(((start - self._low) / self._span)[free], 0.0, 1.0),
            jac=slopes,
            bounds=(0.0, 1.0),
            xtol=_TOLERANCE,
            ftol=_TOLERANCE,
            max_nfev=_MOST_STEPS,
        )
        return Fit(choices, numbers(found.x), found.fun)

    def _slopes(self, choices: tuple[Any, ...], numbers: Numbers, wide: float = 1.0) -> Numbers:
        """The derivatives by all numbers: a whole number is increased by one, others by a step."""
        steps = []
        for place, key in enumerate(self.numeric):
            little = max(_STEP * abs(numbers[place]), _LEAST_STEP * self._span[place])
            step = 1.0 if key.is_whole else wide * little
            steps.append(step if numbers[place] + step <= key.high else -step)
        moved = [numbers + step * np.eye(len(steps))[place] for place, step in enumerate(steps)]
        here, *there = self._residuals(choices, [numbers, *moved])
        columns = [(one - here) / step for one, step in zip(there, steps, strict=True)]
        return np.array(columns).T.reshape(len(here), len(steps))

    def _residuals(self, choices: tuple[Any, ...], several: Sequence[Numbers]) -> list[Numbers]:
        """The residuals; between whole numbers, they are interpolated."""
        corners = [list(self._corners(numbers)) for numbers in several]
        values = [self.values(choices, one) for around in corners for one, _ in around]
        found = iter(self._model.residuals(values))
        return [
            np.sum([weight * np.array(next(found)) for _, weight in around], axis=0)
            for around in corners
        ]

    def _corners(self, numbers: Numbers) -> Iterator[tuple[list[float], float]]:
        """The neighbouring points that have whole numbers, with their weights for interpolation."""
        ends = [
            [(below := floor(number), below + 1 - number), (below + 1, number - below)]
            if key.is_whole
            else [(float(number), 1.0)]
            for key, number in zip(self.numeric, numbers, strict=True)
        ]
        for corner in product(*ends):
            if (weight := prod(share for _, share in corner)) > 0:
                yield [number for number, _ in corner], weight

    def _floored(self, several: Numbers) -> Numbers:
        whole = np.array([key.is_whole for key in self.numeric], bool)
        made: Numbers = np.where(whole, np.floor(several), several)
        return made


def _put(free: NDArray[np.bool_], shares: Numbers) -> Numbers:
    made = np.zeros(len(free))
    made[free] = shares
    return made


def _cost(fit: Fit) -> float:
    return fit.cost
