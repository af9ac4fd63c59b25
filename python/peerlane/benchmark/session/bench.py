"""Sessions beside a bare socket, for accesses, and beside `peerlane run`, for transfers."""

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
"""Accesses to a register: by calls of the library, and by the pointer of `fpgaMapMMIO`."""

_MODULE = "peerlane.benchmark.session.program"

_FLOW = """
[links]
generation = 3
lanes = 8

[hosts.server]
memory = "64 GiB"
memory_address_bits = 64
max_payload_supported = "256 B"

[profiles.pac]
max_payload_supported = "256 B"
max_read_request = "256 B"

[devices.card]
model = "dma"
upstream = "server"
profile = "pac"

[[flows]]
from = "card"
to = "server"
direction = "{direction}"
size = "{size} B"
"""
"""A device with the card's link that moves as many bytes, without a program."""


def bench_session(size: int, accesses: int, repeat: int) -> dict[str, Any]:
    """The median of `repeat` runs of a program, each beside its two flows.

    The first transfer to the card allocates the card's memory, page by page; a flow does not store
    what it reads. The second transfers each way have no such first touches.

    Args:
        size: Bytes that are moved to the card and back.
        accesses: Accesses to a register, of each kind.
        repeat: Number of runs.

    Raises:
        RuntimeError: The program failed, or bytes differ.
    """
    runs = [_run(size, accesses) for _ in range(repeat)]
    socket = median(run["accesses"]["socket_ns"] for run in runs)
    kinds = {}
    for kind in ACCESSES:
        times = [run["accesses"] for run in runs]
        kinds[kind] = {
            "ns": median(one[f"{kind}_ns"] for one in times),
            "ratio": median(one[f"{kind}_ns"] / one["socket_ns"] for one in times),
        }
    transfers = {}
    for way, again in product(("to_card", "from_card"), ("", "_again")):
        took = [run["transfers"][f"{way}{again}_ns"] * 1e-9 for run in runs]
        transfers[way + again] = {
            "bytes_per_second": median(size / seconds for seconds in took),
            "run_bytes_per_second": median(size / run[way] for run in runs),
            "share": median(run[way] / seconds for run, seconds in zip(runs, took, strict=True)),
        }
    copies = {
        f"{what}_bytes_per_second": median(
            size / run["transfers"][f"{what}_ns"] * 1e9 for run in runs
        )
        for what in ("fill", "verify")
    }
    return {
        "socket_ns": socket,
        "accesses": kinds,
        "size": size,
        "transfers": transfers,
        **copies,
    }


def _run(size: int, accesses: int) -> dict[str, Any]:
    """One run of the program, and the seconds of the flows that move as many bytes."""
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


def _flow(direction: str, size: int) -> float:
    simulation = Simulation(_FLOW.format(direction=direction, size=size))
    began = time.perf_counter()
    result = simulation.run()
    took = time.perf_counter() - began
    if result.failures:
        raise RuntimeError("; ".join(result.failures))
    return took
