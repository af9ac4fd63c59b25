"""Filters of captures, such as of the packet trace."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Parts = tuple[list[str], list[str], str | None, list[str], str | None]
"""A filter in the form of the core."""


@dataclass(frozen=True, kw_only=True)
class Filter:
    """The filter of a capture: a packet or an arrival is captured if it matches every part given.

    Args:
        at: Links, fibres and cables, as results name them, such as "h0-s0".
        kind: Kinds of TLPs, DLLPs and ordered sets as in the trace, such as "MWr" or "UpdateFC", or
            groups of kinds: "tlp", "dllp", "ordered_set", "frame", "block".
        address: First and last address of a range, such as "0x80000000-0x80000fff", or two numbers.
            A packet matches if it addresses a byte of the range; a completion matches if its
            request matches. Packets without an address do not match.
        flow: Ids of flows and other workloads. Packets that belong to no workload do not match.
        window: Beginning and end of a time window, such as "10us..20us", "10us.." or "..20us", in
            time from the beginning of the run, as `ns` in the trace. The end is excluded.

    An arrival matches if its packet matched when it was sent; the `window` is compared with the
    time of the arrival.
    """

    at: Sequence[str] = ()
    kind: Sequence[str] = ()
    address: str | tuple[int, int] | None = None
    flow: Sequence[str] = ()
    window: str | None = None

    def __post_init__(self) -> None:
        """Refuses a single text as the value of a part that must be a list of texts.

        Raises:
            TypeError: A part is a single text.
        """
        for name in ("at", "kind", "flow"):
            if isinstance(getattr(self, name), str):
                written = getattr(self, name)
                raise TypeError(f"{name} is a list; write {name}=[{written!r}]")

    def __bool__(self) -> bool:
        """Whether the filter has any part."""
        return astuple(self) != tuple(part.default for part in fields(self))

    def parts(self) -> Parts:
        """The filter in the form of the core."""
        address = self.address
        if isinstance(address, tuple):
            first, last = address
            address = f"{first:#x}-{last:#x}"
        return list(self.at), list(self.kind), address, list(self.flow), self.window


EVERYTHING = Filter()
"""The filter that all packets and arrivals match."""
