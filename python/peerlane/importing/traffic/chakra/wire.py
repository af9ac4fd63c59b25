"""Reads messages of protocol buffers: the fields of a message, by their numbers.

The package `protobuf` needs a description of each message that is as long as this file, and is one
more package to install.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIZES = {1: 8, 5: 4}
"""The bytes of the values of each wire type with a fixed size."""

_BITS = 0x7F
"""The bits of a byte that belong to a number; a number goes on after a byte with the other bit."""


def messages(content: bytes) -> Iterator[bytes]:
    """The messages of a file; the length of each one is written before it.

    Raises:
        ValueError: The content ends within a message.
    """
    at = 0
    while at < len(content):
        message, at = _sized(content, at)
        yield message


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The number and the value of each field of a message.

    Raises:
        ValueError: The bytes are no message.
    """
    at = 0
    while at < len(message):
        tag, at = _number(message, at)
        value: int | bytes
        match tag & 7:
            case 0:
                value, at = _number(message, at)
            case 2:
                value, at = _sized(message, at)
            case kind if kind in _SIZES:
                value, at = _part(message, at, _SIZES[kind])
            case kind:
                raise ValueError(f"byte {at} has the unknown wire type {kind}")
        yield tag >> 3, value


def numbers(value: int | bytes) -> list[int]:
    """The numbers of one occurrence of a repeated field: one number, or several in a row."""
    if isinstance(value, int):
        return [value]
    found = []
    at = 0
    while at < len(value):
        number, at = _number(value, at)
        found.append(number)
    return found


def signed(number: int) -> int:
    """The signed number of 64 bits with the bits of an unsigned number."""
    return number - (1 << 64) if number >> 63 else number


def _number(content: bytes, at: int) -> tuple[int, int]:
    """A number with 7 bits in each byte, the lowest bits first, and the place after it."""
    number = 0
    for place in range(at, min(at + 10, len(content))):
        number |= (content[place] & _BITS) << 7 * (place - at)
        if content[place] <= _BITS:
            return number & ((1 << 64) - 1), place + 1
    raise ValueError(f"byte {at} begins a number that does not end")


def _sized(content: bytes, at: int) -> tuple[bytes, int]:
    """Bytes whose length is written before them, and the place after them."""
    size, at = _number(content, at)
    return _part(content, at, size)


def _part(content: bytes, at: int, size: int) -> tuple[bytes, int]:
    if at + size > len(content):
        raise ValueError(f"{at + size - len(content):,} B are missing at the end")
    return content[at : at + size], at + size
