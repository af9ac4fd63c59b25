"""Defines the interface to a card's accelerator for software: registers and a list of features."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from peerlane import _core
from peerlane.opae import afu
from peerlane.opae.bitstream import bitstream

if TYPE_CHECKING:
    from peerlane.fabric.simulation import Simulation
    from peerlane.programs.host_thread import HostThread

NEXT, LAST, KIND = 16, 40, 60
"""The lowest bits of three fields in a feature's first word: next offset, end of list, type."""


class Accelerator:
    """An accelerator of a card, with a thread of its host that uses the accelerator.

    Args:
        place: The slot of the accelerator, with its addresses.
        thread: The thread that uses the accelerator.
    """

    def __init__(self, place: Place, thread: HostThread) -> None:
        self.place = place
        self.name = place.name
        self.thread = thread
        self._base = place.registers

    @property
    def interrupts(self) -> tuple[int, ...]:
        """The message of each interrupt, for `HostThread.interrupt`."""
        return self.place.interrupts

    async def load(self, offset: int, length: int = 8) -> int:
        """Loads a register of 4 or 8 bytes.

        Raises:
            ValueError: The accelerator has no register with this `offset` and `length`.
        """
        return await self.thread.load(self._address(offset, length, (4, 8)), length)

    async def store(self, offset: int, value: int, length: int = 8) -> None:
        """Stores to a register of 4 or 8 bytes, or to registers of 64 bytes by one store.

        Raises:
            ValueError: The accelerator has no register with this `offset` and `length`, or `value`
                has more bytes.
        """
        await self.thread.store(self._address(offset, length, (4, 8, 64)), value, length)

    def _address(self, offset: int, length: int, lengths: tuple[int, ...]) -> int:
        """The address of a register."""
        size = self.place.registers_size
        if length not in lengths or offset % length or not 0 <= offset <= size - length:
            right = (
                f"give a multiple of the length, {' or '.join(map(str, lengths))}, below {size:#x}"
            )
            raise ValueError(
                f"{length} bytes at {offset:#x} of {self.name} are no register; {right}"
            )
        return self._base + offset

    async def uuid(self) -> int:
        """Loads the UUID of the accelerator, a number of 128 bits."""
        return await self.load(16) << 64 | await self.load(8)

    async def features(self) -> list[tuple[int, tuple[int, int]]]:
        """Loads the list of features: the offset of each, with both halves of its UUID."""
        found = []
        offset = 0
        for _ in range(MOST_FEATURES):
            header = await self.load(offset)
            found.append((offset, (await self.load(offset + 16), await self.load(offset + 8))))
            step = header >> NEXT & 0xFF_FFFF
            if header >> LAST & 1 or not step:
                break
            offset += step
        return found

    async def feature(self, uuid: tuple[int, int]) -> int | None:
        """The offset of the feature with this UUID; `None` if the accelerator does not have it."""
        features = await self.features()
        return next((offset for offset, found in features if found == uuid), None)


MOST_FEATURES = 64
"""The most features of a list; a list that is longer is assumed to have no end."""


@dataclass(frozen=True, slots=True)
class Place:
    """A slot of a card, and the addresses that software uses for it."""

    name: str
    """The name of the card."""
    slot: int
    host: str
    function: str
    """Bus, device and function number of the slot."""
    vendor_id: int
    device_id: int
    interface: str
    """The UUID of the interface for which accelerators of this slot must be made."""
    accelerator: str | None
    """The UUID of the loaded accelerator."""
    registers: int
    """Bus address of the accelerator's registers."""
    registers_size: int
    """Bytes of the accelerator's registers."""
    port_control: int
    """Bus address of the register that resets the port."""
    counters: int
    """Bus address of the register that selects a performance counter; the counter is 8 bytes after
    it."""
    select_reads: int
    """The value for the register at `counters` that selects the counter of this slot's reads on the
    link."""
    select_writes: int
    """The value for the register at `counters` that selects the counter of this slot's writes on
    the link."""
    counter_mask: int
    """The bits of a performance counter that contain the count."""
    local_memory: int
    """Bytes of the card's own memory."""
    clock_hz: int
    """The frequency of the accelerator's clock."""
    interrupts: tuple[int, ...]
    """The message of each interrupt."""


def places(simulation: Simulation) -> list[Place]:
    """All slots of all cards of a fabric, in the order of the scenario."""
    found: list[dict[str, Any]] = json.loads(_core.cards(simulation.core))
    return [Place(**card | {"interrupts": tuple(card["interrupts"])}) for card in found]


def configure(simulation: Simulation, card: str, image: str, slot: int = 0) -> None:
    """Loads an image into a slot of a card, in no simulated time.

    The image is a built-in name, a `.gbs` file, or `FILE.py[:CLASS]`.

    Raises:
        OSError: The file cannot be read.
        TypeError: The image is no text.
        ValueError: The card, the slot or the image does not exist, or the image is for another
            card.
    """
    given: object = image
    if not isinstance(given, str):
        right = 'give a built-in name, a .gbs file, or "FILE.py:CLASS"'
        raise TypeError(f"{given!r} is no image of an accelerator; {right}")
    _core.load_image(simulation.core, card, bitstream(image), afu.load, slot)


def accelerators(simulation: Simulation) -> list[Accelerator]:
    """The accelerators in all slots of a fabric's cards, each with a thread of its own.

    Raises:
        ValueError: The fabric has no card.
    """
    found = places(simulation)
    if not found:
        raise ValueError('there is no card; write a device with model = "fpga-card"')
    return [Accelerator(place, simulation.node(place.host).thread()) for place in found]
