"""Confidence intervals of means of a few runs."""

from __future__ import annotations

from dataclasses import dataclass
from math import atan, cos, pi, sin, sqrt
from statistics import fmean, stdev

CONFIDENCE = 0.95
"""The share of such intervals that have the true mean, if values are distributed normally."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The mean of `count` runs and its confidence interval, `mean` ± `half_width`.

    The half width is by Student's t distribution, as the deviation is estimated from the same few
    runs; `None` for a single one.
    """

    count: int
    mean: float
    half_width: float | None
    deviation: float | None
    least: float
    most: float

    @classmethod
    def of(cls, values: list[float]) -> Interval:
        """The interval of values, of which there is at least one."""
        count, mean = len(values), fmean(values)
        if count == 1:
            return cls(1, mean, None, None, mean, mean)
        deviation = stdev(values)
        half = student_t(count - 1, CONFIDENCE) * deviation / sqrt(count)
        return cls(count, mean, half, deviation, min(values), max(values))


def student_t(freedom: int, confidence: float) -> float:
    """The t that a variable of Student's distribution exceeds in magnitude with 1 - `confidence`.

    Args:
        freedom: Degrees of freedom, at least 1.
        confidence: Greater than 0 and less than 1.
    """
    low, high = 0.0, 1.0
    while _within(high, freedom) < confidence:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < confidence else (low, middle)
    return (low + high) / 2


def _within(t: float, freedom: int) -> float:
    """The probability that a variable of Student's distribution is from -t to t.

    Abramowitz, Stegun: "Handbook of Mathematical Functions", 26.7.3 (odd) and 26.7.4 (even).
    """
    angle = atan(t / sqrt(freedom))
    is_odd = freedom % 2
    term = cos(angle) if is_odd else 1.0
    total = 0.0
    for number in range(is_odd, freedom - 1, 2):
        total += term
        term *= (number + 1) / (number + 2) * cos(angle) ** 2
    if is_odd:
        return 2 / pi * (angle + sin(angle) * total)
    return sin(angle) * total
