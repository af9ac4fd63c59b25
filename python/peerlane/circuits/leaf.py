"""The module around a circuit that Verilator translates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from peerlane.circuits import ports

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class PortSet(Protocol):
    """The ports of circuits of one kind."""

    page: str
    """The page of the documentation that lists the ports."""
    files: tuple[Path, ...]
    """Modules that `body` needs."""

    def width(self, has: ports.Ports) -> int:
        """Bits of a beat of a circuit with these ports."""

    def fault(self, has: ports.Ports, width: int) -> str | None:
        """The first fault of a circuit's ports; `None` if there is none."""

    def body(self, circuit: str, has: ports.Ports, width: int) -> str:
        """The circuit between the ports of a leaf, as text in SystemVerilog.

        The values of the leaf's inputs are in the signals `NAME_q`, apart from `clk_i`. `circuit`
        is the module with its parameters.
        """


class Leaf:
    """The ports of a leaf."""

    page = "docs/reference/circuit-ports.md"
    files: tuple[Path, ...] = ()

    def width(self, has: ports.Ports) -> int:
        """Bits of a beat: of `rx_data_i`, or the smallest width if this port is missing."""
        return has.get("rx_data_i", ports.Port("input", ports.WIDTHS[0])).bits

    def fault(self, has: ports.Ports, width: int) -> str | None:
        """As `ports.fault`."""
        return ports.fault(has, width)

    def body(self, circuit: str, has: ports.Ports, width: int) -> str:
        """The circuit itself. An output that it does not have is 0."""
        pins, assigned = [], []
        for name, port in ports.documented(width).items():
            if name in has:
                pins.append(f".{name}({_value(name, port)})")
            elif port.direction == "output":
                assigned.append(f"  assign {name} = '0;\n")
        return "".join(assigned) + instance(circuit, "circuit", pins)


def instance(module: str, name: str, pins: list[str]) -> str:
    """An instance of a module with these connections."""
    connected = ",\n    ".join(pins)
    return f"  {module} {name} (\n    {connected}\n  );\n"


def _value(name: str, port: ports.Port) -> str:
    return f"{name}_q" if port.direction == "input" and name != "clk_i" else name


def leaf(circuit_set: PortSet, top: str, has: ports.Ports, parameters: Mapping[str, object]) -> str:
    """A module `circuit_leaf` with the module `top` behind registers for its inputs.

    The registers have a separate clock, `load_i`. Without the registers, all logic that depends on
    inputs would be evaluated one more time before each edge. `has` has the ports of the circuit.
    """
    width = circuit_set.width(has)
    declared, registers, loads = ["  input logic clk_i", "  input logic load_i"], [], []
    for name, (direction, bits) in ports.documented(width).items():
        kind = f"logic [{bits - 1}:0]"
        if name != "clk_i":
            declared.append(f"  {direction} {kind} {name}")
        if direction == "input" and name != "clk_i":
            registers.append(f"  {kind} {name}_q;\n")
            loads.append(f"    {name}_q <= {name};\n")
    values = ", ".join(f".{name}({value})" for name, value in parameters.items())
    return "".join(
        [
            "module circuit_leaf (\n",
            ",\n".join(declared),
            "\n);\n",
            *registers,
            "  always_ff @(posedge load_i) begin\n",
            *loads,
            "  end\n",
            circuit_set.body(f"{top} #({values})", has, width),
            "endmodule\n",
        ]
    )
