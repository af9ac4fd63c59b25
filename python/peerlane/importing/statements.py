"""What files state about a machine: each value with its file and line, and what is left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from peerlane.importing.listing import ListingError, Slot

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator


T = TypeVar("T")


class Place(NamedTuple):
    """A line of a file."""

    source: str
    line: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}"


class LeftOut(NamedTuple):
    """A part of a file that a scenario does not represent, and the reason."""

    kind: str
    place: Place
    text: str


NUMA_NODE = "the NUMA node of"
IDS = "the vendor and device of"
FASTEST_LINK = "the fastest link of"
FUNCTION = "the function of"
SOCKET = "the socket of NUMA node"


@dataclass(slots=True)
class Statements:
    """The statements of all files, by what they are about."""

    _values: dict[tuple[str, Hashable], tuple[object, Place]] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    names: dict[Slot, str] = field(default_factory=dict)
    """The names of devices in the scenario that are not made from their slots."""

    def state(self, what: str, of: Hashable, value: object, place: Place) -> None:
        """Adds a statement.

        Raises:
            ListingError: Another line states another value.
        """
        other, its = self._values.setdefault((what, of), (value, place))
        if other != value:
            raise inconsistent(its, f"{what} {of} is {other}", place, str(value))

    def get(self, kind: type[T], what: str, of: Hashable) -> T | None:
        """A stated value, which is of the type `kind`, or `None`."""
        value, _ = self._values.get((what, of), (None, None))
        return value if isinstance(value, kind) else None

    def place(self, what: str, of: Hashable) -> Place:
        """The line of a statement that was made."""
        return self._values[what, of][1]

    def all(self, what: str) -> Iterator[tuple[Hashable, object, Place]]:
        """Each statement about `what`: its subject, value and place."""
        for (about, of), (value, place) in self._values.items():
            if about == what:
                yield of, value, place

    def leave_out(self, kind: str, place: Place, text: str) -> None:
        """Adds a part of a file that is left out."""
        self.left_out.append(LeftOut(kind, place, text))


def inconsistent(one: Place, says: str, other: Place, but: str) -> ListingError:
    """The error for two lines that state different values."""
    return ListingError(
        f"inconsistent: {one} says that {says}, {other} says {but}; give files of one machine"
    )
