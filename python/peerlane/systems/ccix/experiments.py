"""A function for each experiment of the source, on the public API of `peerlane` alone."""

from __future__ import annotations

import math
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

from peerlane.systems.ccix.machine import FEWER, Constants
from peerlane.systems.measured import sound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from peerlane import Fabric
    from peerlane.fabric.settings import Setting
    from peerlane.reproduction.jobs import Measurements
    from peerlane.results.run import RunResult
    from peerlane.results.sharing import AccessResult, LockResult, TransactionResult
    from peerlane.systems.ccix.machine import Machine

__all__ = [
    "FEWER",
    "Constants",
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
WAYS = ("ccix", "pcie")
SIZES = ("32 B", *(f"{1 << n} B" for n in range(6, 10)), *(f"{1 << n} KiB" for n in range(6)))
"""32 B to 32 KiB."""

STARTED = "program"
"""Software on the host starts each access of a card by its registers, and polls until it has ended:
the source's API polls, and TaPaSCo's runtime waits for transfers in a loop, without sleep
(esa-tu-darmstadt/tapasco, runtime/libtapasco/src/dma_user_space.rs)."""

BULK = tuple(1 << n for n in range(4, 11))
"""Sizes of bulk transfers in KiB: 16 KiB to 1 MiB."""

LENGTHS = ("64 B", "128 B", "4 KiB", "32 KiB")
"""Sizes of accesses with and without a translation: the sizes of the source's figure 4, and 32 KiB,
from which on the transfer takes longer than the translation."""

LANES = {
    "pcie-1.0": 2.5e9 / 8 * 8 / 10,
    "pcie-4.0": 16e9 / 8 * 128 / 130,
    "cxl-32gt": 32e9 / 8 * 128 / 130,
    "pcie-6.0": 64e9 / 8 * 242 / 256,
}
"""Bytes per second of a lane: transfers, and coding (PCIe Base 4.2). A flit of 256 bytes has 8 of
CRC and 6 of error correction."""

MAKERS = {"host": HOST, "device": "u280"}
"""The makers of requests for locks."""


def exp1(machine: Machine) -> Measurements:
    """Reads and writes of 32 B to 32 KiB of the U280, coherent and by DMA, 2,000 of each."""
    rows = dict(_sweep(machine, "u280"))
    yield from rows.items()
    for size in (1, 16, 32):
        ccix, pcie = (rows[f"exp1/throughput/u280/read/{way}/{size}KiB"] for way in WAYS)
        yield f"exp1/read-throughput-ratio/{size}KiB", ccix / pcie
        timed = 1024 * size / rows[f"exp1/latency/u280/read/ccix/{size}KiB"]
        yield f"reading/exp1/two-clocks/read-throughput-ratio/{size}KiB", timed / pcie

    def longer(kind: str, size: str) -> float:
        """Percent by which a coherent access takes longer than an access by DMA."""
        ccix, pcie = (rows[f"exp1/latency/u280/{kind}/{way}/{size}"] for way in WAYS)
        return 100 * (ccix / pcie - 1)

    yield "exp1/small-reads-shorter", -longer("read", "64B")
    yield "exp1/small-writes-longer", longer("write", "64B")
    better = [kib for kib in (1, 2, 4, 8, 16, 32) if longer("read", f"{kib}KiB") < 0]
    yield "exp1/latency-better-up-to", max(better, default=0)
    settings: dict[str, Setting] = {"driven": STARTED, "completion": "interrupt"}
    slept = _alone(machine, "u280-dma", size="1 KiB", count=machine.constants.few, **settings)
    ccix = rows["exp1/throughput/u280/read/ccix/1KiB"]
    yield "exp1/interrupt/read-throughput-ratio/1KiB", ccix / called(slept)


def exp1_vck5000(machine: Machine) -> Measurements:
    """Reads and writes of 32 B to 32 KiB of the VCK5000, coherent and by DMA, 2,000 of each."""
    yield from _sweep(machine, "vck5000")


def _sweep(machine: Machine, card: str) -> Measurements:
    for kind, size in product(KINDS, SIZES):
        count = machine.constants.swept
        shared = _there(machine, card, kind, size, count=count)
        moved = _alone(machine, f"{card}-dma", kind=kind, size=size, count=count, driven=STARTED)
        for way, one in zip(WAYS, (shared, moved), strict=True):
            row = f"{card}/{kind}/{way}/{_short(size)}"
            yield f"exp1/latency/{row}", mean(one)
            yield f"exp1/throughput/{row}", called(one)


def bulk(machine: Machine) -> Measurements:
    """KiB of the smallest read by the U280's DMA engine that has half of its link's bandwidth."""
    half = 8 * LANES["pcie-4.0"] / 2 / 1e9
    for completion in ("poll", "interrupt"):
        settings: dict[str, Setting] = {"driven": STARTED, "completion": completion}
        settings["count"] = machine.constants.bulk_count
        moves = {kib: _alone(machine, "u280-dma", size=f"{kib} KiB", **settings) for kib in BULK}
        enough = [kib for kib, found in moves.items() if called(found) >= half]
        yield f"bulk/{completion}", min(enough, default=0)


def lanes(_: Machine) -> Measurements:
    """Rates of a lane."""
    for name, found in LANES.items():
        yield f"lanes/{name}", found / (1e6 if name == "pcie-1.0" else 1e9)


def exp2(machine: Machine) -> Measurements:
    """The cost of translations: no cache has them, against a card that has them."""
    its = machine.constants
    missed = _missing(machine, "64 B", "4 KiB")
    read = mean(_there(machine, "u280", "read", "64 B"))
    asked = translation(missed)
    yield "exp2/64B/total", mean(missed)
    yield "exp2/64B/iommu", asked
    yield "exp2/64B/read", read
    yield "exp2/64B/atc", mean(missed) - asked - read
    for length in LENGTHS:
        cold = _missing(machine, length, "4 KiB")
        warm = _there(machine, "u280", "read", length)
        yield f"check/exp2/miss-over-hit/{_short(length)}", mean(cold) / mean(warm)
    behind = _missing(machine, "4 KiB", "4 KiB", order="sequential")
    yield "check/exp2/sequential/4KiB", mean(behind)
    for kind, length in product(KINDS, LENGTHS[:3]):
        ordered = partial(_missing, machine, length, "4 KiB", kind=kind, order="sequential")
        first, later = ordered(count=1), ordered(count=its.few, warm_up=1)
        row = f"{kind}/{_short(length)}"
        yield f"exp2/first/{row}", mean(first)
        yield f"exp2/later/{row}", mean(later)
    for page in ("4 KiB", "64 KiB", "2 MiB", "32 MiB", "1 GiB"):
        one = _missing(machine, "64 B", page)
        yield f"exp2/pages/{_short(page)}", mean(one)


def exp2_cards(machine: Machine) -> Measurements:
    """Random reads and writes of both cards, without and with their translations."""
    its = machine.constants
    for card, kind, length in product(CARDS, KINDS, LENGTHS):
        row = f"{card}/{kind}"
        without = _missing(machine, length, "4 KiB", card=card, kind=kind, count=its.few)
        yield f"exp2/latency/{row}/ats/{_short(length)}", mean(without)
        there = _there(machine, card, kind, length, count=its.few)
        yield f"exp2/latency/{row}/no-ats/{_short(length)}", mean(there)


def formula1(machine: Machine) -> Measurements:
    """A mix of hits and misses in both caches of a card, over the source's formula for its mean.

    The card has a small cache and few translations, so that a buffer of 64 KiB in pages of 4 KiB
    hits each in part. The parts of the formula are measured alone, where all or none hit.
    """
    small: dict[str, Setting] = {"cache": "32 KiB"}
    few: dict[str, Setting] = {"translations": 4, "translation_ways": 4}
    none: dict[str, Setting] = {"translations": 1, "translation_ways": 1}
    hit = mean(_local(machine, "u280", "read", "64 B"))
    data_missed = mean(_remote(machine, "u280", "read", "64 B", fabric=_card(machine, small)))
    both_missed = mean(_formula(machine, small | none, "256 MiB", "2 MiB"))
    mixed = _formula(machine, small | few, "64 KiB", "4 KiB", warm_up=machine.constants.mix_warm_up)
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


def _card(machine: Machine, settings: Mapping[str, Setting]) -> Fabric:
    return _fabric(machine).set("u280", **settings)


def _formula(
    machine: Machine,
    card: Mapping[str, Setting],
    size: str,
    page: str,
    *,
    warm_up: int | None = None,
) -> AccessResult:
    """Random reads of the U280 in a buffer of this size, of whose pages it has none at first."""
    its = machine.constants
    fabric = _fabric(machine, size, page).set("u280", **card)
    return _only(
        fabric.accesses("u280", "b", size="64 B", count=its.samples, warm_up=warm_up or its.few)
    )


def exp3(machine: Machine) -> Measurements:
    """Data in the card's own cache."""
    for card, kind in product(CARDS, KINDS):
        yield f"exp3/{card}/{kind}", mean(_local(machine, card, kind, "64 B"))
    for size in ("1 KiB", "4 KiB", "16 KiB"):
        u280, vck5000 = (mean(_local(machine, card, "read", size)) for card in CARDS)
        yield f"check/exp3/vck5000-over-u280/{_short(size)}", vck5000 / u280


def exp4(machine: Machine) -> Measurements:
    """A core and a card modify lines of one buffer, at the same time, in random places."""
    its = machine.constants
    for cores in (1, 3):
        host, card = _shared(machine, "32 KiB", cores)
        yield f"exp4/host/{cores}-cores", mean(host)
        yield f"exp4/device/{cores}-cores", mean(card)
    for cores, size in product((1, 3), ("2 MiB", "512 KiB", "128 KiB", "32 KiB")):
        host, card = _shared(machine, size, cores, count=its.random)
        yield f"exp4/buffers/{cores}-cores/host/{_short(size)}", mean(host)
        yield f"exp4/buffers/{cores}-cores/device/{_short(size)}", mean(card)
    for cores in (1, 3):
        host, card = _shared(machine, "32 KiB", cores, count=its.samples, by="vck5000")
        yield f"exp4/vck5000/host/{cores}-cores", mean(host)
        yield f"exp4/vck5000/device/{cores}-cores", mean(card)
    for size in ("2 MiB", "32 KiB"):
        host, card = _shared(machine, size, 1)
        yield f"check/exp4/deviation/host/{_short(size)}", deviation(host, least=0)
        yield f"check/exp4/deviation/device/{_short(size)}", deviation(card, least=its.hit)
        yield f"check/exp4/own-cache/{_short(size)}", short(card, its.hit)
    samples = its.samples
    for reading, settings in _readings(machine).items():
        for cores in (1, 3):
            host, card = _shared(machine, "32 KiB", cores, count=samples, **settings)
            yield f"reading/exp4/{reading}/host/{cores}-cores", mean(host)
            yield f"reading/exp4/{reading}/device/{cores}-cores", mean(card)


def _readings(machine: Machine) -> dict[str, dict[str, Any]]:
    """Other readings of the fourth experiment, whose algorithm our copy has lost."""
    return {
        "host-reads": {"host": "read"},
        "card-reads": {"card": "read"},
        "back-to-back": {"driven": "device"},
        "slow-card-snoop": {
            "of_host": {"timed_access": "124 ns"},
            "of_card": {"snoop_latency": "900 ns"},
        },
        "slow-core-snoop": {"of_host": {"core_snoop_latency": "60 ns"}},
        "make-unique": {"of_card": {"whole_line_request": "make-unique"}},
        "exp2-in-memory": {"of_host": _in_memory(machine)},
    }


def _in_memory(machine: Machine) -> dict[str, Setting]:
    return {"port_distance": machine.constants.in_memory}


def exp5(machine: Machine) -> Measurements:
    """Atomic operations of a core, and of a card."""
    its = machine.constants
    for name in ("store", "load", "swap", "compare"):
        kind = f"atomic-{name}"
        host = _fabric(machine, host={"timed_access": "0 ns"})
        count = its.samples
        host.accesses(HOST, "b", kind=kind, size="8 B", count=count, order="local", warm_up=1)
        yield f"exp5/{name}/host", mean(_only(host))
        yield f"exp5/{name}/device", mean(_remote(machine, "u280", kind, "8 B"))
        yield f"exp5/{name}/vck5000", mean(_remote(machine, "vck5000", kind, "8 B"))
    near = _fabric(machine, host=_in_memory(machine))
    found = _remote(machine, "u280", "atomic-compare", "8 B", fabric=near)
    yield "reading/exp5/exp2-in-memory/compare/device", mean(found)


def packets(machine: Machine) -> Measurements:
    """The gain from the packet format, to which the source ascribes short reads, and from speed."""
    unpacked: dict[str, Setting] = {"message_packing": False}
    plain = unpacked | {"packet_header": "compatible"}
    for size in ("64 B", "1 KiB", "16 KiB"):
        best = mean(_remote(machine, "u280", "read", size))
        for name, settings in (("compatible", plain), ("unpacked", unpacked)):
            plainer = _fabric(machine, host=settings)
            other = mean(_remote(machine, "u280", "read", size, fabric=plainer))
            yield f"packets/{name}/{_short(size)}", other - best
        faster = _fabric(machine).links(generation="25 GT/s")
        saved = best - mean(_remote(machine, "u280", "read", size, fabric=faster))
        yield f"packets/extended-speed/{_short(size)}", saved


def locks(machine: Machine) -> Measurements:
    """Requests of a core and of a card for locks of one table, alone and in each other's way.

    The latency is that from the beginning of a request until it holds the lock: software of the
    core, all compare-and-swaps, and the wait for another holder.
    """
    its = machine.constants
    alone = _requests(machine, host={"count": its.requests})
    yield "locks/host-free", acquired(alone.locks["host"])
    alone = _requests(machine, device={"count": its.samples})
    yield "locks/device", acquired(alone.locks["device"])
    alone = _requests(machine, _in_memory(machine), device={"count": its.samples})
    yield "reading/locks/exp2-in-memory/device", acquired(alone.locks["device"])
    one: dict[str, Setting] = {"records": 1, "count": 1000}
    for cores in (2, 4):
        several = _requests(machine, host={**one, "cores": cores})
        yield f"check/locks/host-contended/{cores}-cores", acquired(several.locks["host"])
    both = partial(_contended, machine, its.lock_records)
    busy = both({"host": its.lock_work})
    for name in MAKERS:
        yield f"locks/high/{name}", acquired(busy.locks[name])
    yield (
        "locks/low/host",
        acquired(both({"host": its.lock_work, "device": its.rare}).locks["host"]),
    )
    yield "locks/low/device", acquired(both({"host": its.rare}).locks["device"])
    for pause in ("1 us", "3 us", "10 us", "30 us", "100 us"):
        host, device = both({"host": its.lock_work, "device": pause}), both({"host": pause})
        yield f"locks/figure9/host/{_short(pause)}", acquired(host.locks["host"])
        yield f"locks/figure9/device/{_short(pause)}", acquired(device.locks["device"])
    alone = _contended(machine, 1)
    for name in MAKERS:
        yield f"reading/locks/last-swap/{name}", request(alone.locks[name])
    others = {
        "1-records": alone,
        "1024-records": _contended(machine, 1024),
        "4-engines": _contended(machine, 16, engines=4),
        "near-atomics": _contended(machine, 1, host={"core_atomics": "near"}),
    }
    for reading, result in others.items():
        for name in MAKERS:
            yield f"reading/locks/{reading}/{name}", acquired(result.locks[name])


def _requests(
    machine: Machine, of_host: Mapping[str, Setting] | None = None, **by: Mapping[str, Setting]
) -> RunResult:
    """Requests for locks in a huge page, whose translation the card has."""
    fabric = _fabric(machine, "2 MiB", host=of_host)
    for name, settings in by.items():
        fabric.locks(MAKERS[name], "b", id=name, **{**_maker(machine, name), **settings})
    return sound(fabric.run())


def _maker(machine: Machine, name: str) -> dict[str, Setting]:
    """The settings of a maker of requests for locks."""
    its = machine.constants
    if name == "host":
        return {"buckets": its.buckets, "cores": its.lock_cores}
    return {"buckets": its.buckets, "warm_translations": its.lock_translations}


def _contended(
    machine: Machine,
    records: int,
    pauses: Mapping[str, str] | None = None,
    *,
    engines: int = 1,
    host: Mapping[str, Setting] | None = None,
) -> RunResult:
    """A core and lock engines of a card, which request locks all the time.

    Args:
        machine: The machine.
        records: Number of record versions, of which each request draws one.
        pauses: The mean of exponential times from a release of a lock to the next request, for each
            maker that pauses.
        engines: Number of lock engines of the card.
        host: Settings of the host.

    Raises:
        RuntimeError: A lock had two holders, or passed a waiter by.
    """
    fabric = _fabric(machine, "2 MiB", host=host)
    for name, engine in [("host", 0), *(("device", engine) for engine in range(engines))]:
        own = {"records": records, "count": machine.constants.without_end, **_maker(machine, name)}
        if pause := (pauses or {}).get(name):
            own |= {"interval": pause, "random_intervals": True}
        fabric.locks(MAKERS[name], "b", id=f"{name}{engine or ''}", **own)
    simulation = fabric.simulation()
    simulation.run_until(machine.constants.contention)
    result = simulation.result()
    if any(one.violations for one in result.locks):
        raise RuntimeError("a lock had two holders, or passed a waiter by")
    return result


def database(machine: Machine) -> Measurements:
    """Updates of rows by a core and a card, under a lock for each row or for the table."""
    for lock, percent in product(("row", "table"), (0, 25, 50, 75, 100)):
        fabric = _fabric(machine, "2 MiB").buffer(
            "locks",
            HOST,
            size="2 MiB",
            page="2 MiB",
            in_system_cache=True,
        )
        for name, count in (("host", 1000), ("device", 600)):
            settings: dict[str, Setting] = {
                "lock": lock,
                "contention": percent / 100,
                "count": count,
                "interval": "2 us",
                "random_intervals": True,
                **_maker(machine, name),
            }
            fabric.transactions(MAKERS[name], "b", "locks", id=name, **settings)
        result = sound(fabric.run())
        for one in result.transactions:
            row = f"{lock}/{percent}%/{one.id}"
            yield f"database/committed/{row}", committed(one)
            yield f"database/conflicts/{row}", 100 * one.conflicts / one.committed


def _fabric(
    machine: Machine,
    size: str | None = None,
    page: str = "2 MiB",
    *,
    host: Mapping[str, Setting] | None = None,
) -> Fabric:
    fabric = machine.fabric().set(HOST, **host or {})
    return fabric.buffer(
        "b", HOST, size=size or machine.constants.buffer, page=page, in_system_cache=True
    )


def _only(fabric: Fabric) -> AccessResult:
    return sound(fabric.run()).accesses[0]


def _alone(machine: Machine, by: str, **settings: Setting) -> AccessResult:
    return _only(_fabric(machine).accesses(by, "b", id=None, **settings))


def _remote(
    machine: Machine,
    card: str,
    kind: str,
    size: str,
    *,
    fabric: Fabric | None = None,
) -> AccessResult:
    """Random places of a large buffer whose translations the card has."""
    fabric = fabric or _fabric(machine)
    count = machine.constants.samples
    fabric.accesses(card, "b", kind=kind, size=size, count=count, warm_translations=True)
    return _only(fabric)


def _there(machine: Machine, card: str, kind: str, size: str, **settings: Setting) -> AccessResult:
    """Random places of a large buffer whose translations the card has; software starts each."""
    own: dict[str, Setting] = {"count": machine.constants.samples, "driven": STARTED, **settings}
    return _alone(machine, card, kind=kind, size=size, warm_translations=True, **own)


def _local(machine: Machine, card: str, kind: str, size: str) -> AccessResult:
    """Accesses to one place, again and again."""
    settings: dict[str, Setting] = {"order": "local", "warm_up": 1}
    return _there(machine, card, kind, size, **settings)


def _missing(
    machine: Machine, length: str, page: str, *, card: str = "u280", **settings: Setting
) -> AccessResult:
    """Accesses of a card in 1 GiB, of whose translations it has none at first."""
    own: dict[str, Setting] = {
        "size": length,
        "count": machine.constants.samples,
        "driven": STARTED,
        **settings,
    }
    return _only(_fabric(machine, "1 GiB", page).accesses(card, "b", id=None, **own))


def _shared(  # noqa: PLR0913 - each is one thing that readings differ in
    machine: Machine,
    size: str,
    cores: int,
    *,
    count: int | None = None,
    host: str = "write",
    card: str = "write",
    by: str = "u280",
    of_host: Mapping[str, Setting] | None = None,
    of_card: Mapping[str, Setting] | None = None,
    **settings: Setting,
) -> tuple[AccessResult, AccessResult]:
    """Cores and a card in one buffer, until the card has made its accesses.

    Args:
        machine: The machine.
        size: Size of the buffer.
        cores: Number of cores that access it. Another one starts the card's accesses.
        count: Accesses of the card.
        host: Kind of the cores' accesses.
        card: Kind of the card's accesses.
        by: The card.
        of_host: Settings of the host.
        of_card: Settings of the card.
        settings: Keys of the card's accesses.

    Raises:
        RuntimeError: The card did not end its accesses.
    """
    fabric = _fabric(machine, size, host=of_host)
    if of_card:
        fabric.set(by, **of_card)
    its = machine.constants
    count = count or its.histogram
    fabric.accesses(HOST, "b", id="host", kind=host, count=its.without_end, cores=cores)
    device: dict[str, Setting] = {"driven": "program", "warm_translations": True, **settings}
    fabric.accesses(by, "b", id="device", kind=card, count=count, **device)
    simulation = fabric.simulation()
    for part in range(1, 2 * its.parts):
        simulation.run_until(part * count * its.round / its.parts)
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


def short(accesses: AccessResult, hit: float) -> float:
    """Percent of the accesses of a card that hit its own cache: no other is as short."""
    steps = accesses.histogram_ns
    total = sum(count for _, count in steps)
    return 100 * sum(count for bound, count in steps if bound < hit) / total


def _short(size: str) -> str:
    return size.replace(" ", "")
