"""Defines the counters of links and fibres that can be read during a run, since it began."""

from __future__ import annotations

from dataclasses import dataclass

from peerlane.results.collection import Collection
from peerlane.results.document import Document, decode, renamed


@dataclass(frozen=True, slots=True)
class LinkWire(Document):
    """Counters of one direction of a link since the beginning of the run.

    Fields that `LinkResult` also has mean the same as in `LinkResult`. `busy_ns` is the time in
    which anything was on the wire. `waiting_tlps` is the number of TLPs that wait for the wire at
    the time of the reading; it is `None` for a link between sockets, which has no queue of its own.
    """

    id: str
    direction: str
    busy_ns: float
    payload_bytes: int
    replays: int
    credit_stall_ns: float
    waiting_tlps: int | None


@dataclass(frozen=True, slots=True)
class FibreWire(Document):
    """Counters of one direction of a fibre since the beginning of the run.

    Fields that `FibreResult` also has mean the same as in `FibreResult`. `busy_ns` is the time in
    which anything was on the fibre.
    """

    __pydantic_config__ = renamed(source="from", target="to")

    id: str
    source: str
    target: str
    busy_ns: float
    payload_bytes: int
    replays: int
    credit_stall_ns: float


@dataclass(frozen=True, slots=True)
class Wires(Document):
    """The counters of all links, in the same order as in a result, and of all fibres."""

    links: Collection[LinkWire]
    fibres: Collection[FibreWire]

    @classmethod
    def from_json(cls, text: str) -> Wires:
        """Reads the JSON that the simulator writes."""
        return decode(cls, text)
