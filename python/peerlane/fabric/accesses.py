"""Keeps the accesses of hosts and devices that programs outside the simulation have begun."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane import _core
from peerlane.errors import RequestError
from peerlane.programs.access import Access

if TYPE_CHECKING:
    from peerlane.programs.access import Source


class Accesses:
    """The accesses in flight in a simulation, without a reference to its `Simulation` object.

    Args:
        core: The simulation in the core.
    """

    def __init__(self, core: _core.Simulation) -> None:
        self._core = core
        self._in_flight: dict[int, Access[bytes]] = {}
        self._writes: set[int] = set()

    def begin_read(self, simulation: Source, node: str, address: int, length: int) -> Access[bytes]:
        """Begins a read by a node of `simulation`."""
        number = _core.begin_read(self._core, node, address, length)
        return self._begun(simulation, number, f"the read of {length} bytes at {address:#x}")

    def begin_write(
        self, simulation: Source, node: str, address: int, data: bytes
    ) -> Access[bytes]:
        """Begins a write by a node of `simulation`."""
        number = _core.begin_write(self._core, node, address, data)
        self._writes.add(number)
        return self._begun(simulation, number, f"the write of {len(data)} bytes at {address:#x}")

    def _begun(self, simulation: Source, number: int, what: str) -> Access[bytes]:
        access: Access[bytes] = Access(simulation, what)
        self._in_flight[number] = access
        return access

    def collect(self) -> None:
        """Stores the outcome of each access that has ended."""
        for number, time_ns, data, error in _core.take_outcomes(self._core):
            failed = None if error is None else RequestError(*str(error).split(": ", 1))
            # The core also returns the bytes of a write.
            value = b"" if number in self._writes else data
            self._writes.discard(number)
            self._in_flight.pop(number).end(time_ns, value, failed)
