"""The functions of a machine, as they are described in a listing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from peerlane.errors import PeerlaneError

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMAND = "sudo lspci -vvv"


class ListingError(PeerlaneError):
    """A text is no complete listing of a machine; the message has the place and the correction."""


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """Domain, bus, device and function number, and their text in the listing."""

    domain: int
    bus: int
    device: int
    function: int
    text: str = field(compare=False)

    @classmethod
    def of(cls, text: str) -> Self | None:
        """The slot in a text such as "0000:81:00.0"; `None` if the text is no slot."""
        found = _SLOT.fullmatch(text.lower())
        if found is None:
            return None
        domain, bus, device, function = (int(digits or "0", 16) for digits in found.groups())
        return cls(domain, bus, device, function, f"{domain:04x}:{found[2]}:{found[3]}.{found[4]}")

    def __str__(self) -> str:
        return self.text


_SLOT = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([01][0-9a-f])\.([0-7])")


class Kind(StrEnum):
    """The device/port type of the PCI Express capability (PCIe Base 7.5.3.2), in lspci's words."""

    ENDPOINT = "Endpoint"
    LEGACY_ENDPOINT = "Legacy Endpoint"
    ROOT_PORT = "Root Port"
    UPSTREAM_PORT = "Upstream Port"
    DOWNSTREAM_PORT = "Downstream Port"
    PCI_BRIDGE = "PCI-Express to PCI/PCI-X Bridge"
    REVERSE_BRIDGE = "PCI/PCI-X to PCI-Express Bridge"
    INTEGRATED_ENDPOINT = "Root Complex Integrated Endpoint"
    EVENT_COLLECTOR = "Root Complex Event Collector"

    @property
    def has_link(self) -> bool:
        """Whether the capability describes a link."""
        return self not in {Kind.INTEGRATED_ENDPOINT, Kind.EVENT_COLLECTOR}

    @property
    def is_bridge(self) -> bool:
        """Whether the function has a bus below it."""
        return self in _BRIDGES


_BRIDGES = {
    Kind.ROOT_PORT,
    Kind.UPSTREAM_PORT,
    Kind.DOWNSTREAM_PORT,
    Kind.PCI_BRIDGE,
    Kind.REVERSE_BRIDGE,
}


@dataclass(frozen=True, slots=True)
class Link:
    """Speed and width; no generation if it is not known, no lanes if the link is down.

    A link of a form without registers has no lanes if its width is not known.
    """

    generation: int | None
    lanes: int

    def __str__(self) -> str:
        speed = f"Gen{self.generation}" if self.generation else "of unknown speed"
        return f"x{self.lanes} {speed}"


GENERATIONS = {"2.5": 1, "5": 2, "8": 3, "16": 4, "32": 5, "64": 6, "128": 7}
"""The generation of each speed in GT/s."""


@dataclass(frozen=True, slots=True)
class Express:
    """The PCI Express capability, sizes in bytes."""

    kind: Kind
    max_payload_supported: int
    max_payload: int
    max_read_request: int
    tags: int
    capable: Link | None
    trained: Link | None
    active: bool
    read_completion_boundary: int | None
    relaxed_ordering: bool = True
    no_snoop: bool = True
    id_ordering: bool = False
    id_ordering_completion: bool = False
    reports_errors: bool = False
    """Whether Device Control enables any of the error messages."""
    power: Mapping[str, int] = field(default_factory=dict)
    """The enabled states of ASPM, each with its exit latency in nanoseconds."""
    has_registers: bool = True
    """Whether the file has the registers; if not, only type and links have a meaning."""

    @classmethod
    def without_registers(
        cls, kind: Kind, trained: Link | None = None, capable: Link | None = None
    ) -> Self:
        """The capability of a function whose registers are not in a file."""
        return cls(
            kind,
            max_payload_supported=0,
            max_payload=0,
            max_read_request=0,
            tags=0,
            capable=capable,
            trained=trained,
            active=False,
            read_completion_boundary=None,
            has_registers=False,
        )


@dataclass(frozen=True, slots=True)
class Virtual:
    """The enabled virtual functions of a function (PCIe Base 9.3.3): number, offset and stride."""

    count: int
    offset: int
    stride: int


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory region; its size in bytes is `None` if the listing does not have it.

    The bits of an address are the bits that the region's address needs: 32 below 4 GiB.
    """

    index: int
    address_bits: int
    size: int | None


@dataclass(frozen=True, slots=True)
class Buses:
    """The bus numbers below a bridge."""

    secondary: int
    subordinate: int


@dataclass(frozen=True, slots=True)
class Function:
    """One record of a listing.

    `services` are the set bits of ACS Control, by their names; `None` without this capability.
    """

    line: int
    slot: Slot
    what: str
    buses: Buses | None = None
    express: Express | None = None
    memory: tuple[Memory, ...] = ()
    memory_enabled: bool = True
    bus_master: bool = True
    services: frozenset[str] | None = None
    readable: bool = True
    numa_node: int | None = None
    virtual: Virtual | None = None
    containment: str | None = None
    translates: bool = False
    """Whether ATS is enabled."""
    generates_ecrc: bool = False
    """Whether ECRC Generation is enabled in Advanced Error Reporting."""
    masked: tuple[str, ...] = ()
    """The error masks of Advanced Error Reporting that differ from their values after reset."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The functions of a machine, in the order of their slots, and the name of the listing."""

    source: str
    functions: tuple[Function, ...]
    command: str = COMMAND
    """The command that writes a whole listing of this form."""

    def error(self, function: Function, message: str) -> ListingError:
        """An error whose message has the line of the record of `function`."""
        return ListingError(f"{self.source}:{function.line}: {message}")
