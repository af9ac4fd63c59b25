"""The ordering of packets through switches, by an oracle of its own."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.finding import Finding
from conformance.registers import BY_ID, RELAXED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.packets import Tlp
    from conformance.trace import Sent, Trace


def may_pass(later: Tlp, earlier: Tlp) -> bool:
    """Whether `later` may go before `earlier`, which came first (2.4.1, table 2-39; 4.0: 2-40)."""
    if later.traffic_class != earlier.traffic_class:
        return True
    row, column = "PNC"[later.credit], "PNC"[earlier.credit]
    if (row, column) == ("C", "C"):
        # D5: completions of one request stay in order of address.
        return later.transaction != earlier.transaction
    if column != "P":
        # A3, A5, B3, B4, B5, C3, C4, C5, D3, D4: never forbidden.
        return True
    # A2, B2, C2, D2: nothing passes a posted request, but by RO or IDO.
    own = later.completer if later.is_completion else later.requester
    processes = None if later.is_completion else later.pasid, earlier.pasid
    other_process = None not in processes and processes[0] != processes[1]
    by_id = bool(later.attributes & BY_ID) and (own != earlier.requester or other_process)
    is_read = row == "N" and not later.has_data
    relaxed = bool(later.attributes & RELAXED) and not is_read
    return by_id or relaxed


def ordering_table(trace: Trace) -> Iterator[Finding]:
    """2.4.1: from one port of a switch or host to another, nothing passes what it must not."""
    for node in sorted(trace.fabric.switches | trace.fabric.hosts):
        yield from _through(trace, node)


@dataclass
class Passage:
    """A TLP that a switch or host accepted, and where and as what number it left again."""

    sent: Sent
    tlp: Tlp
    egress: str | None = None
    number: int = 0


def passes(trace: Trace) -> list[tuple[Tlp, Tlp]]:
    """The TLPs that left a switch or host before an older one, each with that one."""
    nodes = sorted(trace.fabric.switches | trace.fabric.hosts)
    found = []
    for node in nodes:
        ingress, _ = _passages(trace, node)
        for entries in ingress.values():
            for place, entry in enumerate(entries):
                older = (one for one in entries[:place] if one.egress == entry.egress is not None)
                found += [(entry.tlp, one.tlp) for one in older if one.number > entry.number]
    return [pair for pair in found if pair[0].is_known and pair[1].is_known]


def _through(trace: Trace, node: str) -> Iterator[Finding]:
    ingress, strangers = _passages(trace, node)
    if node in trace.fabric.switches:
        # What a host sends itself did not come in.
        yield from strangers
    for name, entries in ingress.items():
        yield from _passed(name, entries)


def _passages(trace: Trace, switch: str) -> tuple[dict[str, list[Passage]], list[Finding]]:
    """What came in by each wire, and TLPs that left and did not come in."""
    strangers: list[Finding] = []
    ingress: dict[str, list[Passage]] = {}
    standing: dict[tuple[bytes, int], deque[Passage]] = defaultdict(deque)
    into = [wire for wire in trace.lives if wire.target == switch]
    out_of = [wire for wire in trace.lives if wire.source == switch]
    for wire in into:
        ingress[wire.name] = ingress.get(wire.name, []) + [
            Passage(sent, tlp) for sent, tlp in wire.in_sequence()
        ]
    came = [one for entries in ingress.values() for one in entries]
    for one in sorted(came, key=lambda one: one.sent.ns):
        standing[_identity(one.tlp)].append(one)
    leaving = [(s.ns, s, tlp, w) for w in out_of for s, tlp in w.first_transmissions]
    for number, (ns, _, tlp, wire) in enumerate(sorted(leaving, key=lambda one: one[0])):
        # Those that are equal in every byte are taken in order; none returns to its own port.
        same = standing[_identity(tlp)]
        entry = next((one for one in same if one.sent.line["link"] != wire.link_name), None)
        if entry is None or entry.sent.ns > ns:
            if tlp.is_known and not _is_own(tlp):
                text = "a TLP that did not come in"
                strangers.append(Finding("ordering_table", wire.name, ns, text))
            continue
        same.remove(entry)
        entry.egress, entry.number = wire.name, number
    return ingress, strangers


def _passed(ingress: str, entries: list[Passage]) -> Iterator[Finding]:
    """Those that left before an older one that they must not pass."""
    older: dict[str, list[Passage]] = defaultdict(list)
    for entry in entries:
        if entry.egress is None:
            continue
        ahead = older[entry.egress]
        for other in ahead:
            if other.number > entry.number and not may_pass(entry.tlp, other.tlp):
                text = f"from {ingress}: it passed an older TLP, which left at a later time"
                yield Finding("ordering_table", entry.egress, entry.sent.ns, text)
                return
        # Only those that leave later than this one can be passed by those that follow.
        older[entry.egress] = [one for one in ahead if one.number > entry.number] + [entry]


def _identity(tlp: Tlp) -> tuple[bytes, int]:
    """A switch changes no TLP, but makes type 0 of type 1 at the last bus (7.3.3)."""
    raw = tlp.raw
    if tlp.is_configuration:
        raw = bytes([raw[0] & ~1]) + raw[1:]
    return tlp.prefix + raw, tlp.payload


def _is_own(tlp: Tlp) -> bool:
    """A completion, a message or an interrupt may be the switch's own (2.3.1, 2.2.8, 6.1.4)."""
    return tlp.is_completion or tlp.is_message or tlp.is_interrupt


RULES = (ordering_table,)
