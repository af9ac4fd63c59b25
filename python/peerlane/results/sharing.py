"""The results of shared memory: accesses to buffers, locks, transactions, lost lines."""

from __future__ import annotations

from dataclasses import dataclass

from peerlane.results.document import Document
from peerlane.results.flows import Latency


@dataclass(frozen=True, slots=True)
class CacheResult(Document):
    """Counters of the cache of an accelerator, over the whole run.

    `hits` it served by itself, for `misses` it asked the home agent; `snoops` are the times that
    the home agent asked for a line.
    """

    hits: int
    misses: int
    snoops: int


@dataclass(frozen=True, slots=True)
class TranslationResult(Document):
    """Translations that an accelerator asked its host for, over the whole run.

    `mean_ns` goes from a request at the core of the accelerator to its answer there.
    """

    count: int
    mean_ns: float


@dataclass(frozen=True, slots=True)
class AccessResult(Document):
    """Accesses to a buffer, one after the other, each measured until its last byte.

    `count` of them have ended, `failed` of those led nowhere, or to where they were not allowed.
    `histogram_ns` counts latencies in steps of 10 ns, by their lower bounds. `bytes_per_second` is
    what an access moves in its mean latency and the turnaround, of all cores together. `cache`
    and `translations` are of the accelerator, all its accesses together, and `None` of others.
    `intact` says that none failed, and that what was read was what stood there, where nobody
    writes.
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

    `count` of them have ended, with the release of the lock. `request_ns` is the one
    compare-and-swap of each that placed its owner, with what software took before; `histogram_ns`
    counts these in steps of 10 ns, by their lower bounds. `attempts` are all compare-and-swaps of
    requests. `waited` of them found the lock taken, and `waiting_ns` is how long they waited.
    `violations` says how often a lock of the table had two holders or passed somebody by.
    """

    id: str
    by: str
    buffer: str
    count: int
    request_ns: Latency | None
    histogram_ns: tuple[tuple[float, int], ...]
    attempts: int
    waited: int
    waiting_ns: Latency | None
    violations: int
    completed: bool


@dataclass(frozen=True, slots=True)
class TransactionResult(Document):
    """Transactions that update rows of a database under locks.

    `committed_per_second` is over the time from the first begin to the last end; `conflicts` of
    them found their lock taken. `latency_ns` goes from the begin of each to the release of its
    lock, and `histogram_ns` counts it in steps of 10 ns, by their lower bounds. `intact` says that
    all have committed, and that the rows have as many versions.
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
    """A line that an accelerator, `by`, had written and not given back when its link failed.

    The memory of `host` has what was there before, at `address`.
    """

    host: str
    by: str
    address: int
