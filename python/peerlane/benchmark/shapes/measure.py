"""Measures shapes: their time, events, instructions and memory."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from annotated_types import Ge, Gt, MinLen

from peerlane import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import ConfigDict

UNITS = dict(_core.bench_shapes())
"""The unit of work of each shape."""

QUICK = 16
"""The divisor of the work in quick measurements, and in the smaller run under valgrind."""

CACHES = ("--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64")
"""The caches that valgrind simulates, the same on every machine: the caches of a server's core."""

_PROGRAM = "peerlane.benchmark.shapes.program"
_COUNTED = {"instructions": "I +refs", "l1_misses": "D1 +misses", "l2_misses": "LLd +misses"}
"""The quantities that are read from cachegrind's log, each with the words before its number."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The instructions and cache misses that valgrind counts for each unit of work."""

    instructions: Annotated[float, Ge(0)]
    l1_misses: Annotated[float, Ge(0)]
    l2_misses: Annotated[float, Ge(0)]


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements of a shape: the median of several runs, after a warm-up run.

    Attributes:
        shape: Its name.
        work: The number of writes, hops or TLPs.
        events: The events of a run.
        every_wall_seconds: The time of each run, the shortest first.
        peak_bytes: The peak memory of a process with the shape, less its memory before the run.
        instructions: The instructions of a run in user mode; `None` if the machine has no counter.
        valgrind: Instructions and cache misses for each unit of work, if valgrind was used.
    """

    __pydantic_config__: ClassVar[ConfigDict] = {"extra": "ignore"}

    shape: str
    work: Annotated[int, Gt(0)]
    events: Annotated[int, Gt(0)]
    every_wall_seconds: Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)]
    peak_bytes: Annotated[int, Ge(0)]
    instructions: Annotated[int, Ge(0)] | None = None
    valgrind: Counted | None = None

    @property
    def ns_per_unit(self) -> float:
        """Nanoseconds for each unit of work, of the median run."""
        return median(self.every_wall_seconds) * 1e9 / self.work

    @property
    def instructions_per_unit(self) -> float | None:
        """Instructions for each unit of work, by the processor's counter or by valgrind."""
        if self.instructions is not None:
            return self.instructions / self.work
        return self.valgrind.instructions if self.valgrind else None

    def to_json(self) -> dict[str, Any]:
        """The measurement as the command line writes it."""
        return {
            "shape": self.shape,
            "unit": UNITS[self.shape],
            "work": self.work,
            "events": self.events,
            "wall_seconds": median(self.every_wall_seconds),
            "every_wall_seconds": list(self.every_wall_seconds),
            "units_per_second": 1e9 / self.ns_per_unit,
            "ns_per_unit": self.ns_per_unit,
            "events_per_unit": self.events / self.work,
            "ns_per_event": self.ns_per_unit * self.work / self.events,
            "instructions": self.instructions,
            "valgrind": None if self.valgrind is None else asdict(self.valgrind),
            "peak_bytes": self.peak_bytes,
        }


def measure(shape: str, repeat: int, *, divisor: int = 1, valgrind: bool = False) -> Measured:
    """Measures a shape with one part in `divisor` of its work.

    Raises:
        RuntimeError: A run failed; the message says why.
    """
    first, *runs = json.loads(_run([], shape, divisor, repeat + 1))
    instructions = [run["instructions"] for run in runs]
    return Measured(
        shape=shape,
        work=first["work"],
        events=first["events"],
        every_wall_seconds=tuple(sorted(run["wall_seconds"] for run in runs)),
        peak_bytes=first["peak_bytes"],
        instructions=None if None in instructions else int(median(instructions)),
        valgrind=_counted(shape) if valgrind else None,
    )


def missing_valgrind() -> str | None:
    """The reason why valgrind cannot run on this machine; `None` if it can."""
    return None if shutil.which("valgrind") else "valgrind is not installed (its package has it)"


def machine() -> dict[str, Any]:
    """The properties of this machine on which measured times depend."""
    return {"processor": _processor(), "cores": os.cpu_count(), "system": platform.system()}


def _processor() -> str:
    """The processor's name, or its architecture if the system has no name of it."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return found[1] if found else platform.machine()


def _counted(shape: str) -> Counted:
    """Counts of valgrind for each unit of work: the difference of a long and a short run."""
    (less, few), (more, many) = (_under_valgrind(shape, QUICK // part) for part in (1, 2))
    return Counted(**{name: (many[name] - few[name]) / (more - less) for name in _COUNTED})


def _under_valgrind(shape: str, divisor: int) -> tuple[int, dict[str, int]]:
    """Runs a shape under valgrind; returns its work, and the counts of the whole process."""
    with tempfile.TemporaryDirectory(prefix="peerlane-") as folder:
        log = Path(folder) / "log"
        command = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", *CACHES]
        command += ["--cachegrind-out-file=/dev/null", f"--log-file={log}"]
        (run,) = json.loads(_run(command, shape, divisor, 1))
        text = log.read_text(encoding="utf-8")
    found = {name: re.search(rf"{words}: +([\d,]+)", text) for name, words in _COUNTED.items()}
    if not all(found.values()):
        raise RuntimeError("valgrind did not write its counts in the form that is known here")
    return run["work"], {name: int(one[1].replace(",", "")) for name, one in found.items() if one}


def _run(before: Sequence[str], shape: str, divisor: int, runs: int) -> str:
    """Runs the program of a shape, with `before` in front of its command; returns its output."""
    command = [*before, sys.executable, "-m", _PROGRAM, shape, str(divisor), str(runs)]
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    # The program ends when this pipe is closed, even if an interrupt arrives while it starts.
    listening, held = os.pipe()
    try:
        ran = subprocess.run(
            command,
            stdin=listening,
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
    finally:
        os.close(listening)
        os.close(held)
    if ran.returncode:
        last = ran.stderr.strip().splitlines()[-1:] or [f"status {ran.returncode}"]
        raise RuntimeError(f"the shape {shape} failed: {last[0]}")
    return ran.stdout
