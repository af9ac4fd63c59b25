"""Runs the fabric benchmark on cocotbext-pcie, with an empty Verilog module in Icarus."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from peerlane.benchmark import icarus
from peerlane.benchmark.peers.cocotbext import job


def missing() -> str | None:
    """The reason why the benchmark cannot run on this machine; `None` if it can."""
    if find_spec("cocotb_tools") is None or find_spec("cocotbext") is None:
        return "it is not installed (pip install 'peerlane[cocotbext]')"
    return icarus.missing()


def bench_fabric(tlps: int) -> dict[str, Any]:
    """Runs the fabric benchmark; rates are per second of real time after enumeration."""
    return icarus.run_job(
        job.__name__,
        "module top; endmodule\n",
        "top",
        {job.TLPS: str(tlps)},
        job.RESULT,
        timescale=("1ps", "1ps"),
    )
