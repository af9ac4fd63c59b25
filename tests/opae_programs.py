"""The compiled programs of the tests of sessions, and how they are run."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Outcome, Run

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "tests" / "opae"
EXAMPLES = ROOT / "examples"

UNIT = """
from peerlane.opae import Afu

class Unit(Afu):
    uuid = "3a778c9e-5bd1-4d0b-9c64-0a6dcfb1c4f3"
"""
"""How a unit in Python begins."""

RUNS = {
    "hello_nlb": ("nlb_mode_0", ("sleep", "64")),
    "dma_sweep": ("dma_afu", ("2",)),
    "streaming": ("streaming_dma_afu", ("256",)),
    "events": ("dma_afu", ()),
    "errors": ("dma_afu", ("{nlb}", "small")),
    "threads": ("dma_afu", ()),
    "prefetcher": ("streaming_dma_afu", ("256",)),
    "exerciser": ("he_mem", ("mem", "copy")),
    "alerts": ("dma_afu", ()),
}
"""Each program, what is loaded for it, and what it is told: short runs."""


@dataclass(frozen=True)
class Programs:
    """Compiled programs, and the command that runs them."""

    peerlane: Run
    folder: Path
    """Where they are compiled; all processes of a test run share it."""

    def program(self, name: str, *flags: str) -> Path:
        """The program of that name, compiled with these flags."""
        source = (EXAMPLES if name == "checksum" else SOURCES) / f"{name}.c"
        program = self.folder / "-".join((name, *flags)).replace("=", "")
        if not program.exists():
            found = self.peerlane("opae", "flags").out.split()
            options = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-g", *flags, *found]
            with whole(program) as binary:
                built = ["gcc", str(source), *options, "-lopae-c", "-lpthread", "-o", str(binary)]
                subprocess.run(built, check=True, timeout=120)
        return program

    def by(self, peerlane: Run) -> Programs:
        """These programs, run by another command."""
        return replace(self, peerlane=peerlane)

    def run(self, command: list[str], afu: str, *options: str) -> Outcome:
        """Runs a command on the published card with this accelerator."""
        return self.peerlane("opae", "run", "--afu", afu, *options, *command)


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A path to write to instead of `path`, where other processes see the file when it is whole."""
    own = path.with_name(f"{path.name}.{os.getpid()}")
    yield own
    own.replace(path)


def told(programs: Programs, name: str) -> tuple[str, list[str]]:
    """What is loaded for a program, and what it is told."""
    afu, arguments = RUNS[name]
    return afu, [one.format(nlb=programs.folder / "nlb.gbs") for one in arguments]
