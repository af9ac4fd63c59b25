"""The published machine, and one message on it."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from peerlane.reproduction.calibration import quantity, setting
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


def value(fabric: Fabric, where: str) -> float:
    """The number at a key of the scenario, in the unit that it has there."""
    return quantity(setting(tomllib.loads(fabric.to_toml()), where))[0]


def cycle_ns(fabric: Fabric) -> float:
    """Nanoseconds of a cycle of the engine."""
    return 1e3 / value(fabric, "profiles.virtex6.clock")


def alone_ns(primitive: str, size: int) -> float:
    """Time from the store to the doorbell until the other program has seen the end."""
    fabric = machine().flow(*WAY, primitive=primitive, size=f"{size} B", start=START)
    return latency(sound(fabric.run()).flows[0])
