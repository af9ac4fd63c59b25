"""A host or a device of a simulation, whose accesses a program outside the simulation controls."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING

from peerlane import _core
from peerlane.fabric.vector import Vector
from peerlane.programs.host_thread import HostThread

if TYPE_CHECKING:
    from peerlane.fabric.accesses import Accesses
    from peerlane.programs.access import Access
    from peerlane.programs.host_thread import Machine


class SimulatedNode:
    """A host or a device of a simulation, as returned by `Simulation.node`.

    Some methods are only for hosts, and some are only for devices. Each method raises `ValueError`
    if the simulation has no node of this name, or if the method is not for this kind of node.
    """

    def __init__(self, name: str, simulation: Machine, accesses: Accesses) -> None:
        self.name = name
        self._simulation = simulation
        self._accesses = accesses

    def __repr__(self) -> str:
        return f"<SimulatedNode {self.name}>"

    @property
    def _core(self) -> _core.Simulation:
        return self._simulation.core

    def read(self, address: int, length: int) -> bytes:
        """Reads `length` bytes with this node as requester; time passes until the last completion.

        Raises:
            RuntimeError: The fabric answered with an error, such as an unsupported request.
        """
        return self._core.read(self.name, address, length)

    def write(self, address: int, data: bytes) -> None:
        """Posts a memory write with this node as requester; no time passes in the call."""
        self._core.write(self.name, address, data)

    def begin_read(self, address: int, length: int) -> Access[bytes]:
        """Begins a read of `length` bytes, 1 byte to 1 GiB, by this node: a host or a `dma` device.

        No time passes in the call, so many accesses can be in flight; only the first access waits
        until the links are up. `Simulation.wait` and other methods let time pass.

        Raises:
            ValueError: The node makes no requests, or `length` is not possible.
        """
        return self._accesses.begin_read(self._simulation, self.name, address, length)

    def begin_write(self, address: int, data: bytes) -> Access[bytes]:
        """Begins a write by this node (a host or a `dma` device), which ends at the last byte.

        Raises:
            ValueError: The node makes no requests, or there is no data.
        """
        return self._accesses.begin_write(self._simulation, self.name, address, data)

    def memory(self, address: int, length: int) -> bytes:
        """Returns bytes of the node's memory at a bus address, without simulating an access."""
        return self._core.memory(self.name, address, length)

    def fill(self, address: int, data: bytes) -> None:
        """Puts bytes into the node's memory at a bus address, without simulating an access."""
        self._core.fill(self.name, address, data)

    def allocate(self, size: int, alignment: int = 4096) -> int:
        """Allocates `size` bytes of the memory of a host; returns their address.

        Raises:
            ValueError: The host has no `size` contiguous bytes left.
        """
        return self._core.allocate(self.name, size, alignment)

    def free(self, address: int, size: int) -> None:
        """Frees the `size` bytes of a host that one call of `allocate` has allocated at `address`.

        Raises:
            ValueError: No call of `allocate` has allocated exactly these bytes.
        """
        self._core.free(self.name, address, size)

    def config_read(self, function: str, offset: int, *, size: int = 4) -> int:
        """Reads `size` bytes (1, 2 or 4, aligned) of the configuration space of a function.

        The processor of the host sends a configuration request, and time passes until its
        completion is back. If no function answers, the value is all ones.

        Raises:
            ValueError: `function` (such as "03:00.0"), `offset` and `size` do not name a register.
        """
        return self._core.config_read(self.name, function, offset, size)

    def config_write(self, function: str, offset: int, value: int, *, size: int = 4) -> None:
        """Writes `size` bytes of a configuration space; the arguments are as for `config_read`."""
        self._core.config_write(self.name, function, offset, value, size)

    def interrupts(self) -> dict[int, int]:
        """The interrupts that arrived at a host and for which no driver of the scenario waits.

        Each entry has the data of a message, as in the MSI capability of the function that sent it,
        and the number of times that the message arrived since the last call of this method.
        """
        return self._core.interrupts(self.name)

    def window(self, to: str) -> int:
        """The address at which a host can access the addresses of another host or an I/O port.

        A store of the host to `window(to) + address` is a store to `address` of `to`, which may be
        the host itself. For an endpoint below an I/O port, the method returns the address at which
        the endpoint can access another I/O port.

        Raises:
            ValueError: There is no controller that has a network interface controller (`nic`) of
                each of the two.
        """
        return self._core.window(self.name, to)

    def thread(self) -> HostThread:
        """Creates a thread of a host, which a program outside the simulation controls.

        A host can have more threads than cores: a thread has a core only while it loads, stores or
        works.
        """
        return HostThread(self._simulation, self.name, _core.HostThread(self._core, self.name))

    def vector(self, number: int, function: int = 0) -> Vector:
        """The address and the message of an MSI-X vector of a device, for software that masks it.

        Args:
            number: The vector, from 0, of a device with `msix_vectors`.
            function: The function: 0 is the physical function, 1 the first virtual function.

        Raises:
            ValueError: The function or the vector does not exist.
        """
        try:
            return Vector(*self._core.vector(self.name, index(number), index(function)))
        except TypeError:
            right = "give whole numbers"
            raise TypeError(f"{number!r} of function {function!r} is no vector; {right}") from None
        except OverflowError:
            message = (
                f"{self.name} has no vector {number} of function {function}; count both from 0"
            )
            raise ValueError(message) from None
