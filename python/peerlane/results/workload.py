"""Defines the common parts of the results of all kinds of workloads, and the columns of tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from peerlane import _core
from peerlane.results import markup
from peerlane.results.document import Document

if TYPE_CHECKING:
    from collections.abc import Callable

    from peerlane.results.latency import Latency

LISTS: dict[str, str] = dict(_core.workload_lists())
"""The lists of workloads in scenarios and results, by name, with the word for one entry."""

Unit = Literal[
    "name", "word", "count", "amount", "bytes", "rate", "time", "times", "number", "share"
]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table of results: its title, its values, and their unit.

    With the unit "times", a value is a count and the mean time of one event; with "share", a value
    is a number from 0 to 1.

    An `optional` column is left out if no row has a value. In a narrow terminal, columns are left
    out in the order of `folds`, from 1 on; a column with 0 is never left out.
    """

    title: str
    value: Callable[[Any], object]
    unit: Unit = "number"
    folds: int = 0
    optional: bool = False


def names(*fields: str) -> tuple[Column, ...]:
    """Columns of names, whose titles are the names of the fields."""
    return tuple(Column(field, attrgetter(field), "name") for field in fields)


def counts(*fields: str, folds: tuple[int, ...]) -> tuple[Column, ...]:
    """Columns of whole numbers, whose titles are the names of the fields."""
    return tuple(
        Column(field, attrgetter(field), "count", fold)
        for field, fold in zip(fields, folds, strict=True)
    )


def latencies(
    field: str, title: str, *quantiles: str, folds: tuple[int, ...]
) -> tuple[Column, ...]:
    """Columns of quantiles of a latency; the title of the first column begins with `title`."""
    titles = [f"{title} {quantiles[0]}", *quantiles[1:]]
    found = zip(titles, quantiles, folds, strict=True)
    return tuple(Column(name, quantile(field, one), "time", fold) for name, one, fold in found)


def quantile(field: str, name: str) -> Callable[[Any], object]:
    """A function that reads a quantile, or the mean, of a latency."""
    return lambda row: getattr(getattr(row, field), name, None)


@dataclass(frozen=True, slots=True)
class SteadyState(Document):
    """The total rate of a workload in the steady state, after its warm-up.

    `per_second` counts bytes, locks or transactions; `half_width_per_second` is half of the 95 %
    confidence interval of this rate.
    """

    per_second: float
    half_width_per_second: float
    from_ns: float
    until_ns: float

    @property
    def uncertainty(self) -> float:
        """Half of the confidence interval of the rate, as a part of the rate."""
        return self.half_width_per_second / self.per_second


PRECISION = 0.05
"""A sentence reports half of a confidence interval if it is more than this part of the rate."""

STEADY = Column("±", attrgetter("uncertainty"), "share", optional=True)
"""A column that shows half of the confidence interval of the rate in the previous column."""


@dataclass(frozen=True, slots=True)
class WorkloadResult(Document, ABC):
    """The result of one workload."""

    id: str
    METRIC: ClassVar[str]
    """The metric that a sweep shows by default, by its path in the JSON."""
    DONE: ClassVar[str]
    """The field with the completed work: a count, or bytes."""
    COLUMNS: ClassVar[tuple[Column, ...]] = ()
    """The columns of the workload's table, without its id and its state."""
    STATE: ClassVar[str] = "data"
    """The title of the column of states."""

    @property
    def latency(self) -> Latency | None:
        """The latencies of the workload's requests, if it has any."""
        found: Latency | None = getattr(self, "latency_ns", None)
        return found

    @property
    def uncertainty(self) -> float | None:
        """Half of the confidence interval of the steady rate, as a part of the rate."""
        steady: SteadyState | None = getattr(self, "steady", None)
        return steady.uncertainty if steady else None

    def doubt(self, length: str) -> str | None:
        """The reason why the steady rate is still uncertain after the time `length`, or `None`."""
        share = self.uncertainty
        if share is None:
            return f"not steady within {length}: its rate is that of the whole time"
        return f"±{100 * share:.0f} % after {length}" if share > PRECISION else None

    @property
    def measured(self) -> str:
        """The measured value of the default metric, in words."""
        value: Any = self
        for name in self.METRIC.split("."):
            value = getattr(value, name, None)
        return markup.said(self.METRIC, value) or "-"

    @property
    @abstractmethod
    def is_right(self) -> bool:
        """Whether all work of the workload is completed, and its outcome is correct."""

    @abstractmethod
    def state(self, *, lost: bool) -> str:
        """The state of the workload in a word; `lost` is whether the fabric has lost packets."""

    @abstractmethod
    def failure(self) -> str | None:
        """The reason why the workload failed; `None` if it succeeded."""


NOT_INTACT = "not every byte arrived exactly once, as it was sent"


class MovedData(WorkloadResult):
    """The result of a workload that moves bytes, and whether all bytes arrived unchanged."""

    __slots__ = ()

    if TYPE_CHECKING:  # fields of the kinds, in their order
        completed: bool
        intact: bool

    @property
    def is_right(self) -> bool:
        """Whether every byte arrived exactly once and unchanged."""
        return self.intact

    def state(self, *, lost: bool) -> str:
        """The state of the bytes in a word; `lost` says that packets were lost."""
        return (
            "intact" if self.intact else "differs" if self.completed and not lost else "incomplete"
        )

    def failure(self) -> str | None:
        """The reason why the workload failed; `None` if it succeeded."""
        if self.completed and self.intact:
            return None
        return NOT_INTACT if self.completed else "did not complete"


def joint(participants: Column, *rates: Column) -> tuple[Column, ...]:
    """The columns of a joint operation, with the number of its participants and its rates."""
    return (
        Column("operation", attrgetter("operation"), "word", 4),
        Column(
            "algorithm", lambda one: "" if one.operation == "halo" else one.algorithm, "word", 1
        ),
        participants,
        Column("size", attrgetter("size"), "bytes", 5),
        Column("time", attrgetter("time_ns"), "time"),
        *rates,
        Column("moved", attrgetter("moved_bytes"), "bytes", 3),
    )


@dataclass(frozen=True, slots=True)
class JointOperation(WorkloadResult):
    """The result of an operation of several nodes together, after which each has certain bytes.

    `size` is the size of the vector of each node, in bytes; in a halo exchange, of each message to
    a neighbour. `time_ns` is the time from the start until the last node is done. `moved_bytes`
    counts the bytes that went from node to node, with flags. `correct` means that every node ends
    with the right bytes.
    """

    operation: str
    algorithm: str
    size: int
    time_ns: float | None
    moved_bytes: int
    completed: bool
    correct: bool

    DONE = "moved_bytes"

    @property
    def is_right(self) -> bool:
        """Whether every node has the correct bytes at the end."""
        return self.correct

    def state(self, *, lost: bool) -> str:  # noqa: ARG002 - lost packets are sent again
        """Whether the bytes of all nodes are correct, in a word."""
        return "correct" if self.correct else "differs" if self.completed else "incomplete"

    def failure(self) -> str | None:
        """The reason why the operation failed; `None` if it succeeded."""
        if self.correct:
            return None
        return "is not correct" if self.completed else "did not complete"
