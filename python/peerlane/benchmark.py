"""The simulator's own speed: short runs are noisy, so a benchmark is the median of several."""

from __future__ import annotations

import json
from typing import Any

from peerlane import _core


def median_run(endpoints: int, tlps: int, repeat: int) -> dict[str, Any]:
    """The run with the median time of `repeat`, after one that warms up; with all their times."""
    runs = [json.loads(_core.bench_fabric(endpoints, tlps)) for _ in range(repeat + 1)][1:]
    runs.sort(key=lambda run: run["wall_seconds"])
    every = [run["wall_seconds"] for run in runs]
    median: dict[str, Any] = runs[(repeat - 1) // 2]
    return median | {"endpoints": endpoints, "every_wall_seconds": every}
