"""Runs the simulations for reports on all processors, and begins with the longest."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from peerlane.fabric.simulation import already_warned
from peerlane.progress import Progress
from peerlane.reproduction.machine import experiments_of, machine_of
from peerlane.reproduction.steps import Step, constant_steps
from peerlane.varying.crew import executor_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Executor

    from peerlane.fabric.settings import Setting
    from peerlane.reproduction.machine import Machine

Measurements = Iterator[tuple[str, float]]
"""The output of a function of `experiments.py`: pairs of a row's id and its simulated value."""

OUTCOMES = "outcomes"
"""The name of a function of `experiments.py` that simulates circuits and measures the parameters
that were fitted for models; it yields names of entries of `[[calibration]]` and their values."""

SHORT_S = 0.3
"""The assumed time, in seconds, of a figure without an entry in `SECONDS` of `experiments.py`."""

_TICK_S = 0.25
"""The seconds between two reports of progress."""

_NEARLY = 0.95
"""The progress, from 0 to 1, that is assumed for a job after its expected time."""


@dataclass(frozen=True, slots=True)
class Job:
    """A figure to simulate, with a parameter that is increased by 10 %, and with changed keys.

    `where` has the keys of the parameter, and `settings` the changed keys. If both are empty, the
    figure is simulated as published.
    """

    system: str
    figure: str
    where: tuple[str, ...] = ()
    settings: tuple[tuple[str, Setting], ...] = ()

    @property
    def seconds(self) -> float:
        """The expected time of the job on one processor, in seconds."""
        known: dict[str, float] = getattr(experiments_of(self.system), "SECONDS", {})
        return known.get(self.figure, SHORT_S)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The simulated values of a figure's rows, and the relative change of the parameter."""

    values: dict[str, float]
    share: float


def run(
    jobs: Sequence[Job],
    progress: Callable[[Progress], object] | None = None,
    executor: Executor | None = None,
) -> dict[Job, Outcome]:
    """Runs all jobs, on all processors at once.

    Args:
        jobs: The jobs, of which no two are equal.
        progress: A function that is called several times a second, with the job that was begun
            last.
        executor: The executor that runs the jobs; threads, if absent.
    """
    with executor_of(executor) as (pool, workers):
        pace = Pace(jobs, workers)
        longest_first = sorted(jobs, key=lambda job: -job.seconds)
        running = {pool.submit(_timed, job): job for job in longest_first}
        try:
            left = set(running)
            while left:
                done, left = wait(left, _TICK_S, FIRST_COMPLETED)
                pace.begun(running[one] for one in left if one.running())
                for future in done:
                    pace.ended(running[future], future.result()[1])
                if progress is not None:
                    progress(pace.progress())
            return {job: future.result()[0] for future, job in running.items()}
        finally:
            for future in running:
                future.cancel()


class Pace:
    """Estimates the progress of all jobs and the time left from the expected time of each job."""

    def __init__(self, jobs: Sequence[Job], workers: int) -> None:
        self._expected = {job: job.seconds for job in jobs}
        self._workers = workers
        self._began: dict[Job, float] = {}
        self._took: dict[Job, float] = {}
        self._share = 0.0

    def begun(self, jobs: Iterable[Job]) -> None:
        """Notes that jobs have begun."""
        for job in jobs:
            self._began.setdefault(job, time.monotonic())

    def ended(self, job: Job, seconds: float) -> None:
        """Notes that a job has ended, and the seconds that it took."""
        self._took[job] = seconds

    def progress(self) -> Progress:
        """The progress at this time; its share never decreases."""
        now = time.monotonic()
        took = self._took.copy()
        running = {job: now - began for job, began in self._began.copy().items() if job not in took}
        ended = sum(self._expected[job] for job in took)
        by_ended = sum(took.values()) / ended if ended else 1.0
        by_running = (spent / (_NEARLY * self._expected[job]) for job, spent in running.items())
        slower = max(by_ended, *by_running, 0.0)
        done, longest = ended, 0.0
        for job, spent in running.items():
            done += spent / slower
            longest = max(longest, self._expected[job] - spent / slower)
        total = sum(self._expected.values())
        self._share = max(self._share, done / total)
        remaining = slower * max((total - done) / self._workers, longest)
        latest = min(running, key=running.__getitem__, default=None)
        words = f"reproducing {latest.system} {latest.figure}" if latest else ""
        return Progress(self._share, words, remaining)


def about(system: str, figures: Iterable[str]) -> dict[str, str]:
    """For each figure, the first line of the docstring of its function in `experiments.py`."""
    experiments = experiments_of(system)
    words = ((name, getattr(experiments, name).__doc__ or "") for name in figures)
    return {name: said.partition("\n")[0] for name, said in words}


def has_outcomes(system: str) -> bool:
    """Whether fitted parameters of the system can be measured by simulation of its circuits."""
    return hasattr(experiments_of(system), OUTCOMES)


def _timed(job: Job) -> tuple[Outcome, float]:
    """Runs a job; returns its outcome, and the seconds that it took."""
    began = time.monotonic()
    outcome = _simulate(job)
    return outcome, time.monotonic() - began


def _simulate(job: Job) -> Outcome:
    figure: Callable[[Machine[Any]], Measurements] = getattr(experiments_of(job.system), job.figure)
    machine, share = larger(machine_of(job.system, dict(job.settings)), job.where)
    # The buffers of a published machine have the sizes of its source, even if they are too small
    # for the round trip of credits.
    with already_warned("until the buffer is free again"):
        return Outcome(dict(figure(machine)), share)


def larger(machine: Machine[Any], where: Sequence[str]) -> tuple[Machine[Any], float]:
    """The machine with each of these keys increased by 10 %, and the relative change of the first.

    A whole number is rounded up, and increased by at least 1. A key that is 0 is not changed, and
    its relative change is 0.
    """
    share = 0.0
    for key in reversed(where):
        value = machine.setting(key)
        value, more = next(iter(constant_steps(value)), Step(value, None))
        machine, share = machine.moved(key, value), more or 0.0
    return machine, share
