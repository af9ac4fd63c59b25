"""What takes a wire, and how long: coding, framing, ordered sets and the limits of DLLPs.

Times are whole ticks, of which a femtosecond has 192: four bytes on any width take a whole number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

TICKS_PER_NS = 192_000_000

SYMBOL_NS = {1: 4.0, 2: 2.0, 3: 1.015625, 4: 0.5078125, 5: 0.25390625}
"""A byte on one lane: 10 bits of 8b/10b (4.2.1), or 8 bits and their share of 130/128 (4.2.2)."""

DLLP = 8
"""SDP, six bytes, END (4.2.1.2); or the SDP token of two bytes and six (4.2.2.3)."""

FRAMING = 8
"""STP, sequence number and END, or the STP token, are four bytes; LCRC is four (3.5.2, 4.2.2.3)."""

COMPLETION_HEADER = 12
"""Three dwords (2.2.9)."""

INTERNAL_DELAY = {1: 19, 2: 70, 3: 115, 4: 115, 5: 115}
"""Symbol times (3.6.3.1)."""

TLP_OVERHEAD = 28
"""Bytes of a TLP besides its payload in the formula of the Ack latency limit (3.6.3.1)."""

REFRESH_NS = 30_000.0
"""Time after which a limit is sent again, -0 % / +50 % (2.6.1.2)."""


@dataclass(frozen=True)
class Rate:
    """A link: its generation and its lanes."""

    generation: int
    lanes: int

    @cached_property
    def symbol(self) -> int:
        """A symbol time."""
        return round(SYMBOL_NS[self.generation] * TICKS_PER_NS)

    def time(self, size: int) -> int:
        """The time of `size` bytes, a multiple of four, over all lanes."""
        return self.symbol * size // self.lanes

    @property
    def is_8b10b(self) -> bool:
        return self.generation <= 2

    @cached_property
    def skip_interval(self) -> int:
        """The middle of what is permitted: 1180 to 1538 symbols, 370 to 375 blocks (4.2.7)."""
        return self.symbol * ((1180 + 1538) // 2 if self.is_8b10b else 373 * 16)

    @cached_property
    def skip_length(self) -> int:
        """COM and three SKP, or a block (4.2.7)."""
        return self.symbol * (4 if self.is_8b10b else 16)

    @cached_property
    def skip_token(self) -> int:
        """The EDS token, in the last dword of the block before the ordered set (4.2.2.3)."""
        return 0 if self.is_8b10b else self.time(4)

    @cached_property
    def skip_alignment(self) -> int:
        """Ordered sets begin with a symbol, or with a block."""
        return self.symbol * (1 if self.is_8b10b else 16)

    @cached_property
    def skip_cost(self) -> float:
        """Time that one ordered set takes from packets, which end anywhere before it.

        The packet before it ends at a multiple of four bytes; from there to the beginning of the
        ordered set is the token, and on average half of the other places in the block.
        """
        step = min(self.time(4), self.skip_alignment)
        return self.skip_length + self.skip_token + (self.skip_alignment - step) / 2

    def ack_limit(self, max_payload: int) -> int:
        """The Ack latency limit, which also is the guideline for UpdateFC (3.6.3.1, 2.6.1.2)."""
        if max_payload <= 256:
            tenths = 14 if self.lanes <= 4 else 25 if self.lanes == 8 else 30
        else:
            tenths = 10 if self.lanes <= 8 else 20
        symbols = (max_payload + TLP_OVERHEAD) * tenths // (10 * self.lanes)
        return self.symbol * (symbols + INTERNAL_DELAY[self.generation])


def ticks(ns: float) -> int:
    """`ns` nanoseconds in ticks."""
    return round(ns * TICKS_PER_NS)
