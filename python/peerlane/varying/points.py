"""Makes the points of a sweep: every combination of values, or a sample."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from math import prod
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane.varying.axes import Axis

MOST_POINTS = 1_000_000
"""The largest number of points of a sweep; more points are probably a typing error."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample of `count` points, drawn independently of each other or by a Latin hypercube.

    A Latin hypercube (McKay, Beckman, Conover: "A comparison of three methods for selecting values
    of input variables", 1979) divides each axis into `count` equal parts and draws one value from
    each part.
    """

    kind: str
    count: int

    @classmethod
    def read(cls, text: str) -> Sample:
        """Reads `random:N` or `lhs:N`.

        Raises:
            ValueError: The text has neither form.
        """
        match = re.fullmatch(r"(random|lhs):(\d+)", text.strip())
        if match is None or not 1 <= int(match[2]) <= MOST_POINTS:
            raise ValueError(
                f"{text!r} is no sample; write random:N or lhs:N, with 1 to {MOST_POINTS:,} points"
            )
        return cls(match[1], int(match[2]))

    def points(self, axes: Sequence[Axis], seed: int) -> list[dict[str, Any]]:
        """The points of the sample, which are always the same for a seed."""
        draw = Random(seed)  # noqa: S311 - a sample, no secret
        columns = []
        for axis in axes:
            if self.kind == "random":
                shares = [draw.random() for _ in range(self.count)]
            else:
                shares = [(part + draw.random()) / self.count for part in range(self.count)]
                draw.shuffle(shares)
            columns.append([axis.at(min(share, 1 - 1e-12)) for share in shares])
        keys = [axis.key for axis in axes]
        return [dict(zip(keys, values, strict=True)) for values in zip(*columns, strict=True)]


def combinations(axes: Sequence[Axis]) -> list[dict[str, Any]]:
    """Every combination of the values of the axes; the value of the last axis changes fastest.

    Raises:
        ValueError: There are too many combinations, or an axis has no step.
    """
    grids = [axis.grid() for axis in axes]
    count = prod(map(len, grids))
    if count > MOST_POINTS:
        raise ValueError(
            f"{count:,} points are more than {MOST_POINTS:,}; write fewer values, or draw a sample"
        )
    keys = [axis.key for axis in axes]
    return [dict(zip(keys, values, strict=True)) for values in product(*grids)]
