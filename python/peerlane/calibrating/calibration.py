"""Defines the outcome of a calibration: fitted values, their certainty, and refused keys."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - pydantic reads it
from dataclasses import dataclass
from typing import Any

from peerlane.results.document import Document, encode

Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Judged(Document):
    """A measured point, and the number that is simulated with the fitted values.

    `left_out_percent` is the error that the point would have if it were not used for the fit,
    estimated from the derivatives at the fit. It is `None` if only this point determines a key, and
    for points that are held back.
    """

    number: int
    metric: str
    settings: Mapping[str, Any]
    measured: float
    simulated: float
    error_percent: float
    left_out_percent: float | None
    held_back: bool


@dataclass(frozen=True, slots=True)
class Neighbour(Document):
    """Another value of a key, and the misfit if all other keys are fitted again.

    `alike` is whether the noise of the points alone can explain that the misfit is larger.
    """

    value: Value
    misfit_percent: float
    alike: bool = False


@dataclass(frozen=True, slots=True)
class Fitted(Document):
    """A key with its value in the scenario, and the fitted value; `None` if the key is refused.

    `low` and `high` are the ends of the 95 % confidence interval. A whole number, or a key with
    named values, has `neighbours` instead.
    """

    key: str
    before: Value
    value: Value
    low: Value = None
    high: Value = None
    neighbours: tuple[Neighbour, ...] = ()
    at_end: bool = False
    """Whether the fitted value is at an end of the range that was searched."""


@dataclass(frozen=True, slots=True)
class Refusal(Document):
    """Keys that the points do not determine, and the reason."""

    keys: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Calibration(Document):
    """Keys of a scenario that were fitted to measured points.

    `misfit_percent` is the root mean square of the relative errors of the points that were used for
    the fit. `predicted_percent` is the root mean square of the errors of points that were held
    back; if no point was held back, of the errors `left_out_percent`. `noise_percent` is the noise
    of a point, from which confidence intervals are calculated: the root of the sum of the squared
    errors, divided by the number of points minus the number of keys. If there are no more points
    than keys, the noise is assumed.
    """

    name: str
    values: tuple[Fitted, ...]
    refused: tuple[Refusal, ...]
    points: tuple[Judged, ...]
    misfit_percent: float
    predicted_percent: float | None
    noise_percent: float
    noise_is_assumed: bool
    simulations: int

    @property
    def settings(self) -> dict[str, Value]:
        """The fitted values by their keys, in the form of `Fabric.override` and `--set`."""
        return {one.key: one.value for one in self.values if one.value is not None}

    def to_json(self) -> dict[str, Any]:
        """The calibration as the command line writes it."""
        return encode(self)
