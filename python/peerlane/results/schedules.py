"""The results of schedules: collective operations of GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING

from peerlane.results.document import Document
from peerlane.results.workload import Column, JointOperation, WorkloadResult, joint, names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class PathStep(Document):
    """A part of the critical path of a schedule.

    `work` is "compute", "reduce", "copy" (in the memory of the device), "push", "pull" or "flag";
    `peer` is the other device of a transfer or a flag. `count` steps of this kind follow each
    other; `time_ns` is the part of the schedule's time that passes in them.
    """

    device: str
    work: str
    peer: str | None
    count: int
    time_ns: float


@dataclass(frozen=True, slots=True)
class PathPart:
    """A part of a critical path with both ends.

    `source` is the device whose data or flag goes to `target`. Both are the same device if the
    steps work in its own memory, or compute.
    """

    work: str
    source: str
    target: str
    count: int
    time_ns: float

    @property
    def words(self) -> str:
        """The ends, in words."""
        return self.source if self.source == self.target else f"{self.source} to {self.target}"


@dataclass(frozen=True, slots=True)
class PathWork:
    """All steps of one kind on a critical path.

    `share` is the part of the schedule's time that passes in these steps. `longest` are the ends
    between which most of this time passes, with their share of the schedule's time.
    """

    schedule: str
    work: str
    count: int
    time_ns: float
    share: float
    longest: str
    longest_share: float

    COLUMNS = (
        *names("schedule"),
        Column("critical path", attrgetter("work"), "word"),
        Column("steps", attrgetter("count"), "count", 1),
        Column("time", attrgetter("time_ns"), "time"),
        Column("%", attrgetter("share"), "share"),
        Column("most of it", attrgetter("longest"), "word", 3),
        Column("% there", attrgetter("longest_share"), "share", 2),
    )


@dataclass(frozen=True, slots=True)
class ScheduleResult(JointOperation):
    """A collective operation of GPUs.

    `algorithm_bytes_per_second` is the size divided by the time; `bus_bytes_per_second` is this
    rate times the share of the data that each device must exchange, as nccl-tests define both.
    `critical_path` has the steps that the end waited for, from the first to the last.
    """

    devices: tuple[str, ...]
    algorithm_bytes_per_second: float | None
    bus_bytes_per_second: float | None
    steps: int
    critical_path: tuple[PathStep, ...]

    METRIC = "bus_bytes_per_second"
    COLUMNS = joint(
        Column("devices", lambda one: len(one.devices), "count", 2),
        Column("algorithm GB/s", attrgetter("algorithm_bytes_per_second"), "rate"),
        Column("bus", attrgetter("bus_bytes_per_second"), "rate"),
    )

    def parts(self) -> Iterator[PathPart]:
        """The parts of the critical path in their order, each with both ends."""
        following = (*(one.device for one in self.critical_path[1:]), None)
        for one, then in zip(self.critical_path, following, strict=False):
            ends = one.device, one.peer or one.device
            # A flag has two parts: the store of the source, and the wait of the target.
            if one.work == "pull" or (one.work == "flag" and then != one.peer):
                ends = ends[::-1]
            yield PathPart(one.work, *ends, one.count, one.time_ns)

    def works(self) -> list[PathWork]:
        """The critical path by kinds of work, the longest first; the times add up to `time_ns`."""
        found: dict[str, list[PathPart]] = {}
        for part in self.parts():
            found.setdefault(part.work, []).append(part)
        return sorted((self._work(parts) for parts in found.values()), key=lambda one: -one.time_ns)

    def _work(self, parts: Sequence[PathPart]) -> PathWork:
        times: dict[str, float] = {}
        for part in parts:
            times[part.words] = times.get(part.words, 0.0) + part.time_ns
        longest = max(times, key=times.__getitem__)
        time, whole = sum(times.values()), self.time_ns or inf
        count = sum(part.count for part in parts)
        shares = time / whole, longest, times[longest] / whole
        return PathWork(self.id, parts[0].work, count, time, *shares)


@dataclass(frozen=True, slots=True)
class StepResult(WorkloadResult):
    """A step of a schedule that the scenario writes.

    `work` and `peer` are as in the critical path. `begin_ns` and `end_ns` count from the start of
    the schedule; `bytes` counts the bytes that arrived.
    """

    id: str
    schedule: str
    device: str
    work: str
    peer: str | None
    begin_ns: float | None
    end_ns: float | None
    bytes: int
    completed: bool

    METRIC = "end_ns"
    DONE = "bytes"
    COLUMNS = (
        *names("schedule", "device"),
        Column("work", attrgetter("work"), "word", 2),
        Column("peer", lambda one: one.peer or "", "name", 3),
        Column("begin", attrgetter("begin_ns"), "time"),
        Column("end", attrgetter("end_ns"), "time"),
        Column("bytes", attrgetter("bytes"), "bytes", 4),
    )
    STATE = "state"

    @property
    def is_right(self) -> bool:
        """Whether the step has ended."""
        return self.completed

    def state(self, *, lost: bool) -> str:  # noqa: ARG002 - lost packets are sent again
        """Whether the step has ended, in a word."""
        return "ended" if self.completed else "not ended"

    def failure(self) -> str | None:
        """The reason why the step failed; `None` if it has ended."""
        return None if self.completed else "did not end"
