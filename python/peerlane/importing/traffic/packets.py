"""Reads the requests of a packet trace, each once, where it leaves its requester."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from peerlane.importing.traffic.request import Ends, Recording, Request
from peerlane.results.reading import FileError, lines_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_INTERRUPTS = range(0xFEE0_0000, 0xFEF0_0000)
"""Addresses at which writes are interrupts (MSI, MSI-X)."""

_FS = 10**6
"""Femtoseconds in a nanosecond."""


@dataclass(frozen=True, slots=True)
class _Line:
    """The fields that are read from a line: of a TLP that leaves, or of an arrival."""

    ns: float
    link: str
    direction: str
    tlp: str = ""
    requester: str = ""
    address: str = "0x0"
    length: int = 0
    replay: bool = False
    nullified: bool = False
    arrival: str = ""
    node: str = ""


_Hop = tuple[str, str]
"""A link and a direction of it."""


def read(path: str, ends: Ends, recording: Recording) -> None:
    """Adds the memory requests of a trace to a recording.

    Raises:
        FileError: A line is damaged, or a link has packets and no arrivals.
    """
    sent: list[_Line] = []
    receivers: dict[_Hop, str] = {}
    for line in lines_of(_Line, path, "link"):
        if line.arrival:
            receivers[line.link, line.direction] = line.node
        elif line.tlp in {"MRd", "MWr"} and not line.replay and not line.nullified:
            sent.append(line)
    for hop in ((tlp.link, tlp.direction) for tlp in sent):
        if hop not in receivers:
            raise FileError(
                f"{path}: no packet arrives at the end of link {hop[0]} ({hop[1]}), so its nodes "
                "are not known; write the trace without --window"
            )
    senders = {hop: _sender(hop, node) for hop, node in receivers.items()}
    passed = defaultdict(set)  # the nodes that receive requests of a requester
    routes: dict[tuple[str, str, str], dict[_Hop, str]] = defaultdict(dict)
    for tlp in sent:
        hop = tlp.link, tlp.direction
        passed[tlp.requester].add(receivers[hop])
        routes[tlp.requester, tlp.tlp, tlp.address][hop] = senders[hop]
    for tlp in sent:
        hop = tlp.link, tlp.direction
        source = senders[hop]
        if source in passed[tlp.requester]:
            continue
        address = int(tlp.address, 16)
        if tlp.tlp == "MWr" and address in _INTERRUPTS:
            recording.left_out["interrupt"] += 1
            continue
        target = ends.target or _end(hop, routes[tlp.requester, tlp.tlp, tlp.address], receivers)
        time, is_read = round(tlp.ns * _FS), tlp.tlp == "MRd"
        recording.requests.append(
            Request(
                time, ends.source or source, target, is_read, address, tlp.length, has_address=True
            )
        )


def _sender(hop: _Hop, receiver: str) -> str:
    """The node that sends on a link; names of links are of the form UPPER-LOWER."""
    link, direction = hop
    if direction == "up":
        return link.removeprefix(f"{receiver}-")
    return (link if direction == "down" else direction).removesuffix(f"-{receiver}")


def _end(hop: _Hop, route: Mapping[_Hop, str], receivers: Mapping[_Hop, str]) -> str:
    """The node where a request arrives last.

    A request first goes up and then down, also if it comes through one switch twice (ACS).
    """
    rest = {other: sender for other, sender in route.items() if other != hop}
    while after := [other for other, sender in rest.items() if sender == receivers[hop]]:
        hop = next((other for other in after if other[1] == "up"), after[0])
        del rest[hop]
    return receivers[hop]
