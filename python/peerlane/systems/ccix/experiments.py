"""Simulates each experiment of the source by a function that uses only the public API."""

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
"""The approximate simulation time of figures on one processor, in seconds."""

_Found = TypeVar("_Found")

HOST = "n1sdp"
CARDS = ("u280", "vck5000")
KINDS = ("read", "write")
WAYS = ("ccix", "pcie")
SIZES = ("32 B", *(f"{1 << n} B" for n in range(6, 10)), *(f"{1 << n} KiB" for n in range(6)))
"""The sizes of accesses, from 32 B to 32 KiB."""

STARTED = "program"
"""The value of `driven` with which a program on the host starts each access of a card.

The program writes the card's registers, and polls until the access has ended. The source's API
polls, too, and TaPaSCo's runtime waits for transfers in a loop without sleep
(esa-tu-darmstadt/tapasco, runtime/libtapasco/src/dma_user_space.rs).
"""

BULK = tuple(1 << n for n in range(4, 11))
"""Sizes of bulk transfers in KiB: 16 KiB to 1 MiB."""

LENGTHS = ("64 B", "128 B", "4 KiB", "32 KiB")
"""The sizes of accesses with and without a cached translation: the sizes of the source's figure 4,
and 32 KiB, at which the transfer takes longer than the translation."""

LANES = {
    "pcie-1.0": 2.5e9 / 8 * 8 / 10,
    "pcie-4.0": 16e9 / 8 * 128 / 130,
    "cxl-32gt": 32e9 / 8 * 128 / 130,
    "pcie-6.0": 64e9 / 8 * 242 / 256,
}
"""The bytes per second of a lane, after its coding (PCIe Base 4.2); a flit of 256 bytes contains 8
bytes of CRC and 6 bytes of error correction."""

MAKERS = {"host": HOST, "device": "u280"}
"""The nodes that request locks: the host, and the card U280 as "device"."""


def exp1(machine: Machine) -> Measurements:
    """Reads and writes of 32 B to 32 KiB by the U280, coherent and by DMA, 2,000 of each size."""
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
    """Reads and writes of 32 B to 32 KiB by the VCK5000, coherent and by DMA, 2,000 of each."""
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
    """The smallest read by the U280's DMA engine with half of the link's bandwidth, in KiB."""
    half = 8 * LANES["pcie-4.0"] / 2 / 1e9
    for completion in ("poll", "interrupt"):
        settings: dict[str, Setting] = {"driven": STARTED, "completion": completion}
        settings["count"] = machine.constants.bulk_count
        moves = {kib: _alone(machine, "u280-dma", size=f"{kib} KiB", **settings) for kib in BULK}
        enough = [kib for kib, found in moves.items() if called(found) >= half]
        yield f"bulk/{completion}", min(enough, default=0)


def lanes(_: Machine) -> Measurements:
    """The rate of a lane in each generation and mode of PCI Express and CCIX."""
    for name, found in LANES.items():
        yield f"lanes/{name}", found / (1e6 if name == "pcie-1.0" else 1e9)


def exp2(machine: Machine) -> Measurements:
    """Latency of accesses whose translation no cache has, and of accesses with a cached one."""
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
    """Random reads and writes of both cards, without and with cached translations."""
    its = machine.constants
    for card, kind, length in product(CARDS, KINDS, LENGTHS):
        row = f"{card}/{kind}"
        without = _missing(machine, length, "4 KiB", card=card, kind=kind, count=its.few)
        yield f"exp2/latency/{row}/ats/{_short(length)}", mean(without)
        there = _there(machine, card, kind, length, count=its.few)
        yield f"exp2/latency/{row}/no-ats/{_short(length)}", mean(there)


def formula1(machine: Machine) -> Measurements:
    """Mean latency of a mix of hits and misses in a card, divided by the source's formula for it.

    The card has a small data cache and a small translation cache, so that accesses to a buffer of
    64 KiB in pages of 4 KiB hit each of them in part. Each term of the formula is measured in a run
    in which all accesses hit, or all miss.
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
    """Random reads of the U280 in a buffer; at first, the card has no translation of the buffer."""
    its = machine.constants
    fabric = _fabric(machine, size, page).set("u280", **card)
    return _only(
        fabric.accesses("u280", "b", size="64 B", count=its.samples, warm_up=warm_up or its.few)
    )


def exp3(machine: Machine) -> Measurements:
    """Latency of accesses to data in the card's own cache."""
    for card, kind in product(CARDS, KINDS):
        yield f"exp3/{card}/{kind}", mean(_local(machine, card, kind, "64 B"))
    for size in ("1 KiB", "4 KiB", "16 KiB"):
        u280, vck5000 = (mean(_local(machine, card, "read", size)) for card in CARDS)
        yield f"check/exp3/vck5000-over-u280/{_short(size)}", vck5000 / u280


def exp4(machine: Machine) -> Measurements:
    """Latency if cores and a card modify random lines of one buffer at the same time."""
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
    """Other possible forms of experiment 4, whose algorithm is missing in our copy of the source.

    For each form, these are arguments for `_shared`.
    """
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
    """Latency of atomic operations of a core, and of a card."""
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
    """By how much CCIX's packet format and extended speed mode shorten the latency of reads."""
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
    """Latency of lock requests of a core and of a card, each alone, and both at the same time.

    The latency is the time from the beginning of a request until the requester holds the lock. It
    includes the core's software, all compare-and-swaps, and the wait for another holder.
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
    """Requests for locks of a table in a huge page; the card has the translation of the page."""
    fabric = _fabric(machine, "2 MiB", host=of_host)
    for name, settings in by.items():
        fabric.locks(MAKERS[name], "b", id=name, **{**_maker(machine, name), **settings})
    return sound(fabric.run())


def _maker(machine: Machine, name: str) -> dict[str, Setting]:
    """The settings of the host or the card for requests for locks."""
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
    """A run in which a core and lock engines of a card request locks all the time.

    Args:
        machine: The machine.
        records: The number of record versions; each request chooses one of them at random.
        pauses: For the host or the card, the mean time from a release of a lock to the next
            request, which has an exponential distribution; without an entry there is no pause.
        engines: The number of lock engines of the card.
        host: Settings of the host.

    Raises:
        RuntimeError: A lock had two holders, or was given to a later requester first.
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
    """Updates of a database by a core and a card, with a lock for each row or for the table."""
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
    """Accesses to random places of a large buffer; the card has the translations of the buffer."""
    fabric = fabric or _fabric(machine)
    count = machine.constants.samples
    fabric.accesses(card, "b", kind=kind, size=size, count=count, warm_translations=True)
    return _only(fabric)


def _there(machine: Machine, card: str, kind: str, size: str, **settings: Setting) -> AccessResult:
    """Accesses to random places of a large buffer, each started by a program on the host.

    The card has the translations of the buffer.
    """
    own: dict[str, Setting] = {"count": machine.constants.samples, "driven": STARTED, **settings}
    return _alone(machine, card, kind=kind, size=size, warm_translations=True, **own)


def _local(machine: Machine, card: str, kind: str, size: str) -> AccessResult:
    """Repeated accesses of a card to one place of a buffer, each started by a host program."""
    settings: dict[str, Setting] = {"order": "local", "warm_up": 1}
    return _there(machine, card, kind, size, **settings)


def _missing(
    machine: Machine, length: str, page: str, *, card: str = "u280", **settings: Setting
) -> AccessResult:
    """Accesses of a card to a buffer of 1 GiB; at first, the card has no translation of it."""
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
    """A run in which cores and a card access one buffer, until the card has made all its accesses.

    Args:
        machine: The machine.
        size: The size of the buffer.
        cores: The number of cores that access the buffer; another core starts the card's accesses.
        count: The number of accesses of the card.
        host: The kind of the cores' accesses.
        card: The kind of the card's accesses.
        by: The name of the card.
        of_host: Settings of the host.
        of_card: Settings of the card.
        settings: Keys of the workload with the card's accesses.

    Raises:
        RuntimeError: The card did not complete its accesses.
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
    """The mean latency of an access, in nanoseconds."""
    return _measured(accesses.latency_ns, accesses.id).mean


def called(accesses: AccessResult) -> float:
    """The rate of accesses that a program starts one after another, by its own clock, in GB/s."""
    return _measured(accesses.bytes_per_second, accesses.id) / 1e9


def acquired(locks: LockResult) -> float:
    """The mean time from a request's begin until its maker holds the lock, in nanoseconds."""
    return _measured(locks.acquired_ns, locks.id).mean


def request(locks: LockResult) -> float:
    """The mean latency of the compare-and-swap that enters a request in a lock's queue, in ns.

    It includes the software before the compare-and-swap.
    """
    return _measured(locks.request_ns, locks.id).mean


def committed(transactions: TransactionResult) -> float:
    """The rate of transactions, in millions a second."""
    return _measured(transactions.committed_per_second, transactions.id) / 1e6


def translation(accesses: AccessResult) -> float:
    """The mean time until a translation request is answered, measured at the card, in ns."""
    return _measured(accesses.translations, accesses.id).mean_ns


def _measured(found: _Found | None, what: str) -> _Found:
    """Returns a measured value, after a check that there is a value.

    Raises:
        RuntimeError: `what` was not measured.
    """
    if found is None:
        raise RuntimeError(f"{what} was not measured")
    return found


def deviation(accesses: AccessResult, *, least: float) -> float:
    """The standard deviation of all latencies from `least` on, from a histogram, in nanoseconds."""
    steps = [(bound, count) for bound, count in accesses.histogram_ns if bound >= least]
    total = sum(count for _, count in steps)
    centre = sum(bound * count for bound, count in steps) / total
    return math.sqrt(sum((bound - centre) ** 2 * count for bound, count in steps) / total)


def short(accesses: AccessResult, hit: float) -> float:
    """The percentage of a card's accesses that are shorter than `hit`: they hit its own cache."""
    steps = accesses.histogram_ns
    total = sum(count for _, count in steps)
    return 100 * sum(count for bound, count in steps if bound < hit) / total


def _short(size: str) -> str:
    return size.replace(" ", "")
