"""Runs the RTL module of the DMA engine in the Verilog simulator Icarus, driven by cocotb."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from peerlane.benchmark import icarus
from peerlane.benchmark.circuits import job

GATEWARE = Path(__file__).parents[4] / "gateware"
_FOLDER = "dma_engine"
_TOP = "dma_engine_leaf"


def missing() -> str | None:
    """The reason why Icarus cannot run on this machine; `None` if it can."""
    if not (GATEWARE / "rtl" / _FOLDER).is_dir():
        return "the circuits are in the source tree, and not in the package"
    if find_spec("cocotb_tools") is None:
        return "cocotb is not installed (make gateware)"
    return icarus.missing()


def run_engine(cycles: int) -> dict[str, Any]:
    """Runs the DMA engine for a number of cycles, while it writes to another device."""
    rtl = GATEWARE / "rtl"
    modules = (path for room in ("common", _FOLDER) for path in sorted((rtl / room).glob("*.sv")))
    sources = [rtl / "peerlane_pkg.sv", *modules]
    return icarus.run_job(
        job.__name__,
        sources,
        _TOP,
        {job.CYCLES: str(cycles)},
        job.RESULT,
        includes=[rtl],
        build_args=["-g2012"],
        timescale=("1ns", "1ps"),
    )
