"""Active State Power Management: how a link gets into L1, and out of it."""

from __future__ import annotations

from bisect import bisect_left
from itertools import takewhile
from typing import TYPE_CHECKING

from conformance.finding import TOLERANCE_NS, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.trace import Sent, Trace, Training, Wire

REQUEST = "PM_Active_State_Request_L1"
AGREEMENT = "PM_Request_Ack"

PAUSE_NS = 10_000.0
"""The least time from a refusal until the next request (5.4.1.2.1)."""


def entry_to_l1(trace: Trace) -> Iterator[Finding]:
    """5.4.1.2.1, 5.3.2.1: the lower end asks, the upper one agrees, and the lower one rests first.

    Neither has a TLP that is not acknowledged, and neither sends a TLP until it is in L1.
    """
    for wire in trace.wires.values():
        for ns, wrong in _wrong_entries(wire):
            yield Finding("entry_to_l1", wire.name, ns, wrong)


def _wrong_entries(wire: Wire) -> Iterator[tuple[float, str]]:
    back = wire.other
    asks = [sent for sent, dllp in wire.dllps if dllp.kind == REQUEST]
    agrees = [sent for sent, dllp in wire.dllps if dllp.kind == AGREEMENT]
    if wire.direction == "down" and asks:
        yield asks[0].ns, "a port above asks for L1"
    if wire.direction == "up" and agrees:
        yield agrees[0].ns, "a port below agrees to L1"
    for sent in agrees:
        if not _arrived(back, REQUEST, sent.ns):
            yield sent.ns, "it agrees to what nobody asked for"
            break
    for one in _rests(wire):
        if wrong := _wrong_rest(wire, one.ns):
            yield one.ns, wrong


def _wrong_rest(wire: Wire, ns: float) -> str | None:
    """What is wrong with an end of a link that goes to L1."""
    back = wire.other
    if wire.direction == "up":
        kind, is_invited = REQUEST, _arrived(back, AGREEMENT, ns)
    else:
        rests = _since(back, wire, ns)
        kind, is_invited = AGREEMENT, any(one.end_ns <= ns + TOLERANCE_NS for one in rests)
    if not is_invited:
        return "it rests, and the other end neither agrees nor rests"
    if unanswered := _unanswered(wire, ns):
        return f"it rests, and TLP {unanswered.sequence} is not acknowledged"
    said = [sent.ns for sent, dllp in wire.dllps if dllp.kind == kind and sent.ns < ns]
    if not said:
        return f"it rests without {kind}"
    if any(said[-1] < sent.ns < ns for sent, _ in wire.first_transmissions):
        return f"a TLP between {kind} and L1"
    return None


def _rests(wire: Wire) -> list[Training]:
    return [one for one in wire.trainings if one.kind == "EIOS"]


def _since(back: Wire, wire: Wire, ns: float) -> list[Training]:
    """The times at which the other end went to rest since this one was last in L1."""
    last = max((one.ns for one in _rests(wire) if one.ns < ns), default=-1.0)
    return [one for one in _rests(back) if last < one.ns]


def _arrived(back: Wire, kind: str, ns: float) -> bool:
    """Whether a DLLP of this kind had arrived, in the data stream of that time."""
    stream = back.stream_at(ns)
    begin = back.recoveries[stream - 1].end_ns if stream else float("-inf")
    first = bisect_left(back.dllps, begin, key=lambda one: one[0].ns)
    return any(
        sent.accepted and sent.arrival is not None and sent.arrival.ns <= ns + TOLERANCE_NS
        for sent, dllp in takewhile(lambda one: one[0].ns <= ns + TOLERANCE_NS, back.dllps[first:])
        if dllp.kind == kind and back.stream_at(sent.ns) == stream
    )


def _unanswered(wire: Wire, ns: float) -> Sent | None:
    """The last TLP before `ns`, if no Ack of it had come."""
    before = [sent for sent, _ in wire.tlps if sent.ns < ns and not sent.nullified]
    if not before:
        return None
    answers = (
        dllp.sequence
        for sent, dllp in wire.other.dllps
        if dllp.kind in ("Ack", "Nak") and sent.accepted
        if sent.arrival is not None and sent.arrival.ns <= ns + TOLERANCE_NS
    )
    newest = max(before, key=lambda sent: (sent.sequence - before[0].sequence) % 4096)
    return None if newest.sequence in set(answers) else newest


def requests_of_l1(trace: Trace) -> Iterator[Finding]:
    """5.4.1.2.1: a component that was refused waits for 10 us before it asks again."""
    for wire in trace.wires.values():
        refusals = [
            sent.arrival.ns
            for sent, tlp in wire.other.tlps
            if tlp.is_refusal_of_l1 and sent.accepted and sent.arrival is not None
        ]
        asks = [sent.ns for sent, dllp in wire.dllps if dllp.kind == REQUEST]
        for ns in refusals:
            # A DLLP may be in the pipeline when the refusal arrives.
            known = ns + wire.pipeline_ns + TOLERANCE_NS
            last = max((one for one in asks if one <= known), default=None)
            again = min((one for one in asks if one > known), default=None)
            if last is None or again is None:
                continue
            if again - last < PAUSE_NS - TOLERANCE_NS:
                text = f"it asks again {again - last:.1f} ns after the request that was refused"
                yield Finding("requests_of_l1", wire.name, again, text)
                break


def exit_from_l1(trace: Trace) -> Iterator[Finding]:
    """5.4.1.2.2, 7.5.3.6: from its first TS1 until its TS2 a port takes its L1 Exit Latency."""
    for wire in trace.wires.values():
        least = wire.link.l1_exits_ns[wire.direction == "up"]
        for one, first, last in zip(*(wire.trainings[at:] for at in range(3)), strict=False):
            if (one.kind, last.kind) != ("EIOS", "TS2"):
                continue
            if last.end_ns - first.ns < least - TOLERANCE_NS:
                text = f"it leaves L1 within {last.end_ns - first.ns:.1f} ns"
                yield Finding("exit_from_l1", wire.name, first.ns, text)
                break


RULES = (entry_to_l1, requests_of_l1, exit_from_l1)
