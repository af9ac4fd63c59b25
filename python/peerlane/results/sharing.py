"""The results of shared memory: accesses to buffers, locks, transactions, lost lines."""

from __future__ import annotations

from dataclasses import dataclass

from peerlane.results.document import Document
from peerlane.results.flows import Latency


@dataclass(frozen=True, slots=True)
class CacheResult(Document):
    """Counters of the cache of an accelerator, over the whole run.

    `hits` are lines that the cache had, `misses` lines that it requested from the home agent, and
    `snoops` requests of the home agent for a line of the cache.
    """

    hits: int
    misses: int
    snoops: int


@dataclass(frozen=True, slots=True)
class TranslationResult(Document):
    """Translations that an accelerator asked its host for, over the whole run.

    `mean_ns` is the mean time from a request at the core of the accelerator to its answer there.
    """

    count: int
    mean_ns: float


@dataclass(frozen=True, slots=True)
class AccessResult(Document):
    """Accesses to a buffer, one after the other, each measured until its last byte.

    `count` is the number of accesses that have ended; `failed` of them had no target or no
    permission. `histogram_ns` counts latencies in steps of 10 ns, by the lower bound of each step.
    `bytes_per_second` is the size of an access over its mean latency and the turnaround, for all
    cores together; where a program starts the accesses, all bytes over the time from its first call
    to its last return. `cache` and `translations` count all accesses of an accelerator, and are
    `None` for other makers. `intact` means that no access failed and that reads of memory which
    nobody writes returned its bytes.
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


@dataclass(frozen=True, slots=True)
class LockResult(Document):
    """Requests for locks of a table, one after the other.

    `count` is the number of requests that have ended, with the release of the lock. `request_ns` is
    the latency of the compare-and-swap that placed the owner, with the software before it;
    `histogram_ns` counts it in steps of 10 ns, by the lower bound of each step. `acquired_ns` is
    the latency from the beginning of a request until it holds the lock. `attempts` counts all
    compare-and-swaps of requests. `waited` requests found the lock taken, and `waiting_ns` is the
    time that they waited. `violations` counts the times that a lock of the table had two
    holders or passed a waiter by.
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


@dataclass(frozen=True, slots=True)
class TransactionResult(Document):
    """Transactions that update rows of a database under locks.

    `committed_per_second` is the rate from the first begin to the last end; `conflicts` counts the
    transactions that found their lock taken. `latency_ns` is the time from the begin of a
    transaction to the release of its lock, and `histogram_ns` counts it in steps of 10 ns, by the
    lower bound of each step. `intact` means that all transactions have committed, and that the
    versions of the rows add up to their number.
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


@dataclass(frozen=True, slots=True)
class LostLine(Document):
    """A line that the accelerator `by` had written and not written back when its link failed.

    The memory of `host` has the older bytes at `address`.
    """

    host: str
    by: str
    address: int


@dataclass(frozen=True, slots=True)
class UnsnoopedLine(Document):
    """A line of a coherent host that was accessed with No Snoop while a cache held it.

    The line begins at `address` in the memory of `host`. Each of the `reads` returned the bytes of
    memory, which are stale if the cache had written the line. Each of the `writes` changed memory
    alone: the cache kept the old bytes, and writes them back if it had written the line.
    """

    host: str
    address: int
    reads: int
    writes: int
