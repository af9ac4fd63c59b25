"""A fabric without its own workloads, in which other workloads run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from peerlane._core import ScenarioError, advice
from peerlane.explaining.present import Present
from peerlane.fabric.variant import parsed, variant
from peerlane.results.workload import LISTS
from peerlane.varying.crew import crew

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor

    from peerlane._core import Scenario
    from peerlane.fabric.settings import Setting
    from peerlane.results.run import RunResult

Table = tuple[str, dict[str, Any]]
"""A section of a scenario, and the keys of a new table of it."""

GPU = "gpu"


@dataclass(frozen=True, slots=True)
class Job:
    """A run with some workloads and changed keys; `weight` compares how long jobs take."""

    workloads: tuple[Table, ...]
    settings: Mapping[str, Setting] = field(default_factory=dict)
    weight: float = 1.0

    @classmethod
    def steady(cls, *flows: dict[str, Any], settings: Mapping[str, Setting] | None = None) -> Job:
        """A run until the rate of each flow in the steady state is known."""
        work = tuple(("flows", {"size": _SMALL} | one) for one in flows)
        return cls(work, {**(settings or {}), "measure.steady": True}, weight=_STEADY)


_SMALL = "4 KiB"
"""A size that fits every BAR; flows in the steady state repeat it."""

_STEADY = 10e6
"""The approximate bytes that a flow moves until its rate is known."""


class Machine:
    """The nodes and links of a scenario.

    Args:
        text: The scenario, as TOML.
        source: The name of the scenario in messages.
        settings: New values of keys, by their paths.
        seed: The seed, which replaces the scenario's own.
        executor: The workers; the processors of this machine, if absent.

    Attributes:
        runs: The number of runs so far.
    """

    def __init__(
        self,
        text: str,
        source: str,
        settings: Mapping[str, Setting],
        seed: int | None,
        executor: Executor | None,
    ) -> None:
        scenario = parsed(text, source)
        scenario.update(dict(settings))
        if seed is not None:
            scenario.set("seed", seed)
        scenario.write_out()
        for section in (*LISTS, "expect", "measure"):
            scenario.remove(section)
        self.scenario = scenario
        self.executor = executor
        self.runs = 0
        simulation = variant(scenario, {})
        self.seed = simulation.result().seed
        self.present = Present(scenario, simulation.tree())

    def gpus(self) -> list[str]:
        """All GPUs; GPUs below the same switch follow each other.

        Raises:
            ScenarioError: There are fewer than two.
        """
        found = [node.name for node in self.present.tree.nodes if node.model == GPU]
        if len(found) < 2:  # noqa: PLR2004 - a pair
            there = f"one GPU ({found[0]})" if found else "no GPU"
            raise ScenarioError(
                f"{self.scenario.source}: there is {there}, and advise compares pairs; write two"
                ' devices with model = "gpu", or name devices by --devices'
            )
        return self.by_switch(found)

    def by_switch(self, names: Sequence[str]) -> list[str]:
        """The names in their order, except that nodes below one node follow each other."""
        ways = {name: self.present.above(name)[::-1] for name in names}
        parts = {name: [way[:end] for end in range(1, len(way) + 1)] for name, way in ways.items()}
        first: dict[tuple[str, ...], int] = {}
        for place, name in enumerate(names):
            for part in parts[name]:
                first.setdefault(part, place)
        keys = {
            name: [*map(first.__getitem__, parts[name]), place] for place, name in enumerate(names)
        }
        return sorted(names, key=keys.__getitem__)

    def check(self, names: Sequence[str]) -> None:
        """Refuses names that are not two or more devices.

        Raises:
            ScenarioError: A name is no device or stands twice, or there is only one.
        """
        source = self.scenario.source
        known = [one.name for one in self.present.tree.nodes if one.kind == "device"]
        for name in names:
            if name not in known:
                raise ScenarioError(f"{source}: there is no device {name!r}; {advice(name, known)}")
            if names.count(name) > 1:
                raise ScenarioError(f"{source}: {name} is named twice; name each device once")
        if len(names) < 2:  # noqa: PLR2004 - a pair
            raise ScenarioError(f"{source}: a pair has two devices; name another one, too")

    def run(
        self, jobs: Sequence[Job], progress: Callable[[float], object] = lambda _: None
    ) -> list[RunResult | str]:
        """The results of jobs; if a job's scenario cannot be built, the message instead."""
        self.runs += len(jobs)
        order = sorted(range(len(jobs)), key=lambda number: -jobs[number].weight)
        found: dict[int, RunResult | str] = {}
        done, total = 0.0, sum(job.weight for job in jobs)
        with crew(executor=self.executor) as workers:
            pieces = [jobs[number] for number in order]
            for place, outcome in workers.each(run_job, self.scenario, pieces, _lost):
                found[order[place]] = outcome
                done += pieces[place].weight
                progress(done / total)
        return [found[number] for number in range(len(jobs))]

    def link_of(self, name: str) -> str:
        """The path of the table of the link above a node."""
        return self.present.table_of_link(self.present.own_link(name))


def run_job(
    scenario: Scenario, job: Job, watch: Callable[[float], object] | None = None
) -> RunResult | str:
    """The result of a job; if its scenario cannot be built, the message."""
    own = scenario.copy()
    for section, fields in job.workloads:
        own.append(section, fields)
    try:
        return variant(own, job.settings, warns=False).run(watch)
    except ScenarioError as error:
        return str(error)


def _lost(_scenario: Scenario, _job: Job, reason: str) -> str:
    return reason
