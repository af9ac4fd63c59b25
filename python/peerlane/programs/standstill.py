"""Makes the error message about programs that wait for ever: where, for what, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from peerlane.formats import duration
from peerlane.programs.place import name, place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Devices(Protocol):
    """The part of `peerlane.Simulation` that the message needs."""

    def silence(self, host: str, message: int | None) -> Iterator[str]:
        """Lines about the devices that do not send an interrupt, or do not write to memory."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait for an event from a device: an interrupt of a host, or a write to its memory."""

    host: str
    since_ns: float
    message: int | None = None
    address: int = 0

    def __str__(self) -> str:
        since = duration(self.since_ns)
        if self.message is None:
            return f"since {since} for a write of a device to {self.address:#x} of {self.host}"
        return f"since {since} for an interrupt of {self.host} with the message {self.message:#x}"


def standstill(devices: Devices, waiting: Iterable[tuple[object, object]]) -> str:
    """The message, with lines for each program and each device that may be the cause.

    Args:
        devices: The simulation with the devices, in which no event is left.
        waiting: The programs that have not ended, each with the object that it awaits.
    """
    lines = ["a program waits for ever: nothing is left to happen in the simulation"]
    causes: dict[str, None] = {}
    for program, awaited in waiting:
        where = place(program)
        lines.append(f"{name(program)}, at {where}" if where else name(program))
        if isinstance(awaited, Wait):
            lines.append(f"  waits {awaited}")
            causes |= dict.fromkeys(devices.silence(awaited.host, awaited.message))
        else:
            lines.append(f"  waits for {awaited!r}")
    return "\n  ".join([*lines, *causes])
