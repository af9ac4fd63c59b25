"""The fabric that a trace is of: what the scenario says, as far as the specification needs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.registers import Registers


MEAN_PERIOD = 15664 / 15625
"""The mean period of a clock whose rate goes down by 0.5 % and up again (CEM 2.1.3), to 1e-5."""


@dataclass(frozen=True)
class Link:
    """A link, between the node `above` and the node `below`."""

    root: str
    """The host at the top of the tree."""
    above: str
    below: str
    gigatransfers: float
    lanes: int
    max_payload: int
    """Max_Payload_Size of both ends, in bytes."""
    channels: tuple[int | None, ...] | None = None
    """The virtual channel of each traffic class; none without the capability (7.9.1)."""
    replay_timer_factor: float = 1.0
    """The replay timer as a multiple of the limit; the specification allows 1 to 2 (3.6.2.1)."""

    has_separate_clocks: bool = False
    """Whether its ends have separate reference clocks (SRIS)."""
    is_spread: bool = True
    """Whether spread spectrum clocking slows its reference clocks."""
    l1_exits_ns: tuple[float, float] = (0.0, 0.0)
    """L1 Exit Latency of the port above and of the one below (7.5.3.6)."""

    @property
    def is_8b10b(self) -> bool:
        return self.gigatransfers <= 5

    @property
    def symbol_ns(self) -> float:
        """A symbol time: a byte on one lane, with its share of the coding (4.2.1, 4.2.2)."""
        bits = 10.0 if self.is_8b10b else 8 * 130 / 128
        return bits / self.gigatransfers * (MEAN_PERIOD if self.is_spread else 1)

    @property
    def byte_ns(self) -> float:
        return self.symbol_ns / self.lanes

    @property
    def ack_limit_ns(self) -> float:
        """The Ack latency limit (3.6.3.1), from the formula behind its tables."""
        factor = _ack_factor(self.max_payload, self.lanes)
        internal = 19 if self.gigatransfers == 2.5 else 70 if self.gigatransfers == 5 else 115
        return ((self.max_payload + 28) * factor / self.lanes + internal) * self.symbol_ns

    @property
    def replay_limit_ns(self) -> float:
        """The shortest replay timer (3.6.2.1): 24,000 symbol times from 16 GT/s on."""
        if self.gigatransfers >= 16:
            return 24_000 * self.symbol_ns * self.replay_timer_factor
        return 3 * self.ack_limit_ns * self.replay_timer_factor


@dataclass(frozen=True)
class Fabric:
    """All links by their names, and what is known of the nodes."""

    links: dict[str, Link]
    switches: frozenset[str]
    requesters: dict[str, frozenset[int]]
    """The functions of each node that makes requests."""
    boundaries: dict[tuple[str, int], int] = field(default_factory=dict)
    """Read Completion Boundary of root complexes, by tree and Completer ID; 128 B of all others."""
    read_requests: dict[tuple[str, int], int] = field(default_factory=dict)
    """Max_Read_Request_Size in bytes, by tree and Requester ID."""
    splitting: dict[str, int] = field(default_factory=dict)
    """Read Completion Boundary of each root complex that splits packets between its root ports."""
    root_ports: dict[tuple[str, int], str] = field(default_factory=dict)
    """The node at the root port that a function is below, by tree and ID."""
    registers: dict[tuple[str, int], Registers] = field(default_factory=dict)
    """What the registers of functions allow, by tree and ID."""
    hosts: frozenset[str] = frozenset()
    """Root complexes that pass packets between their root ports as they are."""

    def boundary(self, root: str, completer: int, requester: int) -> int:
        """Where completions may be cut.

        That is the Read Completion Boundary of the completer (2.3.1.1). A root complex that splits
        what goes from one root port to another forms packets itself (1.3.1), by its own boundary.
        """
        own = self.boundaries.get((root, completer), 128)
        ends = [self.root_ports.get((root, end)) for end in (completer, requester)]
        if None in ends or ends[0] == ends[1]:
            return own
        return min(own, self.splitting.get(root, own))


def _ack_factor(max_payload: int, lanes: int) -> float:
    """AckFactor of tables 3-7 to 3-9."""
    if max_payload <= 256:
        return 1.4 if lanes <= 4 else 2.5 if lanes == 8 else 3.0
    return 1.0 if lanes <= 8 else 2.0
