"""Reads a stored measurement of shapes, and compares it with a new measurement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Gt

from peerlane import _core
from peerlane.benchmark.shapes.measure import Measured, machine
from peerlane.errors import PeerlaneError
from peerlane.results.document import decode_strictly
from peerlane.results.reading import FileError, document_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NOISE = {"instructions": 0.002, "L1 misses": 0.01, "L2 misses": 0.02, "peak memory": 0.02}
"""The relative change of each quantity up to which a change is noise of the measurement."""
_FEWEST_RUNS = 3
"""The least number of runs from which the range of times can be seen. Our choice."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The properties of the machine on which shapes were measured."""

    processor: str
    cores: int | None
    system: str

    def __str__(self) -> str:
        return f"{self.processor}, {self.cores} cores, {self.system}"


@dataclass(frozen=True, slots=True)
class Shapes:
    """A measurement of shapes. Files of earlier versions have no profile of the build."""

    machine: Machine
    divisor: Annotated[int, Gt(0)]
    runs: tuple[Measured, ...]
    build: str | None = None
    changes: tuple[dict[str, Any], ...] = ()


class BaselineError(PeerlaneError, ValueError):
    """A baseline cannot be used for a comparison; the message has the reason."""


@dataclass(frozen=True, slots=True)
class Change:
    """A quantity of a shape in the earlier and the new measurement: nanoseconds, counts or bytes.

    `is_noise` is true if two measurements of one version can differ as much.
    """

    shape: str
    quantity: str
    before: float
    now: float
    is_noise: bool

    @property
    def ratio(self) -> float:
        """The new value divided by the old one; more than 1 is worse."""
        return self.now / self.before

    def to_json(self) -> dict[str, Any]:
        """The change as the command line writes it."""
        return {
            "shape": self.shape,
            "quantity": self.quantity,
            "before": self.before,
            "now": self.now,
            "ratio": self.ratio,
            "is_noise": self.is_noise,
        }


def read_baseline(path: str, divisor: int) -> tuple[str | None, dict[str, Measured]]:
    """Reads a stored measurement, which must be of this machine and of the same part of the work.

    Returns:
        The Cargo profile of the package that was measured, or `None` in a file of an earlier
        version; and the measurements by the names of the shapes.

    Raises:
        BaselineError: The file is no measurement of shapes, or was measured on another machine,
            with another Cargo profile, or with another part of the work.
        OSError: The file cannot be read.
    """
    text = text_of(path)
    try:
        document_of(text, path, "shapes")
        stored = decode_strictly(Shapes, text)
    except FileError as error:
        raise BaselineError(str(error)) from None
    here = Machine(**machine())
    if stored.machine != here:
        raise BaselineError(
            f"{path} was measured on another machine ({stored.machine}; this one is {here});"
            " times of two machines do not compare: measure the earlier version here with --save"
        )
    if stored.build not in {None, _core.BUILD_PROFILE}:
        raise BaselineError(
            f"{path} was measured with a build of the profile {stored.build!r}, and this is one of"
            f" {_core.BUILD_PROFILE!r}: build both alike, and measure the earlier one with --save"
        )
    if stored.divisor != divisor:
        other = "without" if divisor > 1 else "with"
        raise BaselineError(f"{path} was measured {other} --quick; measure {other} it now, too")
    return stored.build, {run.shape: run for run in stored.runs}


def changes(before: dict[str, Measured], now: Iterable[Measured]) -> list[Change]:
    """The quantities of all shapes that both measurements have.

    Raises:
        BaselineError: A shape had another amount of work in the earlier measurement.
    """
    now = list(now)
    for one in now:
        if one.shape in before and before[one.shape].work != one.work:
            raise BaselineError(
                f"the stored measurement of {one.shape} has {before[one.shape].work} units of work,"
                f" and this one {one.work}: measure the earlier version here with --save"
            )
    return [
        change for one in now if one.shape in before for change in _of_shape(before[one.shape], one)
    ]


def _of_shape(before: Measured, now: Measured) -> Iterator[Change]:
    """The quantities of a shape that both measurements have."""
    first, second = before.every_wall_seconds, now.every_wall_seconds
    # A difference of times is no noise if the slowest run of one measurement is faster than the
    # fastest run of the other one. The range of one or two runs is not known.
    overlap = min(first) <= max(second) and min(second) <= max(first)
    is_noise = overlap or min(len(first), len(second)) < _FEWEST_RUNS
    yield Change(now.shape, "time", before.ns_per_unit, now.ns_per_unit, is_noise)
    events = before.events / before.work, now.events / now.work
    yield Change(now.shape, "events", *events, is_noise=events[0] == events[1])
    counted = _counted(before, now)
    counted.append(("peak memory", before.peak_bytes, now.peak_bytes))
    for quantity, old, new in counted:
        if old is not None and new is not None and old > 0:
            is_noise = abs(new / old - 1) <= _NOISE[quantity]
            yield Change(now.shape, quantity, old, new, is_noise)


def _counted(before: Measured, now: Measured) -> list[tuple[str, float | None, float | None]]:
    """Instructions and cache misses for each unit of work, if both measurements have them."""
    if before.valgrind and now.valgrind:
        return [
            (quantity, getattr(before.valgrind, key), getattr(now.valgrind, key))
            for quantity, key in (
                ("instructions", "instructions"),
                ("L1 misses", "l1_misses"),
                ("L2 misses", "l2_misses"),
            )
        ]
    if before.instructions is None or now.instructions is None:
        return []
    return [("instructions", before.instructions_per_unit, now.instructions_per_unit)]
