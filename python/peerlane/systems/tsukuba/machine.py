"""The constants of the experiments."""

from __future__ import annotations

from dataclasses import dataclass

from peerlane.reproduction import machine


@dataclass(frozen=True, slots=True)
class Constants:
    """Numbers that the experiments use beside the scenario."""

    beat: str = "32 B"
    """Payload of the latency measurements: one beat of the FPGA's 256 bits. The source gives none.
    """
    window: tuple[str, str] = ("100 us", "500 us")
    """The window of rates: after the first packets and before the last, in a transfer of 4 MiB."""
    size: str = "4 MiB"
    """Transfers whose rate is measured."""
    gen3_x8: float = 8e9 * 8 / 8 * 128 / 130
    """Bytes a second of eight lanes of 8 GT/s, 128b/130b."""
    fibre_rate: float = 4.90
    """GB/s, the source's theoretical rate of its fibre."""
    header: int = 16
    """Bytes of the header of each packet by which the source explains its 74 %."""
    payload: int = 48
    """Bytes of the payload of these packets."""
    framing: int = 8
    """Bytes of a TLP besides: the STP token with the sequence number, and the LCRC."""
    data_bits: int = 64
    """Bits of a block of 64B/66B without its synchronisation header."""
    block_bits: int = 66
    """Bits of a block of 64B/66B."""
    about_ns: int = 500
    """Nanoseconds: the source's latency of PCI Express, for the reading that takes it exactly."""
    short_pipeline: int = 6
    """Stages of the router in the reading that takes 783 - 500 - 259 = 24 ns for it."""
    tlp_header: int = 12
    """Bytes of the header of a TLP in an envelope, which has a 32-bit address within the window."""
    torus_fibres: int = 4
    """Fibres of a node of the torus, one for each direction."""
    fibre_m: int = 2
    """Metres of each fibre of the torus: as long as the published one."""


Machine = machine.Machine[Constants]
