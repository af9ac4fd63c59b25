"""The physical layer: what takes a wire, how long, and the ordered sets between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.finding import TOLERANCE_NS, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.trace import Trace, Wire

SKIPS_8B10B = 1180, 1538
"""Symbol times between SKP ordered sets (4.2.7.1)."""

SKIPS_128B130B = 370 * 16, 375 * 16
"""Symbol times between SKP ordered sets: 370 to 375 blocks (4.2.7.2)."""

BLOCK = 16
"""Symbols of a block (4.2.2.1)."""


def one_thing_at_a_time(trace: Trace) -> Iterator[Finding]:
    """4.2.1, 4.2.2: a lane carries one symbol stream."""
    for wire in trace.wires.values():
        times = [(sent.ns, sent.end_ns) for sent in wire.sent] + wire.ordered_sets
        free = 0.0
        for start, end in sorted(times):
            if start < free - TOLERANCE_NS:
                yield Finding("one_thing_at_a_time", wire.name, start, f"busy until {free:.3f} ns")
            free = max(free, end)


def time_on_the_wire(trace: Trace) -> Iterator[Finding]:
    """4.2.1.2, 4.2.2.3: a TLP takes its header, data, LCRC and framing, striped over the lanes."""
    for wire in trace.wires.values():
        for sent, tlp in wire.tlps:
            due = tlp.size * wire.link.byte_ns
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
        yield from _spacing(wire)


def _spacing(wire: Wire) -> Iterator[Finding]:
    symbol = wire.link.symbol_ns
    least, most = SKIPS_8B10B if wire.link.is_8b10b else SKIPS_128B130B
    # A set waits for the packet on the wire, and may wait for a block to begin.
    slack = wire.longest_ns + (0 if wire.link.is_8b10b else 2 * BLOCK * symbol) + TOLERANCE_NS
    slack += max((end - start for start, end in wire.ordered_sets), default=0.0)
    sets = sorted(wire.ordered_sets)
    for number, (start, end) in enumerate(sets):
        length = 4 * symbol if wire.link.is_8b10b else BLOCK * symbol + 4 * wire.link.byte_ns
        if abs(end - start - length) > TOLERANCE_NS:
            text = f"takes {end - start:.4f} ns, not {length:.4f}"
            yield Finding("ordered_sets", wire.name, start, text)
        for first in {0, max(0, number - 1)} - {number}:
            since, intervals = start - sets[first][0], number - first
            earliest, latest = intervals * least * symbol, intervals * most * symbol
            if not earliest - slack <= since <= latest + slack:
                text = f"{since:.1f} ns after the one {intervals} before it"
                yield Finding("ordered_sets", wire.name, start, text)
    if not wire.link.is_8b10b:
        yield from _alignment(wire, sets)
    # Those that are missing after the last one, or altogether.
    last = sets[-1][0] if sets else 0.0
    for sent in wire.sent:
        if sent.ns > last + most * symbol + slack and (not sets or sent.ns > sets[-1][1]):
            text = f"no ordered set since {last:.1f} ns"
            yield Finding("ordered_sets", wire.name, sent.ns, text)
            return


def _alignment(wire: Wire, sets: list[tuple[float, float]]) -> Iterator[Finding]:
    """4.2.2.1, 4.2.2.3: an ordered set is a block, so that all begin at multiples of a block."""
    block = BLOCK * wire.link.symbol_ns
    for start, _ in sets:
        blocks = (start - sets[0][0]) / block
        if abs(blocks - round(blocks)) * block > TOLERANCE_NS:
            text = f"{blocks:.3f} blocks after the first ordered set"
            yield Finding("ordered_sets", wire.name, start, text)


RULES = (one_thing_at_a_time, time_on_the_wire, arrivals, ordered_sets)
