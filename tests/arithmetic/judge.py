"""A configuration by arithmetic, beside what the simulator measures."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

from arithmetic import formula
from arithmetic.scenarios import configuration, scenario
from arithmetic.walk import SKIPS, Walk
from arithmetic.wire import TICKS_PER_NS
from peerlane import ScenarioWarning, Simulation

if TYPE_CHECKING:
    from arithmetic.configuration import Configuration

TOLERANCE = 0.005

WALKED = 300
"""Packets of each flow that are walked, and more."""

SETTLED = 4000
"""Packets that are walked where bursts of several devices drift past each other and settle late."""

SIMULATED = 3000, 400
"""Requests of each flow that are simulated, and bursts of them, and more."""

PHASES = 400
"""The most walks with phases of their own, where the phases of the clocks decide the rate.

Some ways in which few credits of both directions go round come in one of a hundred walks.
"""


@dataclass(frozen=True)
class Judgement:
    """The rates of the flows of a configuration, in bytes a second."""

    configuration: Configuration
    formula: list[float] | None
    """In closed form, if there is one."""
    walked: list[float]
    """Packet by packet, with all phases zero."""
    simulated: list[float]
    spread: list[tuple[float, float]] | None = None
    """The least and the greatest over phases of the clocks, where these were drawn."""

    @property
    def expected(self) -> list[float]:
        """The rates by the simplest arithmetic there is."""
        return self.formula or self.walked

    @property
    def errors(self) -> list[float]:
        """Relative errors of the simulator."""
        return _errors(self.simulated, self.expected)

    @property
    def is_exact(self) -> bool:
        """Whether the rates are those of the arithmetic."""
        return all(abs(error) <= TOLERANCE for error in self.errors)

    @property
    def is_bounded(self) -> bool:
        """Whether no formula holds, and each rate is among those of some phases."""
        if self.spread is None or self.formula is not None:
            return False
        return all(
            least * (1 - TOLERANCE) <= simulated <= most * (1 + TOLERANCE)
            for (least, most), simulated in zip(self.spread, self.simulated, strict=True)
        )

    @property
    def verdict(self) -> str:
        if self.is_exact:
            return "by formula" if self.formula else "by packet"
        return "bounded" if self.is_bounded else "MISSED"

    def __str__(self) -> str:
        """The configuration in a line: MB/s by arithmetic, simulated, error, and bounds."""
        flows = zip(
            self.configuration.flows, self.expected, self.simulated, self.errors, strict=True
        )
        rates = "; ".join(
            f"{flow.source}-{flow.target} {expected / 1e6:.1f} {simulated / 1e6:.1f} ({error:+.2%})"
            for flow, expected, simulated, error in flows
        )
        bounds = "".join(
            f" [{least / 1e6:.1f}, {most / 1e6:.1f}]" for least, most in self.spread or []
        )
        name, kind = self.configuration.name, self.configuration.kind
        return f"{name:>8} {kind:8} {self.verdict:10} {rates}{bounds}"


def _errors(measured: list[float], expected: list[float]) -> list[float]:
    return [one / other - 1 for one, other in zip(measured, expected, strict=True)]


def judged(seed: int, number: int) -> Judgement:
    """The judgement of a configuration of a seed."""
    return judge(configuration(seed, number))


def judge(configuration: Configuration) -> Judgement:
    """Works a configuration out, and simulates it.

    Where a walk gives another rate, a longer one is made, and then some whose phases are drawn,
    until the rate lies within the bounds that they give.
    """
    walked = Walk(configuration).rates(WALKED)
    simulated = simulate(configuration, window_ns(configuration, walked))
    judgement = Judgement(configuration, formula.rates(configuration), walked, simulated)
    if judgement.formula or judgement.is_exact:
        return judgement
    judgement = replace(judgement, walked=Walk(configuration).rates(SETTLED))
    if judgement.is_exact:
        return judgement
    spread = formula.bounds(configuration) or [(rate, rate) for rate in judgement.walked]
    for phase in range(PHASES):
        rates = Walk(configuration, phases=Random(phase)).rates(WALKED)
        spread = [
            (min(least, rate), max(most, rate))
            for (least, most), rate in zip(spread, rates, strict=True)
        ]
        judgement = replace(judgement, spread=spread)
        if judgement.is_bounded:
            break
    return judgement


def window_ns(configuration: Configuration, rates: list[float]) -> tuple[float, float]:
    """A window with many requests of each flow and many ordered sets of each link."""
    longest = max(
        configuration.measured(flow)
        / rate
        * max(SIMULATED[0], SIMULATED[1] * configuration.burst(flow))
        for flow, rate in zip(configuration.flows, rates, strict=True)
    )
    skips = max(link.rate.skip_interval for link in configuration.links.values()) / TICKS_PER_NS
    length = max(longest * 1e9, 5 * SKIPS * skips)
    return length / 4, length * 5 / 4


def simulate(configuration: Configuration, window: tuple[float, float]) -> list[float]:
    """The steady rates that the simulator measures in a window."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScenarioWarning)
        simulation = Simulation(scenario(configuration, *window))
    rates = [flow.steady_bytes_per_second for flow in simulation.run().flows]
    return [rate or 0.0 for rate in rates]
