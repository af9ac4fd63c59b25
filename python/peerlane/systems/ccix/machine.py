"""Defines the constants of the experiments of ccix."""

from __future__ import annotations

from dataclasses import dataclass

from peerlane.reproduction import machine


@dataclass(frozen=True, slots=True)
class Constants:
    """Numbers that the experiments use in addition to the scenario."""

    buffer: str = "8 MiB"
    """The size of a buffer: so large that a random line of it is rarely in the cache of a card, and
    so small that all lines fit into the host's system cache."""
    bulk_count: int = 50
    """The number of bulk transfers of each size."""
    buckets: int = 1024
    """The number of buckets of the lock table, each in another line of memory."""
    lock_cores: int = 1
    """The number of cores that request locks; the database runs on one core."""
    lock_records: int = 4
    """The number of record versions whose locks core and card request in the source's figure 9."""
    lock_work: str = "3 us"
    """The mean time from the database's release of a lock to its next request in figure 9."""
    rare: str = "20 us"
    """In figure 9, the mean time from a release to the next request of the side that requests locks
    rarely, so that contention is low."""
    lock_translations: bool = True
    """Whether the card has the translation of the lock table from the start."""
    without_end: int = 10**8
    """A number of accesses or requests that is never reached within the time of a run."""
    contention: int = 10_000_000
    """The time for which a core and a card request locks of one table, in nanoseconds."""
    hit: int = 200
    """The latency, in nanoseconds, below which an access must have hit the card's own cache."""
    samples: int = 2000
    """The number of accesses for a mean, in experiments that do not depend on this number."""
    swept: int = 2000
    """The number of accesses of each size in experiment 1."""
    few: int = 500
    """The number of accesses for a mean, in experiments for which fewer than `samples` suffice."""
    requests: int = 10_000
    """The number of requests for free locks."""
    random: int = 1024
    """The number of accesses of the card in the first half of the source's figure 6."""
    histogram: int = 20_000
    """The number of accesses of the card in the second half of the source's figure 6."""
    round: int = 3000
    """An upper limit, in nanoseconds, for one access of the card: from the moment when a program
    starts it to the moment when the program sees its end."""
    parts: int = 20
    """The number of parts into which the upper limit for all accesses of the card is divided; after
    each part, the experiment checks whether the accesses have ended."""
    mix_warm_up: int = 4000
    """The number of accesses in the warm-up, after which the small caches are filled."""
    in_memory: str = "95.9 ns"
    """The time of coherence messages on their path (`port_distance`), if the published 700 ns of a
    read include a read of memory."""


FEWER = Constants(samples=500, swept=200, few=200, requests=2000, random=500, histogram=500)
"""The constants of a sensitivity study; fewer accesses suffice, because only relative changes
matter."""

Machine = machine.Machine[Constants]
