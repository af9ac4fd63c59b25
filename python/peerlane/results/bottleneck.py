"""Defines bottlenecks of a run: places where flows wait, and the effect of lifting their limits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal

from peerlane.dotted import split_path
from peerlane.formats import NONE, percent
from peerlane.results import markup
from peerlane.results.document import Document, renamed
from peerlane.results.error_bar import ErrorBar
from peerlane.results.waits import HOST_PATHS, Cause, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Value = str | int | float | bool | None

_AS_ALONE = "each is as fast as alone"

AS_ALONE = 0.95
"""If a flow reaches this part of the rate that it has alone, sharing counts as without effect."""

FULL = 0.9
"""A wire counts as full if flows wait for it for at least this share of their time."""

ALIKE = 0.05
"""If the rates of flows differ by at most this share, a sentence has only one rate."""

_SPACE = "space for completions"
_FEW = {
    "commands": "outstanding commands",
    "write-combining buffers": "write-combining buffers",
}
"""Words for the resource of which too few are available, by the detail of the limit."""

_MOST_NAMES = 3
"""The largest number of names in a sentence."""

_MOST_KEYS = 2
"""The largest number of changed keys in a sentence."""

_NUMBER = re.compile(r"\d+(\.\d+)?")


@dataclass(frozen=True, slots=True)
class Rates(Document):
    """The total, the least and the greatest rate of some flows, in bytes a second."""

    total: float
    least: float
    most: float

    @classmethod
    def of(cls, rates: Iterable[float | None]) -> Rates:
        """The rates of some flows; a flow without a rate counts as 0."""
        known = [rate or 0.0 for rate in rates]
        return cls(sum(known), min(known, default=0.0), max(known, default=0.0))

    @property
    def is_one(self) -> bool:
        """Whether the least and the greatest rate are about the same."""
        return self.most - self.least <= ALIKE * self.most

    @property
    def each(self) -> str:
        """The rate of a flow in GB/s, or the least and the greatest rate, without the unit."""
        if self.is_one:
            return _gigabytes((self.most + self.least) / 2)
        return f"{_gigabytes(self.least)} to {_gigabytes(self.most)}"


@dataclass(frozen=True, slots=True)
class Change(Document):
    """A changed key of a scenario.

    `source` is the value before the change; it is `None` if the simulator calculates the value.
    `value` is the new value; it is `None` if the change leaves the key out.
    """

    __pydantic_config__ = renamed(source="from", value="to")

    key: str
    source: Value
    value: Value

    @property
    def setting(self) -> str:
        """The change as `KEY=VALUE`, or as "KEY left out"."""
        if self.value is None:
            return f"{self.key} left out"
        value = str(self.value).lower() if isinstance(self.value, bool) else self.value
        return f"{self.key}={value}"


@dataclass(frozen=True, slots=True)
class Loss(Document):
    """A flow that does not wait at the bottleneck, but is slower with the changes.

    The rates before and after the changes are in bytes a second.
    """

    flow: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class WhatIf(Document):
    """Changed keys of a scenario, and the measurements of a run with these changes.

    `rates` are the rates of the flows of the bottleneck. `next` has the places that limit these
    flows in the run with the changes. The place that limits most flows is first. `next` is empty if
    the flows were too short to be observed. `losses` are flows of other places that are slower by
    5 % or more. `is_full` is whether the first place of `next` is full, if it is a wire.
    """

    changes: tuple[Change, ...]
    rates: Rates
    next: tuple[Cause, ...]
    losses: tuple[Loss, ...] = ()
    is_full: bool = True

    @property
    def remark(self) -> str:
        """Another consequence of the changes, such as lost isolation, in words; usually empty."""
        if any(one.setting.endswith(".iommu=false") for one in self.changes):
            return "devices are not isolated from memory any more"
        is_of_software = any(one.key.endswith(".request_size") for one in self.changes)
        return "software has to make larger requests" * is_of_software

    @property
    def lost(self) -> str:
        """The flows of other places that are slower with the changes, in words; may be empty."""
        shown = [
            f"{one.flow} falls from {_gigabytes(one.before)} to {_gigabytes(one.after)} GB/s"
            for one in self.losses[:_MOST_KEYS]
        ]
        more = len(self.losses) - len(shown)
        return "; ".join([*shown, *[f"{more} more lose"] * bool(more)])


@dataclass(frozen=True, slots=True)
class Bottleneck(Document):
    """A place where flows wait, or several places that are alike, such as the links of devices.

    `flows` are the ids of the flows that wait at the place, and `share` is the mean share of their
    time for which they wait. If `section` is "schedules", the ids are of schedules, and the rates
    are their bus bandwidths. `amount` is the number or size of the resource for which flows wait,
    such as tags, if a key states it. `reason` describes a fault on the path of the flows, such as
    bit errors, if the first change removes this fault.

    Each of the `steps` is a run that keeps the changes of earlier steps; the last step is the one
    after which another place limits the flows. The first step is the change that helps most among
    the changes that need no new part. `instead` has other changes, each tried by itself. `alone`
    has the rates of flows that ran without all other flows, and no changes. `not_lifted` has the
    changes that gain less than 1 %. `impossible` has the changes with which the scenario cannot be
    built, each with the reason.

    `error_bar` belongs to the total rate of the flows; it exists if error bars were requested.
    `is_limit` is whether the place limits the flows. `adds_up` is whether the rates of the flows
    add up to the rate of the place, because all flows ran at the same time. `is_full` is whether a
    wire of the place was full for a part of the time.
    """

    kind: Kind
    where: tuple[str, ...]
    direction: str | None
    detail: str | None
    flows: tuple[str, ...]
    share: float
    rates: Rates
    amount: Value = None
    reason: str | None = None
    steps: tuple[WhatIf, ...] = ()
    instead: tuple[WhatIf, ...] = ()
    alone: WhatIf | None = None
    not_lifted: tuple[str, ...] = ()
    impossible: tuple[str, ...] = ()
    error_bar: ErrorBar | None = None
    is_limit: bool = True
    adds_up: bool = False
    is_full: bool = True
    section: Literal["flows", "schedules"] = "flows"

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The causes of waits at this bottleneck, one for each of its places."""
        detail = None if self.kind == "wire" else self.detail
        return tuple(Cause(self.kind, where, self.direction, detail) for where in self.where)

    @property
    def sentence(self) -> str:
        """The limit, the rates of the limited flows, and their rates with each step, in words."""
        flows = len(self.flows)
        total = f"{_gigabytes(self.rates.total)} GB/s"
        if self.error_bar is not None:
            total += f" ({self.error_bar.said(_gigabytes)})"
        if self.section == "schedules":
            moved = f"{self.flows[0]} has a bus bandwidth of {total}"
            if flows > 1:
                moved = f"{flows} schedules have bus bandwidths of {self.rates.each} GB/s"
        elif flows == 1:
            moved = f"{self.flows[0]} moves {total}"
        elif self.adds_up or self.error_bar is not None:
            verb = "share" if self.adds_up and len(self.where) == 1 else "move"
            moved = f"{flows} flows {verb} {total}, {self.rates.each} each"
        else:
            moved = f"{flows} flows move {self.rates.each} GB/s each"
        parts = [f"{self.state[:1].upper()}{self.state[1:]}: {moved}."]
        parts += [self._step(number) for number in range(len(self.steps))]
        if not self.steps and self.not_lifted:
            parts.append("No change that was tried gains 1 %.")
        elif not self.steps and self.impossible:
            parts.append("No change that may help is possible.")
        return " ".join(parts)

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        """The bottleneck as a notebook shows it."""
        return markup.page(self.html())

    def html(self) -> str:
        """The bottleneck in words, and a table of the changes, as a part of a page."""
        rows = list(said(self))
        columns = ("what if", "all_bytes_per_second", "GB/s each", "then")
        kept = [markup.line(line, "less") for line in self.in_vain]
        table = markup.table(columns, rows) if rows[1:] else ""
        return "".join((markup.title(self.sentence), table, *kept))

    @property
    def in_vain(self) -> list[str]:
        """Lines about changes that do not help, and about changes that are not possible."""
        no_gain = [f"no gain: {words}" for words in self.not_lifted]
        return no_gain + [f"not possible: {words}" for words in self.impossible]

    def then(self, what_if: WhatIf) -> str:
        """The limit of the flows after some changes, in words."""
        found = what_if.next
        if self.alone is not None and self.is_as_alone(what_if):
            found = self.alone.next
            if found[0] in self.causes:
                return _AS_ALONE
        if not found:
            return "too short to see the next limit"
        here = [cause for cause in found if cause in self.causes]
        if found[0] in self.causes and what_if is not self.alone:
            return _still(_state(here, is_full=what_if.is_full))
        if all(cause.kind == "wire" for cause in found):
            if not here and len(found) == len(self.flows) > 1:
                return "each device's own link is the limit"
            return _state(found, is_full=what_if.is_full)
        forms = dict.fromkeys(map(form_of, found))
        states = (
            _state([one for one in found if form_of(one) == form], is_full=what_if.is_full)
            for form in forms
        )
        return "; ".join(islice(states, 2 if what_if is self.alone else 1))

    def is_as_alone(self, what_if: WhatIf) -> bool:
        """Whether changes make the slower flows as fast as alone, though the limit is the same."""
        if self.alone is None or not self.alone.next or what_if is self.alone:
            return False
        alone = self.alone.rates.most
        is_here = what_if.next[:1] and what_if.next[0] in self.causes
        rates = what_if.rates
        is_gain = (
            self.rates.least < AS_ALONE * alone <= rates.least <= rates.most < alone / AS_ALONE
        )
        own = {split_path(one.key)[1] for one in what_if.changes if one.key.startswith("links.")}
        is_wider = bool(own.intersection(self.where))
        return bool(is_here) and self.alone.rates.is_one and is_gain and not is_wider

    @property
    def state(self) -> str:
        """The state of the place that limits the flows, in words."""
        is_one = len(self.where) == 1
        if self.reason is not None:
            return self.reason
        if not self.is_limit:
            waits = "waits" if len(self.flows) == 1 else "wait"
            names = joined([f"`{flow}`" for flow in self.flows])
            return f"{names} {waits} {percent(self.share)} of the time for {_noun(self.causes)}"
        if self.kind == "wire" and self.detail:
            return f"{_names(self.causes)} {'loses' if is_one else 'lose'} time, {self.detail}"
        if self.kind == "wire" and (self.share < FULL or not self.is_full):
            return f"{_names(self.causes)} {'is' if is_one else 'are'} the limit"
        return _state(
            self.causes, self.amount, is_full=self.section == "flows" or self.share >= FULL
        )

    def _step(self, number: int) -> str:
        step = self.steps[number]
        rates = f"{step.rates.each} each" if len(self.flows) > 1 else f"{step.rates.each} GB/s"
        before = self.steps[number - 1].changes if number else ()
        then = self.then(step)
        if not step.next or then == _AS_ALONE:
            link = "; "
        else:
            is_there = step.next[0] in self.causes and not self.is_as_alone(step)
            link = ", and " if is_there else "; then "
        more = "".join(f"; {words}" for words in (step.lost, step.remark) if words)
        return f"{_way(step.changes, before, self.causes)}: {rates}{link}{then}{more}."


def said(one: Bottleneck, most: int = _MOST_KEYS) -> Iterator[tuple[str, float | None, str, str]]:
    """The rows of a table of the changes at a bottleneck; a row has at most `most` keys.

    Each row has the changes, the total rate of the flows (none for flows that ran alone), the rate
    of each flow, and the next limit. A row that begins with "and" keeps the changes of the rows
    above it.
    """
    yield "as it is", one.rates.total, one.rates.each, one.state
    before: tuple[Change, ...] = ()
    for step in one.steps:
        new = [change for change in step.changes if change not in before]
        way = f"{'and ' * bool(before)}{_keys(new, most)}"
        yield way, step.rates.total, step.rates.each, _end(one, step)
        before = step.changes
    for other in one.instead:
        yield (
            f"or {_keys(other.changes, most)}",
            other.rates.total,
            other.rates.each,
            _end(one, other),
        )
    if one.alone is not None:
        yield "each alone", None, one.alone.rates.each, one.then(one.alone)


def _end(one: Bottleneck, what_if: WhatIf) -> str:
    return "; ".join(filter(None, (one.then(what_if), what_if.lost, what_if.remark)))


def _keys(changes: Sequence[Change], most: int) -> str:
    shown = [change.setting for change in changes[:most]]
    more = len(changes) - len(shown)
    return ", ".join([*shown, *[f"{more} more"] * bool(more)])


def without_numbers(words: str) -> str:
    """Replaces the numbers in a name by "#", so that the names of similar places are equal."""
    return _NUMBER.sub("#", words)


def joined(names: Sequence[str]) -> str:
    """Joins names with commas and "and"; of many names only the first few and a number."""
    shown = list(names[:_MOST_NAMES])
    if more := len(names) - len(shown):
        shown.append(f"{more} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def form_of(cause: Cause) -> tuple[str, str, str | None, str | None]:
    """What the causes of waits at similar places have in common."""
    return cause.kind, without_numbers(cause.where), cause.direction, cause.detail


def _gigabytes(rate: float) -> str:
    return f"{rate / 1e9:.3g}" if rate else NONE


def _names(causes: Sequence[Cause]) -> str:
    """The places of some causes, with the names that the tables of a run have."""
    return joined(
        [f"`{one.where} {one.direction}`" if one.direction else f"`{one.where}`" for one in causes]
    )


def _noun(causes: Sequence[Cause], amount: Value = None) -> str:
    """The resource for which flows wait at similar places, in words."""
    kind, detail = causes[0].kind, causes[0].detail
    names = _names(causes)
    much = "" if amount is None else f" ({amount})"
    if kind == "datapath" and detail in HOST_PATHS:
        return f"{detail} of {names}"
    return {
        "credit": f"credit of {detail or 'packets'}{much} on {names}",
        "tags": f"tags{much} of {names}",
        "outstanding": f"{_FEW.get(detail or '', _SPACE)}{much} of {names}",
        "replay-buffer": f"the replay buffer{much} of the sender on {names}",
        "datapath": f"the datapath or the pace of {names}",
        "memory": f"{detail or 'the memory'} of {names}",
        "socket": f"the connection of sockets {names}{_sockets(causes)}",
        "software": f"{detail or 'the software'} of {names}",
        "latency": (
            f"the latency of {detail} to {names}"
            if detail
            else f"the latency of the way to {names} and back"
        ),
    }.get(kind, names)


def _sockets(causes: Sequence[Cause]) -> str:
    """The direction of the connection between two sockets, in words."""
    if len(causes) > 1:
        return ""
    first, _, second = causes[0].where.rpartition(".")[2].partition("-")
    ends = (first, second) if causes[0].direction == "forth" else (second, first)
    return " (from socket {} to {})".format(*ends)


def _state(causes: Sequence[Cause], amount: Value = None, *, is_full: bool = True) -> str:
    """The state of similar places, such as "has too few tags", in words."""
    kind, detail = causes[0].kind, causes[0].detail
    names = _names(causes)
    one = len(causes) == 1
    much = "" if amount is None else f" ({amount})"
    has, is_ = ("has", "is") if one else ("have", "are")
    if kind == "datapath" and detail and detail not in HOST_PATHS:
        return f"{names} {detail if one else detail.replace('keeps', 'keep', 1)}"
    if kind == "wire":
        return f"{names} {is_} {'full' if is_full else 'the limit'}"
    if kind == "socket":
        return f"{_noun(causes)} {is_} {'full' if is_full else 'the limit'}"
    if kind in {"tags", "outstanding"}:
        many = "tags" if kind == "tags" else _FEW.get(detail or "")
        few = f"few {many}" if many else f"little {_SPACE}"
        return f"{names} {has} too {few}{much}"
    if kind == "other":
        return f"the limit of {f'{detail} of ' if detail else ''}{names} is not known"
    return f"{_noun(causes, amount)} {is_ if one else 'is'} the limit"


def _still(state: str) -> str:
    """Adds "still" to the words for a state, because changes of keys have not changed it."""
    said = re.sub(r" (has|have|keeps?) ", r" still \1 ", state, count=1)
    return said if said != state else re.sub(r" (is|are) ", r" \1 still ", state, count=1)


def _is_of_errors(change: Change) -> bool:
    return split_path(change.key)[-1].endswith("bit_error_rate")


def _way(changes: Sequence[Change], before: Sequence[Change], causes: Sequence[Cause]) -> str:
    """The changes of a step, in words for the beginning of a sentence."""
    new = [one for one in changes if one not in before] or list(changes)
    if all(map(_is_of_errors, new)):
        return "Without bit errors"
    speeds = _speeds(changes) if _speeds(new) else None
    if speeds is not None:
        links, speed = speeds
        own = {cause.where for cause in causes}
        return (
            f"At {speed}"
            if set(links) <= own
            else f"With {joined([f'`{one}`' for one in links])} at {speed}"
        )
    is_more = before and {one.key for one in new} - {one.key for one in before}
    settings = [one.setting for one in new]
    is_many = len(settings) > len({one.key.rpartition(".")[2] for one in new})
    if len(settings) > (_MOST_KEYS if is_many else _MOST_NAMES):
        settings = [settings[0], f"{len(settings) - 1} more keys"]
    return f"With {joined(settings)}{', too' if is_more else ''}"


def _speeds(changes: Sequence[Change]) -> tuple[list[str], str] | None:
    """The changed links and their new speed, if all changes set links to this same speed."""
    found: dict[str, dict[str, Value]] = {}
    for one in changes:
        *place, key = split_path(one.key)
        if place[:1] != ["links"] or key not in {"generation", "lanes"}:
            return None
        found.setdefault(place[-1], {})[key] = one.value
    speeds = {
        " ".join(
            f"{mark}{speed[key]}"
            for key, mark in (("generation", "Gen"), ("lanes", "x"))
            if key in speed
        )
        for speed in found.values()
    }
    return (list(found), speeds.pop()) if len(speeds) == 1 else None
