"""A measurement of shapes that was stored, and what has changed since."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerlane import _core
from peerlane.benchmark.shapes.measure import Measured, machine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SCHEMA = "peerlane-shapes/1"
_SAVE = "name a file that `peerlane bench shapes --save` has written"
_NOISE = {"instructions": 0.002, "L1 misses": 0.01, "L2 misses": 0.02, "peak memory": 0.02}
"""Changes up to these shares are noise: of counters, and of the pages that memory is taken in."""
_FEWEST_RUNS = 3
"""Runs of a measurement whose times show a range. Our choice."""
_MOST_BYTES = 1 << 24
"""The longest file that is read: a measurement of all shapes has some kilobytes."""


class BaselineError(ValueError):
    """A baseline that nothing can be compared with; the message says why."""


@dataclass(frozen=True, slots=True)
class Change:
    """A quantity of a shape before and now, in nanoseconds, numbers or bytes.

    `is_noise` says that runs of one version differ as much.
    """

    shape: str
    quantity: str
    before: float
    now: float
    is_noise: bool

    @property
    def ratio(self) -> float:
        """The value now over the one before; more than 1 is worse."""
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
    """The shapes of a stored measurement of this machine with this part of the work.

    Returns:
        The Cargo profile in which the package was built, `None` where an earlier version did not
        store it, and the shapes.

    Raises:
        BaselineError: It cannot be read, is none, or is of another machine, build or other work.
    """
    document = _document(path)
    there, here = document.get("machine"), machine()
    if there != here:
        raise BaselineError(
            f"{path} was measured on another machine ({_told(there)}; this one is {_told(here)});"
            " times of two machines do not compare: measure the earlier version here with --save"
        )
    build = document.get("build")
    if build not in (None, _core.BUILD_PROFILE):
        raise BaselineError(
            f"{path} was measured with a build of the profile {build!r}, and this is one of"
            f" {_core.BUILD_PROFILE!r}: build both alike, and measure the earlier one with --save"
        )
    if document.get("divisor") != divisor:
        other = "without" if divisor > 1 else "with"
        raise BaselineError(f"{path} was measured {other} --quick; measure {other} it now, too")
    runs = document.get("runs")
    if not isinstance(runs, list):
        raise BaselineError(f"{path} is damaged: it has no list of runs; {_SAVE}")
    found = (_measured(path, run) for run in runs)
    return build, {one.shape: one for one in found}


def changes(before: dict[str, Measured], now: Iterable[Measured]) -> list[Change]:
    """The quantities of all shapes that both measurements have.

    Raises:
        BaselineError: A shape had other work before.
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
    # Neither is faster if the fastest run of each is faster than the slowest run of the other, and
    # one or two runs show no range.
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
    """Counts for each unit of work, each by the same means before and now."""
    if before.valgrind and now.valgrind:
        return [
            (quantity, before.valgrind[key], now.valgrind[key])
            for quantity, key in (
                ("instructions", "instructions"),
                ("L1 misses", "l1_misses"),
                ("L2 misses", "l2_misses"),
            )
        ]
    if before.instructions is None or now.instructions is None:
        return []
    return [("instructions", before.instructions_per_unit, now.instructions_per_unit)]


def _document(path: str) -> dict[str, Any]:
    try:
        with Path(path).open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise BaselineError(f"{path}: {(error.strerror or str(error)).lower()}; {_SAVE}") from None
    try:
        document = json.loads(content) if len(content) <= _MOST_BYTES else None
    except (ValueError, RecursionError):
        raise BaselineError(f"{path} is not JSON; {_SAVE}") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise BaselineError(f"{path} is no measurement of shapes; {_SAVE}")
    return document


def _measured(path: str, run: object) -> Measured:
    """One run of a document, with every number of the right kind."""
    fields = run if isinstance(run, dict) else {}
    shape = fields.get("shape")
    if not isinstance(shape, str):
        raise BaselineError(f"{path} is damaged: a run has no shape; {_SAVE}")

    def number(fields: dict[str, Any], key: str) -> float:
        value = fields.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise BaselineError(
                f"{path} is damaged: {key} of {shape} is {value!r}, no number; {_SAVE}"
            )
        return value

    def positive(value: float, key: str) -> float:
        if not 0 < value < float("inf"):
            raise BaselineError(f"{path} is damaged: {key} of {shape} is {value!r}; {_SAVE}")
        return value

    every = fields.get("every_wall_seconds")
    every = every if isinstance(every, list) and every else [None]
    times = [number({"every_wall_seconds": one}, "every_wall_seconds") for one in every]
    valgrind = fields.get("valgrind")
    if valgrind is not None:
        counted = valgrind if isinstance(valgrind, dict) else {}
        valgrind = {key: number(counted, key) for key in ("instructions", "l1_misses", "l2_misses")}
    instructions = fields.get("instructions")
    return Measured(
        shape=shape,
        work=int(positive(number(fields, "work"), "work")),
        events=int(positive(number(fields, "events"), "events")),
        every_wall_seconds=tuple(positive(one, "every_wall_seconds") for one in times),
        peak_bytes=int(number(fields, "peak_bytes")),
        instructions=None if instructions is None else int(number(fields, "instructions")),
        valgrind=valgrind,
    )


def _told(one: object) -> str:
    """A machine in a message."""
    if not isinstance(one, dict):
        return "which it does not say"
    return f"{one.get('processor')}, {one.get('cores')} cores, {one.get('system')}"
