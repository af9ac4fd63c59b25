"""A vector of an MSI-X table, for software of one's own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Vector:
    """Where a vector of a function is, and the message that firmware has assigned to it.

    `entry` is the address of its 16 bytes: Message Address, Message Upper Address, Message Data and
    Vector Control, whose bit 0 is the mask. `pending` is the address of the 8 bytes with its
    pending bit, which is `bit` of them.
    """

    entry: int
    pending: int
    bit: int
    message: int

    @property
    def control(self) -> int:
        """Address of Vector Control."""
        return self.entry + 12
