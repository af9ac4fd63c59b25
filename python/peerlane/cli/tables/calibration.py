"""Makes the tables of a calibration: the measured points, and the fitted keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from peerlane.cli.tables.measured import named
from peerlane.cli.tables.sheet import Sheet
from peerlane.figures.headings import heading
from peerlane.formats import NONE

if TYPE_CHECKING:
    from peerlane.calibrating.calibration import Calibration, Fitted, Judged


_POOR = 10.0
"""The error in percent above which no values of the keys explain the points."""


def calibration(found: Calibration) -> RenderableType:
    """The measured points beside the simulated numbers, the fitted keys, and their accuracy."""
    points = Sheet("", "point")
    points.numbers("measured", "simulated", "error", "without it")
    points.fold("measured", "simulated")
    for one in found.points:
        words = heading(one.metric)
        points.add_row(
            str(one.number),
            named(one.metric, one.settings),
            words.text(one.measured),
            words.text(one.simulated),
            _percent(one.error_percent),
            _without(one),
        )
    keys = Sheet("key")
    keys.numbers("before", "fitted")
    keys.add_column("certainty", "prose")
    for value in found.values:
        fitted = "refused" if value.value is None else _shown(value.value)
        keys.add_row(value.key, _shown(value.before), fitted, certainty(value))
    noise = f"{found.noise_percent:.2f} %" + (" (assumed)" if found.noise_is_assumed else "")
    said = f"{found.name}: the fit leaves {found.misfit_percent:.2f} % of error"
    if found.predicted_percent is not None:
        held = any(one.held_back for one in found.points)
        which = "points that were held back" if held else "a point that is left out"
        said += f", and predicts {which} within {found.predicted_percent:.2f} %"
    said += f"; noise {noise}"
    if found.misfit_percent > _POOR:
        said += ". No values of these keys explain the points: something else differs"
    return Group(Text(said, "bold"), "", points, "", keys)


def certainty(one: Fitted) -> str:
    """The certainty of a fitted value, in words."""
    end = "at the end of the range: --free KEY=LOW..HIGH has another" if one.at_end else ""
    if one.low is not None:
        said = f"{_shown(one.low)} to {_shown(one.high)}, 95 % confidence"
    else:
        around = [
            f"{_shown(near.value)}: {near.misfit_percent:.1f} %" + " (may fit)" * near.alike
            for near in one.neighbours
        ]
        said = "others leave " + ", ".join(around)
    return "; ".join(filter(None, ["" if one.value is None else said, end]))


def _without(one: Judged) -> str:
    if one.held_back:
        return "held back"
    return "needed" if one.left_out_percent is None else _percent(one.left_out_percent)


def _percent(error: float) -> str:
    return f"{round(error, 2) + 0.0:+.2f} %"  # removes the sign of a zero


def _shown(value: object) -> str:
    """A value as text, a number with few digits."""
    if value is None:
        return NONE
    number, _, unit = str(value).partition(" ")
    try:
        short = number if len(number) <= 5 else f"{float(number):.4g}"  # noqa: PLR2004
    except ValueError:
        return str(value)
    return f"{short} {unit}".strip()
