"""A vector of an MSI-X table, for user-written software."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Vector:
    """The place of a vector of a function, and the message that firmware has assigned to it.

    `entry` is the address of its 16 bytes: Message Address, Message Upper Address, Message Data and
    Vector Control, whose bit 0 is the mask. `pending` is the address of the 8 bytes with the
    vector's pending bit, whose number in these bytes is `bit`.
    """

    entry: int
    pending: int
    bit: int
    message: int

    @property
    def control(self) -> int:
        """Address of Vector Control."""
        return self.entry + 12
