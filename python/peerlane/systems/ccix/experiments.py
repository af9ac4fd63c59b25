"""A function for each experiment of the source, on the public API of `peerlane` alone."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

from peerlane.reproduction.calibration import moves
from peerlane.reproduction.catalogue import system_fabric
from peerlane.systems.measured import sound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from peerlane import Fabric
    from peerlane.fabric.settings import Setting
    from peerlane.reproduction.jobs import Measurements
    from peerlane.results.run import RunResult
    from peerlane.results.sharing import AccessResult, LockResult, TransactionResult

__all__ = [
    "bulk",
    "database",
    "exp1",
    "exp1_vck5000",
    "exp2",
    "exp2_cards",
    "exp3",
    "exp4",
    "exp5",
    "formula1",
    "lanes",
    "locks",
    "packets",
]

SECONDS = {
    "exp1": 18,
    "exp1_vck5000": 15,
    "exp2_cards": 12,
    "exp2": 8,
    "bulk": 3,
    "packets": 3,
    "exp4": 6,
    "formula1": 1,
}
"""About how long figures take on one processor; the longest are begun first."""

_Found = TypeVar("_Found")

HOST = "n1sdp"
CARDS = ("u280", "vck5000")
KINDS = ("read", "write")
SIZES = ("32 B", *(f"{1 << n} B" for n in range(6, 10)), *(f"{1 << n} KiB" for n in range(6)))
"""32 B to 32 KiB."""

BUFFER = "8 MiB"
"""The size of a buffer so large that a random line is hardly ever in the cache of a card, and so
small that the host's system cache has all of it."""

STARTED = "program"
"""Software on the host starts each access of a card by its registers, and polls until it has ended:
the source's API does so, and TaPaSCo's runtime waits for transfers in a loop, without sleep
(esa-tu-darmstadt/tapasco, runtime/libtapasco/src/dma_user_space.rs)."""

BULK = tuple(1 << n for n in range(4, 11))
"""Sizes of bulk transfers in KiB: 16 KiB to 1 MiB."""

BULK_COUNT = 50
"""Transfers of each of these sizes."""

LENGTHS = ("64 B", "128 B", "4 KiB", "32 KiB")
"""Sizes of accesses with and without a translation: those of the source's figure 4, and 32 KiB,
from which on the transfer takes longer than the translation."""

LANES = {
    "pcie-1.0": 2.5e9 / 8 * 8 / 10,
    "pcie-4.0": 16e9 / 8 * 128 / 130,
    "cxl-32gt": 32e9 / 8 * 128 / 130,
    "pcie-6.0": 64e9 / 8 * 242 / 256,
}
"""Bytes per second of a lane: transfers, and coding (PCIe Base 4.2). A flit of 256 bytes has 8 of
CRC and 6 of error correction."""

MAKERS: dict[str, tuple[str, dict[str, Setting]]] = {
    "host": (HOST, {"cores": 1}),
    "device": ("u280", {"warm_translations": True}),
}
"""The makers of requests for locks, and their settings: one core has the database."""

BUCKETS = 1024
"""Buckets of the lock table, each in a line of its own."""

WITHOUT_END = 10**8
"""More accesses or requests than a run has time for."""

CONTENTION = 2_000_000
"""Nanoseconds for which a core and a card request locks of one table."""

HIT = 200
"""Nanoseconds that every access takes longer which leaves the card."""

ALL, FEW = 10_000, 500
"""Requests for free locks, and accesses where only the share counts by which a moved parameter
moves their mean."""

RANDOM, HISTOGRAM = 1024, 20_000
"""Accesses of the card in the two halves of the source's figure 6."""

ROUND, PARTS = 3000, 20
"""Nanoseconds of which a program needs fewer to start an access of the card and see its end; and
the parts of the time for all of them after which a run is looked at."""

IN_MEMORY: dict[str, Setting] = {"port_distance": "95.9 ns"}
"""The path of coherence messages, if the 700 ns of a read are with a read of memory."""

READINGS: dict[str, dict[str, Any]] = {
    "host-reads": {"host": "read"},
    "card-reads": {"card": "read"},
    "back-to-back": {"driven": "device"},
    "quick-card-snoop": {
        "of_host": {"timed_access": "242 ns"},
        "of_card": {"snoop_latency": "80 ns"},
    },
    "slow-core-snoop": {"of_host": {"core_snoop_latency": "60 ns"}},
    "make-unique": {"of_card": {"whole_line_request": "make-unique"}},
    "exp2-in-memory": {"of_host": IN_MEMORY},
}
"""Other readings of the fourth experiment, whose algorithm our copy has lost."""

SAMPLES = 2000
"""Accesses behind a mean, where nothing depends on their number."""

FEWER: dict[str, object] = {
    "READINGS": {},
    "LENGTHS": ("32 KiB",),
    "ALL": 2000,
    "FEW": 200,
    "SAMPLES": 500,
}
"""The same where only the share counts by which a moved input moves a row."""


def exp1() -> Measurements:
    """Reads and writes of 32 B to 32 KiB of the U280, coherent and by DMA, 2,000 of each."""
    rows = dict(_sweep("u280"))
    yield from rows.items()
    for size in ("1KiB", "16KiB", "32KiB"):
        ccix, pcie = (rows[f"exp1/throughput/u280/read/{way}/{size}"] for way in ("ccix", "pcie"))
        yield f"exp1/read-throughput-ratio/{size}", ccix / pcie

    def longer(kind: str, size: str) -> float:
        """Percent by which a coherent access takes longer than an access by DMA."""
        ccix, pcie = (rows[f"exp1/latency/u280/{kind}/{way}/{size}"] for way in ("ccix", "pcie"))
        return 100 * (ccix / pcie - 1)

    yield "check/exp1/small-reads-shorter", -longer("read", "64B")
    yield "check/exp1/small-writes-longer", longer("write", "64B")
    better = [kib for kib in (1, 2, 4, 8, 16, 32) if longer("read", f"{kib}KiB") < 0]
    yield "check/exp1/latency-better-up-to", max(better, default=0)
    slept = _alone("u280-dma", size="1 KiB", count=FEW, driven=STARTED, completion="interrupt")
    ccix = rows["exp1/throughput/u280/read/ccix/1KiB"]
    yield "exp1/interrupt/read-throughput-ratio/1KiB", ccix / called(slept)


def exp1_vck5000() -> Measurements:
    """Reads and writes of 32 B to 32 KiB of the VCK5000, coherent and by DMA, 2,000 of each."""
    yield from _sweep("vck5000")


def _sweep(card: str) -> Measurements:
    for kind, size in product(KINDS, SIZES):
        count = FEW if moves() else SAMPLES
        shared = _there(card, kind, size, count=count)
        moved = _alone(f"{card}-dma", kind=kind, size=size, count=count, driven=STARTED)
        for way, one, taken in (("ccix", shared, timed(shared)), ("pcie", moved, called(moved))):
            row = f"{card}/{kind}/{way}/{_short(size)}"
            yield f"exp1/latency/{row}", mean(one)
            yield f"exp1/throughput/{row}", taken


def bulk() -> Measurements:
    """KiB of the smallest read by the U280's DMA engine that has half of its link's bandwidth."""
    half = 8 * LANES["pcie-4.0"] / 2 / 1e9
    for completion in ("poll", "interrupt"):
        settings: dict[str, Setting] = {"driven": STARTED, "completion": completion}
        settings["count"] = BULK_COUNT
        rates = {kib: called(_alone("u280-dma", size=f"{kib} KiB", **settings)) for kib in BULK}
        enough = [kib for kib, found in rates.items() if found >= half]
        yield f"bulk/{completion}", min(enough, default=0)


def lanes() -> Measurements:
    """Rates of a lane."""
    for name, found in LANES.items():
        yield f"lanes/{name}", found / (1e6 if name == "pcie-1.0" else 1e9)


def exp2() -> Measurements:
    """The cost of translations: no cache has them, against a card that has them."""
    missed = _missing("64 B", "4 KiB")
    read = mean(_there("u280", "read", "64 B"))
    asked = translation(missed)
    yield "exp2/64B/total", mean(missed)
    yield "exp2/64B/iommu", asked
    yield "exp2/64B/read", read
    yield "exp2/64B/atc", mean(missed) - asked - read
    for length in LENGTHS:
        cold = _missing(length, "4 KiB")
        warm = _there("u280", "read", length)
        yield f"check/exp2/miss-over-hit/{_short(length)}", mean(cold) / mean(warm)
    behind = _missing("4 KiB", "4 KiB", order="sequential")
    yield "check/exp2/sequential/4KiB", mean(behind)
    for kind, length in product(KINDS, LENGTHS[:3]):
        first = _missing(length, "4 KiB", kind=kind, order="sequential", count=1)
        later = _missing(length, "4 KiB", kind=kind, order="sequential", count=FEW, warm_up=1)
        row = f"{kind}/{_short(length)}"
        yield f"exp2/first/{row}", mean(first)
        yield f"exp2/later/{row}", mean(later)
    for page in ("4 KiB", "64 KiB", "2 MiB", "32 MiB", "1 GiB"):
        one = _missing("64 B", page)
        yield f"exp2/pages/{_short(page)}", mean(one)


def exp2_cards() -> Measurements:
    """Random reads and writes of both cards, without and with their translations."""
    for card, kind, length in product(CARDS, KINDS, LENGTHS):
        row = f"{card}/{kind}"
        without = _missing(length, "4 KiB", card=card, kind=kind, count=FEW)
        yield f"exp2/latency/{row}/ats/{_short(length)}", mean(without)
        there = _there(card, kind, length, count=FEW)
        yield f"exp2/latency/{row}/no-ats/{_short(length)}", mean(there)


def formula1() -> Measurements:
    """A mix of hits and misses in both caches of a card, over the source's formula for its mean.

    The card has a small cache and few translations, so that a buffer of 64 KiB in pages of 4 KiB
    hits each in part. The parts of the formula are measured alone, where all or none hit.
    """
    small: dict[str, Setting] = {"cache": "32 KiB"}
    few: dict[str, Setting] = {"translations": 4, "translation_ways": 4}
    none: dict[str, Setting] = {"translations": 1, "translation_ways": 1}
    hit = mean(_local("u280", "read", "64 B"))
    data_missed = mean(_remote("u280", "read", "64 B", fabric=_card(small)))
    both_missed = mean(_formula(small | none, "256 MiB", "2 MiB"))
    mixed = _formula(small | few, "64 KiB", "4 KiB", warm_up=MIX_WARM_UP)
    cache, asked = mixed.cache, mixed.translations
    if cache is None or asked is None:
        raise RuntimeError("an accelerator counts its hits and its translations")
    data = cache.misses / (cache.hits + cache.misses)
    translated = asked.count / (cache.hits + cache.misses)
    expected = hit + data * (data_missed - hit) + translated * (both_missed - data_missed)
    yield "formula1/mean", mean(mixed)
    yield "formula1/translations-missed", 100 * translated
    yield "formula1/lines-missed", 100 * data
    yield "formula1/mix-over-formula", mean(mixed) / expected


MIX_WARM_UP = 4000
"""Accesses after which the small caches are as full as they become."""


def _card(settings: Mapping[str, Setting]) -> Fabric:
    return _fabric().set("u280", **settings)


def _formula(
    card: Mapping[str, Setting], size: str, page: str, *, warm_up: int = FEW
) -> AccessResult:
    """Random reads of the U280 in a buffer of this size, of whose pages it has none at first."""
    fabric = _fabric(size, page).set("u280", **card)
    return _only(fabric.accesses("u280", "b", size="64 B", count=SAMPLES, warm_up=warm_up))


def exp3() -> Measurements:
    """Data in the card's own cache."""
    for card, kind in product(CARDS, KINDS):
        yield f"exp3/{card}/{kind}", mean(_local(card, kind, "64 B"))
    for size in ("1 KiB", "4 KiB", "16 KiB"):
        u280, vck5000 = (mean(_local(card, "read", size)) for card in CARDS)
        yield f"check/exp3/vck5000-over-u280/{_short(size)}", vck5000 / u280


def exp4() -> Measurements:
    """A core and a card modify lines of one buffer, at the same time, in random places."""
    for cores in (1, 3):
        host, card = _shared("32 KiB", cores)
        yield f"exp4/host/{cores}-cores", mean(host)
        yield f"exp4/device/{cores}-cores", mean(card)
    for size in ("2 MiB", "512 KiB", "128 KiB", "32 KiB"):
        host, card = _shared(size, 1, count=RANDOM)
        yield f"exp4/buffers/host/{_short(size)}", mean(host)
        yield f"exp4/buffers/device/{_short(size)}", mean(card)
    for size in ("2 MiB", "32 KiB"):
        host, card = _shared(size, 1)
        yield f"check/exp4/deviation/host/{_short(size)}", deviation(host, least=0)
        yield f"check/exp4/deviation/device/{_short(size)}", deviation(card, least=HIT)
        yield f"check/exp4/own-cache/{_short(size)}", short(card)
    for reading, settings in READINGS.items():
        for cores in (1, 3):
            few = FEW if moves() else SAMPLES
            host, card = _shared("32 KiB", cores, count=few, **settings)
            yield f"reading/exp4/{reading}/host/{cores}-cores", mean(host)
            yield f"reading/exp4/{reading}/device/{cores}-cores", mean(card)


def exp5() -> Measurements:
    """Atomic operations of a core, and of a card."""
    for name in ("store", "load", "swap", "compare"):
        kind = f"atomic-{name}"
        host = _fabric(host={"timed_access": "0 ns"})
        host.accesses(HOST, "b", kind=kind, size="8 B", count=SAMPLES, order="local", warm_up=1)
        card = _remote("u280", kind, "8 B")
        yield f"exp5/{name}/host", mean(_only(host))
        yield f"exp5/{name}/device", mean(card)
    near = _remote("u280", "atomic-compare", "8 B", fabric=_fabric(host=IN_MEMORY))
    yield "reading/exp5/exp2-in-memory/compare/device", mean(near)


def packets() -> Measurements:
    """The gain from the packet format, to which the source ascribes short reads, and from speed."""
    unpacked: dict[str, Setting] = {"message_packing": False}
    plain = unpacked | {"packet_header": "compatible"}
    for size in ("64 B", "1 KiB", "16 KiB"):
        best = mean(_remote("u280", "read", size))
        for name, settings in (("compatible", plain), ("unpacked", unpacked)):
            other = mean(_remote("u280", "read", size, fabric=_fabric(host=settings)))
            yield f"packets/{name}/{_short(size)}", other - best
        faster = _fabric().links(generation="25 GT/s")
        saved = best - mean(_remote("u280", "read", size, fabric=faster))
        yield f"packets/extended-speed/{_short(size)}", saved


def locks() -> Measurements:
    """Requests of a core and of a card for locks of one table, alone and in each other's way.

    The latency is that from the beginning of a request until it holds the lock: software of the
    core, all compare-and-swaps, and the wait for another holder.
    """
    alone = _requests(host={"count": ALL})
    yield "locks/host-free", acquired(alone.locks["host"])
    alone = _requests(device={"count": SAMPLES})
    yield "locks/device", acquired(alone.locks["device"])
    alone = _requests(IN_MEMORY, device={"count": SAMPLES})
    yield "reading/locks/exp2-in-memory/device", acquired(alone.locks["device"])
    one: dict[str, Setting] = {"records": 1, "count": 1000}
    for cores in (2, 4):
        several = _requests(host={**one, "cores": cores})
        yield f"check/locks/host-contended/{cores}-cores", acquired(several.locks["host"])
    both = _contended(1)
    yield "locks/host-contended", acquired(both.locks["host"])
    yield "check/locks/device-contended", acquired(both.locks["device"])
    for name in MAKERS:
        yield f"reading/locks/last-swap/{name}", request(both.locks[name])
    for records in (4, 16, 64, 1024):
        some = _contended(records)
        for name in MAKERS:
            yield f"reading/locks/{records}-records/{name}", acquired(some.locks[name])
    others = {
        "pauses": _contended(4, pause="1 us"),
        "4-engines": _contended(16, engines=4),
        "near-atomics": _contended(1, host={"core_atomics": "near"}),
    }
    for reading, result in others.items():
        for name in MAKERS:
            yield f"reading/locks/{reading}/{name}", acquired(result.locks[name])


def _requests(
    of_host: Mapping[str, Setting] | None = None, **by: Mapping[str, Setting]
) -> RunResult:
    """Requests for locks in a huge page, whose translation the card has."""
    fabric = _fabric("2 MiB", host=of_host)
    for name, settings in by.items():
        maker, own = MAKERS[name]
        fabric.locks(maker, "b", id=name, **{"buckets": BUCKETS, **own, **settings})
    return sound(fabric.run())


def _contended(
    records: int,
    *,
    engines: int = 1,
    pause: str = "0 ns",
    host: Mapping[str, Setting] | None = None,
) -> RunResult:
    """A core and lock engines of a card, which request locks all the time.

    Args:
        records: Number of record versions, of which each request draws one.
        engines: Number of lock engines of the card.
        pause: The mean of exponential times from the core's release of a lock to its next request.
        host: Settings of the host.

    Raises:
        RuntimeError: A lock had two holders, or passed a waiter by.
    """
    fabric = _fabric("2 MiB", host=host)
    same: dict[str, Setting] = {"buckets": BUCKETS, "records": records, "count": WITHOUT_END}
    maker, own = MAKERS["host"]
    fabric.locks(
        maker,
        "b",
        id="host",
        interval=pause,
        random_intervals=pause != "0 ns",
        **same,
        **own,
    )
    maker, own = MAKERS["device"]
    for engine in range(engines):
        fabric.locks(maker, "b", id=f"device{engine or ''}", **same, **own)
    simulation = fabric.simulation()
    simulation.run_until(CONTENTION)
    result = simulation.result()
    if any(one.violations for one in result.locks):
        raise RuntimeError("a lock had two holders, or passed a waiter by")
    return result


def database() -> Measurements:
    """Updates of rows by a core and a card, under a lock for each row or for the table."""
    for lock, percent in product(("row", "table"), (0, 25, 50, 75, 100)):
        fabric = _fabric("2 MiB").buffer(
            "locks",
            HOST,
            size="2 MiB",
            page="2 MiB",
            in_system_cache=True,
        )
        for name, count in (("host", 1000), ("device", 600)):
            maker, own = MAKERS[name]
            settings: dict[str, Setting] = {
                "lock": lock,
                "contention": percent / 100,
                "buckets": BUCKETS,
                "count": count,
                "interval": "2 us",
                "random_intervals": True,
                **own,
            }
            fabric.transactions(maker, "b", "locks", id=name, **settings)
        result = sound(fabric.run())
        for one in result.transactions:
            row = f"{lock}/{percent}%/{one.id}"
            yield f"database/committed/{row}", committed(one)
            yield f"database/conflicts/{row}", 100 * one.conflicts / one.committed


def _fabric(
    size: str = BUFFER,
    page: str = "2 MiB",
    *,
    host: Mapping[str, Setting] | None = None,
) -> Fabric:
    fabric = system_fabric("ccix").set(HOST, **host or {})
    return fabric.buffer("b", HOST, size=size, page=page, in_system_cache=True)


def _only(fabric: Fabric) -> AccessResult:
    return sound(fabric.run()).accesses[0]


def _alone(by: str, **settings: Setting) -> AccessResult:
    return _only(_fabric().accesses(by, "b", id=None, **settings))


def _remote(
    card: str,
    kind: str,
    size: str,
    *,
    count: int = SAMPLES,
    fabric: Fabric | None = None,
) -> AccessResult:
    """Random places of a large buffer whose translations the card has."""
    fabric = fabric or _fabric()
    fabric.accesses(card, "b", kind=kind, size=size, count=count, warm_translations=True)
    return _only(fabric)


def _there(card: str, kind: str, size: str, *, count: int = SAMPLES) -> AccessResult:
    """The same, each started by software."""
    settings: dict[str, Setting] = {"warm_translations": True, "driven": STARTED}
    return _alone(card, kind=kind, size=size, count=count, **settings)


def _local(card: str, kind: str, size: str) -> AccessResult:
    """Accesses to one place, again and again."""
    settings: dict[str, Setting] = {"order": "local", "warm_up": 1, "warm_translations": True}
    return _alone(card, kind=kind, size=size, count=SAMPLES, driven=STARTED, **settings)


def _missing(length: str, page: str, *, card: str = "u280", **settings: Setting) -> AccessResult:
    """Accesses of a card in 1 GiB, of whose translations it has none at first."""
    own: dict[str, Setting] = {"size": length, "count": SAMPLES, "driven": STARTED, **settings}
    return _only(_fabric("1 GiB", page).accesses(card, "b", id=None, **own))


def _shared(  # noqa: PLR0913 - each is one thing that readings differ in
    size: str,
    cores: int,
    *,
    count: int = HISTOGRAM,
    host: str = "write",
    card: str = "write",
    of_host: Mapping[str, Setting] | None = None,
    of_card: Mapping[str, Setting] | None = None,
    **settings: Setting,
) -> tuple[AccessResult, AccessResult]:
    """Cores and a card in one buffer, until the card has made its accesses.

    Args:
        size: Size of the buffer.
        cores: Number of cores that access it. Another one starts the card's accesses.
        count: Accesses of the card.
        host: Kind of the cores' accesses.
        card: Kind of the card's accesses.
        of_host: Settings of the host.
        of_card: Settings of the card.
        settings: Keys of the card's accesses.

    Raises:
        RuntimeError: The card did not end its accesses.
    """
    fabric = _fabric(size, host=of_host)
    if of_card:
        fabric.set("u280", **of_card)
    count = min(count, SAMPLES) if moves() else count
    fabric.accesses(HOST, "b", id="host", kind=host, count=WITHOUT_END, cores=cores)
    device: dict[str, Setting] = {"driven": "program", "warm_translations": True, **settings}
    fabric.accesses("u280", "b", id="device", kind=card, count=count, **device)
    simulation = fabric.simulation()
    for part in range(1, 2 * PARTS):
        simulation.run_until(part * count * ROUND / PARTS)
        result = simulation.result()
        if result.accesses["device"].completed:
            break
    else:
        raise RuntimeError("the card did not end its accesses")
    return result.accesses["host"], result.accesses["device"]


def mean(accesses: AccessResult) -> float:
    """Nanoseconds of an access, in the mean."""
    return _measured(accesses.latency_ns, accesses.id).mean


def called(accesses: AccessResult) -> float:
    """GB/s of accesses that a program starts one after the other, by its own clock."""
    return _measured(accesses.bytes_per_second, accesses.id) / 1e9


def acquired(locks: LockResult) -> float:
    """Nanoseconds from the beginning of a request until it holds its lock, in the mean."""
    return _measured(locks.acquired_ns, locks.id).mean


def timed(accesses: AccessResult) -> float:
    """GB/s of accesses as a card times them: the bytes of one over its mean latency."""
    return accesses.size / mean(accesses)


def request(locks: LockResult) -> float:
    """Nanoseconds of the compare-and-swap that places a request, and before it, in the mean."""
    return _measured(locks.request_ns, locks.id).mean


def committed(transactions: TransactionResult) -> float:
    """Millions of transactions a second."""
    return _measured(transactions.committed_per_second, transactions.id) / 1e6


def translation(accesses: AccessResult) -> float:
    """Nanoseconds from a translation request at the card to its answer there, in the mean."""
    return _measured(accesses.translations, accesses.id).mean_ns


def _measured(found: _Found | None, what: str) -> _Found:
    """A measurement of `what`, which must have been made.

    Raises:
        RuntimeError: Nothing was.
    """
    if found is None:
        raise RuntimeError(f"{what} was not measured")
    return found


def deviation(accesses: AccessResult, *, least: float) -> float:
    """The standard deviation in ns of the latencies from `least` on, by their histogram."""
    steps = [(bound, count) for bound, count in accesses.histogram_ns if bound >= least]
    total = sum(count for _, count in steps)
    centre = sum(bound * count for bound, count in steps) / total
    return math.sqrt(sum((bound - centre) ** 2 * count for bound, count in steps) / total)


def short(accesses: AccessResult) -> float:
    """Percent of the accesses of a card that hit its own cache: no other is as short."""
    steps = accesses.histogram_ns
    total = sum(count for _, count in steps)
    return 100 * sum(count for bound, count in steps if bound < HIT) / total


def _short(size: str) -> str:
    return size.replace(" ", "")
