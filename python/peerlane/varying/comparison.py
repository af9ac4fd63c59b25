"""Compares two documents, such as results, and sorts the changes by their weight."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, fields
from math import isclose
from typing import TYPE_CHECKING, Any

from peerlane.dotted import join_path
from peerlane.errors import PeerlaneError
from peerlane.fabric.variant import told
from peerlane.figures.metrics import ENCODED, Scalar, leaves
from peerlane.results.brief import Brief
from peerlane.results.forms import FORMS
from peerlane.results.reading import kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    Json = Mapping[str, Any]
    Leaves = dict[tuple[str, ...], Scalar]

_HEAD = ("schema", "version", "scenario_digest", "command", "name")
"""The fields that describe the origin of a document, and not the measurements."""
_WIRES = ("links", "fibres")
_SHARES = ("utilisation", "full", "share")
"""The fields whose values are shares; the weight of a change of a share is the difference."""
_EQUAL = 1e-12
"""Numbers with a smaller relative difference count as equal, because of rounding."""


class ComparisonError(PeerlaneError, ValueError):
    """Documents cannot be compared; the message has the reason."""


@dataclass(frozen=True, slots=True)
class Change:
    """A value that differs between two documents.

    `before` and `after` are the two values, or `None` for a document without the value. `relative`
    is the change divided by `before`, if both values are numbers. `weight` is the change divided by
    the larger of the two values; but a change of a link's number of bytes is divided by all bytes
    of the link, and a change of a link's time by the simulated time. For `weight`, a number that
    one document does not have counts as 0.
    """

    path: str
    before: Scalar
    after: Scalar
    relative: float | None
    weight: float

    def to_json(self) -> dict[str, Any]:
        """The change as the command line writes it."""
        # There may be hundreds of thousands of changes, and dataclasses.asdict would copy each
        # value.
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, slots=True)
class Comparison(Brief):
    """The changes between two documents, the largest weight first, and the number of equal values.

    If the documents are sweeps, `only_before` and `only_after` are the points that only one of them
    has; values of these points are not among the changes.
    """

    changes: tuple[Change, ...]
    same: int
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The comparison as the command line writes it."""
        return {
            "changes": [change.to_json() for change in self.changes],
            "same": self.same,
            "only_before": list(self.only_before),
            "only_after": list(self.only_after),
        }


def check_alike(before: Json, after: Json, names: tuple[str, str], *, any_version: bool) -> None:
    """Refuses documents of different kinds or versions.

    Raises:
        ComparisonError: The documents differ in kind or version.
    """
    kinds = [kind_of(document) for document in (before, after)]
    commands = [FORMS[kind].command if kind else None for kind in kinds]
    if None not in commands and commands[0] != commands[1]:
        raise ComparisonError(
            f"results of different commands: {names[0]} is of `{commands[0]}`, {names[1]} of"
            f" `{commands[1]}`; name two files of one command"
        )
    for field, what in (("schema", "form"), ("version", "version of Peerlane")):
        one, other = before.get(field), after.get(field)
        if one == other or (any_version and field == "version"):
            continue
        told = [
            f"{name} has {value or 'none'}" for name, value in zip(names, (one, other), strict=True)
        ]
        advice = "write both with the same version" + (
            ", or add --any-version" if field == "version" else ""
        )
        raise ComparisonError(f"the {what} differs: {told[0]}, {told[1]}; {advice}")


def compare(before: Json, after: Json) -> Comparison:
    """The values that differ between two documents of one form.

    The points of two sweeps are matched by their settings; if a sweep has several seeds, by the
    settings and the seed.
    """
    has_seeds = _has_seeds(before) or _has_seeds(after)
    mine, theirs = _points(before, has_seeds=has_seeds), _points(after, has_seeds=has_seeds)
    both = mine.keys() & theirs.keys()
    one, other = _values(_with(before, mine, both)), _values(_with(after, theirs, both))
    one, other = _without_names(one, other), _without_names(other, one)
    wholes = _Wholes(one), _Wholes(other)
    changes = [
        Change(
            path=join_path(parts),
            before=one.get(parts),
            after=other.get(parts),
            relative=_relative(one.get(parts), other.get(parts)),
            weight=_weight(parts, wholes),
        )
        for parts in dict.fromkeys((*one, *other))
        if not _is_same(parts, one, other)
    ]
    changes.sort(key=lambda change: -change.weight)
    return Comparison(
        tuple(changes),
        len(one.keys() | other.keys()) - len(changes),
        tuple(name for name in mine if name not in both),
        tuple(name for name in theirs if name not in both),
    )


def _swept(document: Json) -> list[Json]:
    """The points of a sweep over keys; nothing for other documents, also for a sweep of loads."""
    points = document.get("points")
    is_swept = isinstance(points, list) and all(
        isinstance(one, dict) and isinstance(one.get("settings"), dict) for one in points
    )
    return points if is_swept else []  # type: ignore[return-value]


def _has_seeds(document: Json) -> bool:
    return len({point.get("seed") for point in _swept(document)}) > 1


def _points(document: Json, *, has_seeds: bool) -> dict[str, Json]:
    """The points of a sweep without their settings, by the text of these settings."""
    found: dict[str, Json] = {}
    drawn: Counter[str] = Counter()
    for point in _swept(document):
        settings, rest = dict(point["settings"]), dict(point)
        del rest["settings"]
        if has_seeds:
            settings["seed"] = rest.pop("seed", None)
        name = told(settings)
        drawn[name] += 1  # a sample may have a point twice
        found[name if drawn[name] == 1 else f"{name} #{drawn[name]}"] = rest
    return found


def _with(document: Json, points: Mapping[str, Json], names: AbstractSet[str]) -> Json:
    """The document with only the points in `names`; a document of another kind is not changed."""
    if not points:
        return document
    return {**document, "points": {name: one for name, one in points.items() if name in names}}


def _values(document: Json) -> Leaves:
    return {
        parts: value
        for parts, value in leaves(document)
        if parts[0] not in _HEAD and parts[-1] not in ENCODED
    }


def _without_names(values: Leaves, others: Leaves) -> Leaves:
    """The values of one result, without names and texts of entries that the other does not have."""
    tables = {parts[:depth] for parts in others for depth in range(len(parts))}
    return {
        parts: value for parts, value in values.items() if parts[:-1] in tables or _is_number(value)
    }


def _is_same(parts: tuple[str, ...], one: Leaves, other: Leaves) -> bool:
    if parts not in one or parts not in other:
        return False
    before, after = one[parts], other[parts]
    if _is_number(before) and _is_number(after):
        return isclose(before, after, rel_tol=_EQUAL)  # type: ignore[arg-type]
    return before == after


def _is_number(value: Scalar) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _relative(before: Scalar, after: Scalar) -> float | None:
    if not (_is_number(before) and _is_number(after)) or not before:
        return None
    return float(after) / float(before) - 1  # type: ignore[arg-type]


def _weight(parts: tuple[str, ...], wholes: tuple[_Wholes, _Wholes]) -> float:
    """The weight of a change; a change of a text or flag weighs more than a change of a number."""
    one, other = wholes
    given = [side.values[parts] for side in wholes if parts in side.values]
    if not all(map(_is_number, given)):
        return _CHANGED_KIND
    way = abs(_number(other.values.get(parts)) - _number(one.values.get(parts)))
    whole = max(one.of(parts), other.of(parts))
    return way / whole if whole else 0.0


_CHANGED_KIND = 3.0
"""The weight of a change of a text or flag; the weight of a change of a number is at most 2."""


class _Wholes:
    """For each value of a document, the number by which a change of the value is divided."""

    def __init__(self, values: Leaves) -> None:
        self.values = values
        self._bytes: defaultdict[tuple[str, ...], float] = defaultdict(float)
        for parts, value in values.items():
            if parts[0] in _WIRES and parts[-1].endswith("_bytes"):
                self._bytes[parts[:-1]] += _number(value)

    def of(self, parts: tuple[str, ...]) -> float:
        """The number by which a change of the value at `parts` is divided to get its weight."""
        key = parts[-1]
        if key in _SHARES:
            return 1.0
        if parts[0] in _WIRES:
            if key.endswith("_bytes"):
                return self._bytes[parts[:-1]]
            if key.endswith("_ns"):
                return _number(self.values.get(("simulated_ns",)))
        return abs(_number(self.values.get(parts)))


def _number(value: Scalar) -> float:
    return float(value) if _is_number(value) else 0.0  # type: ignore[arg-type]
