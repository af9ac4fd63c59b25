"""The engine as a card of cocotbext-pcie: registers of configuration there, packets here."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.queue import Queue
from cocotb.triggers import ReadOnly, RisingEdge
from cocotbext.pcie.core import Device, Endpoint, RootComplex
from cocotbext.pcie.core.caps import MsiCapability
from cocotbext.pcie.core.tlp import Tlp
from handshake import Pause, never, reset, start_clock
from packets import PacketSink, PacketSource


class Function(Endpoint):  # type: ignore[misc]
    """A function that leaves memory requests and completions to the circuit."""

    def __init__(self) -> None:
        super().__init__()
        self.to_circuit: Queue[tuple[int, bytes]] = Queue()
        self.msi = MsiCapability()
        self.msi.msi_multiple_message_capable = 2
        self.msi.msi_64bit_address_capable = 1
        self.register_capability(self.msi)
        self.configure_bar(0, 1 << 20)
        self.configure_bar(2, 256 << 10)

    async def handle_tlp(self, tlp: Tlp) -> None:
        """Configuration is here, everything else is there."""
        if tlp.fmt_type in self.rx_tlp_handler:
            await super().handle_tlp(tlp)
            return
        bar = 7 if tlp.is_completion() else self.match_bar(tlp.address)[0]
        tlp.release_fc()
        self.to_circuit.put_nowait((bar, bytes(tlp.pack())))


class Card:
    """A root complex with memory, and the circuit in its slot."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.root = RootComplex()
        self.function = Function()
        self.device = Device(self.function)
        self.root.make_port().connect(self.device)

    async def begin(self, receive: Pause = never, send: Pause = never) -> Any:
        """Reset, enumeration, driver: the device as the root complex found it."""
        dut = self.dut
        start_clock(dut.clk_i)
        start_clock(dut.user_clk_i)
        names = ["valid", "data", "first", "last", "bytes", "label", "bar"]
        dut.user_rst_i.value = 1
        await reset(
            dut,
            [f"rx_{name}_i" for name in names]
            + ["tx_ready_i", "irq_ready_i", "function_id_i", "bus_master_i"]
            + ["max_payload_i", "max_read_request_i"],
        )
        dut.user_rst_i.value = 0
        self.source = PacketSource(dut, receive, "rx_")
        self.sink = PacketSink(dut, send, "tx_")
        for process in (self.receive(), self.send(), self.interrupt()):
            cocotb.start_soon(process)
        await self.root.enumerate()
        device = self.root.find_device(self.function.pcie_id)
        await device.enable_device()
        await device.set_master()
        await device.alloc_irq_vectors(1, 4)
        capability = self.function.pcie_cap
        dut.function_id_i.value = int(self.function.pcie_id)
        dut.max_payload_i.value = capability.max_payload_size
        dut.max_read_request_i.value = capability.max_read_request_size
        dut.bus_master_i.value = int(self.function.bus_master_enable)
        return device

    async def receive(self) -> None:
        """Packets to the circuit."""
        while True:
            bar, packet = await self.function.to_circuit.get()
            self.dut.rx_bar_i.value = bar
            await self.source.send_packets([packet])

    async def send(self) -> None:
        """Packets of the circuit, as the other side reads them."""
        while True:
            await self.function.send(Tlp.unpack(await self.sink.packet()))

    async def interrupt(self) -> None:
        """Interrupts of the circuit as MSI."""
        dut = self.dut
        dut.irq_ready_i.value = 1
        while True:
            await ReadOnly()
            offered = bool(int(dut.irq_valid_o.value))
            vector = int(dut.irq_vector_o.value) if offered else 0
            await RisingEdge(dut.clk_i)
            if offered:
                data = self.function.msi.msi_message_data + vector
                await self.function.mem_write(
                    self.function.msi.msi_message_address, data.to_bytes(4, "little")
                )
