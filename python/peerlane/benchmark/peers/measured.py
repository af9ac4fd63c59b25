"""The result of another simulator's benchmark run, in one form for all simulators."""

from __future__ import annotations

import resource
from importlib.metadata import version
from typing import Any

PAYLOAD = 128
"""The bytes of each posted write, as in `peerlane bench fabric`."""


def measured(package: str, tlps: int, seconds: float) -> dict[str, Any]:
    """The packet rate and the memory of a run that moved `tlps` packets in `seconds` of time."""
    return {
        "version": version(package),
        "tlp_per_second": tlps / seconds,
        "tlps": tlps,
        "wall_seconds": seconds,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
