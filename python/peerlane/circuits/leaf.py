"""The module around a circuit that Verilator translates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.circuits import ports

if TYPE_CHECKING:
    from collections.abc import Mapping


def leaf(top: str, has: tuple[dict[str, ports.Port], int], parameters: Mapping[str, object]) -> str:
    """A module `circuit_leaf` with the module `top` behind registers for its inputs.

    The registers have a separate clock, `load_i`. Without the registers, all logic that depends on
    inputs would be evaluated one more time before each edge. `has` has the ports of the circuit and
    the bits of a beat. An output that the circuit does not have is 0.
    """
    own, width = has
    declared, registers, loads, pins = ["input logic clk_i", "input logic load_i"], [], [], []
    for name, (direction, bits) in ports.documented(width).items():
        kind = f"logic [{bits - 1}:0]"
        if name != "clk_i":
            declared.append(f"{direction} {kind} {name}")
        if name not in own:
            if direction == "output":
                registers.append(f"  assign {name} = '0;")
        elif direction == "output" or name == "clk_i":
            pins.append(f".{name}")
        else:
            registers.append(f"  {kind} {name}_q;")
            loads.append(f"    {name}_q <= {name};")
            pins.append(f".{name}({name}_q)")
    values = ", ".join(f".{name}({value})" for name, value in parameters.items())
    return "\n".join(
        [
            "module circuit_leaf (",
            ",\n".join(f"  {port}" for port in declared),
            ");",
            *registers,
            "  always_ff @(posedge load_i) begin",
            *loads,
            "  end",
            f"  {top} #({values}) circuit (",
            ",\n".join(f"    {pin}" for pin in pins),
            "  );",
            "endmodule\n",
        ]
    )
