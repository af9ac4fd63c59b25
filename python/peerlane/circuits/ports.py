"""The ports that a circuit must have, and the ports in a header that Verilator has written."""

from __future__ import annotations

import re
from typing import NamedTuple

WIDTHS = (64, 128, 256, 512)
"""Bits of a beat that a circuit can have."""


class Port(NamedTuple):
    """A port: its direction from the view of the circuit, and its number of bits."""

    direction: str
    bits: int

    def __str__(self) -> str:
        return f"{self.direction} of {self.bits} bit{'' if self.bits == 1 else 's'}"


Ports = dict[str, Port]
"""Ports by name."""

_DECLARATION = re.compile(r"^\s*VL_(IN|OUT|INOUT)\d*W?\(&(\w+),(\d+),(\d+)", re.MULTILINE)
_DIRECTIONS = {"IN": "input", "OUT": "output", "INOUT": "inout"}


def declared(header: str) -> Ports:
    """The ports in a header of Verilator, which has lines such as `VL_IN8(&rx_bytes_i,3,0);`."""
    return {
        name: Port(_DIRECTIONS[kind], int(high) - int(low) + 1)
        for kind, name, high, low in _DECLARATION.findall(header)
    }


def documented(width: int) -> Ports:
    """The ports of a leaf for beats of `width` bits (docs/reference/circuit-ports.md), by name."""
    count = (width // 8).bit_length()
    bits = {
        "clk_i": 1,
        "rst_i": 1,
        "function_id_i": 16,
        "max_payload_i": 3,
        "max_read_request_i": 3,
        "bus_master_i": 1,
        "ext_tag_i": 1,
        "flr_i": 1,
        "flr_done_o": 1,
        "rx_valid_i": 1,
        "rx_ready_o": 1,
        "rx_np_ok_o": 1,
        "rx_data_i": width,
        "rx_first_i": 1,
        "rx_last_i": 1,
        "rx_bytes_i": count,
        "rx_label_i": 16,
        "rx_bar_i": 3,
        "tx_valid_o": 1,
        "tx_ready_i": 1,
        "tx_data_o": width,
        "tx_first_o": 1,
        "tx_last_o": 1,
        "tx_bytes_o": count,
        "tx_label_o": 16,
        "irq_valid_o": 1,
        "irq_ready_i": 1,
        "irq_vector_o": 11,
        "err_valid_o": 1,
        "err_kind_o": 3,
        "err_header_o": 128,
        "active_o": 1,
    }
    return {
        name: Port("input" if name.endswith("_i") else "output", count)
        for name, count in sorted(bits.items())
    }


OPTIONAL: tuple[set[str], ...] = (
    {"ext_tag_i"},
    {"flr_i", "flr_done_o"},
    {"err_valid_o", "err_kind_o", "err_header_o"},
    {"rx_label_i"},
    {"tx_label_o"},
)
"""Groups of ports that a leaf may leave out. A circuit may leave out a group only as a whole."""


def fault(has: Ports, width: int) -> str | None:
    """The first fault of a leaf's ports; `None` if they are the documented ports."""
    needs = documented(width)
    for name, port in needs.items():
        if name not in has:
            if not _is_left_out(name, has):
                return f"it has no port {name} ({port})"
        elif has[name] != port:
            return f"its port {name} is an {has[name]}; it must be an {port}"
    other = next((name for name in has if name not in needs), None)
    return other and f"it has a port {other}, which a leaf does not have"


def _is_left_out(name: str, has: Ports) -> bool:
    """Whether a circuit leaves out the whole group of the port `name`."""
    return any(name in group and group.isdisjoint(has) for group in OPTIONAL)
