"""A trace as wires: what left, when, and what became of it at the other end."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.packets import Dllp, Foreign, Tlp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from conformance.fabric import Fabric, Link

Line = dict[str, Any]

FOREIGN = ("coherence", "NAP", "PUT", "GET")

DLLP_BYTES = 8
"""Two bytes of framing, four bytes and their CRC (4.2.1.2, 4.2.2.3.1)."""


@dataclass
class Arrival:
    """A TLP or DLLP at the receiver, and what the receiver decided."""

    ns: float
    verdict: str
    wrong_bits: int


@dataclass
class Sent:
    """A TLP or DLLP that took a wire; without an arrival, the trace ended before."""

    ns: float
    end_ns: float
    line: Line
    tlp: Tlp | None = None
    dllp: Dllp | None = None
    arrival: Arrival | None = None

    @property
    def accepted(self) -> bool:
        return self.arrival is not None and self.arrival.verdict == "accepted"

    @property
    def sequence(self) -> int:
        return int(self.line["sequence"])

    @property
    def replay(self) -> bool:
        return bool(self.line["replay"])

    @property
    def nullified(self) -> bool:
        return bool(self.line["nullified"])


@dataclass
class Wire:
    """One direction of a link."""

    link_name: str
    link: Link
    direction: str
    sent: list[Sent] = field(default_factory=list)
    """TLPs and DLLPs, in the order in which they left."""
    ordered_sets: list[tuple[float, float]] = field(default_factory=list)
    """Begin and end of each."""
    back: Wire | None = None
    """The other direction."""
    extra_arrivals: int = 0

    @property
    def name(self) -> str:
        return f"{self.link_name} {self.direction}"

    @property
    def source(self) -> str:
        return self.link.above if self.direction == "down" else self.link.below

    @property
    def target(self) -> str:
        return self.link.below if self.direction == "down" else self.link.above

    @property
    def other(self) -> Wire:
        assert self.back is not None
        return self.back

    @property
    def tlps(self) -> list[tuple[Sent, Tlp]]:
        return [(sent, sent.tlp) for sent in self.sent if sent.tlp is not None]

    @property
    def dllps(self) -> list[tuple[Sent, Dllp]]:
        return [(sent, sent.dllp) for sent in self.sent if sent.dllp is not None]

    @property
    def first_transmissions(self) -> list[tuple[Sent, Tlp]]:
        return [(s, tlp) for s, tlp in self.tlps if not s.replay and not s.nullified]

    @property
    def pipeline_ns(self) -> float:
        """The time from the data-link layer to the pins, where a trace has its times.

        Links come up at time 0, so that the first DLLP shows it.
        """
        return self.sent[0].ns if self.sent else 0.0

    @property
    def longest_ns(self) -> float:
        """The longest TLP of this wire."""
        return max((sent.end_ns - sent.ns for sent, _ in self.tlps), default=0.0)

    def in_sequence(self) -> Iterator[tuple[Sent, Tlp]]:
        """The TLPs that the receiver accepted, each once, in order."""
        return ((sent, tlp) for sent, tlp in self.tlps if sent.accepted)


@dataclass
class Trace:
    """The wires of every link that the fabric has."""

    fabric: Fabric
    wires: dict[tuple[str, str], Wire]

    def into(self, node: str) -> list[Wire]:
        return [wire for wire in self.wires.values() if wire.target == node]

    def out_of(self, node: str) -> list[Wire]:
        return [wire for wire in self.wires.values() if wire.source == node]


def read(lines: Iterable[Line], fabric: Fabric) -> Trace:
    """The wires of a trace, without lines of fibres and of links that the fabric does not have."""
    wires: dict[tuple[str, str], Wire] = {}
    for name, link in fabric.links.items():
        up, down = (Wire(name, link, direction) for direction in ("up", "down"))
        up.back, down.back = down, up
        wires[name, "up"], wires[name, "down"] = up, down
    arrivals: dict[tuple[str, str], list[Line]] = defaultdict(list)
    for line in lines:
        key = line["link"], line["direction"]
        if key not in wires:
            continue
        if "arrival" in line:
            arrivals[key].append(line)
        elif "ordered_set" in line:
            wires[key].ordered_sets.extend(_sets(line))
        elif "tlp" in line or "dllp" in line:
            wires[key].sent.append(_sent(line, wires[key].link))
    for key, wire in wires.items():
        found = arrivals[key]
        # What arrives is in the order in which it left.
        for sent, line in zip(wire.sent, found, strict=False):
            sent.arrival = Arrival(line["ns"], line["verdict"], line.get("wrong_bits", 0))
        wire.extra_arrivals = max(0, len(found) - len(wire.sent))
    return Trace(fabric, wires)


def _sets(line: Line) -> list[tuple[float, float]]:
    starts = (
        line["ns"] + number * line.get("interval_ns", 0.0) for number in range(line.get("count", 1))
    )
    return [(start, start + line["length_ns"]) for start in starts]


def _sent(line: Line, link: Link) -> Sent:
    if "dllp" in line:
        end = line["ns"] + DLLP_BYTES * link.byte_ns
        return Sent(line["ns"], end, line, dllp=Dllp.parse(bytes.fromhex(line["raw"])))
    tlp = Tlp.parse(bytes.fromhex(line["header"]))
    if line["tlp"] in FOREIGN:
        credit = ("posted", "non-posted", "completion").index(line["class"])
        tlp = Foreign(**vars(tlp), credit_type=credit, payload_bytes=line["bytes"])
    return Sent(line["ns"], line["ns"] + line["length_ns"], line, tlp=tlp)
