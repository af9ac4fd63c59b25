"""The map of traffic classes to virtual channels, read from the bytes of `lspci -xxxx`."""

from __future__ import annotations

ID = 0x0002
"""The ID of the Virtual Channel capability (7.9.1.1)."""

Channels = tuple[int | None, ...]
"""The VC ID of each traffic class; none for a class that maps to no enabled channel."""


def of_space(space: bytes) -> Channels | None:
    """The map of a function; none without the capability, and then every class has VC0 (2.5)."""
    at = _capability(space)
    if at is None:
        return None
    count = space[at + 4] & 7
    channels: list[int | None] = [None] * 8
    for resource in range(count + 1):
        # VC Resource Control (7.9.1.8) is the second register of each channel.
        control = _dword(space, at + 0x14 + 12 * resource)
        if control >> 31:
            for traffic_class in range(8):
                if control >> traffic_class & 1:
                    channels[traffic_class] = control >> 24 & 7
    return tuple(channels)


def of_dump(dump: str, roots: list[str]) -> dict[tuple[str, int], Channels]:
    """The maps of all functions that have one, by tree and ID; `roots` are a domain each."""
    found: dict[tuple[str, int], Channels] = {}
    for part in dump.strip().split("\n\n"):
        head, *rows = part.splitlines()
        domain, bus, last = head.partition(" ")[0].split(":")
        device, function = last.split(".")
        number = int(bus, 16) << 8 | int(device, 16) << 3 | int(function)
        channels = of_space(b"".join(bytes.fromhex(row.partition(": ")[2]) for row in rows))
        if channels is not None:
            found[roots[int(domain, 16)], number] = channels
    return found


def _capability(space: bytes) -> int | None:
    """The offset of the capability, by the list of extended capabilities (7.6)."""
    at = 0x100 if len(space) == 4096 else 0
    for _ in range(480):
        if at == 0:
            break
        head = _dword(space, at)
        if head & 0xFFFF == ID:
            return at
        at = head >> 20
    return None


def _dword(space: bytes, at: int) -> int:
    return int.from_bytes(space[at : at + 4], "little")
