"""Measures latency against offered load, by a run of a workload for each load."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING, Annotated, Any

from peerlane import _core
from peerlane._core import ScenarioError
from peerlane.dotted import join_path
from peerlane.fabric import settings
from peerlane.fabric.variant import variant
from peerlane.figures.table import check_ending, write_table
from peerlane.network.bounds import Binding, Bounds, bounds
from peerlane.progress import Progress
from peerlane.results import markup
from peerlane.results.brief import Brief
from peerlane.results.collection import By, Collection
from peerlane.results.document import Document, encode, renamed
from peerlane.results.latency import Latency  # noqa: TC001 - pydantic reads it
from peerlane.varying.crew import crew
from peerlane.varying.reading import plot_document, point_row
from peerlane.varying.work import scenario_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Executor
    from os import PathLike

    from pandas import DataFrame

    from peerlane.building.builder import Fabric
    from peerlane.fabric.tree import Traffic, Tree
    from peerlane.figures.figure import Figure

SHORTFALL = 0.05
"""A network counts as saturated if the accepted load is less than the offered load by more than
this share, and by more than chance explains."""
_DEVIATIONS = 3
"""A difference of up to this number of standard deviations of a Poisson process counts as chance.
"""
_DRAIN = 0.25
"""The time of a run after `[measure]`, for messages in flight, as a share of the length of
`[measure]`."""
_FILLING = 1 / 3
"""Without `[measure]`, this share of the workload's duration is not measured, because the network
is filling."""
_SYMBOLS_NS = 260.0
"""Flows begin at a multiple of this time, in nanoseconds, after the links are up."""


@dataclass(frozen=True, slots=True)
class LoadPoint(Brief):
    """The result of one run: offered and accepted payload in bytes a second for each node.

    `latency_ns` is the latency of the messages that were due within `[measure]` and arrived before
    the end of the run. `lost` counts the packets that ended with an error.
    """

    offered_bytes_per_second: float
    accepted_bytes_per_second: float
    fairness: float | None
    latency_ns: Latency | None
    saturated: bool
    lost: int


@dataclass(frozen=True, slots=True)
class LoadSweep(Document):
    """The results of a workload at several loads, in their order, and the bounds of its network.

    `saturation_bytes_per_second` is the highest accepted rate of a node, as the mean of all nodes.
    `is_saturated` is true if the network was saturated at one of the loads; if not, the network may
    be able to carry more. `binding` is the name of the smallest bound.
    """

    __pydantic_config__ = renamed(is_saturated="saturated", bounds="bounds_bytes_per_second")

    name: str
    traffic: str
    network: str
    pattern: str
    points: Annotated[Collection[LoadPoint], By("offered_bytes_per_second")]
    saturation_bytes_per_second: float
    is_saturated: bool
    bounds: Bounds
    binding: Binding

    def to_json(self) -> dict[str, Any]:
        """The sweep as the command line writes it."""
        return encode(self)

    def plot(self, y: str = "latency_ns.mean", x: str = "offered_bytes_per_second") -> Figure:
        """A plot of the results, by default of the mean latency over the offered load.

        Args:
            y: The field of the vertical axis, such as "accepted_bytes_per_second".
            x: The field of the horizontal axis.

        Raises:
            PlotError: A field does not exist.
        """
        return plot_document(self.to_json(), x, [y])

    def write(self, path: str | PathLike[str]) -> None:
        """Writes the points to a file that ends with .csv or .parquet.

        Raises:
            ValueError: The file has another ending.
            OSError: The file could not be written.
        """
        rows = [point_row(asdict(point)) for point in self.points]
        found = dict.fromkeys(column for row in rows for column in row)
        columns = [one for one in found if not any(c.startswith(f"{one}.") for c in found)]
        rows = [{column: row.get(column) for column in columns} for row in rows]
        write_table(check_ending(path), columns, rows)

    def _repr_html_(self) -> str:
        """The loads and the bounds of the network as HTML for a notebook."""
        most = markup.said("bytes_per_second", self.saturation_bytes_per_second)
        bound = markup.said("bytes_per_second", self.bounds.least)
        what = "saturation throughput" if self.is_saturated else "not saturated up to"
        return markup.page(
            markup.title(
                f"{self.name}: {self.traffic}, {self.pattern} traffic through {self.network}"
            ),
            markup.table_of(self.points),
            markup.line(f"{what} {most} a node; the {self.binding} bound is {bound}"),
        )

    def to_pandas(self) -> DataFrame:
        """The points as a pandas frame, with one line for each load.

        Raises:
            MissingPackageError: pandas is not installed (`pip install 'peerlane[pandas]'`).
        """
        return self.points.to_pandas()


def sweep_loads(  # noqa: PLR0913 - each says one thing of a sweep
    fabric: Fabric,
    loads: Iterable[str | float],
    traffic: str | None = None,
    *,
    seed: int | None = None,
    scheduler: str | None = None,
    executor: Executor | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> LoadSweep:
    """Runs a workload at each of `loads`, on all processors, without other changes of the fabric.

    A run measures within `[measure]` and ends shortly after it. Without `[measure]`, a run measures
    the last two thirds of the workload's duration, in which the network is full.

    Args:
        fabric: The fabric with the workload; it may have other workloads.
        loads: The payload rates of each node: texts such as "1 GB/s", or numbers in bytes a second.
        traffic: The id of the workload; by default the only workload.
        seed: The seed of all random streams, instead of the fabric's seed.
        scheduler: The address of a Dask scheduler, whose workers run the loads.
        executor: The executor of the runs, such as `ProcessPoolExecutor()` or
            `Client.get_executor()` of Dask.
        progress: A function that is called after each load with the share of the sweep that is
            done.

    Raises:
        ScenarioError: The fabric cannot be built, does not have the workload, or has a `[measure]`
            that ends before the workload begins or begins after its end.
        ValueError: A load is wrong, or `loads` is empty.
    """
    simulation = fabric.simulation()
    tree = simulation.tree()
    workload = the_workload(tree, traffic)
    window = simulation.measure_ns
    if window is None:
        window = _full(workload)
        fabric = fabric.copy().measure(*(f"{time:.6f} ns" for time in window))
    _check_overlap(tree, workload, window)
    rates = sorted({bytes_per_second(load) for load in loads})
    if not rates:
        raise ValueError('there are no loads; give one or more, such as "1 GB/s"')
    study = _Study(fabric.to_toml(), tree.name, workload, window, seed)
    points: dict[int, LoadPoint] = {}
    with crew(scheduler, executor) as workers:
        for number, point in workers.each(_point, study, rates, _lost):
            points[rates[number]] = point
            if progress is not None:
                progress(Progress.of(len(points), len(rates), "loads"))
    ordered = [points[rate] for rate in rates]
    limits = bounds(tree, workload)
    return LoadSweep(
        name=tree.name,
        traffic=workload.id,
        network=workload.network,
        pattern=workload.pattern,
        points=Collection(ordered, key="offered_bytes_per_second"),
        saturation_bytes_per_second=max(point.accepted_bytes_per_second for point in ordered),
        is_saturated=any(point.saturated for point in ordered),
        bounds=limits,
        binding=limits.binding,
    )


sweep = sweep_loads
"""The name under which experiments of published systems use `sweep_loads`."""


def the_workload(tree: Tree, traffic: str | None) -> Traffic:
    """The workload with the id `traffic`, or the only workload.

    Raises:
        ScenarioError: There is no workload, or no id was given and there are several.
    """
    known = [one.id for one in tree.traffic]
    if not known:
        raise ScenarioError(f"{tree.name}: there is no workload to sweep; write [[traffic]]")
    if traffic is None and len(known) > 1:
        raise ScenarioError(
            f"{tree.name} has several workloads; name the one to sweep: {', '.join(known)}"
        )
    if traffic is not None and traffic not in known:
        raise ScenarioError(
            f"{tree.name}: there is no traffic {traffic!r}; {_core.advice(traffic, known)}"
        )
    return tree.traffic[traffic or 0]


def bytes_per_second(load: str | float) -> int:
    """Reads a load in the same way as the scenario's key `load`; returns whole bytes a second.

    Raises:
        ValueError: The text is not a load; the message has the correction.
    """
    try:
        found = _core.read_bandwidth(settings.rate(load))
    except ValueError as error:  # a ScenarioError is a ValueError
        raise ValueError(f"{load!r} is not a load: {str(error).removeprefix('load: ')}") from None
    if not found:
        raise ValueError(f'{load!r} is not a load: write more than nothing, such as "1 GB/s"')
    return found


def even_loads(limit: float, count: int) -> list[float]:
    """`count` loads in even steps up to `limit`, in bytes a second."""
    return [limit * step / count for step in range(1, count + 1)]


def _check_overlap(tree: Tree, workload: Traffic, window: tuple[float, float]) -> None:
    """Refuses a window without traffic, in which the accepted rate of all loads would be 0."""
    begin, end = workload.start_ns, workload.start_ns + workload.duration_ns
    if window[0] >= end or window[1] <= begin:
        raise ScenarioError(
            f"{tree.name}: [measure] is from {window[0]:g} to {window[1]:g} ns, and {workload.id} "
            f"sends from {begin:g} to {end:g} ns; write a window within that time, or leave out "
            "[measure]"
        )


def _full(workload: Traffic) -> tuple[float, float]:
    """The window, in nanoseconds, in which the network is full: the default of `[measure]`."""
    end = workload.start_ns + workload.duration_ns
    return workload.start_ns + _FILLING * workload.duration_ns, end


@dataclass(frozen=True, slots=True)
class _Study:
    """The inputs of all runs of a sweep: scenario, workload, window of the rates, and seed."""

    text: str
    name: str
    workload: Traffic
    window: tuple[float, float]
    seed: int | None


def _point(study: _Study, rate: int, _watch: Callable[[float], object] | None) -> LoadPoint:
    workload, window = study.workload, study.window
    load = {f"traffic.{join_path([workload.id])}.load": f"{rate} B/s"}
    scenario = scenario_of(study.text, study.name)
    simulation = variant(scenario, load, seed=study.seed, warns=False)
    begin, until = window
    end = until + _DRAIN * (until - begin)
    simulation.step()  # time begins when the links are up
    simulation.run_until((ceil(simulation.now_ns / _SYMBOLS_NS) + 1) * _SYMBOLS_NS + end)
    result = simulation.result()
    measured = result.traffic[workload.id]
    offered = measured.offered_bytes_per_second
    accepted = measured.accepted_bytes_per_second or 0.0
    messages = measured.nodes * offered * (until - begin) / 1e9 / workload.message
    shortfall = max(SHORTFALL, _DEVIATIONS / sqrt(messages))
    return LoadPoint(
        offered_bytes_per_second=offered,
        accepted_bytes_per_second=accepted,
        fairness=measured.fairness,
        latency_ns=measured.latency_ns,
        saturated=accepted < (1 - shortfall) * offered,
        lost=sum(fault.count for fault in result.errors),
    )


def _lost(study: _Study, rate: int, reason: str) -> LoadPoint:
    raise RuntimeError(f"{study.name} at {rate} B/s: {reason}")
