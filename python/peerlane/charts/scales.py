"""Makes scales, axes and labels that do not overlap, for values that are known in advance."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from peerlane.charts.lettering import widest
from peerlane.charts.names import LONG, SHORT, short_names
from peerlane.printable import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane.charts.chart import Spec

BYTES = (
    "datum.value >= 1073741824 ? format(datum.value / 1073741824, '.4~g') + ' GiB' :"
    " datum.value >= 1048576 ? format(datum.value / 1048576, '.4~g') + ' MiB' :"
    " datum.value >= 1024 ? format(datum.value / 1024, '.4~g') + ' KiB' :"
    " format(datum.value, '.4~g') + ' B'"
)
"""The expression for the label of a size in bytes."""

SIGNED = "datum.value === 0 ? '0' : format(datum.value, '+~g')"
"""The expression for the label of an error, with its sign."""

NARROW = "narrow"
"""The parameter of a specification that is true on a narrow page."""

_MOST_TICKS = 6
_FONT = 11
"""The size of the font of labels."""
_SPARE = 1.1
"""The largest ratio of the width of a reader's font to the expected width."""
_LETTER = 6.4
"""The largest width of a letter of a label, in pixels."""


class Scale:
    """The vertical scale of a plot whose values and height are known in advance."""

    def __init__(self, values: Sequence[float], height: int, *, log: bool = False) -> None:
        self.height = height
        shown = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
        low, high = (min(shown), max(shown)) if shown else (0.0, 1.0)
        self.log = log and low > 0
        self.low: float
        self.high: float
        if self.log:
            spare = max((high / low) ** 0.06, 1.1)
            self.low, self.high = low / spare, high * spare
        else:
            self.low = min(0.0, 1.08 * low)
            self.high = 1.08 * high if high > 0 else -0.08 * low or 1.0

    @property
    def spec(self) -> Spec:
        """The scale of a Vega-Lite channel."""
        kind: Spec = {"type": "log"} if self.log else {}
        return kind | {"domain": [self.low, self.high], "nice": False}

    @property
    def axis(self) -> Spec:
        """The axis of a Vega-Lite channel with few ticks, at round values if it is logarithmic."""
        if not self.log:
            return {"title": None, "tickCount": 4}
        return {"title": None, "values": round_values(self.low, self.high)}

    def pixels(self, value: float) -> float:
        """The distance of a value from the bottom."""
        if self.log:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return share * self.height

    def value(self, pixels: float) -> float:
        """The value at a distance from the bottom."""
        share = pixels / self.height
        if self.log:
            return self.low * math.pow(self.high / self.low, share)
        return self.low + share * (self.high - self.low)

    def apart(self, values: Sequence[float], gap: float = 13) -> list[float]:
        """Values near the given values, at which labels of these values do not overlap."""
        places = [self.pixels(value) for value in values]
        order = sorted(range(len(places)), key=places.__getitem__)
        groups = [[places[index], 1.0] for index in order]
        merged: list[list[float]] = []
        for centre, count in groups:
            merged.append([self._within(centre, count, gap), count])
            while len(merged) > 1 and (
                merged[-1][0] - merged[-2][0] < gap * (merged[-1][1] + merged[-2][1]) / 2
            ):
                (one, first), (other, second) = merged[-2:]
                both = first + second
                between = self._within((one * first + other * second) / both, both, gap)
                merged[-2:] = [[between, both]]
        spread = [
            centre + gap * (index - (count - 1) / 2)
            for centre, count in merged
            for index in range(int(count))
        ]
        found = [0.0] * len(values)
        for index, place in zip(order, spread, strict=True):
            found[index] = self.value(place)
        return found

    def _within(self, centre: float, count: float, gap: float) -> float:
        """The centre of a group of labels, a gap apart, moved until all are within the plot."""
        half = gap * (count - 1) / 2
        return min(max(centre, half), self.height - half)


def round_values(low: float, high: float) -> list[float]:
    """A few round values between two others, for a logarithmic axis."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        found = [step * 10.0**decade for decade in decades for step in steps]
        shown = [value for value in found if low <= value <= high]
        if len(shown) <= _MOST_TICKS:
            break
    return shown


def sizes(values: Sequence[float], *, log: bool) -> Spec:
    """The horizontal axis of sizes in bytes; ticks of a logarithmic axis are powers of two."""
    marks = ticks(values, log=log)
    if log:
        first, last = math.ceil(math.log2(min(values))), math.floor(math.log2(max(values)))
        step = -(-(last - first + 1) // _MOST_TICKS)
        marks = {"values": [2.0**power for power in range(first, last + 1, step)]}
    return marks | {"labelExpr": BYTES}


def ticks(values: Sequence[float], *, log: bool) -> Spec:
    """The ticks of a horizontal axis: the values, if there are few or if their steps are even."""
    known = sorted(set(values))
    if not log:
        is_whole = all(value == int(value) for value in known)
        is_short = is_whole and len(known) <= 2 * _MOST_TICKS
        return {"values": known, "format": "~g"} if is_short else {}
    known = [value for value in known if value > 0]
    if not is_geometric(known):
        return {"values": round_values(known[0], known[-1])}
    while len(known) > _MOST_TICKS:
        known = known[::2]
    return {"values": known}


def rows(
    field: str, names: Sequence[str], scale: Literal["band", "point"], padding: float, **axis: bool
) -> Spec:
    """The vertical channel of a plot of rows, whose names are left of the plot in the given order.

    A name is whole unless it is very long. A very long name is shortened in its middle, and so is a
    name of medium length on a narrow page.
    """
    wide, narrow = short_names(names, LONG), short_names(names, SHORT)
    extents = [_extent(list(shown.values())) for shown in (narrow, wide)]
    limit: Spec | int = extents[1]
    labels: Spec = {}
    if wide != narrow:
        limit = {"expr": f"{NARROW} ? {extents[0]} : {extents[1]}"}
        forms = " : ".join(
            json.dumps({printable(one): printable(shown[one]) for one in names})
            for shown in (narrow, wide)
        )
        labels = {"labelExpr": f"({NARROW} ? {forms})[datum.value]"}
    elif any(wide[one] != one for one in names):
        labels = {"labelExpr": f"{json.dumps(dict(wide))}[datum.value]"}
    extent = dict.fromkeys(("minExtent", "maxExtent", "labelLimit"), limit)
    return {
        "field": field,
        "type": "nominal",
        "sort": list(names),
        "scale": {"type": scale, "padding": padding},
        "axis": {"title": None} | extent | labels | axis,
    }


def beside(names: Sequence[str]) -> tuple[int, int]:
    """The width of the names beside a panel of rows, in pixels, on a wide and a narrow page."""
    wide, narrow = (
        max(8, _extent(list(short_names(names, most).values())) - 30) for most in (LONG, SHORT)
    )
    return wide, narrow


def _extent(names: Sequence[str]) -> int:
    """The width of the names left of a plot, in pixels."""
    return round(_SPARE * widest(names, _FONT)) + 8


def letters(labels: Sequence[str]) -> int:
    """The width of the longest label with the space before it, in pixels."""
    return round(_LETTER * max(map(len, labels), default=0)) + 12


def is_geometric(values: Sequence[float]) -> bool:
    """Whether values, in order, grow by a factor rather than by a constant step."""
    known = sorted(set(values))
    if len(known) < 3 or known[0] <= 0:  # noqa: PLR2004 - two are a factor of anything
        return False
    if math.isclose(known[-1] - known[-2], known[1] - known[0]):
        return False
    steps = [after / before for before, after in pairwise(known)]
    return min(steps) >= 1.4 and max(steps) <= 1.5 * min(steps)  # noqa: PLR2004 - about the same
