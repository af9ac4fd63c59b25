"""The user sides of hard blocks, which are simulated between a circuit and the ports of a leaf."""

from __future__ import annotations

import re
from pathlib import Path

from peerlane.circuits import ports
from peerlane.circuits.leaf import Leaf, PortSet, instance

_RTL = Path(__file__).parent / "rtl"
_STREAM = re.compile(r"[sm]_axis_(rq|rc|cq|cc)_(tdata|tkeep|tuser|tlast|tvalid|tready)")
_STREAMS = ("rq", "rc", "cq", "cc")
_WIDE = 512
_READY_OF_BLOCK = 4
"""Bits of `tready` of RQ and CC at the block, which are all equal (PG213)."""


_NO_CQ = """\
  always_ff @(posedge clk_i)
    assert (rst_i_q || !rx_valid_i_q || !rx_first_i_q || rx_data_i_q[4:0] == 5'b01010)
    else $error("a request arrives, and the circuit has no CQ: leave out the BAR of the device");
"""


class XilinxUs:
    """The streams RQ, RC, CQ and CC, and `cfg_*` signals, of UltraScale and UltraScale+ devices.

    The source of names, widths and formats is PG156 and PG213.
    """

    page = "docs/reference/hard-blocks.md"
    files: tuple[Path, ...] = (_RTL / "realign.sv", _RTL / "xilinx_us.sv")

    def width(self, has: ports.Ports) -> int:
        """Bits of a beat: of the data of RQ, or of CQ."""
        streams = _streams(has)
        for stream in ("cq", "rq", "cc", "rc"):
            if found := streams.get((stream, "tdata")):
                return has[found].bits
        return ports.WIDTHS[0]

    def fault(self, has: ports.Ports, width: int) -> str | None:
        """The first fault of a circuit's ports; `None` if there is none.

        The circuit has CQ and CC, or RQ and RC, or all four streams, each with all its signals.
        """
        streams = _streams(has)
        faults = (_stream_fault(has, streams, width), _other_fault(has))
        return next((found for found in faults if found), None)

    def body(self, circuit: str, has: ports.Ports, width: int) -> str:
        """The circuit and the block. The clock of the circuit never stops."""
        declared, circuit_pins, values = _stream_wires(has, width)
        block_pins = [".clk_i", ".rst_i(rst_i_q)", ".function_id_i(function_id_i_q)"]
        block_pins += [
            f".{stream}_{signal}"
            for stream in _STREAMS
            for signal in _signals(stream, width)
            if (stream, signal) != ("cc", "tuser")
        ]
        made = {"cq_np_req": "'1", "msi_int": "'0"}
        for name, port in has.items():
            if name not in _OTHERS:
                continue
            value = _OTHERS[name][2]
            if port.direction == "input":
                circuit_pins.append(f".{name}({port.bits}'({value}))")
            else:
                declared.append(f"  logic [{port.bits - 1}:0] of_{name};\n")
                circuit_pins.append(f".{name}(of_{name})")
                if value:
                    made[value] = f"of_{name}"
        block_pins += [f".{name}({bits}'({made[name]}))" for name, bits in _MADE.items()]
        block_pins += [f".{name}({name}_q)" for name in _FROM_LEAF]
        block_pins += [f".{name}" for name in (*_TO_LEAF, *_TO_CIRCUIT)]
        return "".join(
            [
                *declared,
                *(f"  logic [{bits - 1}:0] {name};\n" for name, bits in _TO_CIRCUIT.items()),
                *(f"  assign {name} = '0;\n" for name in _IDLE),
                "  assign {flr_done_o, active_o} = 2'b11;\n",
                "" if ("cq", "tdata") in _streams(has) else _NO_CQ,
                instance(f"peerlane_xilinx_us #({', '.join(values)})", "block", block_pins),
                instance(circuit, "circuit", circuit_pins),
            ]
        )


def _stream_fault(has: ports.Ports, streams: dict[tuple[str, str], str], width: int) -> str | None:
    """The first fault of the streams."""
    used = {stream for stream, _ in streams}
    for pair in (("cq", "cc"), ("rq", "rc")):
        if len(used.intersection(pair)) == 1:
            have, lack = sorted(pair, key=lambda stream: stream not in used)
            return f"it has the stream {have} and not {lack}"
    for stream in sorted(used):
        for signal, bits in _signals(stream, width).items():
            is_user = signal == "tuser"
            wanted = f"{ports.Port(_direction(stream, signal), bits)}{' or more' * is_user}"
            name = streams.get((stream, signal))
            if name is None:
                return f"the stream {stream} has no {signal} ({wanted})"
            fits = has[name].bits >= bits if is_user else has[name].bits == bits
            if signal == "tready" and has[name].bits == _READY_OF_BLOCK:
                fits = _direction(stream, signal) == "input"
            if has[name].direction != _direction(stream, signal) or not fits:
                return f"its port {name} is an {has[name]}; it must be an {wanted}"
    return (
        None
        if used
        else "it has no stream: write s_axis_cq_* and m_axis_cc_*, or m_axis_rq_* and s_axis_rc_*"
    )


def _other_fault(has: ports.Ports) -> str | None:
    """The first fault of the ports that are in no stream."""
    for name, port in has.items():
        if _STREAM.fullmatch(name):
            continue
        if name not in _OTHERS:
            return f"it has a port {name}, which is not simulated"
        direction, widths, _ = _OTHERS[name]
        if port.direction != direction or port.bits not in widths:
            wanted = " or ".join(str(ports.Port(direction, bits)) for bits in widths)
            return f"its port {name} is an {port}; it must be an {wanted}"
    return None if _CLOCKS.intersection(has) else "it has no clock; write user_clk or clk"


def _stream_wires(has: ports.Ports, width: int) -> tuple[list[str], list[str], list[str]]:
    """The wires of all streams, the connections of the circuit, and the parameters of the block."""
    streams = _streams(has)
    declared, pins, values = [], [], [f".WIDTH({width})"]
    for stream in _STREAMS:
        for signal, bits in _signals(stream, width).items():
            name, wire = streams.get((stream, signal)), f"{stream}_{signal}"
            count = has[name].bits if name else bits
            wires = 1 if signal == "tready" else count
            declared.append(f"  logic [{wires - 1}:0] {wire};\n")
            if name and signal == "tready":
                pins.append(f".{name}({{{count}{{{wire}}}}})" if count > 1 else f".{name}({wire})")
            elif name:
                pins.append(f".{name}({wire})")
            elif _direction(stream, signal) == "output":
                # A circuit without a stream sends nothing on it, and takes all.
                declared.append(f"  assign {wire} = {int(signal == 'tready')};\n")
            if signal == "tuser" and stream != "cc":
                values.append(f".{stream.upper()}_USER({count})")
    return declared, pins, values


def _streams(has: ports.Ports) -> dict[tuple[str, str], str]:
    """The ports of the streams, by stream and signal. Each may begin with "s_" or "m_"."""
    found = {}
    for name in has:
        if matched := _STREAM.fullmatch(name):
            found[matched[1], matched[2]] = name
    return found


def _signals(stream: str, width: int) -> dict[str, int]:
    """The signals of a stream with their bits; a `tuser` may have more."""
    narrow, wide = {"rq": (60, 137), "rc": (75, 161), "cq": (85, 183), "cc": (33, 81)}[stream]
    user = wide if width == _WIDE else narrow
    one = {"tlast": 1, "tvalid": 1, "tready": 1}
    return {"tdata": width, "tkeep": width // 32, "tuser": user, **one}


def _direction(stream: str, signal: str) -> str:
    """The direction of a signal from the view of the circuit."""
    return "output" if (stream in {"rq", "cc"}) != (signal == "tready") else "input"


_FROM_LEAF = (
    *("rx_valid_i", "rx_data_i", "rx_first_i", "rx_last_i", "rx_bytes_i", "rx_bar_i"),
    *("tx_ready_i", "irq_ready_i"),
)
_TO_LEAF = (
    *("rx_ready_o", "rx_np_ok_o", "irq_valid_o", "irq_vector_o"),
    *("tx_valid_o", "tx_data_o", "tx_first_o", "tx_last_o", "tx_bytes_o"),
)
_IDLE = ("tx_label_o", "err_valid_o", "err_kind_o", "err_header_o")
"""Outputs of the leaf that no circuit with these ports drives."""
_MADE = {"cq_np_req": 2, "msi_int": 32}
"""Inputs of the block from other ports than streams, with their bits."""
_TO_CIRCUIT = {"rq_seq_num": 6, "rq_seq_num_vld": 1, "msi_sent": 1}
"""Outputs of the block for other ports than streams, with their bits."""
_CLOCKS = {"clk", "user_clk"}
_OTHERS: dict[str, tuple[str, tuple[int, ...], str]] = {
    "clk": ("input", (1,), "clk_i"),
    "user_clk": ("input", (1,), "clk_i"),
    "rst": ("input", (1,), "rst_i_q"),
    "user_reset": ("input", (1,), "rst_i_q"),
    "user_lnk_up": ("input", (1,), "1'b1"),
    "cfg_max_payload": ("input", (2, 3), "max_payload_i_q"),
    "cfg_max_read_req": ("input", (3,), "max_read_request_i_q"),
    "cfg_interrupt_msi_enable": ("input", (1, 4), "1'b1"),
    "cfg_interrupt_msi_mmenable": ("input", (3, 6, 12), "3'd5"),
    "cfg_interrupt_msi_sent": ("input", (1,), "msi_sent"),
    "cfg_interrupt_msi_fail": ("input", (1,), "1'b0"),
    "cfg_interrupt_msi_mask_update": ("input", (1,), "1'b0"),
    "cfg_interrupt_msi_data": ("input", (32,), "32'd0"),
    "cfg_interrupt_msi_int": ("output", (32,), "msi_int"),
    "cfg_interrupt_msi_select": ("output", (2, 4), ""),
    "cfg_interrupt_msi_pending_status": ("output", (32,), ""),
    "cfg_interrupt_msi_pending_status_data_enable": ("output", (1,), ""),
    "cfg_interrupt_msi_pending_status_function_num": ("output", (2, 4), ""),
    "cfg_interrupt_msi_attr": ("output", (3,), ""),
    "cfg_interrupt_msi_tph_present": ("output", (1,), ""),
    "cfg_interrupt_msi_tph_type": ("output", (2,), ""),
    "cfg_interrupt_msi_tph_st_tag": ("output", (8, 9), ""),
    "cfg_interrupt_msi_function_number": ("output", (3, 4, 8), ""),
    "pcie_cq_np_req": ("output", (1, 2), "cq_np_req"),
    "pcie_rq_seq_num": ("input", (4,), "rq_seq_num"),
    "pcie_rq_seq_num_vld": ("input", (1,), "rq_seq_num_vld"),
    "pcie_rq_seq_num0": ("input", (6,), "rq_seq_num"),
    "pcie_rq_seq_num_vld0": ("input", (1,), "rq_seq_num_vld"),
    "pcie_rq_seq_num1": ("input", (6,), "6'd0"),
    "pcie_rq_seq_num_vld1": ("input", (1,), "1'b0"),
}
"""The other ports: direction, possible bits, and for an input its value, for an output the port of
the block; an output without one has no effect."""

PORT_SETS: dict[str, PortSet] = {"native": Leaf(), "xilinx-us": XilinxUs()}
"""The kinds of ports that circuits can have, by their names on the command line."""
