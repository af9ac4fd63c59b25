"""Filters of captures, such as the packet trace."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Parts = tuple[list[str], list[str], str | None, list[str], str | None]
"""A filter as the core takes it."""


@dataclass(frozen=True, kw_only=True)
class Filter:
    """What a capture keeps of all that takes a wire and arrives: what matches each given part.

    Args:
        at: Links, fibres and cables, as results name them, such as "h0-s0".
        kind: Kinds of TLPs, DLLPs and ordered sets as in the trace, such as "MWr" or "UpdateFC", or
            a group of them: "tlp", "dllp", "ordered_set", "frame", "block".
        address: First and last byte of a range of addresses, such as "0x80000000-0x80000fff", or
            two numbers. A packet matches if it names a byte within, and a completion if its
            request does. What has no address does not.
        flow: Flows and other workloads. What belongs to none does not meet it.
        window: Beginning and end, such as "10us..20us", "10us.." or "..20us", in time from the
            beginning of the run, as `ns` in the trace. The end is outside.

    An arrival matches if its packet matched when it left, but a `window` looks at its own time.
    """

    at: Sequence[str] = ()
    kind: Sequence[str] = ()
    address: str | tuple[int, int] | None = None
    flow: Sequence[str] = ()
    window: str | None = None

    def __post_init__(self) -> None:
        """Refuses a text where a list of texts belongs.

        Raises:
            TypeError: A part is a single text.
        """
        for name in ("at", "kind", "flow"):
            if isinstance(getattr(self, name), str):
                written = getattr(self, name)
                raise TypeError(f"{name} is a list; write {name}=[{written!r}]")

    def __bool__(self) -> bool:
        """Whether any part is given."""
        return astuple(self) != tuple(part.default for part in fields(self))

    def parts(self) -> Parts:
        """The filter as the core takes it."""
        address = self.address
        if isinstance(address, tuple):
            first, last = address
            address = f"{first:#x}-{last:#x}"
        return list(self.at), list(self.kind), address, list(self.flow), self.window


EVERYTHING = Filter()
"""The filter that everything passes."""
