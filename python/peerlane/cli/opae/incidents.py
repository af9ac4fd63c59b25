"""Reports incidents of the fabric that can affect a program without causing an error message."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from peerlane.cli.console import warn
from peerlane.formats import duration
from peerlane.results.document import decode
from peerlane.results.run import IncidentResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerlane import Simulation

MOST = 8
"""The most incidents that are printed."""


def warn_of_incidents(simulation: Simulation) -> None:
    """Prints a line on standard error for each incident, except errors that a link corrects."""
    told = decode(list[IncidentResult], simulation.core.noticeable_incidents())
    for one in told[:MOST]:
        severity = f" ({one.severity})" if one.severity else ""
        often = f", {one.count} times until {duration(one.last_ns)}" if one.count > 1 else ""
        warn(f"{one.where} at {duration(one.at_ns)}: {one.what}{severity}{often}")
    left = len(told[MOST:]) + simulation.result().incidents_left_out
    if left:
        warn(f"{left} more incidents")


@contextmanager
def with_incidents(simulation: Simulation) -> Iterator[None]:
    """Prints the incidents of the fabric if the program of this context fails."""
    try:
        yield
    except RuntimeError:
        warn_of_incidents(simulation)
        raise
