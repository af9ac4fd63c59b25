"""Incidents of the fabric that a program may have noticed, and cannot explain."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from peerlane.cli.console import warn
from peerlane.cli.tables.cells import duration

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from peerlane import Simulation
    from peerlane.results.run import IncidentResult

REPAIRED = {
    "Receiver Error",
    "Bad TLP",
    "Bad DLLP",
    "REPLAY_NUM Rollover",
    "Replay Timer Timeout",
}
"""Errors that a link repairs by itself: a program notices nothing but the time."""

MOST = 8
"""The most lines about incidents."""


def warn_of_incidents(incidents: Collection[IncidentResult], left_out: int) -> None:
    """A line on standard error for each incident, except those that a link repairs."""
    told = [
        one
        for one in incidents
        if one.what not in REPAIRED and not one.what.startswith("link retrained")
    ]
    for one in told[:MOST]:
        severity = f" ({one.severity})" if one.severity else ""
        often = f", {one.count} times until {duration(one.last_ns)}" if one.count > 1 else ""
        warn(f"{one.where} at {duration(one.at_ns)}: {one.what}{severity}{often}")
    left = len(told[MOST:]) + left_out
    if left:
        warn(f"{left} more incidents")


@contextmanager
def with_incidents(simulation: Simulation) -> Iterator[None]:
    """Adds the incidents of a fabric to the error of what runs on it."""
    try:
        yield
    except RuntimeError:
        result = simulation.result()
        warn_of_incidents(result.incidents, result.incidents_left_out)
        raise
