"""Defines the results of shared memory: accesses to buffers, locks, transactions, lost lines."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

from peerlane.results.document import Document
from peerlane.results.latency import Latency
from peerlane.results.workload import (
    STEADY,
    Column,
    MovedData,
    SteadyState,
    WorkloadResult,
    counts,
    latencies,
    names,
    quantile,
)


@dataclass(frozen=True, slots=True)
class CacheResult(Document):
    """Counters of the cache of an accelerator, over the whole run.

    `hits` counts the lines that the cache had, `misses` the lines that it requested from the home
    agent, and `snoops` the requests of the home agent for a line of the cache.
    """

    hits: int
    misses: int
    snoops: int

    def share(self) -> str:
        """The share of accessed lines that were in the cache, as text; empty without accesses."""
        lines = self.hits + self.misses
        return f"{self.hits / lines:.1%}" if lines else ""


@dataclass(frozen=True, slots=True)
class TranslationResult(Document):
    """Translations that an accelerator requested from its host, over the whole run.

    `mean_ns` is the mean time until a request is answered, measured at the accelerator's core.
    """

    count: int
    mean_ns: float


def _times(found: TranslationResult | None) -> tuple[int, float] | None:
    return (found.count, found.mean_ns) if found else None


@dataclass(frozen=True, slots=True)
class AccessResult(MovedData):
    """Accesses to a buffer, one after the other, each measured until its last byte.

    `count` is the number of accesses that have ended, and `failed` the number of accesses that had
    no target or no permission. `histogram_ns` counts latencies in steps of 10 ns; an entry has the
    lower bound of a step, and the count. `bytes_per_second` is the size of an access, divided by
    the sum of mean latency and turnaround, for all cores together. If a program starts the
    accesses, it is the size of all accesses, divided by the time from the program's first call to
    its last return.
    `cache` and `translations` count all accesses of an accelerator, and are `None` for other
    devices and for hosts. `intact` means that no access failed, and that each read of memory that
    nobody wrote at the same time returned the bytes in memory. `steady` is the rate in a run that
    measures steady states.
    """

    id: str
    by: str
    buffer: str
    kind: str
    size: int
    count: int
    failed: int
    latency_ns: Latency | None
    histogram_ns: tuple[tuple[float, int], ...]
    bytes_per_second: float | None
    cache: CacheResult | None
    translations: TranslationResult | None
    completed: bool
    intact: bool
    steady: SteadyState | None = None

    METRIC = "bytes_per_second"
    DONE = "count"
    COLUMNS = (
        *names("by", "buffer"),
        Column("kind", attrgetter("kind"), "word", 7),
        Column("size", attrgetter("size"), "bytes", 5),
        *counts("count", folds=(1,)),
        *latencies("latency_ns", "latency", "mean", "p50", "p99", "max", folds=(0, 8, 4, 2)),
        Column("GB/s", attrgetter("bytes_per_second"), "rate"),
        STEADY,
        Column("hits", lambda one: one.cache and one.cache.share(), "word", 6, optional=True),
        Column("translations", lambda one: _times(one.translations), "times", 3, optional=True),
    )

    def failure(self) -> str | None:
        """The reason why the accesses failed; `None` if they succeeded."""
        if self.failed:
            return f"{self.failed} of {self.count} had no target or no permission"
        return MovedData.failure(self)


@dataclass(frozen=True, slots=True)
class LockResult(WorkloadResult):
    """Requests for locks of a table, one after the other.

    `count` is the number of completed requests; a request is completed by the release of the lock.
    `request_ns` is the latency of the compare-and-swap that entered the requester into the lock's
    queue, including the software before it. `histogram_ns` counts these latencies in steps of 10
    ns; an entry has the lower bound of a step, and the count. `acquired_ns` is the time from the
    beginning of a request until the requester holds the lock. `attempts` counts all
    compare-and-swaps of requests. `waited` is the number of requests that found the lock held by
    another requester and waited for it, and `waiting_ns` is the time that these requests waited.
    `violations` counts errors of the locks of the table, such as a lock with two holders, or a lock
    that was given to a later requester before a waiting one. `steady` is the rate in a run that
    measures steady states.
    """

    id: str
    by: str
    buffer: str
    count: int
    request_ns: Latency | None
    histogram_ns: tuple[tuple[float, int], ...]
    acquired_ns: Latency | None
    attempts: int
    waited: int
    waiting_ns: Latency | None
    violations: int
    completed: bool
    steady: SteadyState | None = None

    METRIC = "request_ns.mean"
    DONE = "count"
    COLUMNS = (
        *names("by", "buffer"),
        *counts("count", folds=(3,)),
        *latencies("request_ns", "request", "mean", "p50", "p99", folds=(0, 2, 4)),
        *counts("attempts", "waited", folds=(1, 5)),
        Column("waiting", quantile("waiting_ns", "mean"), "time"),
        Column(
            "a second", lambda one: one.steady and one.steady.per_second, "amount", optional=True
        ),
        STEADY,
    )
    STATE = "holders"

    @property
    def latency(self) -> Latency | None:
        """The latencies of the compare-and-swaps that entered requesters into queues of locks."""
        return self.request_ns

    @property
    def is_right(self) -> bool:
        """Whether all requests have ended, and no lock had two holders."""
        return self.completed and not self.violations

    def state(self, *, lost: bool) -> str:  # noqa: ARG002 - coherent memory loses nothing
        """Whether each lock had at most one holder at a time, in words."""
        return "several" if self.violations else "one" if self.completed else "incomplete"

    def failure(self) -> str | None:
        """The reason why the requests failed; `None` if they succeeded."""
        if self.violations:
            return f"a lock had two holders or passed a waiter by, {self.violations} times"
        return None if self.completed else "did not complete"


@dataclass(frozen=True, slots=True)
class TransactionResult(WorkloadResult):
    """Transactions that update rows of a database under locks.

    `committed_per_second` is the number of transactions, divided by the time from the beginning of
    the first transaction to the end of the last. `conflicts` counts the transactions whose lock was
    held by another requester. `latency_ns` is the time from the beginning of a transaction to the
    release of its lock. `histogram_ns` counts these times in steps of 10 ns; an entry has the lower
    bound of a step, and the count. `intact` means that all transactions have committed, and that
    the versions of the rows add up to the number of transactions. `steady` is the rate in a run
    that measures steady states.
    """

    id: str
    by: str
    buffer: str
    locks: str
    lock: str
    committed: int
    committed_per_second: float | None
    conflicts: int
    latency_ns: Latency | None
    histogram_ns: tuple[tuple[float, int], ...]
    violations: int
    completed: bool
    intact: bool
    steady: SteadyState | None = None

    METRIC = "committed_per_second"
    DONE = "committed"
    COLUMNS = (
        *names("by", "buffer", "lock"),
        *counts("committed", folds=(2,)),
        Column("a second", attrgetter("committed_per_second"), "amount"),
        STEADY,
        *counts("conflicts", folds=(3,)),
        *latencies("latency_ns", "latency", "mean", "p50", "p99", folds=(0, 1, 4)),
    )
    STATE = "versions"

    @property
    def is_right(self) -> bool:
        """Whether the versions of the rows add up to the number of transactions."""
        return self.intact

    def state(self, *, lost: bool) -> str:  # noqa: ARG002 - coherent memory loses nothing
        """Whether the versions of the rows are correct, in a word."""
        return "intact" if self.intact else "differ" if self.completed else "incomplete"

    def failure(self) -> str | None:
        """The reason why the transactions failed; `None` if they succeeded."""
        if self.intact:
            return None
        wrong = "rows have the wrong number of versions"
        return wrong if self.completed else "did not complete"


@dataclass(frozen=True, slots=True)
class LostLine(Document):
    """A line that the accelerator `by` had written, but not written back, when its link failed.

    The memory of `host` still has the older bytes at `address`.
    """

    host: str
    by: str
    address: int


@dataclass(frozen=True, slots=True)
class UnsnoopedLine(Document):
    """A line of a coherent host that was accessed with No Snoop while a cache held it.

    The line begins at `address` in the memory of `host`. Each of the `reads` returned the bytes in
    memory; these bytes are stale if the cache had modified the line. Each of the `writes` changed
    only the memory: the cache kept the old bytes, and writes them back if it had modified the line.
    """

    host: str
    address: int
    reads: int
    writes: int
