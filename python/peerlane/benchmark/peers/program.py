"""Runs each benchmark task as a Python program, so that its memory is measured alone."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def run_program(module: str, tlps: int) -> dict[str, Any]:
    """Runs the program `module`; returns its result, or raises `RuntimeError` if it fails."""
    ran = subprocess.run(
        [sys.executable, "-m", module, str(tlps)], capture_output=True, text=True, check=False
    )
    if ran.returncode:
        last = ran.stderr.strip().splitlines()[-1:] or [f"status {ran.returncode}"]
        raise RuntimeError(f"{module} failed: {last[0]}")
    result: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return result
