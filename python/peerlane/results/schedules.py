"""The results of schedules: collective operations of GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

from peerlane.results.document import Document
from peerlane.results.workload import Column, JointOperation, WorkloadResult, names


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
class ScheduleResult(JointOperation):
    """A collective operation of GPUs.

    `size` is the size of the vector of each device, in bytes. `time_ns` is the time from the start
    until the last step has ended. `algorithm_bytes_per_second` is the size divided by this time;
    `bus_bytes_per_second` is this rate times the share of the data that each device must exchange,
    as nccl-tests define both. `moved_bytes` counts the bytes that went from device to device, with
    flags. `correct` means that every device ends with the right bytes. `critical_path` has the
    steps that the end waited for, from the first to the last.
    """

    id: str
    operation: str
    algorithm: str
    devices: tuple[str, ...]
    size: int
    time_ns: float | None
    algorithm_bytes_per_second: float | None
    bus_bytes_per_second: float | None
    moved_bytes: int
    steps: int
    completed: bool
    correct: bool
    critical_path: tuple[PathStep, ...]

    METRIC = "bus_bytes_per_second"
    DONE = "moved_bytes"
    COLUMNS = (
        Column("operation", attrgetter("operation"), "word", 4),
        Column("algorithm", attrgetter("algorithm"), "word", 1),
        Column("devices", lambda one: len(one.devices), "count", 2),
        Column("size", attrgetter("size"), "bytes", 5),
        Column("time", attrgetter("time_ns"), "time"),
        Column("algorithm GB/s", attrgetter("algorithm_bytes_per_second"), "rate"),
        Column("bus", attrgetter("bus_bytes_per_second"), "rate"),
        Column("moved", attrgetter("moved_bytes"), "bytes", 3),
    )


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
