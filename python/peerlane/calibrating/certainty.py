"""Estimates the certainty of fitted values, and finds keys that the points do not distinguish."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from peerlane.calibrating.calibration import Refusal
from peerlane.figures.intervals import student_t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane.calibrating.fit import Fit, Search

ASSUMED = 0.01
"""The noise of a point that is assumed if there are no more points than keys."""
_LEAST_NOISE = 1e-4
"""The least noise of a point, because simulated numbers are rounded."""
_MOVES = 0.005
"""A key counts as effective if its range changes any point at least by this relative amount."""
_APART = 0.03
"""If a singular value of the derivatives, with columns of length 1, is smaller than this, the
points do not distinguish keys."""
_SAME = 0.01
"""If the costs of fits differ by less than this share of the squared noise, the fits are equal."""
_TAKES_PART = 0.3
_DIFFERS = 0.05


@dataclass(frozen=True, slots=True)
class Certainty:
    """The noise of the points, and the half width of the 95 % interval of each fitted number."""

    noise: float
    is_assumed: bool
    half_widths: tuple[float | None, ...]
    refusals: tuple[Refusal, ...]
    left_out: tuple[float | None, ...]
    """The residual that each point would have if it were not used for the fit."""
    enough: float
    """The largest cost of a fit that noise alone can explain."""

    def is_alike(self, fit: Fit) -> bool:
        """Whether noise alone can explain that a fit is worse than the best fit."""
        return fit.cost < self.enough


def certainty(
    search: Search, best: Fit, others: Sequence[Fit], around: Sequence[tuple[int, Fit]]
) -> Certainty:
    """Estimates the certainty of a fit from the derivatives at the fit.

    Args:
        search: The search with the keys.
        best: The best fit.
        others: The best fits with other combinations of named values.
        around: The fits in which one whole number is changed by one, each with the position of its
            key.
    """
    slopes = search.slopes(best)
    freedom = len(best.residuals) - len(search.numeric) - len(search.chosen)
    noise = max(sqrt(best.cost / freedom), _LEAST_NOISE) if freedom > 0 else ASSUMED
    t = student_t(freedom) if freedom > 0 else 2.0
    refusals, moving = [], []
    lengths = np.linalg.norm(slopes, axis=0)
    for place, (key, reach) in enumerate(zip(search.numeric, search.reach(best), strict=True)):
        if reach < _MOVES:
            refusals.append(_still(key.path))
        elif lengths[place] * (key.high - key.low) < t * noise or any(
            of == place and fit.cost - best.cost < _SAME * noise**2 for of, fit in around
        ):
            refusals.append(_weak(key.path, key.written(float(best.numbers[place]))))
        else:
            moving.append(place)
    _, singular, right = np.linalg.svd(slopes[:, moving] / lengths[moving], full_matrices=True)
    singular = np.pad(singular, (0, len(moving) - len(singular)))
    confused: set[int] = set()
    for value, direction in zip(singular, right, strict=True):
        part = [moving[n] for n, share in enumerate(direction) if abs(share) > _TAKES_PART]
        if value < _APART and len(part) > 1:
            confused |= set(part)
            refusals.append(_apart([search.numeric[place].path for place in part]))
    enough = best.cost + (t * noise) ** 2
    refusals += [_alike(search, best, other) for other in others if other.cost < enough]
    sure = [place for place in moving if place not in confused]
    inverse = np.linalg.pinv(slopes[:, sure])
    widths = t * noise * np.linalg.norm(inverse, axis=1)
    half: list[float | None] = [None] * len(search.numeric)
    for place, width in zip(sure, widths, strict=True):
        half[place] = float(width)
    leverage = np.einsum("ij,ji->i", slopes[:, moving], np.linalg.pinv(slopes[:, moving]))
    left_out = tuple(
        float(residual / (1 - share)) if share < 0.99 else None  # noqa: PLR2004 - of it alone
        for residual, share in zip(best.residuals, leverage, strict=True)
    )
    return Certainty(noise, freedom <= 0, tuple(half), _merged(refusals), left_out, enough)


def _still(path: str) -> Refusal:
    return Refusal(
        (path,),
        f"{path} moves no point: measure something that it limits, or leave it out of --free",
    )


def _weak(path: str, value: object) -> Refusal:
    return Refusal(
        (path,),
        f"{path} moves the points by less than their noise around {value}, so that any value there"
        " fits: measure something that it limits, or leave it out of --free",
    )


def _apart(paths: Sequence[str]) -> Refusal:
    named = " and ".join(paths)
    return Refusal(
        tuple(paths),
        f"{named} cannot be distinguished by these points: more of one has the effect of less of"
        " another on each; measure a point that moves with one of them alone, such as a transfer of"
        " another size or direction or with other tags, or give one of them by --set",
    )


def _alike(search: Search, best: Fit, other: Fit) -> Refusal:
    """The refusal of keys with named values, because other values fit as well as the best."""
    chosen = [
        (key.path, one, two)
        for key, one, two in zip(search.chosen, best.choices, other.choices, strict=True)
        if one != two
    ]
    moved = [
        (key.path, key.written(one), key.written(two))
        for key, one, two in zip(search.numeric, best.numbers, other.numbers, strict=True)
        if abs(one - two) > _DIFFERS * abs(one) + 0.5 * key.is_whole
    ]
    paths = tuple(path for path, _, _ in (*chosen, *moved))
    named = " and ".join(paths)
    left, right = (
        ", ".join(
            f"{path.rpartition('.')[2]} {values[side]}" for path, *values in (*chosen, *moved)
        )
        for side in (0, 1)
    )
    cannot = "cannot be distinguished" if len(paths) > 1 else "cannot be found"
    return Refusal(
        paths,
        f"{named} {cannot} by these points: {left} and {right} fit alike; measure a rate at another"
        " size that this limits, or name fewer values in --free",
    )


def _merged(refusals: Sequence[Refusal]) -> tuple[Refusal, ...]:
    """The refusals, reduced to one refusal for each set of keys."""
    return tuple({frozenset(one.keys): one for one in reversed(refusals)}.values())[::-1]
