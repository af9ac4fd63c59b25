"""Chooses among changes of a scenario that were tried: the first, further, and useless changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from peerlane.results.bottleneck import without_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from peerlane._core import ScenarioError
    from peerlane.explaining.lift import Lifting
    from peerlane.results.bottleneck import Bottleneck, Change, Rates, WhatIf
    from peerlane.results.waits import Cause

_LEAST_GAIN = 0.01
"""If the relative gain of the rates is smaller than this, the changed key does not limit flows."""

_WORTH_A_WORD = 1.05
"""A place that limits no flow is shown only if a change at this place multiplies the rates by more
than this."""

_EQUAL = 0.85
"""Among the changes that gain at least this part of the largest gain, the cheapest is chosen."""

_MOST_STEPS = 4
"""The largest number of steps of one change that are tried until flows gain."""

_HALF = 0.5
_MEND = 0.05
"""A setting is preferred if it gains at least `_HALF` of the largest gain. A change that removes a
fault is preferred if it gains at least `_MEND` of the largest gain."""

_LITTLE = 0.25
"""Larger requests, or a comparison (a change that removes a latency), are preferred only if all
other changes gain less than this part of the largest gain."""

_MOST_REFUSED = 2
"""The most keys that are named if a scenario cannot be built with a change."""

_FAR_MORE = 1.5
"""A change of several keys is preferred only if it gains this many times as much as a change of
some of these keys."""


@dataclass(frozen=True, slots=True)
class Tried:
    """The outcome of a run with a change: one step of a `Lifting`."""

    lifting: Lifting
    step: int
    what_if: WhatIf
    gain: float
    """The gain of the total rate, in bytes a second: of all flows, or, if the change removes a
    fault, of the flows of the bottleneck."""

    @property
    def can_go_on(self) -> bool:
        """Whether the change has a further step, and not too many steps were tried."""
        return self.step + 1 < min(len(self.lifting.values), _MOST_STEPS)

    def is_like(self, first: Tried) -> bool:
        """Whether the change can be a step after another change.

        A change that removes a latency (a comparison) can only follow another comparison.
        """
        return first.lifting.is_comparison or not self.lifting.is_comparison

    @property
    def next(self) -> Cause | None:
        """The place that limits most flows of the bottleneck after the change."""
        return self.what_if.next[0] if self.what_if.next else None


def gains(after: Rates, before: Rates, share: float = _LEAST_GAIN) -> bool:
    """Whether the total rate is higher by more than this share, by default one percent."""
    return after.total > (1 + share) * before.total


def worth(tried: Tried) -> tuple[bool, bool, float]:
    """The key by which changes are sorted: changes without new parts are first.

    Among the changes with new parts, and among the changes without, two kinds are last: larger
    requests, which software has to make, and comparisons, which remove a latency. Among the rest,
    the change with the largest gain is first.
    """
    lift = tried.lifting
    return lift.is_part, lift.is_comparison or lift.is_of_software, -tried.gain


def is_upgrade(lift: Lifting) -> bool:
    """Whether the change only sets a faster link of a device, or a shorter `interval` of a flow."""
    return {key.rpartition(".")[2] for key in lift.keys} <= {"generation", "lanes", "interval"}


def first_of(
    useful: Sequence[Tried], lifts: Sequence[Lifting], *, is_wire: bool, is_shared: bool
) -> Tried:
    """The change that helps most; if several help about as much, the cheapest of them.

    Of the changes with about the same gain, a change whose slowest flow is much slower than with
    another change is not chosen. A setting is preferred to changes that cost more, if it has at
    least `_HALF` of the largest gain. A change that removes a fault is preferred even to settings;
    on a wire it needs only `_MEND` of the largest gain. It needs `_HALF` if the limit is no wire,
    or if devices share the wire and the fault is not bit errors. A change of several keys is only
    chosen if it helps far more than a change of some of these keys.
    """
    single = [
        each
        for each in useful
        if not any(
            set(other.what_if.changes) < set(each.what_if.changes)
            and each.gain < _FAR_MORE * other.gain
            for other in useful
        )
    ]
    most = single[0].gain
    mends = [
        each
        for each in single
        if each.lifting.reason
        and each.gain
        >= (_MEND if is_wire and (each.lifting.is_of_errors or not is_shared) else _HALF) * most
    ]
    settings = [each for each in single if each.lifting.is_setting and each.gain >= _HALF * most]
    pool = mends or settings or single
    pool = [each for each in pool if each.lifting.is_part == pool[0].lifting.is_part]
    most = max(each.gain for each in pool)
    best = next(each for each in pool if each.gain >= _LITTLE * most)
    equal = [
        each
        for each in pool
        if worth(each)[:-1] == worth(best)[:-1] and each.gain >= _EQUAL * best.gain
    ]
    fair = max(each.what_if.rates.least for each in equal)
    equal = [each for each in equal if each.what_if.rates.least >= _EQUAL * fair]
    return min(equal, key=cost(lifts))


def lean(found: Sequence[Tried]) -> list[Tried]:
    """Leaves out each change that contains a smaller change with the same gain."""
    return [
        each
        for each in found
        if not any(
            set(other.what_if.changes) < set(each.what_if.changes)
            and not gains(each.what_if.rates, other.what_if.rates)
            for other in found
        )
    ]


def unsaid(found: Iterable[Tried], steps: Sequence[Tried]) -> Iterator[Tried]:
    """Leaves out each change that a step contains in addition to the changes of earlier steps."""
    before: set[Change] = set()
    said = []
    for step in steps:
        said.append(set(step.what_if.changes) - before)
        before |= set(step.what_if.changes)
    yield from (each for each in found if set(each.what_if.changes) not in said)


def cost(lifts: Sequence[Lifting]) -> Callable[[Tried], tuple[bool, bool, int]]:
    """The key by which changes are sorted by cost: settings, then slots, then new parts."""
    place = {lift.keys[0]: number for number, lift in reversed(list(enumerate(lifts)))}
    return lambda each: (*worth(each)[:-1], place[each.lifting.keys[0]])


def is_elsewhere(one: Bottleneck) -> bool:
    """Whether the first change is on the path of the flows, but not at the place of the wait."""
    keys = [change.key for step in one.steps[:1] for change in step.changes]
    is_redirected = [key.endswith(".acs_redirect") for key in keys]
    return one.reason is not None or (any(is_redirected) and all(is_redirected))


def settled(
    found: Sequence[Bottleneck], limits: Container[tuple[Cause, ...]], *, is_each: bool
) -> Iterator[Bottleneck]:
    """The places to show: all places that limit flows, and other places where a change helps.

    A place that limits no flow is shown only if its first change makes flows faster and is not the
    first change of another place. Unless `is_each` is set, no other change of this place may be
    the first change of a place that limits flows, and its first change may not be another change
    of a place that limits flows.
    """
    known = {_first_changes(one) for one in found if one.causes in limits}
    others = {
        each for one in found if one.causes in limits for each in _instead(one, is_each=is_each)
    }
    for one in found:
        first = _first_changes(one)
        if one.causes in limits:
            yield one
        elif first and first not in known and first not in others:
            is_new = known.isdisjoint(_instead(one, is_each=is_each))
            known.add(first)
            if is_new and one.steps[0].rates.total > _WORTH_A_WORD * one.rates.total:
                yield one


def _instead(one: Bottleneck, *, is_each: bool) -> set[frozenset[Change]]:
    """The other changes that were tried for a bottleneck (`instead`); empty if `is_each` is set."""
    return set() if is_each else {frozenset(each.changes) for each in one.instead}


def _first_changes(one: Bottleneck) -> frozenset[Change]:
    """The set of scenario keys, with values, that the first step against a bottleneck changes."""
    return frozenset(one.steps[0].changes if one.steps else ())


def refusal(lift: Lifting, error: ScenarioError) -> str:
    """The settings of a change with which a scenario cannot be built, and the reason."""
    said = str(error).partition(" with ")[2] or str(error)
    if len(lift.keys) <= _MOST_REFUSED:
        return said
    reason = said.rpartition(f"{lift.keys[-1]}=")[2].partition(": ")[2]
    return f"{said.partition(', ')[0]} (and {len(lift.keys) - 1} more): {reason or said}"


def in_vain(tried: Iterable[Tried], one: Bottleneck) -> str:
    """A sentence about changes that gained nothing, with the values that were tried."""
    slower: list[Tried] = []
    same: list[Tried] = []
    for each in sorted(tried, key=lambda each: -len(each.what_if.changes)):
        is_slower = each.what_if.rates.total < (1 - _LEAST_GAIN) * one.rates.total
        (slower if is_slower else same).append(each)
    said: set[str] = set()
    parts = []
    for words, found in (("it slower", slower), ("no difference", same)):
        settings = []
        for each in found:
            alike: dict[str, list[str]] = {}
            for change in each.what_if.changes:
                if change.key not in said:
                    alike.setdefault(without_numbers(change.setting), []).append(change.setting)
            said.update(change.key for change in each.what_if.changes)
            settings += [
                f"{names[0]} (and {len(names) - 1} more)" if names[1:] else names[0]
                for names in alike.values()
            ]
        if settings:
            make = "make" if settings[1:] else "makes"
            parts.append(f"{', '.join(settings)} {make} {words}")
    return "; ".join(parts)
