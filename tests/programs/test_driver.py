"""A driver written in Python against the registers of a scatter/gather engine."""

from __future__ import annotations

import struct

import pytest

from peerlane import Simulation

MACHINE = """
[hosts.h0]
[devices.card]
model = "sg-dma"
upstream = "h0"
"""
WRITE, READ = 0x00, 0x40
LENGTH, START, STATUS = 0x08, 0x14, 0x18
LISTS = {WRITE: 0x10000, READ: 0x20000}
DONE, FAILED = 2, 3
PATTERN = bytes(range(256)) * 16
MEMORY = 1 << 32
"""Where the memory of the host begins."""


class Card:
    """The engine, as its driver sees it."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        regions = {r.what: r.base for r in simulation.tree().nodes["card"].regions}
        self.window, self.registers = regions["bar0"], regions["bar2"]

    def run(self, unit: int, pages: list[tuple[int, int]]) -> int:
        """Works through pages of address and length; the status at the end."""
        descriptors = b"".join(struct.pack("<QII", at, size, 0) for at, size in pages)
        self.store(LISTS[unit], descriptors)
        self.store(unit + LENGTH, struct.pack("<Q", len(pages)))
        self.store(unit + START, bytes(4))
        while not self.simulation.node("h0").interrupts():
            assert self.simulation.step()
        status = self.simulation.node("h0").read(self.registers + unit + STATUS, 4)
        return int.from_bytes(status, "little")

    def store(self, register: int, data: bytes) -> None:
        self.simulation.node("h0").write(self.registers + register, data)


@pytest.fixture
def card() -> Card:
    return Card(Simulation(MACHINE))


def test_a_driver_waits_for_the_interrupt_and_finds_its_data(card: Card) -> None:
    assert card.run(WRITE, [(MEMORY + 0x4000, 4096), (MEMORY + 0x8000, 100)]) == DONE
    written = card.simulation.node("h0").memory(MEMORY + 0x4000, 4096)
    assert any(written)
    assert any(card.simulation.node("h0").memory(MEMORY + 0x8000, 100))
    assert not any(card.simulation.node("h0").memory(MEMORY + 0x8000 + 100, 100))


def test_what_is_put_into_memory_comes_back_by_the_fifos() -> None:
    card = Card(Simulation(MACHINE + 'user = "loopback"'))
    card.simulation.node("h0").fill(MEMORY + 0x4000, PATTERN)
    assert card.run(READ, [(MEMORY + 0x4000, 4096)]) == DONE
    assert card.run(WRITE, [(MEMORY + 0x8000, 4096)]) == DONE
    assert card.simulation.node("h0").memory(MEMORY + 0x8000, 4096) == PATTERN


def test_an_error_is_seen_in_the_status(card: Card) -> None:
    assert card.run(READ, [(MEMORY + 0x8000_0000, 64)]) == FAILED


def test_an_interrupt_is_told_once_with_the_message_of_its_vector(card: Card) -> None:
    simulation = card.simulation
    (function,) = [node.id for node in simulation.tree().nodes if node.name == "card"]
    message = simulation.node("h0").config_read(function, 0x48 + 0xC, size=2)
    card.store(WRITE + LENGTH, bytes(8))
    card.store(WRITE + START, bytes(4))
    simulation.run_until(simulation.now_ns + 10_000)
    assert simulation.node("h0").interrupts() == {message: 1}
    assert simulation.node("h0").interrupts() == {}


def test_bytes_are_put_only_where_memory_is(card: Card) -> None:
    card.simulation.node("card").fill(card.window, b"peerlane")
    assert card.simulation.node("h0").read(card.window, 8) == b"peerlane"
    with pytest.raises(ValueError, match="holds"):
        card.simulation.node("h0").fill(1 << 40, b"x")
    with pytest.raises(ValueError, match="no processor"):
        card.simulation.node("card").interrupts()
