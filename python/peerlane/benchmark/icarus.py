"""Runs cocotb tests in the Verilog simulator Icarus."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def missing() -> str | None:
    """The reason why Icarus cannot run on this machine; `None` if it can."""
    return None if shutil.which("iverilog") else "it needs the Verilog simulator iverilog"


def run_job(
    module: str,
    sources: Sequence[Path] | str,
    top: str,
    environment: Mapping[str, str],
    result: str,
    **build: Any,  # noqa: ANN401 - as cocotb's runner takes them
) -> dict[str, Any]:
    """Builds RTL modules for Icarus, and runs a cocotb module on them.

    Args:
        module: The cocotb module.
        sources: The Verilog files, or the Verilog text.
        top: The name of the outermost Verilog module.
        environment: Variables that the module reads.
        result: The variable with the path to which the module writes its result as JSON.
        build: Further arguments of the runner's build.
    """
    from cocotb_tools.runner import get_runner  # noqa: PLC0415 - optional

    with tempfile.TemporaryDirectory(prefix="peerlane-") as folder:
        here = Path(folder)
        if isinstance(sources, str):
            (here / "top.v").write_text(sources, encoding="utf-8")
            sources = [here / "top.v"]
        runner = get_runner("icarus")
        log = here / "log"
        runner.build(sources=list(sources), hdl_toplevel=top, build_dir=here, log_file=log, **build)
        told = {result: str(here / "result.json"), "COCOTB_LOG_LEVEL": "ERROR"}
        runner.test(
            test_module=module,
            hdl_toplevel=top,
            build_dir=here,
            test_dir=here,
            extra_env={**environment, **told},
            log_file=log,
        )
        found: dict[str, Any] = json.loads((here / "result.json").read_text(encoding="utf-8"))
        return found
