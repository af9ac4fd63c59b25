"""Flow control: initialisation, limits that are never passed, credits that are returned once."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.finding import TOLERANCE_NS, Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.packets import Dllp, Tlp
    from conformance.trace import Trace, Wire

SCALES = {0: 1, 1: 1, 2: 4, 3: 16}
"""Scale factors by the codes of HdrScale and DataScale; 0 is without scaling (3.4.2)."""

REFRESH_NS = 45_000.0

NAMES = "posted", "non-posted", "completion"

Class = tuple[int, int]
"""Virtual channel and type of credit."""


def flow_control_initialisation(trace: Trace) -> Iterator[Finding]:
    """3.4.1: TLPs wait for the limits of the other end and for word that the own ones arrived."""
    for wire in trace.wires.values():
        limits: set[tuple[int, int]] = set()
        ready_at = None
        done = 0.0
        for sent, dllp in wire.other.dllps:
            if dllp.is_credit and sent.accepted and sent.arrival:
                limits.add((dllp.channel, dllp.credit))
                if dllp.kind != "InitFC1" and {(0, 0), (0, 1), (0, 2)} <= limits:
                    ready_at = sent.arrival.ns
                    break
        for sent, _ in wire.other.tlps:
            if sent.accepted and sent.arrival:
                done = sent.arrival.ns
                ready_at = done if ready_at is None else min(ready_at, done)
                break
        for sent, _ in wire.tlps[:1]:
            if ready_at is None or sent.ns < ready_at - TOLERANCE_NS:
                text = "a TLP before flow-control initialisation is complete"
                yield Finding("flow_control_initialisation", wire.name, sent.ns, text)


def credit_limits(trace: Trace) -> Iterator[Finding]:
    """2.6.1.2: a TLP is sent only if CREDIT_LIMIT covers it, modulo the width of the counters."""
    for wire in trace.wires.values():
        yield from _within_limits(wire)


def _within_limits(wire: Wire) -> Iterator[Finding]:
    initial = _initial(wire.other)
    if not _is_mapped(wire, initial):
        return
    headers = {key: Counter(8, dllp.headers, dllp.header_scale) for key, dllp in initial.items()}
    data = {key: Counter(12, dllp.data, dllp.data_scale) for key, dllp in initial.items()}
    updates = [(s.arrival.ns, d) for s, d in wire.other.dllps if s.accepted and s.arrival]
    updates = [(ns, dllp) for ns, dllp in updates if dllp.kind == "UpdateFC"]
    position = 0
    for sent, tlp in wire.first_transmissions:
        while position < len(updates) and updates[position][0] <= sent.ns + TOLERANCE_NS:
            dllp = updates[position][1]
            position += 1
            if (dllp.channel, dllp.credit) in headers:
                headers[dllp.channel, dllp.credit].raise_to(dllp.headers)
                data[dllp.channel, dllp.credit].raise_to(dllp.data)
        channel = _channel(wire, tlp)
        if channel is None:
            text = f"a TLP of TC{tlp.traffic_class}, which maps to no channel"
            yield Finding("credit_limits", wire.name, sent.ns, text)
            return
        key = channel, tlp.credit
        if key not in headers:
            continue  # The rule of initialisation says so.
        enough = headers[key].spend(1), data[key].spend(tlp.data_credits)
        if not all(enough):
            what = "header" if not enough[0] else "data"
            text = f"no {what} credit for a {NAMES[tlp.credit]} TLP"
            yield Finding("credit_limits", wire.name, sent.ns, text)
            return


class Counter:
    """CREDIT_LIMIT and CREDITS_CONSUMED of a transmitter, in units of credits."""

    def __init__(self, bits: int, limit: int, scale: int) -> None:
        self.infinite = limit == 0
        self.factor = SCALES[scale]
        # The field keeps its width, and the counter has the bits of the scale factor below it.
        self.modulus = (1 << bits) * self.factor
        self.limit = limit * self.factor
        self.consumed = 0

    def raise_to(self, limit: int) -> None:
        self.limit = limit * self.factor

    def spend(self, count: int) -> bool:
        self.consumed = (self.consumed + count) % self.modulus
        left = (self.limit - self.consumed) % self.modulus
        return self.infinite or left <= self.modulus // 2


def credit_returns(trace: Trace) -> Iterator[Finding]:
    """2.6.1.2, 3.4.2: UpdateFC returns what arrived, in the scale of InitFC; infinite stays so."""
    for wire in trace.wires.values():
        initial = _initial(wire.other)
        for key, dllp in initial.items():
            for field in FIELDS:
                if field.value(dllp) >= 1 << (field.bits - 1):
                    text = f"{field.value(dllp)} {field.name} credits of {_name(key)} are too many"
                    yield Finding("credit_returns", wire.other.name, 0.0, text)
        if _is_mapped(wire, initial):
            yield from _returned(wire, initial)


def credit_refresh(trace: Trace) -> Iterator[Finding]:
    """2.6.1.2: each limit is sent again within 30 us (-0 % / +50 %), also if nothing was freed."""
    for wire in trace.wires.values():
        skips = max((end - start for start, end in wire.ordered_sets), default=0.0)
        latest = REFRESH_NS + wire.longest_ns + 2 * skips + wire.longest_exit_ns
        for key, first in _initial(wire).items():
            if first.headers == 0 and first.data == 0:
                continue
            last = None
            times = [s.ns for s, d in wire.dllps if d.is_credit and (d.channel, d.credit) == key]
            for ns in [*times, wire.sent[-1].ns]:
                if last is not None and ns - last > latest + wire.recovery_ns(last, ns):
                    text = f"no limit of {_name(key)} since {last:.1f} ns"
                    yield Finding("credit_refresh", wire.name, ns, text)
                    break
                last = ns


@dataclass(frozen=True)
class Field:
    """One of the two counts in a flow-control DLLP."""

    name: str
    bits: int
    value: Callable[[Dllp], int]
    scale: Callable[[Dllp], int]
    spent: Callable[[Tlp], int]


FIELDS = (
    Field("header", 8, lambda dllp: dllp.headers, lambda dllp: dllp.header_scale, lambda _: 1),
    Field(
        "data",
        12,
        lambda dllp: dllp.data,
        lambda dllp: dllp.data_scale,
        lambda tlp: tlp.data_credits,
    ),
)


def _returned(wire: Wire, initial: dict[Class, Dllp]) -> Iterator[Finding]:
    arrived = deque((s.arrival.ns, tlp) for s, tlp in wire.in_sequence() if s.arrival)
    returns = {
        (key, field): _Return(field, first) for key, first in initial.items() for field in FIELDS
    }
    for sent, dllp in wire.other.dllps:
        if dllp.kind != "UpdateFC" or (dllp.channel, dllp.credit) not in initial:
            continue
        while arrived and arrived[0][0] <= sent.ns + TOLERANCE_NS:
            tlp = arrived.popleft()[1]
            channel = _channel(wire, tlp)
            for field in FIELDS:
                if channel is not None and ((channel, tlp.credit), field) in returns:
                    returns[(channel, tlp.credit), field].received += field.spent(tlp)
        key = dllp.channel, dllp.credit
        for field in FIELDS:
            wrong = returns[key, field].update(dllp)
            if wrong:
                text = f"{field.name} credits of {_name(key)}: {wrong}"
                yield Finding("credit_returns", wire.other.name, sent.ns, text)
                return


class _Return:
    """Credits of one class that a receiver got and returned."""

    def __init__(self, field: Field, first: Dllp) -> None:
        self.field, self.first = field, first
        self.received = 0
        self.returned = 0
        """In units of the scale factor."""

    def update(self, dllp: Dllp) -> str | None:
        field, start = self.field, self.field.value(self.first)
        if field.scale(dllp) != field.scale(self.first):
            return f"scale {field.scale(dllp)}, and InitFC had {field.scale(self.first)}"
        if start == 0:
            return f"{field.value(dllp)}, and they are infinite" if field.value(dllp) else None
        step = (field.value(dllp) - start - self.returned) % (1 << field.bits)
        self.returned += step
        total = self.returned * SCALES[field.scale(dllp)]
        if step > 1 << (field.bits - 1) or total > self.received:
            return f"{total} are returned, and {self.received} came"
        return None


def _is_mapped(wire: Wire, initial: dict[Class, Dllp]) -> bool:
    """Whether the channel of each class is known: by registers, or because there is one.

    A link of coherence messages has a second channel without registers.
    """
    return wire.link.channels is not None or len({channel for channel, _ in initial}) == 1


def _channel(wire: Wire, tlp: Tlp) -> int | None:
    """The virtual channel of a TLP (2.5.3)."""
    return 0 if wire.link.channels is None else wire.link.channels[tlp.traffic_class]


def _name(key: Class) -> str:
    return f"VC{key[0]}, {NAMES[key[1]]}"


def _initial(wire: Wire) -> dict[Class, Dllp]:
    """The first limits that the source of `wire` announces."""
    initial: dict[Class, Dllp] = {}
    for _, dllp in wire.dllps:
        if dllp.kind in ("InitFC1", "InitFC2"):
            initial.setdefault((dllp.channel, dllp.credit), dllp)
    return initial


RULES = (flow_control_initialisation, credit_limits, credit_returns, credit_refresh)
