"""The engine in the Verilog simulator Icarus, driven by cocotb."""

from __future__ import annotations

import json
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from peerlane.benchmark.circuits import job

GATEWARE = Path(__file__).parents[4] / "gateware"
_TOP = "dma_engine"


def missing() -> str | None:
    """The reason why the engine cannot run here, if there is one."""
    if not (GATEWARE / "rtl" / _TOP).is_dir():
        return "the circuits are in the source tree, and not in the package"
    if find_spec("cocotb_tools") is None:
        return "cocotb is not installed (make gateware)"
    if shutil.which("iverilog") is None:
        return "it needs the Verilog simulator iverilog"
    return None


def run_engine(cycles: int) -> dict[str, Any]:
    """Runs the engine for a number of cycles, in which it writes to a peer."""
    from cocotb_tools.runner import get_runner  # noqa: PLC0415 - optional

    rtl = GATEWARE / "rtl"
    modules = (path for room in ("common", _TOP) for path in sorted((rtl / room).glob("*.sv")))
    sources = [rtl / "peerlane_pkg.sv", *modules]
    with tempfile.TemporaryDirectory(prefix="peerlane-") as folder:
        here = Path(folder)
        runner = get_runner("icarus")
        log = here / "log"
        runner.build(
            sources=sources,
            includes=[rtl],
            hdl_toplevel=_TOP,
            build_dir=here,
            build_args=["-g2012"],
            timescale=("1ns", "1ps"),
            log_file=log,
        )
        runner.test(
            test_module=job.__name__,
            hdl_toplevel=_TOP,
            build_dir=here,
            test_dir=here,
            extra_env={
                job.CYCLES: str(cycles),
                job.RESULT: str(here / "result.json"),
                "COCOTB_LOG_LEVEL": "ERROR",
            },
            log_file=log,
        )
        result: dict[str, Any] = json.loads((here / "result.json").read_text(encoding="utf-8"))
        return result
