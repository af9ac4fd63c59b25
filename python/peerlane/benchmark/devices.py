"""The devices of `peerlane bench devices`: built-in, of one's own in Rust and in Python."""

from __future__ import annotations

from peerlane import _core
from peerlane.models.device import Device
from peerlane.models.loading import load

KINDS = ("built-in", "Rust", "Python")


class Registers(Device):
    """Registers that keep what is written."""

    bars = {0: "4 KiB"}  # noqa: RUF012 - as users write it

    def on_reset(self) -> None:
        """Clears all registers."""
        self.registers = bytearray(4096)

    def on_read(self, bar: int, offset: int, length: int) -> bytes:
        """The bytes that were written."""
        del bar
        return bytes(self.registers[offset : offset + length])

    def on_write(self, bar: int, offset: int, data: bytes) -> None:
        """Keeps the bytes."""
        del bar
        self.registers[offset : offset + len(data)] = data


def device(kind: str) -> tuple[str, list[_core.DeviceModel]]:
    """The name of the model of this kind, and the models that its scenario needs."""
    if kind == "Rust":
        return "registers", [_core.register_model("registers")]
    if kind == "Python":
        return "registers", [load("registers", Registers)]
    return "dma", []
