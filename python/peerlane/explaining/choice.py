"""The choice among changes that were run: what comes first, what is worth a word, and what not."""

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
"""Rates that grow by a smaller share are the same: the key that was lifted does not limit."""

_WORTH_A_WORD = 1.05
"""Rates that grow as many times name a place that limits no flow."""

_EQUAL = 0.85
"""Of changes that gain this part of the most, the one that costs least comes first."""

_MOST_STEPS = 4
"""Steps of one change that are tried until flows gain."""

_HALF = 0.5
_MEND = 0.05
"""Parts of the most that are gained, from which on a setting, or a mend, comes first."""

_LITTLE = 0.25
"""Part of the most that is gained, below which a larger request, or a comparison, comes first."""

_FAR_MORE = 1.5
"""Of several keys together, the gain beside the gain of one of them that is worth the others."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A run with keys set otherwise."""

    lifting: Lifting
    step: int
    what_if: WhatIf
    gain: float
    """Bytes a second that all flows gain together."""

    @property
    def can_go_on(self) -> bool:
        """Whether there is a further step, of the first few."""
        return self.step + 1 < min(len(self.lifting.values), _MOST_STEPS)

    def is_like(self, first: Tried) -> bool:
        """Whether the change can follow another one; a comparison follows only a comparison."""
        return first.lifting.is_comparison or not self.lifting.is_comparison

    @property
    def next(self) -> Cause | None:
        """The limit of most flows."""
        return self.what_if.next[0] if self.what_if.next else None


def gains(after: Rates, before: Rates, share: float = _LEAST_GAIN) -> bool:
    """Whether rates are higher by this share, a percent unless said otherwise."""
    return after.total > (1 + share) * before.total


def worth(tried: Tried) -> tuple[bool, bool, float]:
    """The order of changes: those that need no other part first, and what helps most.

    Of these, another size of requests is for the software to choose, and comes behind; and a
    latency that is taken away is a comparison, and comes last.
    """
    lift = tried.lifting
    return lift.is_part, lift.is_comparison or lift.is_of_software, -tried.gain


def is_upgrade(lift: Lifting) -> bool:
    """Whether a device needs another link, or its flow another pace."""
    return {key.rpartition(".")[2] for key in lift.keys} <= {"generation", "lanes", "interval"}


def first_of(
    useful: Sequence[Tried], lifts: Sequence[Lifting], *, is_wire: bool, is_shared: bool
) -> Tried:
    """The change that helps most; of several that help about as much, the one that costs least.

    Of these, one that leaves some flow slower than others do is none of several.
    A mend or a setting comes before what costs more and helps more. On a wire that devices share,
    larger packets are no mend, but a setting; where no wire is the limit, neither is anything else.
    Several keys together come first only if they help far more than one of them.
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
    """Changes without those that have further keys for nothing."""
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
    """Changes without those that a step makes on top of the steps before it."""
    before: set[Change] = set()
    said = []
    for step in steps:
        said.append(set(step.what_if.changes) - before)
        before |= set(step.what_if.changes)
    yield from (each for each in found if set(each.what_if.changes) not in said)


def cost(lifts: Sequence[Lifting]) -> Callable[[Tried], tuple[bool, bool, int]]:
    """The order of changes by what they cost: a setting, a slot, a part."""
    place = {lift.keys[0]: number for number, lift in reversed(list(enumerate(lifts)))}
    return lambda each: (*worth(each)[:-1], place[each.lifting.keys[0]])


def is_elsewhere(one: Bottleneck) -> bool:
    """Whether the first change is of a way of flows, and not of the place at which they wait."""
    keys = [change.key for step in one.steps[:1] for change in step.changes]
    is_redirected = [key.endswith(".acs_redirect") for key in keys]
    return one.reason is not None or (any(is_redirected) and all(is_redirected))


def settled(
    found: Sequence[Bottleneck], limits: Container[tuple[Cause, ...]], *, is_each: bool
) -> Iterator[Bottleneck]:
    """The bottlenecks; a place that limits no flow counts if flows gain by a change of its own.

    Unless `is_each`, none of its changes is the first one of a place that limits flows, and its
    first one is none of the changes there.
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
    """The other changes of a place, if a change of two places is to be shown once."""
    return set() if is_each else {frozenset(each.changes) for each in one.instead}


def _first_changes(one: Bottleneck) -> frozenset[Change]:
    """The changes of the first step, in whatever order."""
    return frozenset(one.steps[0].changes if one.steps else ())


def in_vain(tried: Iterable[Tried], one: Bottleneck) -> str:
    """The changes by which flows do not gain, with the values that were tried."""
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
