"""The processor time of a process that a test has started."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess


def computed_s(process: subprocess.Popen[Any]) -> float:
    """Seconds of a processor that a process has used."""
    fields = (
        Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    )
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
