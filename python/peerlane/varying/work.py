"""Runs one point of a sweep: the scenario with some keys set; reads the metrics of its result.

A point is plain data, so that any thread or process that has Peerlane can run it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping  # noqa: TC003 - pydantic reads it
from dataclasses import dataclass, field
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from peerlane.fabric.variant import parsed, told, variant
from peerlane.figures.metrics import Scalar, UnknownMetricError, numbers, values_at
from peerlane.formats import shortened
from peerlane.results.document import Document
from peerlane.varying.uplinks import on_links

if TYPE_CHECKING:
    from collections.abc import Callable

    from peerlane import Simulation
    from peerlane._core import Scenario

Status = Literal["ok", "failed", "error"]

_MOST_REASONS = 3
"""The largest number of failures of one run that the error of a point names."""


@dataclass(frozen=True, slots=True)
class Study:
    """The data that all points of a sweep share: the scenario, and the metrics to read."""

    text: str
    source: str
    metrics: tuple[str, ...] | None
    """The paths of the metrics; `None` for every single value of the result."""
    settings: str = ""
    """The keys that are set in all points, as JSON."""


@dataclass(frozen=True, slots=True)
class Point:
    """A requested run: the changed keys, and the seed that replaces the scenario's own."""

    settings: Mapping[str, Any]
    seed: int | None


@dataclass(frozen=True, slots=True)
class SweepPoint(Document):
    """One run of a sweep.

    `status` is "ok", "failed" or "error". It is "failed" if the run ended with errors, so that its
    metrics are doubtful, or if an expectation of the scenario is not met. It is "error" if there is
    no result. `error` has the reason. A metric that was never observed is `None`. `seconds` is the
    time of the run on one processor. If `is_random` is false, another seed changes nothing.
    """

    settings: Mapping[str, Any]
    seed: int
    metrics: Mapping[str, Scalar]
    status: Status
    error: str | None
    seconds: float = field(default=0.0, compare=False)
    is_random: bool = field(default=True, compare=False)


def run_point(
    study: Study, point: Point, watch: Callable[[float], object] | None = None
) -> SweepPoint:
    """Runs a point; any error of the point is part of the outcome.

    Args:
        study: The data that all points share.
        point: The point to run.
        watch: A function that is called during the run; an exception from this function ends the
            run and is raised.
    """
    began = perf_counter()
    scenario = scenario_of(study.text, study.source, study.settings)
    seed = None if "seed" in point.settings else point.seed

    def without_result(status: Status, error: BaseException) -> SweepPoint:
        own = scenario.effective("seed")[0] if seed is None else seed
        known = point.settings.get("seed", own)
        # The settings are removed from the message, because they are in other columns.
        reason = str(error).replace(f" with {told(point.settings)}: ", ": ", 1)
        reason = reason.removeprefix(f"{study.source}: ") or type(error).__name__
        return _lost(study, point.settings, known, status, reason)

    try:
        simulation = variant(scenario, point.settings, seed=seed, warns=False)
        is_random = simulation.is_random
        result = simulation.run(watch)
        document = result.to_json()
        metrics = _read(document, study.metrics, simulation)
    except UnknownMetricError as error:
        return without_result("failed", error)
    except (ValueError, RuntimeError, OSError, MemoryError) as error:
        return without_result("error", error)
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # a defect of the simulator at this point
            raise
        return without_result("error", error)
    reasons = result.failures
    return SweepPoint(
        settings=point.settings,
        seed=document["seed"],
        metrics=metrics,
        status="failed" if reasons else "ok",
        error="; ".join(shortened(reasons, _MOST_REASONS)) or None,
        seconds=perf_counter() - began,
        is_random=is_random,
    )


def lost_point(study: Study, point: Point, reason: str) -> SweepPoint:
    """The outcome of a point whose worker did not return it."""
    scenario = scenario_of(study.text, study.source, study.settings)
    known = point.settings.get("seed", scenario.effective("seed")[0])
    seed = known if point.seed is None or "seed" in point.settings else point.seed
    return _lost(study, point.settings, seed, "error", reason)


def _lost(
    study: Study, settings: Mapping[str, Any], seed: int, status: Status, reason: str
) -> SweepPoint:
    return SweepPoint(settings, seed, dict.fromkeys(study.metrics or ()), status, reason)


def _read(
    document: Mapping[str, Any], metrics: tuple[str, ...] | None, simulation: Simulation
) -> Mapping[str, Scalar]:
    if metrics is None:
        return numbers(document)
    paths = on_links(metrics, simulation)
    found = values_at(document, paths.values())
    return {metric: found[path] for metric, path in paths.items()}


@lru_cache(maxsize=8)
def scenario_of(text: str, source: str, settings: str = "") -> Scenario:
    """The scenario of a sweep with the keys that are set in all points; this process keeps it."""
    scenario = parsed(text, source)
    scenario.update(json.loads(settings) if settings else {})
    return scenario
