"""The simulator's own speed: short runs are noisy, so a benchmark is the median of several."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from peerlane import _core
from peerlane.benchmark.devices import device

if TYPE_CHECKING:
    from collections.abc import Callable


def median_fabric(endpoints: int, tlps: int, repeat: int) -> dict[str, Any]:
    """The run with the median time of `repeat`, after one that warms up; with all their times."""
    return _median(lambda: _core.bench_fabric(endpoints, tlps), repeat) | {"endpoints": endpoints}


def median_network(side: int, hops: int, repeat: int) -> dict[str, Any]:
    """The median run of a torus of `side` times `side` routers, as `median_fabric` gives it."""
    return _median(lambda: _core.bench_network(side, hops), repeat) | {"side": side}


def median_messages(hosts: int, size: int, repeat: int) -> dict[str, Any]:
    """The median run of PUTs of `size` bytes between each two of `hosts` hosts."""
    return _median(lambda: _core.bench_messages(hosts, size), repeat) | {"hosts": hosts}


def median_device(kind: str, direction: str, accesses: int, repeat: int) -> dict[str, Any]:
    """The median run of accesses of one direction to a device of this kind."""
    model, models = device(kind)
    run = _median(lambda: _core.bench_device(model, direction, accesses, models), repeat)
    return run | {"kind": kind, "direction": direction}


def _median(bench: Callable[[], str], repeat: int) -> dict[str, Any]:
    runs = [json.loads(bench()) for _ in range(repeat + 1)][1:]
    runs.sort(key=lambda run: run["wall_seconds"])
    every = [run["wall_seconds"] for run in runs]
    median: dict[str, Any] = runs[(repeat - 1) // 2]
    return median | {"every_wall_seconds": every}
