"""The result of a peer's job, in one form for all peers."""

from __future__ import annotations

import resource
from importlib.metadata import version
from typing import Any

PAYLOAD = 128
"""The bytes of each posted write, as in `peerlane bench fabric`."""


def measured(package: str, tlps: int, seconds: float) -> dict[str, Any]:
    """The rate of a job that moved `tlps` packets in `seconds` of wall time, and its memory."""
    return {
        "version": version(package),
        "tlp_per_second": tlps / seconds,
        "tlps": tlps,
        "wall_seconds": seconds,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
