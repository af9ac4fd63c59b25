"""Engines as cards of cocotbext-pcie, which has their configuration spaces and MSI-X tables."""

from __future__ import annotations

import logging
import struct
from typing import Any

import cocotb
from cocotb.queue import Queue
from cocotb.triggers import ReadOnly, RisingEdge
from cocotbext.pcie.core import Device, MemoryEndpoint, RootComplex
from cocotbext.pcie.core.caps import MsiCapability, MsixCapability
from cocotbext.pcie.core.switch import Switch
from cocotbext.pcie.core.tlp import Tlp
from handshake import Pause, never, reset, start_clock
from packets import PacketSink, PacketSource, is_non_posted, takes_non_posted

VECTORS = 4
TABLE, PENDING = 4, 0x800
"""The BAR with the MSI-X table, and the offset of the pending bits in it."""
NO_BAR = 7
logging.getLogger("cocotb.pcie").setLevel(logging.ERROR)


class Function(MemoryEndpoint):  # type: ignore[misc]
    """A function that leaves completions and the requests to two of its BARs to the circuit."""

    def __init__(self, *, msix: bool = False) -> None:
        super().__init__()
        self.to_circuit: Queue[tuple[int, bytes]] = Queue()
        self.configure_bar(0, 1 << 20)
        self.configure_bar(2, 256 << 10)
        self.msi, self.msix = MsiCapability(), MsixCapability()
        if msix:
            self.bar_ptr = TABLE
            self.table = self.add_mem_region(1 << 12)
            self.msix.msix_table_size = VECTORS - 1
            self.msix.msix_table_bar_indicator_register = TABLE
            self.msix.msix_pba_bar_indicator_register = TABLE
            self.msix.msix_pba_offset = PENDING
            self.register_capability(self.msix)
        else:
            self.msi.msi_multiple_message_capable = 2
            self.msi.msi_64bit_address_capable = 1
            self.register_capability(self.msi)

    async def handle_tlp(self, tlp: Tlp) -> None:
        """Configuration and the table are here, everything else is there."""
        bar = NO_BAR
        if not tlp.is_completion():
            is_memory = 0x00 <= int(tlp.fmt_type.value[1]) <= 0x01
            bar = self.match_bar(tlp.address)[0] if is_memory else TABLE
        if bar == TABLE:
            await super().handle_tlp(tlp)
            await self.send_pending()
            return
        tlp.release_fc()
        self.to_circuit.put_nowait((bar, bytes(tlp.pack())))

    async def interrupt(self, vector: int) -> None:
        """Signal a vector by MSI, or by MSI-X, where a masked one becomes pending."""
        if self.msix.msix_enable:
            self.table[PENDING] |= 1 << vector
            await self.send_pending()
        else:
            data = self.msi.msi_message_data + vector
            await self.mem_write(self.msi.msi_message_address, data.to_bytes(4, "little"))

    async def send_pending(self) -> None:
        """Send the messages of pending vectors that are not masked."""
        if not self.msix.msix_enable or self.msix.msix_function_mask:
            return
        for vector in range(VECTORS):
            entry = self.table[16 * vector : 16 * vector + 16]
            address, data, control = struct.unpack("<QII", entry)
            if self.table[PENDING] >> vector & 1 and not control & 1:
                self.table[PENDING] &= ~(1 << vector)
                await self.mem_write(address, data.to_bytes(4, "little"))


class Card:
    """The circuit with the signals of `dut`, as the device of a slot."""

    def __init__(self, dut: Any, *, msix: bool = False) -> None:
        self.dut = dut
        self.function = Function(msix=msix)
        self.device = Device(self.function)

    async def reset(self, receive: Pause = never, send: Pause = never) -> None:
        """Begin with clocks, reset, and the traffic of the slot."""
        dut = self.dut
        start_clock(dut.clk_i)
        start_clock(dut.user_clk_i)
        names = ["valid", "data", "first", "last", "bytes", "label", "bar"]
        dut.user_rst_i.value = 1
        await reset(
            dut,
            [f"rx_{name}_i" for name in names]
            + ["tx_ready_i", "irq_ready_i", "function_id_i", "bus_master_i"]
            + ["max_payload_i", "max_read_request_i", "ext_tag_i", "flr_i"],
        )
        dut.user_rst_i.value = 0
        self.source = PacketSource(dut, receive, "rx_")
        self.sink = PacketSink(dut, send, "tx_", rests=True)
        for process in (self.receive(), self.send(), self.interrupt()):
            cocotb.start_soon(process)

    async def probe(self, root: RootComplex) -> Any:
        """Begin as a driver does, after the enumeration: the device that the root found."""
        dut = self.dut
        device = root.find_device(self.function.pcie_id)
        await device.enable_device()
        await device.set_master()
        await device.alloc_irq_vectors(1, VECTORS)
        capability = self.function.pcie_cap
        dut.function_id_i.value = int(self.function.pcie_id)
        dut.max_payload_i.value = capability.max_payload_size
        dut.max_read_request_i.value = capability.max_read_request_size
        dut.bus_master_i.value = int(self.function.bus_master_enable)
        return device

    async def receive(self) -> None:
        """Packets to the circuit."""
        queue = self.function.to_circuit
        held: list[tuple[int, Tlp]] = []
        while True:
            # Packets pass an older non-posted request that the circuit does not take.
            if held and (await takes_non_posted(self.dut)):
                bar, packet = held.pop(0)
            elif held and queue.empty():
                continue
            else:
                bar, packet = await queue.get()
                if is_non_posted(packet):
                    held.append((bar, packet))
                    continue
            self.dut.rx_bar_i.value = bar
            await self.source.send_packets([packet])

    async def send(self) -> None:
        """Packets of the circuit, as the other side reads them."""
        while True:
            await self.function.send(Tlp.unpack(await self.sink.packet()))

    async def interrupt(self) -> None:
        """Interrupts of the circuit as messages of its function."""
        dut = self.dut
        dut.irq_ready_i.value = 1
        while True:
            await ReadOnly()
            offered = bool(int(dut.irq_valid_o.value))
            vector = int(dut.irq_vector_o.value) if offered else 0
            await RisingEdge(dut.clk_i)
            if offered:
                await self.function.interrupt(vector)


class Machine:
    """A root complex with memory, and a card in its slot, or cards and two peers below a switch."""

    def __init__(self, *cards: Card, switch: bool = False) -> None:
        self.cards = cards
        self.root = RootComplex()
        self.peers = [MemoryEndpoint() for _ in range(2 * switch)]
        self.memories = [peer.add_mem_region(1 << 16) for peer in self.peers]
        slot = self.root.make_port()
        if switch:
            self.switch = Switch()
            slot.connect(self.switch)
            for device in [card.device for card in cards] + [Device(peer) for peer in self.peers]:
                self.switch.make_port().connect(device)
        else:
            slot.connect(cards[0].device)

    async def begin(self, receive: Pause = never, send: Pause = never) -> list[Any]:
        """Reset, enumeration, drivers: the devices of the cards as the root complex found them."""
        for card in self.cards:
            await card.reset(receive, send)
        await self.root.enumerate()
        for peer in self.peers:
            found = self.root.find_device(peer.pcie_id)
            await found.enable_device()
            await found.set_master()
        return [await card.probe(self.root) for card in self.cards]
