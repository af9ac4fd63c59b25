"""Describes devices that do not cause an expected event: their interrupts and their engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from peerlane.fabric.simulated_node import SimulatedNode
    from peerlane.fabric.tree import Tree
    from peerlane.models.device import Device
    from peerlane.results.run import RunResult

MOST_DEVICES = 8
"""The most devices whose engines a message lists."""


class Fabric(Protocol):
    """The part of `peerlane.Simulation` that this module uses."""

    def tree(self) -> Tree:
        """The nodes and links of the fabric after enumeration."""

    def node(self, name: str) -> SimulatedNode:
        """A host or device."""

    def result(self) -> RunResult:
        """The measurements up to the current simulated time."""


def silence(
    fabric: Fabric, devices: Mapping[str, Device], host: str, message: int | None
) -> Iterator[str]:
    """Lines about the devices that do not cause the event for which a program of `host` waits.

    Args:
        fabric: The simulation.
        devices: The devices with a model in Python, by their names.
        host: The host.
        message: The message of the interrupt for which the program waits; `None` if it waits for a
            write to memory.
    """
    causes = list(devices)[:MOST_DEVICES]
    if message is not None:
        vectors = list(_vectors(fabric, host, message))
        for vector in vectors:
            yield _interrupts(fabric, *vector)
        if vectors:
            causes = [device for device, *_ in vectors if device in devices]
        else:
            right = "give simulation.node(DEVICE).vector(NUMBER).message"
            yield f"no MSI-X vector below {host} has the message {message:#x}; {right}"
    for device in causes:
        for line in devices[device]._activity():  # noqa: SLF001 - a model may hide a public name
            yield f"{device}: {line}"


def _vectors(fabric: Fabric, host: str, message: int) -> Iterator[tuple[str, int, int]]:
    """The MSI-X vectors below `host` with this message: device, function and number of each."""
    nodes = fabric.tree().nodes
    above = {node.name: node.upstream.to for node in nodes if node.upstream is not None}
    for node in nodes:
        root = node.name
        while root in above:
            root = above[root]
        for function in range(1 + len(node.virtual_functions)) if root == host else ():
            try:
                number = message - fabric.node(node.name).vector(0, function).message
                fabric.node(node.name).vector(number, function)
            except ValueError:
                continue
            yield node.name, function, number


def _interrupts(fabric: Fabric, device: str, function: int, number: int) -> str:
    """Words for the interrupts that a vector has sent up to the current simulated time."""
    what = f"{device}: vector {number}" + (f" of function {function}" if function else "")
    for one in fabric.result().interrupts:
        if (one.device, one.function, one.vector) == (device, function, number):
            held = f"; its mask has held back {one.held}" if one.held else ""
            dropped = f"; {one.dropped} came while MSI-X was not enabled" if one.dropped else ""
            return f"{what} has sent {one.sent} interrupt{'s' * (one.sent != 1)}{held}{dropped}"
    return f"{what} has had no interrupt"
