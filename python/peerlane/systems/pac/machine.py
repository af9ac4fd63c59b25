"""Defines the constants of the experiments of pac."""

from __future__ import annotations

from dataclasses import dataclass

from peerlane.reproduction import machine


@dataclass(frozen=True, slots=True)
class Constants:
    """Numbers that the experiments use in addition to the scenario."""

    whole: int = 4 << 30
    """The size of the transfer of the source's log, in bytes."""
    from_card: float = 5.9268
    """The rate from the card in the source's first table, in units of 1024 x 10^6 bytes a
    second."""
    printed: float = 1e6 * 1024
    """The unit of the source's first table, in bytes a second."""
    gigatransfers: int = 8
    """The transfers of a Gen3 lane, of one bit each, in GT/s (PCIe Base 8.2)."""
    steady: float = 0.01
    """A rate counts as steady if it differs from the rate of the largest size by at most this
    share."""
    lines: int = 65536
    """The number of lines of 64 bytes that the card's diagnostics move."""
    page_fault: float = 575.0
    """The time of a page fault of Linux at the first access to a page of 4 KiB, in nanoseconds.

    It is the least value in "Page fault latency measurement" (ddumbying.vercel.app) for Linux 6.6
    on a Core i7 of the 11th generation; the median is 1,013 ns.
    """
    frames: int = 3
    """The number of frames that go to the cards and back, one in each period."""

    @property
    def lane(self) -> float:
        """The rate of a Gen3 lane after its encoding, in GB/s."""
        return self.gigatransfers * 128 / 130 / 8


Machine = machine.Machine[Constants]
