"""Defines the constants of the experiments of tsukuba."""

from __future__ import annotations

from dataclasses import dataclass

from peerlane.reproduction import machine


@dataclass(frozen=True, slots=True)
class Constants:
    """Numbers that the experiments use in addition to the scenario."""

    beat: str = "32 B"
    """The payload for latencies: one beat of the FPGA's 256-bit stream; the source states no
    size."""
    window: tuple[str, str] = ("100 us", "500 us")
    """The interval in which rates are measured: after a transfer's first packets, before its
    last."""
    size: str = "4 MiB"
    """The size of transfers whose rate is measured."""
    gen3_x8: float = 8e9 * 8 / 8 * 128 / 130
    """The rate of eight lanes of 8 GT/s with 128b/130b, in bytes a second."""
    fibre_rate: float = 4.90
    """The theoretical rate of the fibre in the source, in GB/s."""
    header: int = 16
    """The bytes of the packet header with which the source explains its 74 %."""
    payload: int = 48
    """The bytes of payload of the packets with which the source explains its 74 %."""
    framing: int = 8
    """The bytes of a TLP besides header and payload: STP token with sequence number, and LCRC."""
    data_bits: int = 64
    """The bits of a block of 64B/66B without its synchronisation header."""
    block_bits: int = 66
    """The bits of a block of 64B/66B."""
    about_ns: int = 500
    """The source's latency of PCI Express, "about 500" ns, if it is taken as exact."""
    short_pipeline: int = 6
    """The stages of the router, if its latency is 783 - 500 - 259 = 24 ns."""
    tlp_header: int = 12
    """The bytes of a TLP header in an envelope; its address is a 32-bit address within the
    window."""
    torus_fibres: int = 4
    """The number of fibres of a node of the torus: one for each direction."""
    fibre_m: int = 2
    """The length of each fibre of the torus, in metres: the length of the published fibre."""


Machine = machine.Machine[Constants]
