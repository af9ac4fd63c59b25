"""Calculates confidence intervals of the means of a few runs."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist, fmean, stdev

CONFIDENCE = 0.95
"""The share of intervals that contain the true mean, if the values have a normal distribution."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The mean of `count` runs and its confidence interval, `mean` ± `half_width`.

    The half width is calculated with Student's t distribution, because the standard deviation is
    estimated from the same few runs. It is `None` for a single run.
    """

    count: int
    mean: float
    half_width: float | None
    deviation: float | None
    least: float
    most: float

    @classmethod
    def of(cls, values: list[float]) -> Interval:
        """The mean and confidence interval of some values; there must be at least one value."""
        count, mean = len(values), fmean(values)
        if count == 1:
            return cls(1, mean, None, None, mean, mean)
        deviation = stdev(values)
        half = student_t(count - 1) * deviation / sqrt(count)
        return cls(count, mean, half, deviation, min(values), max(values))


_TABLE = (
    "12.706205 4.302653 3.182446 2.776445 2.570582 2.446912 2.364624 2.306004 2.262157 2.228139"
    " 2.200985 2.178813 2.160369 2.144787 2.131450 2.119905 2.109816 2.100922 2.093024 2.085963"
    " 2.079614 2.073873 2.068658 2.063899 2.059539 2.055529 2.051831 2.048407 2.045230 2.042272"
)
"""Quantiles of Student's t for 1 to 30 degrees of freedom, at `CONFIDENCE`."""


def student_t(freedom: int) -> float:
    """The t whose magnitude a Student variable exceeds with the probability 1 - `CONFIDENCE`.

    Above 30 degrees of freedom, the value is calculated by the first terms of the expansion in
    Abramowitz, Stegun: "Handbook of Mathematical Functions", 26.7.5, which are accurate to 2e-6.
    """
    if freedom <= len(known := _TABLE.split()):
        return float(known[freedom - 1])
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    first: float = (z**3 + z) / 4
    second: float = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third: float = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
