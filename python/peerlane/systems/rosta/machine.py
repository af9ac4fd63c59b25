"""Defines the constants of the experiments of rosta."""

from __future__ import annotations

from dataclasses import dataclass

from peerlane.reproduction import machine


@dataclass(frozen=True, slots=True)
class Constants:
    """Numbers that the experiments use in addition to the scenario."""

    overhead: int = 23
    """The bytes of a packet that are not data: 20 of framing, header and LCRC, and about 3 of ACK
    and flow control."""
    lane_gbit: tuple[int, int, int] = (2, 4, 8)
    """The rate of a lane of each generation in Gbit/s, as the source counts it: without
    128b/130b."""
    buffer: str = "4 MiB"
    """The size of each transfer of figures 3 to 5. The source states no size for table 3, for which
    we assume the same size."""
    reading_buffer: str = "512 KiB"
    """The size of each transfer for other interpretations of figure 3, and for `setpci`; a small
    size suffices, because each page has the same rate."""
    largest: int = 128
    """The max payload, in bytes, that enumeration sets."""
    few_headers: int = 8
    """The posted header credits of a root port with few credits: a quarter of the machine's
    credits."""
    partial_line: str = "50 ns"
    """The time to fetch the rest of a line: a row cycle of DDR3-1333 (tRC is 49.5 ns in
    JESD79-3)."""
    all_under_way: tuple[str, str] = ("1 ms", "2.5 ms")
    """The interval in which all transfers are active: all descriptor lists are written, and no
    transfer has ended."""
    peers_under_way: tuple[str, str] = ("500 us", "2 ms")
    """The interval in which all transfers between FPGAs are active."""
    later: str = "1 ms"
    """The start of the chain's data: at this time, every FPGA has its list and its command.

    Data that arrives at an FPGA without a list would fill the FIFOs of this FPGA, and block the
    CPU's writes behind it.
    """
    raised_at: str = "1 ms"
    """The time at which the host raises max payload, after the transfers with the smaller one."""
    raised_start: str = "2 ms"
    """The start of the transfers with the larger max payload, when all registers are written."""
    skew_us: int = 10
    """The time between the starts of two senders that start almost at once, in microseconds.

    It is about the time of a system call. The source states no number; the rows `skewed-start` show
    that it hardly matters.
    """
    beat: str = "8 B"
    """The payload of the packets whose latency is measured: one beat of the 64-bit stream, because
    the source states no size."""


Machine = machine.Machine[Constants]
