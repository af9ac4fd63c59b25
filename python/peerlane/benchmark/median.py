"""Measures the simulator's speed by the median of several runs, because short runs are noisy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from peerlane import _core
from peerlane.benchmark.devices import device

if TYPE_CHECKING:
    from collections.abc import Callable

_PAYLOAD = 128
_MESSAGE = 256
"""The payload of a write of the fabric (`_PAYLOAD`) and of a message across a torus, in bytes."""

_AMOUNT = range(1, (1 << 30) + 1)
_ENDPOINTS = range(1, 4096 + 1)
_SIDES = range(2, 128 + 1)
_HOSTS = range(2, 16 + 1)
_SIZES = range(1, (1 << 26) + 1)


def median_fabric(endpoints: int, tlps: int, repeat: int) -> dict[str, Any]:
    """The run with the median time of `repeat` runs after a warm-up run, and all times."""
    if endpoints not in _ENDPOINTS or tlps not in _AMOUNT:
        raise ValueError("the bench takes 1 to 4096 endpoints and 1 to 2^30 TLPs")

    def run() -> dict[str, Any]:
        measured, result = _run(_core.bench_scenario("fabric", endpoints, tlps))
        made = sum(flow["bytes"] // _PAYLOAD for flow in result["flows"] if flow["intact"])
        if made != tlps:
            raise RuntimeError(f"{made} of {tlps} writes arrived as they were sent")
        return _rates(measured, "tlp", made) | {"tlps": made, "peers": {}}

    return _median(run, repeat) | {"endpoints": endpoints}


def median_network(side: int, hops: int, repeat: int) -> dict[str, Any]:
    """The median run of a torus of `side` times `side` routers, with the time of each run."""
    if side not in _SIDES or hops not in _AMOUNT:
        raise ValueError("a torus may have 2 to 128 routers on a side, and a run 1 to 2^30 hops")

    def run() -> dict[str, Any]:
        measured, result = _run(_core.bench_scenario("network", side, hops))
        traffic = result["traffic"][0]
        _check(traffic["intact"])
        if not (made := sum(fibre["frames"] for fibre in result["fibres"])):
            raise ValueError(
                f"{hops} hops are too few for one message in a torus of {side} x {side} routers; "
                "write more, such as --hops 500000"
            )
        counts = {"hops": made, "messages": traffic["bytes"] // _MESSAGE}
        return _rates(measured, "hops", made) | counts

    return _median(run, repeat) | {"side": side}


def median_messages(hosts: int, size: int, repeat: int) -> dict[str, Any]:
    """The median run in which each of `hosts` hosts sends a PUT of `size` bytes to each other."""
    if hosts not in _HOSTS or size not in _SIZES:
        raise ValueError("the bench takes 2 to 16 hosts and messages of 1 byte to 64 MiB")

    def run() -> dict[str, Any]:
        measured, result = _run(_core.bench_scenario("messages", hosts, size))
        _check(all(flow["intact"] and flow["completed"] for flow in result["flows"]))
        payload = sum(flow["bytes"] for flow in result["flows"])
        return _rates(measured, "payload", payload) | {"payload": payload}

    return _median(run, repeat) | {"hosts": hosts}


def median_device(kind: str, direction: str, accesses: int, repeat: int) -> dict[str, Any]:
    """The median run of accesses of one direction to a device of this kind."""
    text, models = device(kind, direction, accesses)

    def run() -> dict[str, Any]:
        measured, result = _run(text, models)
        if result["flows"][0]["bytes"] != 8 * accesses:
            raise RuntimeError("some accesses did not arrive")
        each = measured["wall_seconds"] * 1e9 / accesses
        return _rates(measured) | {"ns_per_access": each, "accesses": accesses}

    return _median(run, repeat) | {"kind": kind, "direction": direction}


def _run(text: str, models: list[_core.DeviceModel] | None = None) -> tuple[Any, Any]:
    """Runs a scenario once; returns the measurements of the run, and its result."""
    measured, result = json.loads(_core.bench_run(text, models or []))
    return measured, result


def _check(arrived: bool) -> None:  # noqa: FBT001 - its only argument
    if not arrived:
        raise RuntimeError("some messages did not arrive as they were sent")


def _rates(measured: dict[str, Any], unit: str = "", count: int = 0) -> dict[str, Any]:
    """Events per second, the peak memory, and `count` units per second."""
    seconds = measured["wall_seconds"]
    rates = {f"{unit}_per_second": count / seconds} if unit else {}
    return rates | {
        "events_per_second": measured["events"] / seconds,
        "peak_bytes": measured["peak_bytes"],
        "wall_seconds": seconds,
    }


def _median(bench: Callable[[], dict[str, Any]], repeat: int) -> dict[str, Any]:
    runs = [bench() for _ in range(repeat + 1)][1:]
    runs.sort(key=lambda run: run["wall_seconds"])
    every = [run["wall_seconds"] for run in runs]
    return runs[(repeat - 1) // 2] | {"every_wall_seconds": every}
