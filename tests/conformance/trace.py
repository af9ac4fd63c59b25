"""A trace as wires: what left, when, and what became of it at the other end."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from conformance.finding import TOLERANCE_NS
from conformance.packets import Dllp, Foreign, Tlp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from conformance.fabric import Fabric, Link

Line = dict[str, Any]

FOREIGN = ("coherence", "NAP", "PUT", "GET")

DLLP_BYTES = 8
"""Two bytes of framing, four bytes and their CRC (4.2.1.2, 4.2.2.3.1)."""

WAITING_DLLPS = 16
"""DLLPs that may go before an Ack: each type of UpdateFC on a few channels."""


@dataclass(slots=True)
class Arrival:
    """A TLP or DLLP at the receiver, and what the receiver decided."""

    ns: float
    verdict: str
    wrong_bits: int


@dataclass(slots=True)
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


@dataclass(slots=True)
class Training:
    """Ordered sets that train a link, of which a trace has the first."""

    ns: float
    end_ns: float
    kind: str
    numbered: bool
    """Whether the link is up, so that it is in Recovery."""
    gigatransfers: float
    """The highest rate that the sender offers."""
    lanes: int
    """The lanes that the sender offers."""


@dataclass(slots=True)
class Recovery:
    """The time in which one direction of a link carries no data stream."""

    begin_ns: float
    end_ns: float
    """When the data stream goes on; infinite at the end of a trace."""
    after: Link
    """The link with the rate and width that it has then."""


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
    trainings: list[Training] = field(default_factory=list)
    recoveries: list[Recovery] = field(default_factory=list)
    exits: list[tuple[float, float]] = field(default_factory=list)
    """Begin and end of each exit from L0s."""
    back: Wire | None = None
    """The other direction."""
    begin_ns: float = 0.0
    """When its first data stream may begin: the link is up."""
    first_life: Wire | None = None
    """The wire before the link first went down."""
    extra_arrivals: int = 0

    @property
    def name(self) -> str:
        again = " after it was down" if self.first_life else ""
        return f"{self.link_name} {self.direction}{again}"

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

    def at(self, ns: float) -> Link:
        """The link with the rate and width that its data stream has at a time."""
        number = self.stream_at(ns)
        return self.recoveries[number - 1].after if number else self.link

    def stream_at(self, ns: float) -> int:
        """The number of the data stream at a time, or of the one before it."""
        return bisect_right(self.recoveries, ns, key=lambda one: one.end_ns)

    @property
    def links(self) -> list[Link]:
        """The link with each rate and width that it has had."""
        return [self.link, *(one.after for one in self.recoveries)]

    @cached_property
    def longest_byte_ns(self) -> float:
        return max(link.byte_ns for link in self.links)

    @property
    def streams(self) -> list[tuple[float, float]]:
        """When each data stream begins, and when Recovery or the exit from L0s follows."""
        ends = [(one.begin_ns, one.end_ns) for one in self.recoveries] + self.exits
        begins = [self.begin_ns or self.pipeline_ns, *(end for _, end in sorted(ends))]
        return list(zip(begins, [*(begin for begin, _ in sorted(ends)), float("inf")], strict=True))

    @cached_property
    def longest_exit_ns(self) -> float:
        """The longest exit from L0s."""
        return max((end - begin for begin, end in self.exits), default=0.0)

    @cached_property
    def recovered_ns(self) -> list[float]:
        """The time in Recovery before each Recovery."""
        times = (one.end_ns - one.begin_ns for one in self.recoveries)
        return list(accumulate(times, initial=0.0))

    def recovery_ns(self, begin: float, end: float) -> float:
        """The time in Recovery of either direction between two times."""
        total = 0.0
        for wire in (self, self.other):
            first = bisect_right(wire.recoveries, begin, key=lambda one: one.end_ns)
            last = bisect_left(wire.recoveries, end, key=lambda one: one.begin_ns)
            if first < last:
                # The last one may go on to the end of the trace, and beyond.
                final = wire.recoveries[last - 1]
                total += wire.recovered_ns[last - 1] - wire.recovered_ns[first]
                total += min(end, final.end_ns) - final.begin_ns
                total -= max(0.0, begin - wire.recoveries[first].begin_ns)
        return total

    @cached_property
    def tlps(self) -> list[tuple[Sent, Tlp]]:
        return [(sent, sent.tlp) for sent in self.sent if sent.tlp is not None]

    @cached_property
    def dllps(self) -> list[tuple[Sent, Dllp]]:
        return [(sent, sent.dllp) for sent in self.sent if sent.dllp is not None]

    @cached_property
    def first_transmissions(self) -> list[tuple[Sent, Tlp]]:
        return [(s, tlp) for s, tlp in self.tlps if not s.replay and not s.nullified]

    @property
    def pipeline_ns(self) -> float:
        """The time from the data-link layer to the pins, where a trace has its times.

        Links come up at time 0, so that the first DLLP shows it.
        """
        first = self.first_life or self
        return first.sent[0].ns if first.sent else 0.0

    @cached_property
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
    later: list[Trace] = field(default_factory=list)
    """The second lives of links that went down and came up again, then the third, and so on."""

    @property
    def lives(self) -> list[Wire]:
        """The wires of all lives of the links."""
        return [wire for trace in (self, *self.later) for wire in trace.wires.values()]

    def into(self, node: str) -> list[Wire]:
        return self._at_nodes[0][node]

    def out_of(self, node: str) -> list[Wire]:
        return self._at_nodes[1][node]

    @cached_property
    def _at_nodes(self) -> tuple[defaultdict[str, list[Wire]], defaultdict[str, list[Wire]]]:
        """The wires into each node, and those out of it."""
        into, out_of = defaultdict(list), defaultdict(list)
        for wire in self.wires.values():
            into[wire.target].append(wire)
            out_of[wire.source].append(wire)
        return into, out_of


def read(lines: Iterable[Line], fabric: Fabric) -> Trace:
    """The wires of a trace, without lines of fibres and of links that the fabric does not have."""
    lines = [line for line in lines if line["link"] in fabric.links]
    lives = {name: _lives(own, fabric.links[name]) for name, own in _by_link(lines).items()}
    for name, link in fabric.links.items():
        lives.setdefault(name, [_Life({"up": 0.0, "down": 0.0}, link)])
    trace = _read_lives(lines, fabric, {name: own[0] for name, own in lives.items()})
    for number in range(1, max(map(len, lives.values()), default=0)):
        again = {name: own[number] for name, own in lives.items() if number < len(own)}
        later = _read_lives(lines, fabric, again)
        for key, wire in later.wires.items():
            wire.first_life = trace.wires[key]
        trace.later.append(later)
    return trace


def _by_link(lines: list[Line]) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        found[line["link"]].append(line)
    return found


@dataclass
class _Life:
    """A time in which a link is up."""

    begins: dict[str, float]
    """When the data stream of each direction may begin."""
    link: Link
    end_ns: float = float("inf")
    next_ns: float = float("inf")
    """When the next life begins. Until then, what was in the pipelines still arrives."""

    def has(self, line: Line) -> bool:
        # A sum of times in binary may be a little later than the time that a line has.
        begin = self.begins[line["direction"]] - TOLERANCE_NS
        is_frame = not line.keys().isdisjoint(("arrival", "tlp", "dllp"))
        return bool(begin <= line["ns"] < (self.next_ns if is_frame else self.end_ns))


def _lives(lines: list[Line], link: Link) -> list[_Life]:
    """The lives of a link. One ends with ordered sets of an end that does not see a link.

    The next one begins when both ends have sent TS2 (4.2.6.3). Software has then yet to set the
    registers, so that the map of its channels is not known.
    """
    lives = [_Life({"up": 0.0, "down": 0.0}, link)]
    answers: dict[str, Training] = {}
    sets = [line for line in lines if line.get("ordered_set") == "TS" and not line["numbered"]]
    for line in sorted(sets, key=lambda line: line["ns"]):
        lives[-1].end_ns = min(lives[-1].end_ns, line["ns"])
        if line["training"] != "TS2":
            answers.clear()
            continue
        answers[line["direction"]] = _training(line)
        if len(answers) == len(lives[-1].begins):
            agreed = replace(
                link,
                gigatransfers=min(one.gigatransfers for one in answers.values()),
                lanes=min(one.lanes for one in answers.values()),
                channels=None,
            )
            begins = {direction: one.end_ns for direction, one in answers.items()}
            lives[-1].next_ns = min(begins.values())
            lives.append(_Life(begins, agreed))
            answers = {}
    return lives


def _read_lives(lines: list[Line], fabric: Fabric, lives: dict[str, _Life]) -> Trace:
    """The wires of one life of each link."""
    wires: dict[tuple[str, str], Wire] = {}
    for name, life in lives.items():
        up, down = (
            Wire(name, life.link, direction, begin_ns=life.begins[direction])
            for direction in ("up", "down")
        )
        up.back, down.back = down, up
        wires[name, "up"], wires[name, "down"] = up, down
    arrivals: dict[tuple[str, str], list[Line]] = defaultdict(list)
    lines = [line for line in lines if line["link"] in lives and lives[line["link"]].has(line)]
    _read_training([line for line in lines if line["ns"] < lives[line["link"]].end_ns], wires)
    for line in lines:
        key = line["link"], line["direction"]
        if "arrival" in line:
            arrivals[key].append(line)
        elif line.get("ordered_set") == "SKP":
            wires[key].ordered_sets.extend(_sets(line))
        elif "tlp" in line or "dllp" in line:
            wires[key].sent.append(_sent(line, wires[key].at(line["ns"])))
    for key, wire in wires.items():
        found = arrivals[key]
        # What arrives is in the order in which it left.
        for sent, line in zip(wire.sent, found, strict=False):
            sent.arrival = Arrival(line["ns"], line["verdict"], line.get("wrong_bits", 0))
        wire.extra_arrivals = max(0, len(found) - len(wire.sent))
        # An end that has not seen yet that the link is down sends on.
        wire.sent = [sent for sent in wire.sent if sent.ns < lives[key[0]].end_ns]
        wire.ordered_sets.sort()
    return Trace(fabric, wires)


def _read_training(lines: list[Line], wires: dict[tuple[str, str], Wire]) -> None:
    """Reads training ordered sets, and what follows from them."""
    streams: dict[tuple[str, str], list[float]] = defaultdict(list)
    for line in lines:
        key = line["link"], line["direction"]
        if line.get("ordered_set") != "TS":
            if "arrival" not in line:
                streams[key].append(line["ns"])
        elif line["training"] == "FTS":
            wires[key].exits.append((line["ns"], line["ns"] + line["length_ns"]))
            streams[key].append(line["ns"])
        else:
            wires[key].trainings.append(_training(line))
    for key, wire in wires.items():
        wire.recoveries = _recoveries(wire, sorted(streams[key]))


def _training(line: Line) -> Training:
    return Training(
        line["ns"],
        line["ns"] + line["length_ns"],
        line["training"],
        line["numbered"],
        line["gigatransfers"],
        line["lanes"],
    )


def _recoveries(wire: Wire, stream: list[float]) -> list[Recovery]:
    """The times of Recovery: from the first TS1 until the data stream goes on after TS2.

    The time in L1, which EIOS begins, counts as part of the Recovery that ends it. Both ends offer
    what they are capable of, and the link gets what both are (4.2.6.4).
    """
    found: list[Recovery] = []
    answers = [one for one in wire.other.trainings if one.kind == "TS2"]

    @cache
    def negotiated(gigatransfers: float, lanes: int) -> Link:
        return replace(wire.link, gigatransfers=gigatransfers, lanes=lanes)

    begin = None
    for one in wire.trainings:
        begin = one.ns if begin is None else begin
        if one.kind != "TS2":
            continue
        number = len(found)
        if number < len(answers):
            other = answers[number]
            gigatransfers = min(one.gigatransfers, other.gigatransfers)
            after = negotiated(gigatransfers, min(one.lanes, other.lanes))
        else:
            after = wire.link
        position = bisect_left(stream, one.ns)
        end = stream[position] if position < len(stream) else float("inf")
        found.append(Recovery(begin, end, after))
        begin = None
    if begin is not None:
        found.append(Recovery(begin, float("inf"), wire.link))
    return found


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
