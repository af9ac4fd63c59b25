"""The registers that rule what functions may set, read from the bytes of `lspci -xxxx`."""

from __future__ import annotations

from dataclasses import dataclass, replace

EXPRESS = 0x10
"""The ID of the PCI Express capability (7.5.3.1)."""

PASID = 0x1B
"""The ID of the PASID extended capability."""

NO_SNOOP, RELAXED, BY_ID = 1, 2, 4
"""Bits of Attr[2:0] (2.2.6.3)."""


@dataclass(frozen=True)
class Registers:
    """What the registers of a function, or of all root ports of a host, allow."""

    attributes: int = 0
    """The bits of Attr[2:0] that requests may have (7.5.3.4, 7.5.3.16)."""
    completions_by_id: bool = False
    """IDO Completion Enable (7.5.3.16)."""
    tag_bits: int = 5
    """The width of tags that is enabled (2.2.6.2)."""
    pasid: int = 0
    """PASID Enable, and the enables of its permissions: execute, privileged mode (6.20)."""

    @classmethod
    def parse(cls, space: bytes) -> Registers | None:
        """From the first 256 bytes at least of a configuration space; none without PCI Express."""
        at = _capability(space)
        if at is None:
            return None
        control = int.from_bytes(space[at + 8 : at + 10], "little")
        more = int.from_bytes(space[at + 0x28 : at + 0x2A], "little")
        attributes = (
            (RELAXED if control >> 4 & 1 else 0)
            | (NO_SNOOP if control >> 11 & 1 else 0)
            | (BY_ID if more >> 8 & 1 else 0)
        )
        wide = 8 if control >> 8 & 1 else 5
        tags = 10 if more >> 12 & 1 else wide
        return cls(attributes, bool(more >> 9 & 1), tags, _pasid_control(space) & 7)

    def __or__(self, other: Registers) -> Registers:
        return Registers(
            self.attributes | other.attributes,
            self.completions_by_id or other.completions_by_id,
            max(self.tag_bits, other.tag_bits),
            self.pasid | other.pasid,
        )


def _capability(space: bytes) -> int | None:
    """The offset of the PCI Express capability, by the list of capabilities (7.5.1.1.11)."""
    at = space[0x34] & ~3
    for _ in range(48):
        if at == 0:
            break
        if space[at] == EXPRESS:
            return at
        at = space[at + 1] & ~3
    return None


def _pasid_control(space: bytes) -> int:
    """PASID Control, by the list of extended capabilities (7.6.3); 0 without the capability."""
    at = 0x100
    for _ in range(48):
        if not 0x100 <= at <= len(space) - 8:
            break
        header = int.from_bytes(space[at : at + 4], "little")
        if header & 0xFFFF == PASID:
            return int.from_bytes(space[at + 6 : at + 8], "little")
        at = header >> 20 & ~3
    return 0


def of_dump(dump: str, roots: list[str]) -> dict[tuple[str, int], Registers]:
    """The registers of every function, by tree and ID; `roots` are the hosts, a domain each.

    A virtual function has those of its physical function (9.3.5), and the host itself, which is no
    PCI Express function, those of its root ports together.
    """
    found: dict[tuple[str, int], Registers] = {}
    physical = Registers()
    for part in dump.strip().split("\n\n"):
        head, *rows = part.splitlines()
        where, _, name = head.partition(" ")
        domain, bus, last = where.split(":")
        root = roots[int(domain, 16)]
        device, function = last.split(".")
        number = int(bus, 16) << 8 | int(device, 16) << 3 | int(function)
        space = b"".join(bytes.fromhex(row.partition(": ")[2]) for row in rows)
        registers = Registers.parse(space)
        if registers is None:
            continue
        if " VF " in name:
            # 10-Bit Tag Requester Enable of a physical function is its own (9.3.3.3).
            registers = replace(physical, tag_bits=min(physical.tag_bits, 8))
        else:
            physical = registers
        found[root, number] = registers
        if name.startswith(f"{root} port "):
            found[root, 0] = found.get((root, 0), Registers()) | registers
    return found
