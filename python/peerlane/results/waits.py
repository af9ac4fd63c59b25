"""What flows waited for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from peerlane.results.document import Document

if TYPE_CHECKING:
    from collections.abc import Callable

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
    workload, and that of memory "address translation" for page walks or "the flash" of a drive.
    """

    kind: Kind
    where: str
    direction: str | None
    detail: str | None

    @property
    def place(self) -> Cause:
        """The cause for all who wait in one place: the packets of every workload on one wire."""
        if self.kind in {"wire", "arbitration"}:
            return Cause("wire", self.where, self.direction, None)
        return self


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


def told(cause: Cause) -> str:
    """A cause in words."""
    return _WORDS[cause.kind](cause)


def _on(cause: Cause) -> str:
    """The direction of a link or of a connection between sockets."""
    return f"{cause.where} {cause.direction}" if cause.direction else cause.where


_WORDS: dict[str, Callable[[Cause], str]] = {
    "wire": lambda cause: (
        f"{_on(cause)} ({cause.detail})"
        if cause.detail
        else f"its own packets on the wire of {_on(cause)}"
    ),
    "credit": lambda cause: f"credit of {cause.detail or 'packets'} on {_on(cause)}",
    "tags": lambda cause: f"tags of {cause.where}",
    "outstanding": lambda cause: f"outstanding bytes or requests of {cause.where}",
    "replay-buffer": lambda cause: f"space in the replay buffer of {_on(cause)}",
    "datapath": lambda cause: (
        f"{cause.where}, which {cause.detail}"
        if cause.detail
        else f"the datapath or the pace of {cause.where}"
    ),
    "memory": lambda cause: f"{cause.detail or 'the memory'} of {cause.where}",
    "socket": lambda cause: f"the connection of sockets {_on(cause)}",
    "arbitration": lambda cause: f"packets of {cause.detail or 'others'} on {_on(cause)}",
    "software": lambda cause: f"the software of {cause.where}",
    "other": lambda _: "something that the probe does not know",
}
