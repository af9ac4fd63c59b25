"""The constants of the experiments."""

from __future__ import annotations

from dataclasses import dataclass

from peerlane.reproduction import machine


@dataclass(frozen=True, slots=True)
class Constants:
    """Numbers that the experiments use beside the scenario."""

    overhead: int = 23
    """Bytes for each packet: 20 of framing, header and LCRC, about 3 of ACK and flow control."""
    lane_gbit: tuple[int, int, int] = (2, 4, 8)
    """Gbit/s of a lane of each generation as the source counts them: without 128b/130b."""
    buffer: str = "4 MiB"
    """Each transfer of figures 3 to 5. Table 3 has none in the source: it is taken to have the
    same."""
    reading_buffer: str = "512 KiB"
    """Each transfer of a reading of figure 3, whose rate is that of each page, and of `setpci`."""
    largest: int = 128
    """Bytes of payload of a packet, which enumeration arrives at by itself."""
    few_headers: int = 8
    """Posted header credits of a root port that has few: a quarter of what this one has."""
    partial_line: str = "50 ns"
    """Time to fetch the rest of a line: a row cycle of DDR3-1333, tRC 49.5 ns in JESD79-3."""
    all_under_way: tuple[str, str] = ("1 ms", "2.5 ms")
    """The time in which all transfers are under way: all lists are written, and none has ended."""
    peers_under_way: tuple[str, str] = ("500 us", "2 ms")
    """The time in which all transfers between FPGAs are under way, which have no lists."""
    later: str = "1 ms"
    """The chain's data starts when every FPGA has its list and its command. It must: what an FPGA
    sends to one that has none yet fills that one's FIFOs, and then holds up the CPU's writes behind
    it."""
    raised_at: str = "1 ms"
    """When the host raises max payload: the transfers with the smaller one have ended."""
    raised_start: str = "2 ms"
    """When the transfers with the larger max payload start: the host has written all registers."""
    skew_us: int = 10
    """Microseconds between one sender's start and the next, where starts are nearly simultaneous:
    the order of one system call. The source gives no number; the reading shows that it hardly
    matters."""
    beat: str = "8 B"
    """Payload of the packets whose latency is measured, which is not published: one beat of the
    64-bit stream."""


Machine = machine.Machine[Constants]
