"""The physical layer: what takes a wire, how long, and the ordered sets between."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING

from conformance.finding import TOLERANCE_NS, Finding
from conformance.trace import DLLP_BYTES, WAITING_DLLPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.trace import Trace, Training, Wire

SKIPS_8B10B = 1180, 1538
"""Symbol times between SKP ordered sets (4.2.7.1)."""

SKIPS_128B130B = 370 * 16, 375 * 16
"""Symbol times between SKP ordered sets: 370 to 375 blocks (4.2.7.2)."""

SKIPS_WITH_SEPARATE_CLOCKS = (0, 153), (0, 37 * 16)
"""The same with separate reference clocks: less than 154 symbols, less than 38 blocks (4.2.7.3)."""

BLOCK = 16
"""Symbols of a block (4.2.2.1)."""


def one_thing_at_a_time(trace: Trace) -> Iterator[Finding]:
    """4.2.1, 4.2.2: a lane carries one symbol stream."""
    for wire in trace.wires.values():
        times = [(sent.ns, sent.end_ns) for sent in wire.sent] + wire.ordered_sets
        times += [(one.ns, one.end_ns) for one in wire.trainings] + wire.exits
        free = 0.0
        for start, end in sorted(times):
            if start < free - TOLERANCE_NS:
                yield Finding("one_thing_at_a_time", wire.name, start, f"busy until {free:.3f} ns")
            free = max(free, end)


def time_on_the_wire(trace: Trace) -> Iterator[Finding]:
    """4.2.1.2, 4.2.2.3: a TLP takes its header, data, LCRC and framing, striped over the lanes."""
    for wire in trace.wires.values():
        for sent, tlp in wire.tlps:
            due = tlp.size * wire.at(sent.ns).byte_ns
            took = sent.end_ns - sent.ns
            if abs(took - due) > TOLERANCE_NS:
                text = f"{tlp.size} B take {took:.4f} ns, not {due:.4f}"
                yield Finding("time_on_the_wire", wire.name, sent.ns, text)


def arrivals(trace: Trace) -> Iterator[Finding]:
    """4.2: what leaves arrives, in order and after the same flight; nothing else arrives."""
    for wire in trace.wires.values():
        if wire.extra_arrivals:
            text = f"{wire.extra_arrivals} more arrive than left"
            yield Finding("arrivals", wire.name, 0.0, text)
        flight = None
        for sent in wire.sent:
            if sent.arrival is None:
                continue
            took = sent.arrival.ns - sent.end_ns
            flight = took if flight is None else flight
            if took < -TOLERANCE_NS or abs(took - flight) > TOLERANCE_NS:
                text = f"a flight of {took:.4f} ns, the first took {flight:.4f}"
                yield Finding("arrivals", wire.name, sent.ns, text)


def ordered_sets(trace: Trace) -> Iterator[Finding]:
    """4.2.7: SKP ordered sets at their interval or after the packet on the wire, none forgotten."""
    for wire in trace.wires.values():
        for begin, end in wire.streams:
            # Each data stream has a schedule of its own.
            yield from _spacing(wire, begin, end)


def _spacing(wire: Wire, begin: float, end_of_stream: float) -> Iterator[Finding]:
    link = wire.at(begin)
    symbol = link.symbol_ns
    least, most = SKIPS_8B10B if link.is_8b10b else SKIPS_128B130B
    if link.has_separate_clocks:
        least, most = SKIPS_WITH_SEPARATE_CLOCKS[not link.is_8b10b]
    # A set waits for the packet on the wire, and may wait for a block to begin.
    slack = max(wire.longest_ns, DLLP_BYTES * link.byte_ns) + TOLERANCE_NS
    slack += 0 if link.is_8b10b else 2 * BLOCK * symbol
    sets = wire.ordered_sets
    sets = sets[bisect_left(sets, (begin,)) : bisect_left(sets, (end_of_stream,))]
    slack += max((end - start for start, end in sets), default=0.0)
    for number, (start, end) in enumerate(sets):
        length = 4 * symbol if link.is_8b10b else BLOCK * symbol + 4 * link.byte_ns
        if abs(end - start - length) > TOLERANCE_NS:
            text = f"takes {end - start:.4f} ns, not {length:.4f}"
            yield Finding("ordered_sets", wire.name, start, text)
        for first in {0, max(0, number - 1)} - {number}:
            since, intervals = start - sets[first][0], number - first
            earliest, latest = intervals * least * symbol, intervals * most * symbol
            if not earliest - slack <= since <= latest + slack:
                text = f"{since:.1f} ns after the one {intervals} before it"
                yield Finding("ordered_sets", wire.name, start, text)
    if not link.is_8b10b:
        yield from _alignment(wire, symbol, sets)
    # Those that are missing after the last one, or altogether.
    last = sets[-1][0] if sets else begin
    first = bisect_left(wire.sent, begin, key=lambda sent: sent.ns)
    for sent in wire.sent[first:]:
        if sent.ns >= end_of_stream:
            break
        if sent.ns > last + most * symbol + slack and (not sets or sent.ns > sets[-1][1]):
            text = f"no ordered set since {last:.1f} ns"
            yield Finding("ordered_sets", wire.name, sent.ns, text)
            return


def _alignment(wire: Wire, symbol: float, sets: list[tuple[float, float]]) -> Iterator[Finding]:
    """An ordered set is a block, so that all begin at multiples of a block (4.2.2.1, 4.2.2.3).

    Two ordered sets of a data stream are not in consecutive blocks (4.2.7.3).
    """
    block = BLOCK * symbol
    for start, _ in sets:
        blocks = (start - sets[0][0]) / block
        if abs(blocks - round(blocks)) * block > TOLERANCE_NS:
            text = f"{blocks:.3f} blocks after the first ordered set"
            yield Finding("ordered_sets", wire.name, start, text)
    for (before, _), (start, _) in pairwise(sets):
        if start - before < 2 * block - TOLERANCE_NS:
            text = f"{start - before:.4f} ns after another one, with no block of data between"
            yield Finding("ordered_sets", wire.name, start, text)


def framing_errors(trace: Trace) -> Iterator[Finding]:
    """4.2.2.3.3: after a framing error nothing is recognised, and the receiver goes to Recovery."""
    for wire in trace.wires.values():
        wrong = _wrong_after_framing_errors(wire)
        if wrong:
            yield Finding("framing_errors", wire.name, *wrong)


def _wrong_after_framing_errors(wire: Wire) -> tuple[float, str] | None:
    back = wire.other
    # TS1 waits for what is on the wire.
    wait_ns = back.pipeline_ns + back.longest_ns + back.longest_exit_ns + TOLERANCE_NS
    wait_ns += 2 * max((end - start for start, end in back.ordered_sets), default=0.0)
    wait_ns += WAITING_DLLPS * DLLP_BYTES * back.longest_byte_ns
    times = [sent.ns for sent in back.sent] + [one.ns for one in back.trainings]
    last_ns = max(times, default=0.0)
    stopped = -1
    for sent in wire.sent:
        arrival = sent.arrival
        if arrival is None or arrival.verdict == "link-down":
            continue
        stream = wire.stream_at(sent.ns)
        if arrival.verdict != "unframed":
            if stopped == stream:
                return sent.ns, f"it is {arrival.verdict} after a framing error"
            continue
        if wire.at(sent.ns).is_8b10b:
            return sent.ns, "it is unframed, and 8b/10b has no tokens"
        stopped = stream
        latest = arrival.ns + wait_ns
        number = back.stream_at(arrival.ns)
        follows = back.recoveries[number : number + 1]
        if not (follows and follows[0].begin_ns <= latest) and last_ns > latest:
            return sent.ns, "it is unframed, and the link does not go to Recovery"
    return None


def recovery(trace: Trace) -> Iterator[Finding]:
    """4.2.6.4: TS1, then TS2 when the other end trains too; a data stream when both sent TS2."""
    for wire in trace.wires.values():
        for wrong, ns in _wrong_in_recovery(wire):
            yield Finding("recovery", wire.name, ns, wrong)


def _wrong_in_recovery(wire: Wire) -> Iterator[tuple[str, float]]:
    flight = min((s.arrival.ns - s.end_ns for s in wire.other.sent if s.arrival), default=0.0)
    times = sorted([(sent.ns, sent.end_ns) for sent in wire.sent] + wire.ordered_sets)
    rounds = _rounds(wire)
    answers = _rounds(wire.other)
    for number, sets in enumerate(rounds):
        kinds = [one.kind for one in sets]
        if kinds not in (["EIOS"], *([*l1, *ts] for l1 in ([], ["EIOS"]) for ts in TRAINING)):
            yield f"a link trains by {kinds}", sets[0].ns
            return
        position = bisect_left(times, (sets[0].ns,))
        ends_ns = float("inf") if kinds == ["EIOS"] else sets[-1].end_ns - TOLERANCE_NS
        if position < len(times) and times[position][0] < ends_ns:
            yield f"a data stream between {kinds[0]} and {kinds[-1]}", sets[0].ns
        answer = answers[number] if number < len(answers) else []
        own, answer = ([one for one in both if one.kind != "EIOS"] for both in (sets, answer))
        if len(own) < 2:
            continue
        if not answer or own[1].ns < answer[0].end_ns + flight - TOLERANCE_NS:
            yield "TS2 before the first TS1 of the other end", own[1].ns
        position = bisect_left(times, (own[1].ns,))
        if position == len(times):
            continue
        goes_on = times[position][0]
        if len(answer) < 2 or goes_on < answer[1].end_ns + flight - TOLERANCE_NS:
            yield "a data stream before the TS2 of the other end", goes_on


TRAINING = (["TS1"], ["TS1", "TS2"])


def _rounds(wire: Wire) -> list[list[Training]]:
    """The ordered sets of each Recovery, which ends with TS2."""
    rounds: list[list[Training]] = []
    for one in wire.trainings:
        if not rounds or rounds[-1][-1].kind == "TS2":
            rounds.append([])
        rounds[-1].append(one)
    return rounds


RULES = (recovery, framing_errors, one_thing_at_a_time, time_on_the_wire, arrivals, ordered_sets)
