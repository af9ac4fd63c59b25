"""Defines the result of a run, with all workloads and links; its fields are keys of the JSON."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain
from math import ceil, log10
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Literal

from peerlane.dotted import join_path
from peerlane.formats import duration, shortened
from peerlane.results import markup
from peerlane.results.bottleneck import FULL
from peerlane.results.brief import brief
from peerlane.results.collection import By, Collection
from peerlane.results.document import Document, decode, encode
from peerlane.results.expectations import Expectation
from peerlane.results.explanation import Explanation, FlowExplanation, bottlenecks
from peerlane.results.flows import FlowResult, LinkResult
from peerlane.results.networks import CollectiveResult, FibreResult, TrafficResult
from peerlane.results.schedules import ScheduleResult, StepResult
from peerlane.results.series import Series
from peerlane.results.sharing import (
    AccessResult,
    LockResult,
    LostLine,
    TransactionResult,
    UnsnoopedLine,
)
from peerlane.results.waits import FlowWaits, Used
from peerlane.results.workload import LISTS, Column, WorkloadResult, counts

if TYPE_CHECKING:
    from collections.abc import Container, Iterable
    from os import PathLike
    from pathlib import Path

    from pandas import DataFrame

    from peerlane.figures.figure import Figure
    from peerlane.results.bottleneck import Bottleneck

_HEAD = ("schema", "version", "scenario_digest", "command")
"""The fields that are first in the JSON, if they are known."""

_LEFT_OUT = frozenset(
    f"{time}_ns"
    for time in ("first_byte", "last_byte", "sent_first", "sent_last", "called", "returned")
) | {"clock", "compared", "framing_bytes", "replayed_bytes", "ordered_set_bytes"}
"""The fields that a notebook leaves out of the tables of a run."""
_MOST_WORKLOADS = 8
"""The largest number of workloads that the `repr` of a result shows."""
_LITTLE = 0.02
"""A flow that ran for less than this part of the time of the longest flow is negligible."""

_BUSIEST = 12
"""The largest number of directions of links that a notebook shows."""


@dataclass(frozen=True, slots=True)
class Fault(Document):
    """The reason why a node refused packets, such as an unsupported request, and their number."""

    where: str
    what: str
    count: int


@dataclass(frozen=True, slots=True)
class IommuResult(Document):
    """The I/O MMU of a host, which translates all addresses from devices, over the whole run.

    `requests` is the number of requests that had to be translated; `hits` and `misses` count the
    lookups of these requests in the IOTLB. `walks` counts page walks, which several misses may
    share, and `walk_reads` the reads of memory by page walks. `invalidations` counts the
    invalidations by software, and `faults` the requests for which there was no translation. The
    wait of a request is the time that it spends between root port and memory system, waiting for
    its translation and for earlier packets.
    """

    host: str
    requests: int
    hits: int
    misses: int
    walks: int
    walk_reads: int
    invalidations: int
    faults: int
    mean_wait_ns: float
    longest_wait_ns: float

    COLUMNS = (
        Column("I/O MMU of", attrgetter("host"), "name"),
        *counts("requests", folds=(0,)),
        Column("hits %", lambda one: one.hits / one.requests if one.requests else None, "share"),
        *counts("walks", folds=(4,)),
        Column("reads", attrgetter("walk_reads"), "count", 1),
        *counts("invalidations", "faults", folds=(2, 0)),
        Column("wait mean", attrgetter("mean_wait_ns"), "time"),
        Column("longest", attrgetter("longest_wait_ns"), "time", 3),
    )


@dataclass(frozen=True, slots=True)
class InterruptResult(Document):
    """The interrupts of one MSI-X vector of a function, over the whole run.

    `sent` counts the messages. `held` counts the interrupts that were not sent because of a mask;
    for each of them, the pending bit was set or already set. `withdrawn` counts the pending bits
    that the function cleared without a message, because software had handled the cause. `dropped`
    counts the interrupts that occurred while MSI-X was not enabled.
    """

    device: str
    function: int
    vector: int
    sent: int
    held: int
    withdrawn: int
    dropped: int

    COLUMNS = (
        Column("interrupts of", attrgetter("device"), "name"),
        *counts("function", "vector", "sent", "held", folds=(3, 0, 0, 0)),
        *counts("withdrawn", "dropped", folds=(2, 1)),
    )


@dataclass(frozen=True, slots=True)
class IncidentResult(Document):
    """An error that a function or a link detected, or another rare event.

    Equal errors of one function are one entry: `count` is their number, `at_ns` the time of the
    first of them, and `last_ns` the time of the last. `where` is the node of the function or port;
    "h to d" is the port of h to which d is connected. `what` is the name of the error in the
    specification. `severity` is "correctable", "non-fatal" or "fatal", and `None` for an event that
    is no error. `function` is the function that recorded the error, such as "01:00.0"; it is `None`
    if no function recorded it. `reported_to` is the root port that received an error message; it is
    `None` if there was no message.
    """

    at_ns: float
    last_ns: float
    count: int
    where: str
    what: str
    severity: Literal["correctable", "non-fatal", "fatal"] | None
    function: str | None
    reported_to: str | None


@dataclass(frozen=True, slots=True)
class Overlap(Document):
    """The flow that ended first, and the flow with the least progress at the time of this end."""

    first: str
    ended_ns: float
    other: str
    moved: float

    @property
    def told(self) -> str:
        """A sentence that states when the first flow ended, and how much `other` had moved."""
        moved = f"{self.other} had moved {100 * self.moved:.0f} %"
        return f"{self.first} ended at {duration(self.ended_ns)}, when {moved}"


@dataclass(frozen=True, slots=True)
class RunResult(Document):
    """All measurements of one run.

    `links["h0-s0", "up"]` is a direction of a link. A direction of a fibre is found by the fibre's
    name and the router that sends.

    `partial` means that the run was stopped before its workloads had ended; the numbers are for the
    time until the stop.

    `measured_ns` has the two bounds of the interval in which links and fibres were measured,
    counted from the beginning of the run. These are the bounds in the scenario's `[measure]`;
    without `[measure]`, they are the start of the first workload and the end of the last workload.
    `measured_ns` is `None` if the run ended before the interval began, so that links and fibres
    were not measured.

    `schema` names the form of the JSON; docs/reference/result.schema.json describes it. The command
    line adds the `version` of Peerlane, the `scenario_digest` (SHA-256 of the scenario's text) and
    the `command` that made the result; they are `None` for a run from Python. Two results with the
    same numbers are equal, regardless of their origin.

    `iommus` has the I/O MMUs of the hosts with `iommu = true`. `interrupts` has the MSI-X vectors
    that had an interrupt: `interrupts["d0", 0, 1]` is vector 1 of function 0 of d0. `incidents` has
    the errors that functions and links detected, and other rare events, in the order of time;
    `incidents_left_out` is the number of incidents for which the log had no space.
    `unsnooped_lines` has the lines of coherent hosts that were accessed with No Snoop while a cache
    held them. `series` has rates and queue lengths over time, if they were sampled. The JSON leaves
    out fields that are empty.

    `stopped_circuits` has the simulated circuits (RTL modules) that stopped the run, each with its
    device, the time and the reason, such as a failed assertion.

    `incoherence` names the first invariant of coherence that did not hold, if coherence was
    watched. `standing_packets` counts the packets that were blocked at the end by a deadlock. If
    the run ended because nothing made progress, it has failed, and `standstill` has the programs
    and flows that had not ended, each with the event for which it waits and the beginning of the
    wait. `expectations` has the expectations of the scenario, each with the measured value and
    whether the expectation is met. `overlap` has the flow that ended first, and the flow that had
    transferred the smallest fraction of its bytes at this time, if it is less than 90 %.
    `steady` means that the workloads continued until the rate of each was known, or until the
    `limit` in `[measure]`. `waits` has the waits of each flow, if they were watched; otherwise the
    JSON leaves the field out.
    """

    name: str
    seed: int
    partial: bool
    simulated_ns: float
    measured_ns: tuple[float, float] | None
    flows: Collection[FlowResult]
    traffic: Collection[TrafficResult]
    collectives: Collection[CollectiveResult]
    schedules: Collection[ScheduleResult]
    steps: Collection[StepResult]
    accesses: Collection[AccessResult]
    locks: Collection[LockResult]
    transactions: Collection[TransactionResult]
    links: Annotated[Collection[LinkResult], By("id", "direction")]
    fibres: Annotated[Collection[FibreResult], By("id", "source")]
    lost_lines: tuple[LostLine, ...]
    errors: Annotated[Collection[Fault], By("where", "what")]
    incoherence: str | None
    standing_packets: int
    iommus: Annotated[Collection[IommuResult], By("host")] = field(
        default_factory=lambda: Collection(key="host")
    )
    interrupts: Annotated[Collection[InterruptResult], By("device", "function", "vector")] = field(
        default_factory=lambda: Collection(key=("device", "function", "vector"))
    )
    unsnooped_lines: tuple[UnsnoopedLine, ...] = ()
    stopped_circuits: tuple[str, ...] = ()
    standstill: tuple[str, ...] = ()
    incidents: Annotated[Collection[IncidentResult], By("where", "what")] = field(
        default_factory=lambda: Collection(key=("where", "what"))
    )
    incidents_left_out: int = 0
    expectations: Collection[Expectation] = field(default_factory=Collection)
    waits: Collection[FlowWaits] | None = None
    series: Series | None = None
    overlap: Overlap | None = None
    steady: bool = False
    schema: Literal["peerlane-result/1"] = "peerlane-result/1"
    version: str | None = field(default=None, compare=False)
    scenario_digest: str | None = field(default=None, compare=False)
    command: tuple[str, ...] | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        rows = [f"{one.id}: {one.measured}" for rows in self.workloads.values() for one in rows]
        return "\n  ".join([brief(self), *shortened(rows, _MOST_WORKLOADS)])

    @property
    def workloads(self) -> dict[str, Collection[WorkloadResult]]:
        """The results of all workloads, by the names of their lists, such as "flows"."""
        return {name: getattr(self, name) for name in LISTS}

    @classmethod
    def from_json(cls, text: str) -> RunResult:
        """Reads the JSON that the simulator writes."""
        return decode(cls, text)

    def to_json(self) -> dict[str, Any]:
        """The result as the command line writes it."""
        document = encode(self)
        if not self.iommus:
            del document["iommus"]
        own = (
            "interrupts",
            "unsnooped_lines",
            "stopped_circuits",
            "standstill",
            "incidents",
            "incidents_left_out",
            "expectations",
            "overlap",
            "steady",
        )
        half = "half_width_bytes_per_second"
        optional: list[tuple[dict[str, Any], tuple[str, ...]]] = [(document, own)]
        optional += [(link, ("channels",)) for link in document["links"]]
        optional += [
            (flow, ("missing", "overtaken", "restarts", "silent_from_ns", "sockets", half))
            for flow in document["flows"]
        ]
        parts = (part for flow in document["flows"] for part in flow["directions"])
        optional += [(part, (half,)) for part in parts]
        for holder, names in optional:
            for name in names:
                if not holder[name]:
                    del holder[name]
        if self.waits is None:
            del document["waits"]
        if self.series is None:
            del document["series"]
        elif not self.series.sockets:
            del document["series"]["sockets"]
        head = {key: value for key in _HEAD if (value := document.pop(key)) is not None}
        return head | document

    def usual_metrics(self) -> list[str]:
        """The default metrics of a sweep: the rates of all workloads, or their times."""
        found = [
            join_path((name, one.id, *one.METRIC.split(".")))
            for name, rows in self.workloads.items()
            for one in rows
        ]
        return found or ["simulated_ns"]

    def to_pandas(self) -> DataFrame:
        """The flows as a pandas frame; other collections have their own `to_pandas`.

        Raises:
            MissingPackageError: pandas is not installed (`pip install 'peerlane[pandas]'`).
        """
        return self.flows.to_pandas()

    def to_frames(self) -> dict[str, DataFrame]:
        """All tables of the result that have rows, by the names of the files of `to_parquet`.

        Raises:
            MissingPackageError: pyarrow is not installed (`pip install 'peerlane[parquet]'`).
        """
        from peerlane.results.parquet import tables  # noqa: PLC0415 - for tables alone

        return {name: table.to_pandas() for name, table in tables(self) if table.num_rows}

    def to_parquet(self, folder: str | PathLike[str]) -> list[Path]:
        """Writes a Parquet file into a folder for each list that has entries; returns the files.

        The columns have the names of the JSON. docs/reference/results.md names the tables.

        Raises:
            MissingPackageError: pyarrow is not installed (`pip install 'peerlane[parquet]'`).
            OSError: A file cannot be written.
        """
        from peerlane.results.parquet import write_parquet  # noqa: PLC0415 - for Parquet alone

        return write_parquet(self, folder)

    def _repr_html_(self) -> str:
        """The run as a notebook shows it: failures, workloads, and the busiest links."""
        length = markup.said("simulated_ns", self.simulated_ns)
        partial = ", partial" * self.partial
        parts = [markup.title(f"{self.name}: {length} simulated, seed {self.seed}{partial}")]
        parts += [markup.line(failure, "wrong") for failure in self.failures]
        parts += [markup.line(warning, "wrong") for warning in self.warnings]
        parts += [markup.line(remark) for remark in self.remarks]
        for name, rows in self.workloads.items():
            if rows:
                parts += [markup.title(name), markup.table_of(rows, _LEFT_OUT)]
        for name, wires in (("links", self.links), ("fibres", self.fibres)):
            if wires:
                busiest = sorted(wires, key=lambda wire: -wire.utilisation)[:_BUSIEST]
                left = len(wires) - len(busiest)
                which = f", the busiest {_BUSIEST} of {len(wires)} directions" * (left > 0)
                parts += [markup.title(f"{name}{which}"), markup.table_of(busiest, _LEFT_OUT)]
        return markup.page(*parts)

    def explain(
        self,
        slow: Iterable[str] = (),
        schedules: Iterable[FlowExplanation] = (),
        recorded: Container[str] = (),
    ) -> Explanation:
        """Explains the rate of each flow: its limit, and the causes of its waits.

        Args:
            slow: The links of devices that are slower than necessary, such as a narrow slot.
            schedules: The explanations of schedules, for which the tree of the fabric is necessary.
            recorded: The flows with recorded requests.

        Raises:
            ValueError: The waits were not watched by `Simulation.watch_waits`.
        """
        if self.waits is None:
            raise ValueError(
                "nobody watched what the flows of this run waited for; call"
                " Simulation.watch_waits() before it, or Fabric.run(watch_waits=True)"
            )
        used = Used.of(self.links, list(self.flows))
        flows = []
        for waits in self.waits:
            flow, judged = self.flows[waits.id], waits.judged(used)
            judged = judged.of_recording() if flow.id in recorded else judged
            limit = None if flow.silence or flow.burst else judged.limit
            flows.append(
                FlowExplanation(flow.id, flow.bytes_per_second, limit, judged.shares, flow.silence)
            )
        flows += schedules
        places = (
            replace(
                one,
                adds_up=self._adds_up(one),
                is_full=any((where, one.direction) not in used.never for where in one.where),
            )
            for one in sorted(bottlenecks(flows, self.ends, slow), key=self.is_little)
        )
        found = Collection(places, key="where")
        return Explanation(self.name, self.seed, found, Collection(flows), tuple(self.faults))

    @property
    def ends(self) -> dict[str, tuple[str, ...]]:
        """The two ends of each flow, and no ends for each schedule, by their ids."""
        found: dict[str, tuple[str, ...]] = {one.id: () for one in self.schedules}
        return found | {one.id: (one.source, one.target) for one in self.flows}

    def is_little(self, one: Bottleneck) -> bool:
        """Whether the flows of a place ran for a negligible part of the longest flow's time."""
        times = {schedule.id: schedule.time_ns or 0.0 for schedule in self.schedules}
        for flow in self.flows:
            begin, end = flow.under_way_ns or (0.0, 0.0)
            times[flow.id] = end - begin
        own = max(times[flow] for flow in one.flows)
        return own < _LITTLE * max(times.values())

    def _adds_up(self, one: Bottleneck) -> bool:
        """Whether the flows of a place ran at the same time and moved all data of the place."""
        if one.section == "schedules":
            return False
        if one.kind == "datapath":  # each device, and each pair of root ports, has one
            return False
        flows = [self.flows[flow] for flow in one.flows]
        times = [flow.under_way_ns for flow in flows if flow.under_way_ns is not None]
        begun, ended = (max(times) for times in zip(*times, strict=True)) if times else (0.0, 0.0)
        both = min((end for _, end in times), default=0.0) - begun
        if both < FULL * (ended - min((begin for begin, _ in times), default=0.0)):
            return False
        carried = (
            link.payload_bytes
            for link in self.links
            if (link.id, link.direction) == (one.where[0], one.direction)
        )
        data = sum(flow.bytes for flow in flows)
        there = next(carried, 0)
        return one.kind not in {"wire", "socket"} or FULL * there <= data <= there / FULL

    def plot(self, y: str = "links.utilisation", x: str | None = None) -> Figure:
        """A chart of one field of all entries of a list: bars, or points over another field.

        Args:
            y: The list and the field in the JSON, such as "flows.latency_ns.p99".
            x: Another field of the same list.

        Raises:
            PlotError: The list or field does not exist.
        """
        from peerlane.figures.result import plot_result  # noqa: PLC0415 - for figures alone

        return plot_result(self.to_json(), x, [y], self.name)

    @property
    def remarks(self) -> list[str]:
        """Sentences that explain rates of this run that could be misunderstood."""
        told = [self.overlap.told] if self.overlap else []
        for flow in self.flows:
            told += filter(None, (flow.silence, flow.burst))
        if not self.steady:
            return told
        length = duration(self.simulated_ns)
        limit = duration(10 ** ceil(log10(2 * self.simulated_ns)))
        longer = f'write a longer limit, such as limit = "{limit}", in [measure]'
        # Collectives are left out, because a collective runs only once, also in a steady run.
        measured = (self.flows, self.traffic, self.accesses, self.locks, self.transactions)
        for one in chain.from_iterable(measured):
            if doubt := one.doubt(length):
                told.append(f"{one.id}: {doubt}; {longer}")
        return told

    @property
    def warnings(self) -> list[str]:
        """Sentences about errors that make results of this run doubtful, and about corrections."""
        timed_out = {e.where for e in self.errors if e.what == "completion timeout"}
        return [
            f"{e.where}: {e.count} completions matched no outstanding request and were dropped,"
            " perhaps because they came after the completion timeout; write a longer"
            " completion_timeout there"
            for e in self.errors
            if e.what == "unexpected completion" and e.where in timed_out
        ]

    @property
    def failures(self) -> list[str]:
        """The reasons why this run failed; empty if it succeeded and all expectations are met."""
        unmet = [f"{one.id}: {why}" for one in self.expectations if (why := one.failure())]
        return self.faults + unmet

    @property
    def faults(self) -> list[str]:
        """The reasons why this run failed, without expectations that are not met."""
        faults = [
            f"{e.where}: {e.what}" + f" ({e.count} times)" * (e.count > 1) for e in self.errors
        ]
        faults += self.stopped_circuits
        faults += self.standstill
        missed = [
            f"{LISTS[name]} {one.id}: {why}"
            for name, rows in self.workloads.items()
            for one in rows
            if (why := one.failure())
        ]
        missed += [
            f"the line that {line.by} had written at {line.address:#x} of {line.host} is lost"
            for line in self.lost_lines
        ]
        if self.incoherence:
            missed.append(f"not coherent: {self.incoherence}")
        if self.standing_packets:
            missed.append(f"{self.standing_packets} packets are blocked for ever: a deadlock")
        return faults + missed
