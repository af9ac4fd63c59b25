"""The choice among changes that were run: the first change, further ones, and useless ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from peerlane.results.bottleneck import without_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from peerlane.explaining.lift import Lifting
    from peerlane.results.bottleneck import Bottleneck, Change, Rates, WhatIf
    from peerlane.results.waits import Cause

_LEAST_GAIN = 0.01
"""A smaller relative gain of the rates does not count: the changed key does not limit the flows."""

_WORTH_A_WORD = 1.05
"""A place that limits no flow is shown only if a change there multiplies the rates by more than
this."""

_EQUAL = 0.85
"""Among changes that gain at least this part of the largest gain, the cheapest is first."""

_MOST_STEPS = 4
"""The most steps of one change that are tried until flows gain."""

_HALF = 0.5
_MEND = 0.05
"""A setting is first from the first part of the largest gain on; a mend from the second part on."""

_LITTLE = 0.25
"""A larger request, or a comparison, is first if other changes gain less than this part of the
largest gain."""

_FAR_MORE = 1.5
"""Several keys together are first if they gain this many times as much as one of them."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A run with changed keys."""

    lifting: Lifting
    step: int
    what_if: WhatIf
    gain: float
    """The bytes a second that all flows gain together."""

    @property
    def can_go_on(self) -> bool:
        """Whether the change has a further step, and not too many steps were tried."""
        return self.step + 1 < min(len(self.lifting.values), _MOST_STEPS)

    def is_like(self, first: Tried) -> bool:
        """Whether the change can follow another one; a comparison follows only a comparison."""
        return first.lifting.is_comparison or not self.lifting.is_comparison

    @property
    def next(self) -> Cause | None:
        """The limit of most flows after the change."""
        return self.what_if.next[0] if self.what_if.next else None


def gains(after: Rates, before: Rates, share: float = _LEAST_GAIN) -> bool:
    """Whether the total rate is higher by more than this share, by default one percent."""
    return after.total > (1 + share) * before.total


def worth(tried: Tried) -> tuple[bool, bool, float]:
    """The order of changes: changes without new parts first, then the largest gain.

    In each of these groups, larger requests, which software has to make, and comparisons, which
    remove a latency, come last.
    """
    lift = tried.lifting
    return lift.is_part, lift.is_comparison or lift.is_of_software, -tried.gain


def is_upgrade(lift: Lifting) -> bool:
    """Whether the change is only a faster link of a device, or a shorter interval of its flow."""
    return {key.rpartition(".")[2] for key in lift.keys} <= {"generation", "lanes", "interval"}


def first_of(
    useful: Sequence[Tried], lifts: Sequence[Lifting], *, is_wire: bool, is_shared: bool
) -> Tried:
    """The change that helps most; if several help about as much, the cheapest of them.

    A change that leaves a flow slower than the others do is not among them. A mend of a fault or a
    setting comes before changes that cost more and help more. A mend on a full wire needs little
    gain. But if devices share the wire, larger packets need as much gain as a setting, and so does
    every mend if no wire is the limit. Several keys together come first only if they help far more
    than one of them.
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
    """The changes without those that contain a smaller change with the same gain."""
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
    """The changes without those that a step already adds to the steps before it."""
    before: set[Change] = set()
    said = []
    for step in steps:
        said.append(set(step.what_if.changes) - before)
        before |= set(step.what_if.changes)
    yield from (each for each in found if set(each.what_if.changes) not in said)


def cost(lifts: Sequence[Lifting]) -> Callable[[Tried], tuple[bool, bool, int]]:
    """The order of changes by their cost: first settings, then slots, last new parts."""
    place = {lift.keys[0]: number for number, lift in reversed(list(enumerate(lifts)))}
    return lambda each: (*worth(each)[:-1], place[each.lifting.keys[0]])


def is_elsewhere(one: Bottleneck) -> bool:
    """Whether the first change is on the way of flows, and not at the place where they wait."""
    keys = [change.key for step in one.steps[:1] for change in step.changes]
    is_redirected = [key.endswith(".acs_redirect") for key in keys]
    return one.reason is not None or (any(is_redirected) and all(is_redirected))


def settled(
    found: Sequence[Bottleneck], limits: Container[tuple[Cause, ...]], *, is_each: bool
) -> Iterator[Bottleneck]:
    """The bottlenecks; other places are included if a change only there makes flows faster.

    Unless `is_each` is set, none of the changes there may be the first change of a place that
    limits flows, and the first change there may not be any change of such a place.
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
    """The other changes of a place, or nothing if `is_each` is set."""
    return set() if is_each else {frozenset(each.changes) for each in one.instead}


def _first_changes(one: Bottleneck) -> frozenset[Change]:
    """The changes of the first step, without their order."""
    return frozenset(one.steps[0].changes if one.steps else ())


def in_vain(tried: Iterable[Tried], one: Bottleneck) -> str:
    """A sentence about changes without gain, with the values that were tried."""
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
