"""The published machine, and one message on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.reproduction.catalogue import system_fabric
from peerlane.systems.measured import latency, sound

if TYPE_CHECKING:
    from peerlane import Fabric

PRIMITIVES = ("nap-immediate", "nap-indirect", "put", "get")
WAY = ("n0", "n1")

START = "5 us"
"""The time at which the controllers have fetched the first addresses of buffers."""


def machine() -> Fabric:
    """The published machine, without its transfers."""
    return system_fabric("chpp").without_flows()


def alone_ns(primitive: str, size: int) -> float:
    """Time from the store to the doorbell until the other program has seen the end."""
    fabric = machine().flow(*WAY, primitive=primitive, size=f"{size} B", start=START)
    return latency(sound(fabric.run()).flows[0])
