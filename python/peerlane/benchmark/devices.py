"""The devices of `peerlane bench devices`: a built-in one, one in Rust and one in Python."""

from __future__ import annotations

from peerlane import _core
from peerlane.models.device import Device
from peerlane.models.loading import load

KINDS = ("built-in", "Rust", "Python")


class Registers(Device):
    """Registers that store what is written."""

    bars = {0: "4 KiB"}  # noqa: RUF012 - as users write it

    def on_reset(self) -> None:
        """Clears all registers."""
        self.registers = bytearray(4096)

    def on_read(self, bar: int, offset: int, length: int) -> bytes:
        """Returns the bytes that were written to these registers."""
        del bar
        return bytes(self.registers[offset : offset + length])

    def on_write(self, bar: int, offset: int, data: bytes) -> None:
        """Stores the bytes."""
        del bar
        self.registers[offset : offset + len(data)] = data


def device(kind: str, direction: str, accesses: int) -> tuple[str, list[_core.DeviceModel]]:
    """The scenario of 8-byte accesses to a device of this kind below a switch, and its models."""
    model, models = "registers", []
    if kind == "Rust":
        models = [_core.register_model(model)]
    elif kind == "Python":
        models = [load(model, Registers)]
    else:
        model = "dma"
    text = f"""
        name = "bench device"
        [links]
        generation = 3
        lanes = 16
        [hosts.h0]
        [switches.s0]
        upstream = "h0"
        [devices.d]
        upstream = "s0"
        model = "{model}"
        [[flows]]
        id = "f"
        from = "h0"
        to = "d"
        direction = "{direction}"
        count = {accesses}
        request_size = "8 B"
        window = "4096 B"
    """
    return text, models
