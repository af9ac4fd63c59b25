"""`peerlane top`: shows links, queues and flows while a simulation runs."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import typer

from peerlane.cli.request import ScenarioRequest

if TYPE_CHECKING:
    from peerlane import Simulation

EVERY_S = 0.25
"""The real time between two readings of the counters, in seconds."""

MOST_SHARE = 0.25
"""The largest share of the real time that readings may take: large fabrics are read less often."""


def top(scenario: ScenarioRequest) -> None:
    """Show links, queues and flows while a scenario is simulated, several times a second.

    Rates, `used` and `stalled` are for the simulated time since the last update. At the end of the
    run, the screen shows them for the whole run. `waiting` is the number of TLPs that wait for the
    wire at the time of the update. If the screen is too short, only the busiest links are shown.

    The command needs a terminal. Ctrl-C ends it. The exit status is the same as for `peerlane run`.
    """
    if not sys.stdout.isatty():
        raise typer.BadParameter(
            f"top needs a terminal; peerlane run {scenario.file} writes to files and pipes"
        )
    from rich.live import Live

    from peerlane.cli.console import out
    from peerlane.cli.outcome import judge_failures
    from peerlane.cli.tables.top import Look, frame

    simulation = scenario.simulation()
    name = simulation.tree().name
    console = out()
    first = before = now = Look.at(simulation)
    pause_s = EVERY_S
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        while not now.over:
            share, over = _run_for(simulation, pause_s)
            begun_s = time.monotonic()
            before, now = now, Look.at(simulation, share, over=over)
            live.update(frame(name, (first, before, now), console.height), refresh=True)
            pause_s = max(EVERY_S, (time.monotonic() - begun_s) / MOST_SHARE)
    judge_failures(now.result.failures)


def _run_for(simulation: Simulation, seconds: float) -> tuple[float, bool]:
    """Simulates for some seconds of real time; returns the share done, and whether all is done."""
    until_s = time.monotonic() + seconds
    done = 0.0

    def goes_on(share: float) -> bool:
        nonlocal done
        done = share
        return time.monotonic() < until_s

    over = simulation.run_while(goes_on)
    return done, over
