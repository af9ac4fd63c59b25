"""A fabric with a device in Python, `ssd`, and places in its configuration space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane import Device, Fabric

if TYPE_CHECKING:
    from peerlane import Simulation


MEMORY = 1 << 32
"""Where the memory of a host begins."""


class Zeros(Device):
    """A device whose registers read as zero."""

    bars = {0: "4 KiB"}  # noqa: RUF012 - as users write it

    def on_read(self, bar: int, offset: int, length: int) -> int:  # noqa: ARG002 - as above
        return 0


def fabric(model: type[Device] | Device, **settings: str | int) -> Fabric:
    begun = Fabric("own").host("h0").switch("s0", "h0")
    return begun.device("ssd", "s0", model=model, **settings)


def base(simulation: Simulation) -> int:
    """The address of its first region."""
    return simulation.tree().nodes["ssd"].regions[0].base


def express(simulation: Simulation, function: str) -> int:
    """The offset of the PCI Express capability."""
    spaces = range(0x40, 0x100, 4)
    return next(
        at for at in spaces if simulation.node("h0").config_read(function, at) & 0xFF == 0x10
    )


def function_level_reset(simulation: Simulation, function: str) -> None:
    """Sets Initiate Function Level Reset."""
    control = express(simulation, function) + 8
    host = simulation.node("h0")
    written = host.config_read(function, control, size=2)
    host.config_write(function, control, written | 1 << 15, size=2)


def extended(simulation: Simulation, function: str, number: int) -> int:
    """The offset of the extended capability with this number."""
    at = 0x100
    while (header := simulation.node("h0").config_read(function, at)) & 0xFFFF != number:
        at = header >> 20
    return at
