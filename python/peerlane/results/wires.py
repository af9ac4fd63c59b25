"""The counters of all wires since the beginning of a run, to be looked at while it runs."""

from __future__ import annotations

from dataclasses import dataclass

from peerlane.results.collection import Collection
from peerlane.results.document import Document, decode, renamed


@dataclass(frozen=True, slots=True)
class LinkWire(Document):
    """One direction of a link, since the beginning of the run, as in `LinkResult`.

    `waiting_tlps` wait for the wire now; `None` for a link between sockets, which has no queue of
    its own.
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
    """One direction of a fibre, since the beginning of the run, as in `FibreResult`."""

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
    """All links, in the order of a result's, and all fibres."""

    links: Collection[LinkWire]
    fibres: Collection[FibreWire]

    @classmethod
    def from_json(cls, text: str) -> Wires:
        """Reads the JSON that the simulator writes."""
        return decode(cls, text)
