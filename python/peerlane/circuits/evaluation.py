"""The evaluation of a circuit in the code that Verilator has written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Edges:
    """The bits of the rising edges of a circuit's two clocks in the generated code."""

    load: int
    clock: int

    @classmethod
    def of(cls, model: str, folder: Path) -> Edges | None:
        """The edges of a translated circuit.

        `None` if the circuit is sensitive to other events, too, or if the generated code lacks the
        function for the edges.
        """
        files = sorted(folder.glob("*___024root*"))
        text = "".join(path.read_text(encoding="utf-8") for path in files)
        evaluates = f"void V{model}___024root___eval_nba(V{model}___024root* vlSelf)"
        known = (evaluates, "VlUnpacked<QData/*63:0*/, 1> __VnbaTriggered;")
        if not all(part in text for part in known) or "___eval_ico" in text:
            return None
        triggers = re.findall(r"region trigger index (\d+) is active: @\(([^)]*)\)", text)
        edges = {what: 1 << int(index) for index, what in triggers}
        if set(edges) != {"posedge load_i", "posedge clk_i"}:
            return None
        return cls(edges["posedge load_i"], edges["posedge clk_i"])

    @property
    def all(self) -> int:
        """The bits of both edges."""
        return self.load | self.clock

    def defines(self, model: str) -> dict[str, str]:
        """The macros of the driver that name the edges."""
        root = f"V{model}___024root"
        return {
            "CIRCUIT_ROOT": root,
            "CIRCUIT_ROOT_HEADER": f'"{root}.h"',
            "CIRCUIT_EVALUATE": f"{root}___eval_nba",
            "CIRCUIT_LOADS": f"{self.load}ULL",
            "CIRCUIT_CLOCKS": f"{self.clock}ULL",
        }
