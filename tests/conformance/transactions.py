"""The transaction layer: requests, their tags, and the completions that answer them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.finding import Finding
from conformance.packets import NON_POSTED
from conformance.registers import BY_ID, NO_SNOOP, RELAXED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.packets import Tlp
    from conformance.trace import Sent, Trace, Wire

PAGE = 4096

SHORTEST_TIMEOUT_NS = 50_000
"""A completion timeout is not shorter (2.8); after it a tag may be used again."""


def requests(trace: Trace) -> Iterator[Finding]:
    """2.2.7: no request crosses 4 KiB or exceeds Max_Payload_Size or Max_Read_Request_Size."""
    for wire in trace.wires.values():
        for sent, tlp in wire.first_transmissions:
            if not tlp.is_known:
                continue
            if tlp.payload > wire.link.max_payload:
                text = (
                    f"{tlp.payload} B of payload, and Max_Payload_Size is {wire.link.max_payload} B"
                )
                yield Finding("requests", wire.name, sent.ns, text)
            if not tlp.is_memory:
                continue
            if tlp.address % PAGE + 4 * tlp.dwords > PAGE:
                text = f"{4 * tlp.dwords} B at {tlp.address:#x} cross a boundary of 4 KiB"
                yield Finding("requests", wire.name, sent.ns, text)
            read = trace.fabric.read_requests.get((wire.link.root, tlp.requester))
            if not tlp.has_data and read is not None and 4 * tlp.dwords > read:
                text = f"a read of {4 * tlp.dwords} B, and Max_Read_Request_Size is {read} B"
                yield Finding("requests", wire.name, sent.ns, text)


@dataclass
class Open:
    """A request whose completions are not all back."""

    request: Tlp
    since_ns: float
    left: int
    """Bytes that have not come back."""
    following: int
    """The address of the next byte, as far as completions tell it."""
    answered: bool = False


def completions(trace: Trace) -> Iterator[Finding]:
    """2.2.9, 2.3.1.1: completions by address, cut at RCB, with byte count and lower address."""
    for _, ns, where, text in _transactions(trace, "completions"):
        yield Finding("completions", where, ns, text)


def tags(trace: Trace) -> Iterator[Finding]:
    """2.2.6.2: no two outstanding requests have the same transaction ID."""
    for _, ns, where, text in _transactions(trace, "tags"):
        yield Finding("tags", where, ns, text)


def attributes(trace: Trace) -> Iterator[Finding]:
    """2.2.6.4, 2.2.6.5, 7.5.3.4, 7.5.3.16: no attribute whose enable is clear, none in messages."""
    for wire, sent, tlp in _own_requests(trace):
        registers = trace.fabric.registers.get((wire.link.root, tlp.requester))
        allowed = registers.attributes if registers else RELAXED | NO_SNOOP | BY_ID
        if tlp.is_configuration or tlp.is_message or tlp.is_interrupt:
            allowed &= ~(RELAXED | NO_SNOOP)
        if tlp.attributes & ~allowed:
            text = f"attributes {tlp.attributes:#05b}, and {allowed:#05b} may be set"
            yield Finding("attributes", wire.name, sent.ns, text)


def prefixes(trace: Trace) -> Iterator[Finding]:
    """2.2.10.2, 6.20.2: PASID prefixes that are enabled, before requests that may have one."""
    for wire, sent, tlp in _own_requests(trace):
        registers = trace.fabric.registers.get((wire.link.root, tlp.requester))
        if not tlp.prefix or registers is None:
            continue
        may_have = (tlp.is_memory and not tlp.is_translated) or tlp.is_atomic or tlp.is_message
        allowed = registers.pasid >> 1 if tlp.credit == NON_POSTED else registers.pasid >> 1 & 2
        if not may_have or tlp.is_interrupt or not registers.pasid & 1:
            yield Finding("prefixes", wire.name, sent.ns, "a PASID prefix that may not be there")
        elif tlp.permissions & ~allowed:
            text = f"a PASID prefix with permissions {tlp.permissions:#b}, and {allowed:#b} may be"
            yield Finding("prefixes", wire.name, sent.ns, text)


def tag_widths(trace: Trace) -> Iterator[Finding]:
    """2.2.6.2: tags are no wider than enabled, and 10-bit tags have one of the upper bits set."""
    for wire, sent, tlp in _own_requests(trace):
        registers = trace.fabric.registers.get((wire.link.root, tlp.requester))
        if tlp.credit != NON_POSTED or tlp.is_configuration or registers is None:
            continue
        least, beyond = {5: (0, 32), 8: (0, 256), 10: (256, 1024)}[registers.tag_bits]
        if not least <= tlp.tag < beyond:
            text = f"tag {tlp.tag:#x}, and tags of {registers.tag_bits} bits are enabled"
            yield Finding("tag_widths", wire.name, sent.ns, text)


def _own_requests(trace: Trace) -> Iterator[tuple[Wire, Sent, Tlp]]:
    """The requests that requesters put on their own links."""
    for node, own in sorted(trace.fabric.requesters.items()):
        for wire in trace.out_of(node):
            for sent, tlp in wire.first_transmissions:
                if tlp.is_known and not tlp.is_completion and tlp.requester in own:
                    yield wire, sent, tlp


def _transactions(trace: Trace, rule: str) -> Iterator[tuple[str, float, str, str]]:
    """What requesters see on their own links: requests leave, completions come back."""
    for node, own in sorted(trace.fabric.requesters.items()):
        events: list[tuple[float, int, Wire, Tlp]] = []
        for wire in trace.out_of(node):
            leaving = wire.first_transmissions
            events += [(sent.ns, 1, wire, tlp) for sent, tlp in leaving if not tlp.is_completion]
        for wire in trace.into(node):
            events += [
                (sent.arrival.ns, 0, wire, tlp)
                for sent, tlp in wire.in_sequence()
                if sent.arrival and tlp.is_completion
            ]
        yield from _check(trace, own, events, rule)


def _check(
    trace: Trace, own: frozenset[int], events: list[tuple[float, int, Wire, Tlp]], rule: str
) -> Iterator[tuple[str, float, str, str]]:
    outstanding: dict[tuple[int, int], Open] = {}
    for ns, is_request, wire, tlp in sorted(events, key=lambda event: event[:2]):
        where = wire.name
        if not tlp.is_known or tlp.requester not in own:
            continue
        key = tlp.transaction
        if is_request:
            if tlp.credit != 1:
                continue
            other = outstanding.get(key)
            if other is not None and ns < other.since_ns + SHORTEST_TIMEOUT_NS and rule == "tags":
                text = (
                    f"tag {key[1]:#x} of {key[0]:#06x} is outstanding since {other.since_ns:.1f} ns"
                )
                yield "tags", ns, where, text
            first, count = tlp.asked
            outstanding[key] = Open(tlp, ns, count, first)
            continue
        open_request = outstanding.get(key)
        if open_request is None:
            if rule == "completions":
                yield "completions", ns, where, f"nothing asked for tag {key[1]:#x}"
            continue
        wrong = _wrong(trace, wire, open_request, tlp)
        if wrong and rule == "completions":
            yield "completions", ns, where, wrong
        if open_request.left <= 0 or wrong:
            del outstanding[key]


def _wrong(trace: Trace, wire: Wire, asked: Open, tlp: Tlp) -> str | None:
    """What is wrong with a completion of `asked`, whose bytes are taken from those left."""
    request = asked.request
    copied = tlp.attributes & ~BY_ID, request.attributes & ~BY_ID
    if tlp.traffic_class != request.traffic_class or copied[0] != copied[1]:
        return "traffic class or attributes are not those of the request"
    completer = trace.fabric.registers.get((wire.link.root, tlp.completer))
    if tlp.attributes & BY_ID and completer is not None and not completer.completions_by_id:
        return "ID-based ordering, and IDO Completion Enable of the completer is clear"
    if tlp.status != 0 or not tlp.has_data:
        asked.left = 0
        return _wrong_end(request, tlp)
    boundary = trace.fabric.boundary(wire.link.root, tlp.completer, tlp.requester)
    return _wrong_part(asked, tlp, boundary)


def _wrong_end(request: Tlp, tlp: Tlp) -> str | None:
    """What is wrong with a completion without data or without success."""
    if tlp.status != 0:
        return "data with an unsuccessful status" if tlp.has_data else None
    is_write = request.has_data and not request.is_atomic
    return None if is_write else "a successful completion of a read without data"


def _wrong_part(asked: Open, tlp: Tlp, boundary: int) -> str | None:
    """What is wrong with a completion that returns some of the bytes, or the last."""
    if tlp.byte_count != asked.left:
        return f"byte count {tlp.byte_count}, and {asked.left} are left"
    if tlp.lower_address != asked.following & 0x7F:
        return f"lower address {tlp.lower_address:#x}, and {asked.following:#x} is next"
    lead = asked.following % 4
    carried = min(tlp.payload - lead, asked.left)
    if -(-(lead + carried) // 4) * 4 != tlp.payload:
        return f"{tlp.payload} B of payload for {carried} B"
    asked.left -= carried
    asked.following += carried
    if asked.left > 0 and asked.request.is_memory and asked.following % boundary:
        return f"it ends at {asked.following:#x}, which is no multiple of {boundary} B"
    return None


RULES = (requests, attributes, prefixes, completions, tags, tag_widths)
