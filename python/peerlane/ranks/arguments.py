"""Checks the arguments of the calls of a rank."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import SupportsIndex

    from typing_extensions import Buffer

_MOST = (1 << 32) - 1
_UNSIGNED, _SIGNED, _REAL = "BHILQ", "bhilq", "fd"


def as_bytes(data: Buffer) -> bytes:
    """The bytes of any object with a buffer."""
    return data if isinstance(data, bytes) else memoryview(data).tobytes()


def as_numbers(view: memoryview[Any]) -> tuple[str, str]:
    """The type code of `array.array` for the numbers of `view`, and the name of the type."""
    code = view.format.removeprefix("<")
    for kind, codes in (("u", _UNSIGNED), ("i", _SIGNED), ("f", _REAL)):
        if code in {*codes} and view.itemsize in {4, 8}:
            return code, f"{kind}{8 * view.itemsize}"
    right = "give whole or floating-point ones of 32 or 64 bits, such as array('d', [1.5])"
    raise ValueError(f"all_reduce cannot combine numbers of the format {view.format!r}; {right}")


def as_any_tag(tag: SupportsIndex | None) -> int | None:
    """Checks the tag of a message to receive; `None` means any tag."""
    return None if tag is None else as_tag(tag)


def as_tag(tag: SupportsIndex) -> int:
    """Checks a tag, which has 32 bits."""
    return within("tag", tag, _MOST)


def as_size(size: SupportsIndex) -> int:
    """Checks a number of bytes."""
    return within("size or offset", size, 1 << 40)


def within(what: str, value: SupportsIndex, most: int) -> int:
    """Checks a whole number from 0 to `most`."""
    number = index(value)
    if 0 <= number <= most:
        return number
    raise ValueError(f"there is no {what} {number}; write 0 to {most}")
