"""What the results of all kinds of workloads have in common: failures, metrics and columns."""

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
"""The lists of workloads of scenarios and results, each with the word for an entry."""

Unit = Literal[
    "name", "word", "count", "amount", "bytes", "rate", "time", "times", "number", "share"
]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table of results: its title, its values, and their unit.

    Values in "times" are a number of things and the mean time of each, those in "share" 0 to 1.

    An `optional` column is left out where no row has a value. A narrow terminal leaves out the
    columns that `folds` numbers, from 1 on; 0 for one that stays.
    """

    title: str
    value: Callable[[Any], object]
    unit: Unit = "number"
    folds: int = 0
    optional: bool = False


def names(*fields: str) -> tuple[Column, ...]:
    """Columns of names, which have the titles of their fields."""
    return tuple(Column(field, attrgetter(field), "name") for field in fields)


def counts(*fields: str, folds: tuple[int, ...]) -> tuple[Column, ...]:
    """Columns of whole numbers, which have the titles of their fields."""
    return tuple(
        Column(field, attrgetter(field), "count", fold)
        for field, fold in zip(fields, folds, strict=True)
    )


def latencies(
    field: str, title: str, *quantiles: str, folds: tuple[int, ...]
) -> tuple[Column, ...]:
    """Columns of quantiles of a latency; the first has the title before its name."""
    titles = [f"{title} {quantiles[0]}", *quantiles[1:]]
    found = zip(titles, quantiles, folds, strict=True)
    return tuple(Column(name, quantile(field, one), "time", fold) for name, one, fold in found)


def quantile(field: str, name: str) -> Callable[[Any], object]:
    """Reads a quantile, or the mean, of a latency."""
    return lambda row: getattr(getattr(row, field), name, None)


@dataclass(frozen=True, slots=True)
class SteadyState(Document):
    """The rate of a workload in the steady state, after its warm-up, of all its parts together.

    `per_second` is in bytes, locks or transactions, `half_width_per_second` half of its 95 %
    confidence interval.
    """

    per_second: float
    half_width_per_second: float
    from_ns: float
    until_ns: float

    @property
    def uncertainty(self) -> float:
        """Half of the confidence interval, as a part of the rate."""
        return self.half_width_per_second / self.per_second


PRECISION = 0.05
"""Half of a confidence interval, as a part of the rate, above which a sentence says so."""

STEADY = Column("±", attrgetter("uncertainty"), "share", optional=True)
"""The column of half of the confidence interval of the rate before it."""


@dataclass(frozen=True, slots=True)
class WorkloadResult(Document, ABC):
    """The result of one workload."""

    id: str
    METRIC: ClassVar[str]
    """The value that a sweep shows if it names none, by its path in the JSON."""
    DONE: ClassVar[str]
    """The field with the work that is done: a number, or bytes."""
    COLUMNS: ClassVar[tuple[Column, ...]] = ()
    """The columns of its table, but for its id and its state."""
    STATE: ClassVar[str] = "data"
    """The title of the column of states."""

    @property
    def latency(self) -> Latency | None:
        """The latencies of its requests, if there are any."""
        found: Latency | None = getattr(self, "latency_ns", None)
        return found

    @property
    def uncertainty(self) -> float | None:
        """Half of the confidence interval of the rate in the steady state, as a part of it."""
        steady: SteadyState | None = getattr(self, "steady", None)
        return steady.uncertainty if steady else None

    def doubt(self, length: str) -> str | None:
        """Why the rate in the steady state is not known well after `length`."""
        share = self.uncertainty
        if share is None:
            return f"not steady within {length}: its rate is that of the whole time"
        return f"±{100 * share:.0f} % after {length}" if share > PRECISION else None

    @property
    def measured(self) -> str:
        """The value that a sweep shows, in words."""
        value: Any = self
        for name in self.METRIC.split("."):
            value = getattr(value, name, None)
        return markup.said(self.METRIC, value) or "-"

    @property
    @abstractmethod
    def is_right(self) -> bool:
        """Whether all its work is done, and right."""

    @abstractmethod
    def state(self, *, lost: bool) -> str:
        """Its state in a word; `lost` says whether the fabric has lost packets."""

    @abstractmethod
    def failure(self) -> str | None:
        """Why the workload failed; `None` if it succeeded."""


NOT_INTACT = "not every byte arrived exactly once, as it was sent"


class MovedData(WorkloadResult):
    """The result of a workload that moves bytes, and whether they arrived as they were."""

    __slots__ = ()

    if TYPE_CHECKING:  # fields of the kinds, in their order
        completed: bool
        intact: bool

    @property
    def is_right(self) -> bool:
        """Whether every byte arrived exactly once, as it was sent."""
        return self.intact

    def state(self, *, lost: bool) -> str:
        """The state of the bytes; if packets were lost, some did not arrive."""
        return (
            "intact" if self.intact else "differs" if self.completed and not lost else "incomplete"
        )

    def failure(self) -> str | None:
        """Why the workload failed; `None` if it succeeded."""
        if self.completed and self.intact:
            return None
        return NOT_INTACT if self.completed else "did not complete"
