"""Compares register accesses in a session with a bare socket, and transfers with `peerlane run`."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from importlib import resources
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from peerlane import Simulation
from peerlane.benchmark.session.program import INTERRUPTED
from peerlane.opae.session import run_program

ACCESSES = ("read", "write", "load", "store")
"""Kinds of accesses to a register: by calls of the library (`read`, `write`), and through the
pointer of `fpgaMapMMIO` (`load`, `store`)."""

_MODULE = "peerlane.benchmark.session.program"


def bench_session(size: int, accesses: int, repeat: int) -> dict[str, Any]:
    """The medians of `repeat` runs of a program, and of two flows that move as many bytes.

    Accesses are measured with all processes on one core, and with the program and the server on two
    cores; the two processes of the bare socket are placed in the same way. The first transfer to
    the card allocates the card's memory, page by page. The second transfer in each direction
    allocates no memory, and a flow does not store the data that it reads.

    Args:
        size: Bytes that are moved to the card and back.
        accesses: Accesses to a register, of each kind.
        repeat: Number of runs.

    Raises:
        RuntimeError: The program failed, or bytes differ.
    """
    _flow("read", 4096)  # the first simulation of a process imports the modules for results
    runs = [_run(size, accesses) for _ in range(repeat)]
    placements = {}
    for placement in runs[0]["accesses"]:
        found = [run["accesses"][placement] for run in runs]
        placements[placement] = {
            "socket_ns": median(one["socket"]["ns"] for one in found),
            "accesses": {
                kind: {
                    "ns": median(one[kind]["ns"] for one in found),
                    **_spread([one[kind]["ratio"] for one in found], "ratio"),
                }
                for kind in ACCESSES
            },
        }
    transfers = {
        way + again: _transfer(way, again, size, runs)
        for way, again in product(("to_card", "from_card"), ("", "_again"))
    }
    copies = {
        f"{what}_bytes_per_second": median(
            size / run["transfers"][f"{what}_ns"] * 1e9 for run in runs
        )
        for what in ("fill", "verify")
    }
    return {"placements": placements, "size": size, "transfers": transfers, **copies}


def _transfer(way: str, again: str, size: int, runs: list[dict[str, Any]]) -> dict[str, float]:
    """The rates of a transfer and of a flow with as many bytes, and the ratios of their times."""
    took = [run["transfers"][f"{way}{again}_ns"] * 1e-9 for run in runs]
    worked = [run["transfers"][f"{way}{again}_server_ns"] * 1e-9 for run in runs]
    flows = [run[way] for run in runs]
    real = [flow["real"] / one for flow, one in zip(flows, took, strict=True)]
    processor = [flow["processor"] / one for flow, one in zip(flows, worked, strict=True)]
    return {
        "bytes_per_second": median(size / seconds for seconds in took),
        "run_bytes_per_second": median(size / flow["real"] for flow in flows),
        **_spread(real, "share"),
        "processor_share": median(processor),
    }


def _spread(values: list[float], name: str) -> dict[str, float]:
    """The median, the minimum and the maximum of values."""
    return {name: median(values), f"least_{name}": min(values), f"most_{name}": max(values)}


def _run(size: int, accesses: int) -> dict[str, Any]:
    """Runs the program once, and two flows that move as many bytes; returns all times."""
    flows = {"to_card": _flow("read", size), "from_card": _flow("write", size)}
    pac = resources.files("peerlane.systems").joinpath("pac", "scenario.toml").read_text()
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "found.json"
        command = [sys.executable, "-m", _MODULE, str(found), str(size), str(accesses)]
        done = run_program(command, (pac, "pac"))
        if done.status == INTERRUPTED:
            raise KeyboardInterrupt
        if done.status:
            raise RuntimeError(f"the program of the benchmark ended with status {done.status}")
        times: dict[str, Any] = json.loads(found.read_text(encoding="utf-8"))
    return times | flows


def _flow(direction: str, size: int) -> dict[str, float]:
    """The real and the processor seconds of a flow."""
    flow = resources.files("peerlane.benchmark.session") / "flow.toml.template"
    text = flow.read_text(encoding="utf-8")
    simulation = Simulation(text.format(direction=direction, size=size))
    began, worked = time.perf_counter(), time.process_time()
    result = simulation.run()
    took = {"real": time.perf_counter() - began, "processor": time.process_time() - worked}
    if result.failures:
        raise RuntimeError("; ".join(result.failures))
    return took
