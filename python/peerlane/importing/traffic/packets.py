"""Reads the requests of a packet trace, each once, where it leaves its requester."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from peerlane.importing.traffic.request import NS, Ends, Recording, Request
from peerlane.results.reading import FileError, lines_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_INTERRUPTS = range(0xFEE0_0000, 0xFEF0_0000)
"""Addresses at which writes are interrupts (MSI, MSI-X)."""


@dataclass(frozen=True, slots=True)
class _Line:
    """The fields that are read from a line: of a TLP that leaves, or of an arrival."""

    ns: float
    link: str
    direction: str
    tlp: str = ""
    requester: str = ""
    address: str = "0x0"
    address_type: str = ""
    length: int = 0
    replay: bool = False
    nullified: bool = False
    arrival: str = ""
    node: str = ""

    def __post_init__(self) -> None:
        """Checks the address."""
        try:
            int(self.address, 16)
        except ValueError:
            message = f"address: {self.address!r} is no address; write one like 0x1000"
            raise ValueError(message) from None


_Hop = tuple[str, str]
"""A link and a direction of it."""


def read(text: str, source: str, ends: Ends, recording: Recording) -> None:
    """Adds the memory requests of a trace to a recording.

    Raises:
        FileError: A line is damaged, or a link has packets and no arrivals.
    """
    sent, receivers = _sent(text, source)
    senders = {hop: _sender(hop, node) for hop, node in receivers.items()}
    passed = defaultdict(set)  # the nodes that receive requests of a requester
    routes: dict[tuple[str, str, int], dict[_Hop, str]] = defaultdict(dict)
    for tlp, hop, address in sent:
        passed[tlp.requester].add(receivers[hop])
        routes[tlp.requester, tlp.tlp, address][hop] = senders[hop]
    switches = _below(receivers, senders) & {
        senders[hop] for tlp, hop, _ in sent if senders[hop] in passed[tlp.requester]
    }
    for tlp, hop, address in sent:
        if senders[hop] in passed[tlp.requester]:
            continue
        if tlp.tlp == "MWr" and address in _INTERRUPTS:
            recording.left_out["interrupt"] += 1
            continue
        target = _end(hop, routes[tlp.requester, tlp.tlp, address], receivers)
        if target in switches:
            recording.left_out["request whose end is not in the trace"] += 1
            continue
        recording.requests.append(
            Request(
                round(tlp.ns * NS),
                ends.source or senders[hop],
                ends.target or target,
                tlp.tlp == "MRd",
                address,
                tlp.length,
                has_address=True,
            )
        )


def _sent(text: str, source: str) -> tuple[list[tuple[_Line, _Hop, int]], dict[_Hop, str]]:
    """The requests, each on every link with its address, and the node at the end of each link."""
    sent = []
    receivers = {}
    for line in lines_of(_Line, text.encode().splitlines(), source, "link"):
        hop = line.link, line.direction
        if line.arrival:
            receivers[hop] = line.node
        elif _is_request(line):
            sent.append((line, hop, int(line.address, 16)))
    for _, (link, direction), _ in sent:
        if (link, direction) not in receivers:
            raise FileError(
                f"{source}: no packet arrives at the end of link {link} ({direction}), so its "
                "nodes are not known; write the trace without --window"
            )
    return sent, receivers


def _is_request(line: _Line) -> bool:
    """Whether a line is of a read or write of memory that is sent for the first time."""
    is_translation = line.address_type == "translation request"
    is_again = line.replay or line.nullified
    return line.tlp in {"MRd", "MWr"} and not is_translation and not is_again


def _sender(hop: _Hop, receiver: str) -> str:
    """The node that sends on a link; names of links are of the form UPPER-LOWER."""
    link, direction = hop
    if direction == "up":
        return link.removeprefix(f"{receiver}-")
    return (link if direction == "down" else direction).removesuffix(f"-{receiver}")


def _below(receivers: Mapping[_Hop, str], senders: Mapping[_Hop, str]) -> set[str]:
    """The nodes with a link of PCI Express above them: all but hosts."""
    from_above = {node for (_, direction), node in receivers.items() if direction == "down"}
    return from_above | {node for (_, direction), node in senders.items() if direction == "up"}


def _end(hop: _Hop, route: Mapping[_Hop, str], receivers: Mapping[_Hop, str]) -> str:
    """The node where a request arrives last.

    A request first goes up and then down, also if it comes through one switch twice (ACS).
    """
    rest = {other: sender for other, sender in route.items() if other != hop}
    while after := [other for other, sender in rest.items() if sender == receivers[hop]]:
        hop = next((other for other in after if other[1] == "up"), after[0])
        del rest[hop]
    return receivers[hop]
