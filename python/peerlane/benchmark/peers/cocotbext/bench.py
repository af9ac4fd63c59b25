"""The fabric benchmark on cocotbext-pcie, in a Verilog simulator that has nothing else to do."""

from __future__ import annotations

import json
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from peerlane.benchmark.peers.cocotbext import job


def missing() -> str | None:
    """The reason why the benchmark cannot run here, if there is one."""
    if find_spec("cocotb_tools") is None or find_spec("cocotbext") is None:
        return "it is not installed (pip install 'peerlane[cocotbext]')"
    if shutil.which("iverilog") is None:
        return "it needs the Verilog simulator iverilog"
    return None


def bench_fabric(tlps: int) -> dict[str, Any]:
    """Runs the job; rates are of wall time, after enumeration."""
    from cocotb_tools.runner import get_runner  # noqa: PLC0415 - optional

    with tempfile.TemporaryDirectory(prefix="peerlane-") as folder:
        here = Path(folder)
        (here / "top.v").write_text("module top; endmodule\n", encoding="utf-8")
        runner = get_runner("icarus")
        log = here / "log"
        runner.build(
            sources=[here / "top.v"],
            hdl_toplevel="top",
            build_dir=here,
            timescale=("1ps", "1ps"),
            log_file=log,
        )
        runner.test(
            test_module=job.__name__,
            hdl_toplevel="top",
            build_dir=here,
            test_dir=here,
            extra_env={
                job.TLPS: str(tlps),
                job.RESULT: str(here / "result.json"),
                "COCOTB_LOG_LEVEL": "ERROR",
            },
            log_file=log,
        )
        result: dict[str, Any] = json.loads((here / "result.json").read_text(encoding="utf-8"))
        return result
