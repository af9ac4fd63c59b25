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
    page_fault: float = 575.0
    """Nanoseconds of a page fault of Linux for a page of 4 KiB that is touched for the first time.

    The least that Page fault latency measurement (ddumbying.vercel.app) has for Linux 6.6 on a Core
    i7 of the 11th generation; its median is 1,013 ns.
    """
    frames: int = 3
    """Frames that go to the cards and back, one period after the other."""

    @property
    def lane(self) -> float:
        """GB/s of a Gen3 lane after its encoding."""
        return self.gigatransfers * 128 / 130 / 8


Machine = machine.Machine[Constants]
