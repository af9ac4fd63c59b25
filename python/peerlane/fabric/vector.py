"""An entry of an MSI-X table, for user-written software."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Vector:
    """The addresses of a function's MSI-X vector, and the message that firmware has assigned to it.

    `entry` is the address of the vector's table entry of 16 bytes: Message Address, Message Upper
    Address, Message Data and Vector Control, whose bit 0 is the mask. `pending` is the address of
    the 8 bytes that contain the vector's pending bit, and `bit` the number of this bit.
    """

    entry: int
    pending: int
    bit: int
    message: int

    @property
    def control(self) -> int:
        """The address of the Vector Control field."""
        return self.entry + 12
