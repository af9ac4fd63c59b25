"""The real `lspci` on a simulated fabric."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class MissingLspciError(Exception):
    """There is no lspci on this system."""

    def __init__(self) -> None:
        super().__init__("lspci is missing; install the package pciutils")


def lspci(dump: str, arguments: Sequence[str]) -> int:
    """Runs `lspci -F` on a dump; returns its exit status.

    Raises:
        MissingLspciError: It is not installed.
    """
    program = shutil.which("lspci")
    if program is None:
        raise MissingLspciError
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix="peerlane-", suffix=".lspci"
    ) as file:
        file.write(dump)
        file.flush()
        command = [program, "-F", file.name, *arguments]
        return subprocess.run(command, check=False).returncode
