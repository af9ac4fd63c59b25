"""What flows waited for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from peerlane.results.document import Document

Kind = Literal[
    "wire",
    "credit",
    "tags",
    "outstanding",
    "replay-buffer",
    "datapath",
    "memory",
    "socket",
    "arbitration",
    "software",
    "other",
]


@dataclass(frozen=True, slots=True)
class Cause(Document):
    """What a flow waits for.

    `where` is a link or a fibre, a node, or the connection of two sockets of a host ("h.0-1");
    `direction` is that of the link, the fibre or the connection. The `detail` of credit is its
    class, and whether of headers or data ("posted headers"); that of arbitration is the other
    workload, and that of memory "address translation" for page walks.
    """

    kind: Kind
    where: str
    direction: str | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class Share(Document):
    """The share of a flow's time that it waited for one cause, 0 to 1."""

    kind: Kind
    where: str
    direction: str | None
    detail: str | None
    share: float

    @property
    def cause(self) -> Cause:
        """What the flow waited for."""
        return Cause(self.kind, self.where, self.direction, self.detail)


@dataclass(frozen=True, slots=True)
class FlowWaits(Document):
    """The time of one flow, from its start to its last request, by what it waited for.

    `limit` is what limits its rate; `None` if the flow was too short to be seen. A flow that waits
    for credit, tags, outstanding bytes, acknowledgements or its own engine for a part of its time
    is limited by these, even if its packets are on a wire for most of it. `shares` are the longest
    first, and add up to 1.
    """

    id: str
    limit: Cause | None
    shares: tuple[Share, ...]
