"""The other simulators that `peerlane bench fabric --peer` can run, by their names."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from peerlane.benchmark.peers.cocotbext import bench as cocotbext
from peerlane.benchmark.peers.program import run_program

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Peer:
    """Another simulator that can run the task of `peerlane bench fabric`."""

    name: str
    missing: Callable[[], str | None]
    """The reason why the simulator cannot run on this machine, or `None`."""
    run: Callable[[int], dict[str, Any]]
    """Moves this number of packets; returns a dictionary with the keys of `measured.measured`."""


def _program(name: str, package: str, module: str) -> Peer:
    """A simulator that is a Python package; the folder of its name has the task for it."""
    return Peer(
        name,
        lambda: None if find_spec(module) else f"it is not installed (pip install {package})",
        lambda tlps: run_program(f"peerlane.benchmark.peers.{package}.job", tlps),
    )


PEERS = {
    "cocotbext": Peer("cocotbext-pcie", cocotbext.missing, cocotbext.bench_fabric),
    "ns3": _program("ns-3", "ns3", "ns"),
    "simpy": _program("SimPy", "simpy", "simpy"),
}

ABSENT = {
    "sst": "SST is built from its source code, not installed as a package, and Peerlane has no"
    " program for it",
}
"""Simulators that are often used for comparison, and the reason why `--peer` cannot run each."""
