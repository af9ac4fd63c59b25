"""The constants of the experiments."""

from __future__ import annotations

from dataclasses import dataclass

from peerlane.reproduction import machine


@dataclass(frozen=True, slots=True)
class Constants:
    """Numbers that the experiments use beside the scenario."""

    whole: int = 4 << 30
    """Bytes that the source sweeps."""
    from_card: float = 5.9268
    """The rate from the card in the source's first table, in units of 1024 x 10^6 bytes a second.
    """
    printed: float = 1e6 * 1024
    """The unit of the source's first table, in bytes a second."""
    gigatransfers: int = 8
    """GT/s of a Gen3 lane, a bit each: PCIe Base 8.2."""
    steady: float = 0.01
    """The share by which a rate may differ from that of the largest size to be called steady."""
    lines: int = 65536
    """Lines of 64 bytes that the card's diagnostics move."""

    @property
    def lane(self) -> float:
        """GB/s of a Gen3 lane after its encoding."""
        return self.gigatransfers * 128 / 130 / 8


Machine = machine.Machine[Constants]
