"""A system's fitted parameters: their values, and moving one to see what depends on it."""

from __future__ import annotations

import math
import re
from contextlib import contextmanager
from contextvars import ContextVar
from functools import reduce
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from peerlane.fabric.settings import Setting

_moves: ContextVar[dict[str, str | int | float] | None] = ContextVar("moves", default=None)
"""The keys of a scenario that are moved, with their new values."""


_changes: ContextVar[Mapping[str, Setting] | None] = ContextVar("changes", default=None)
"""The keys of a scenario that the user has set otherwise, with their values."""


@contextmanager
def changed(settings: Mapping[str, Setting]) -> Iterator[None]:
    """Sets keys of the system's scenario otherwise for a while."""
    token = _changes.set(settings)
    try:
        yield
    finally:
        _changes.reset(token)


def changes() -> Mapping[str, Setting]:
    """The keys that are set otherwise at the moment, with their values."""
    return _changes.get() or {}


def setting(scenario: Mapping[str, Any], where: str) -> object:
    """The value of the key `where`, such as "profiles.plx.latency"."""
    found: object = reduce(lambda table, key: table[key], where.split("."), scenario)
    return found


def quantity(value: object) -> tuple[float, str]:
    """Splits "166 ns" into its number and its unit; a plain number has the unit 1."""
    match = re.fullmatch(r"([-+.\deE]+)\s*(\S*)", str(value))
    if match is None:
        raise ValueError(f"{value!r} is not a number with a unit")
    return float(match[1]), match[2] or "1"


@contextmanager
def moved(values: Mapping[str, object], share: float) -> Iterator[float]:
    """Makes a parameter larger by `share` for a while: all its keys, which have these values.

    One that is counted moves to the next whole number. Yields the share by which the first key
    moved.
    """
    new = {where: _larger(value, share) for where, value in values.items()}
    first = next(iter(values))
    token = _moves.set(new)
    try:
        yield quantity(new[first])[0] / quantity(values[first])[0] - 1
    finally:
        _moves.reset(token)


def _larger(value: object, share: float) -> str | int | float:
    number, unit = quantity(value)
    larger = number * (1 + share)
    if isinstance(value, str):
        return f"{larger:g} {unit}"
    return math.ceil(larger) if isinstance(value, int) else larger


@contextmanager
def placed(settings: dict[str, str | int | float]) -> Iterator[None]:
    """Gives keys of the scenario other values for a while, as `moved` does."""
    token = _moves.set(settings)
    try:
        yield
    finally:
        _moves.reset(token)


def moves() -> dict[str, str | int | float]:
    """The keys that are moved at the moment, with their new values."""
    return _moves.get() or {}
