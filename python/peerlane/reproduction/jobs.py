"""The simulations behind a report, on every processor."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from peerlane.reproduction.calibration import moved, setting
from peerlane.reproduction.catalogue import scenario_text

if TYPE_CHECKING:
    from collections.abc import Callable

Measurements = Iterator[tuple[str, float]]
"""What a function of `experiments.py` gives: a row's id and its simulated value, row by row."""

STEP = 0.1
"""The share by which a parameter is moved."""


@dataclass(frozen=True, slots=True)
class Job:
    """A figure to simulate, with the parameter at these keys moved; with none, as published."""

    system: str
    figure: str
    where: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The values of a figure's rows, and the share by which the parameter was moved."""

    values: dict[str, float]
    share: float


def in_parallel(jobs: list[Job]) -> Iterator[tuple[Job, Outcome]]:
    """Each job with its outcome, in the order in which they are there; on every processor."""
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        running = {pool.submit(_simulate, job): job for job in jobs}
        for done in as_completed(running):
            yield running[done], done.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _simulate(job: Job) -> Outcome:
    experiments = import_module(f"peerlane.systems.{job.system}.experiments")
    figure: Callable[[], Measurements] = getattr(experiments, job.figure)
    if not job.where:
        return Outcome(dict(figure()), 0)
    value = setting(tomllib.loads(scenario_text(job.system)), job.where[0])
    with moved(value, job.where, STEP) as share:
        return Outcome(dict(figure()), share)
