"""The constants of the experiments."""

from __future__ import annotations

from dataclasses import dataclass

from peerlane.reproduction import machine


@dataclass(frozen=True, slots=True)
class Constants:
    """Numbers that the experiments use beside the scenario."""

    buffer: str = "8 MiB"
    """The size of a buffer so large that a random line is hardly ever in the cache of a card, and
    so small that the host's system cache has all of it."""
    bulk_count: int = 50
    """Bulk transfers of each size."""
    buckets: int = 1024
    """Buckets of the lock table, each in a line of its own."""
    lock_cores: int = 1
    """Cores that request locks: one has the database."""
    lock_records: int = 4
    """Record versions whose locks the core and the card request in the source's figure 9."""
    lock_work: str = "3 us"
    """Mean time of the database from its release of a lock to its next request in figure 9."""
    rare: str = "20 us"
    """The same time of the side that makes low contention in figure 9."""
    lock_translations: bool = True
    """Whether the card has the translation of the lock table from the start."""
    without_end: int = 10**8
    """More accesses or requests than a run has time for."""
    contention: int = 10_000_000
    """Nanoseconds for which a core and a card request locks of one table."""
    hit: int = 200
    """Latency in nanoseconds above which an access has left the card, and below which it hit."""
    samples: int = 2000
    """Accesses of which a mean is taken, in experiments where their number changes nothing."""
    swept: int = 2000
    """Accesses of each size of the first experiment."""
    few: int = 500
    """Accesses of which a mean is taken, in experiments where fewer than `samples` are enough."""
    requests: int = 10_000
    """Requests for free locks."""
    random: int = 1024
    """Accesses of the card in the first half of the source's figure 6."""
    histogram: int = 20_000
    """Accesses of the card in the second half of the source's figure 6."""
    round: int = 3000
    """Upper limit, in nanoseconds, of an access of the card from its start by a program to its end,
    as the program sees it."""
    parts: int = 20
    """Number of parts into which the upper limit for all accesses of the card is divided. After
    each part, the experiment checks whether the accesses have ended."""
    mix_warm_up: int = 4000
    """Accesses of the warm-up, after which the small caches do not fill any further."""
    in_memory: str = "95.9 ns"
    """Time of coherence messages on their path (`port_distance`), under the reading that the 700 ns
    of a published read include a read of memory."""


FEWER = Constants(samples=500, swept=200, few=200, requests=2000, random=500, histogram=500)
"""The constants of a sensitivity study: fewer accesses, as only relative changes count."""

Machine = machine.Machine[Constants]
