"""The commands of `peerlane bench`, and the tables that they print."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from peerlane.cli.console import emit, progress, say
from peerlane.cli.group import Command, group
from peerlane.cli.options import MOST_RUNS, JsonTo, wrong_use
from peerlane.formats import duration, size
from peerlane.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from peerlane.benchmark.peers.table import Peer
    from peerlane.cli.tables.sheet import Sheet

_BURST = 256
_LARGEST = 1 << 30
"""The most bytes of a transfer of `bench session`: the largest buffer for the DMA accelerator."""

_MOST = 1 << 30
"""The most packets, hops, accesses or cycles of a benchmark."""


def _number(help_: str, *, least: int = 1, most: int = _MOST) -> Any:  # noqa: ANN401 - as typer has it
    return typer.Option(min=least, max=most, metavar="N", help=help_)


Repeat = Annotated[int, _number("Runs of each case; the median run is reported.", most=MOST_RUNS)]

bench_app = group(
    "Measure how fast the simulator itself is.",
    {
        "shapes": Command("peerlane.cli.shapes", "bench_shapes"),
        "fabric": Command("peerlane.cli.bench", "bench_fabric"),
        "network": Command("peerlane.cli.bench", "bench_network"),
        "messages": Command("peerlane.cli.bench", "bench_messages"),
        "devices": Command("peerlane.cli.bench", "bench_devices"),
        "circuits": Command("peerlane.cli.bench", "bench_circuits"),
        "session": Command("peerlane.cli.bench", "bench_session"),
    },
)


def bench_fabric(
    endpoints: Annotated[
        str,
        typer.Option(
            metavar="N[,N...]",
            help="Endpoints that share the work: one on x16, more on x1; 16 a switch, 64 a host. "
            "A controller joins several hosts.",
        ),
    ] = "1",
    tlps: Annotated[int, _number("Total number of posted writes.")] = 32768,
    repeat: Repeat = 5,
    peer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[,NAME...]",
            help="Let these simulators do the job of one endpoint in the same run: cocotbext, ns3, "
            "simpy.",
        ),
    ] = None,
    json_to: JsonTo = None,
) -> None:
    """Time posted writes of 128 bytes from endpoints through a switch into memory.

    The link is Gen3 x16 with the full link protocol; every payload byte is carried and checked. A
    packet is counted once, when its last byte is in memory. A run before the measured runs warms
    caches and memory.
    """
    from peerlane.benchmark.median import median_fabric

    chosen = _peers(peer)
    if chosen and 1 not in _counts(endpoints):
        raise typer.BadParameter(
            "the other simulators have one endpoint; write --endpoints 1, or 1 among others, such "
            "as 1,64",
            param_hint="--peer",
        )
    runs = _of_each(endpoints, "endpoints", lambda count: median_fabric(count, tlps, repeat))
    peers: dict[str, dict[str, Any]] = {}
    for one in chosen:
        if missing := one.missing():
            say(f"skipping {one.name}: {missing}")
            continue
        with progress(one.name):
            peers[one.name] = one.run(tlps)
    for run_ in peers.values():
        alike = next(one for one in runs if one["endpoints"] == 1)
        run_["ratio"] = alike["tlp_per_second"] / run_["tlp_per_second"]
    document = runs[0] | {"peers": peers}
    if len(runs) > 1:
        document["runs"] = runs
    rows = [(("peerlane",), one) for one in runs] + [((name,), one) for name, one in peers.items()]
    columns = (*FABRIC, SLOWER) if peers else FABRIC
    emit(document, _table(("simulator",), columns, rows, "TLPs", "wall time"), json_to)


def bench_network(
    sides: Annotated[
        str, typer.Option(metavar="N[,N...]", help="Routers along each side of the torus.")
    ] = "4,8,16,32",
    hops: Annotated[int, _number("Approximate number of hops of all messages.")] = 500_000,
    repeat: Repeat = 3,
    json_to: JsonTo = None,
) -> None:
    """Time messages of 256 bytes across tori, at half of what their fibres can carry.

    A hop is a message over one fibre. Every payload byte is carried and checked.
    """
    from peerlane.benchmark.median import median_network

    runs = _of_each(sides, "routers a side", lambda side: median_network(side, hops, repeat))
    rows = (((f"{one['side']} x {one['side']}",), one) for one in runs)
    emit({"runs": runs}, _table(("torus",), NETWORK, rows, "hops"), json_to)


def bench_messages(
    hosts: Annotated[
        str, typer.Option(metavar="N[,N...]", help="Hosts, each with a nic at one controller.")
    ] = "2,4,8,16",
    size: Annotated[
        int, typer.Option(min=1, max=1 << 26, metavar="BYTES", help="Size of each message.")
    ] = 1 << 20,
    repeat: Repeat = 3,
    json_to: JsonTo = None,
) -> None:
    """Time a PUT from each host to every other host, all at once.

    A PUT begins with the descriptor and the doorbell. It ends when the bytes are in memory and the
    event is signalled. All bytes are checked.
    """
    from peerlane.benchmark.median import median_messages

    runs = _of_each(hosts, "hosts", lambda count: median_messages(count, size, repeat))
    emit({"runs": runs}, _table((), MESSAGES, (((), one) for one in runs)), json_to)


def bench_devices(
    accesses: Annotated[int, _number("Accesses of each device in each direction.")] = 400_000,
    repeat: Repeat = 5,
    json_to: JsonTo = None,
) -> None:
    """Time accesses of 8 bytes by a host to registers, below a switch, for each kind of model.

    The models are a built-in device, a model in Rust behind the interface of libraries, and a model
    in Python. All of them store what is written. The time of an access includes the requester, the
    links, the switch, the device and, for reads, the completions.
    """
    from peerlane.benchmark.devices import KINDS
    from peerlane.benchmark.median import median_device

    runs = _measured(
        [
            (f"{kind}, {direction}", partial(median_device, kind, direction, accesses, repeat))
            for kind in KINDS
            for direction in ("write", "read")
        ]
    )
    built_in = {run["direction"]: run["ns_per_access"] for run in runs if run["kind"] == KINDS[0]}
    for run_ in runs:
        run_["ratio"] = run_["ns_per_access"] / built_in[run_["direction"]]
    rows = (((one["kind"], one["direction"]), one) for one in runs)
    emit({"runs": runs}, _table(("device", "access"), DEVICES, rows), json_to)


def bench_circuits(
    tlps: Annotated[int, _number("Total number of posted writes in the fabric.", least=8)] = 40_000,
    cycles: Annotated[int, _number("Cycles of the engine under cocotb.", least=100)] = 4_000,
    repeat: Annotated[int, _number("Runs; the median run is reported.", most=MOST_RUNS)] = 3,
    json_to: JsonTo = None,
) -> None:
    """Time eight DMA engines, as RTL modules, that write 128-byte packets to each other in a ring.

    Each engine is at Gen2 x4, with the full link protocol; every byte is checked. For comparison, a
    single engine runs under cocotb with Icarus, if these are installed. Rates are per second of
    processor time; cycles are counted for all engines together.
    """
    from peerlane.benchmark.circuits import icarus, ring

    with progress("benchmark"):
        runs = sorted(
            (ring.run_ring(tlps) for _ in range(repeat)), key=lambda one: one["tlp_per_second"]
        )
        runs = [runs[repeat // 2] | {"what": "circuits in a fabric"}]
    if missing := icarus.missing():
        say(f"skipping Icarus: {missing}")
    else:
        with progress("Icarus"):
            alone = icarus.run_engine(cycles) | {"what": "cocotb with Icarus"}
        alone["ratio"] = runs[0]["cycles_per_second"] / alone["cycles_per_second"]
        runs.append(alone)
    rows = (((one["what"],), one) for one in runs)
    emit({"runs": runs}, _table(("engines in",), CIRCUITS, rows), json_to)


def bench_session(
    size_: Annotated[
        str, typer.Option("--size", metavar="SIZE", help="Bytes moved to the card, and back.")
    ] = "32 MiB",
    accesses: Annotated[int, _number("Accesses to a register, of each kind.")] = 2000,
    repeat: Annotated[int, _number("Runs; medians are reported.", most=MOST_RUNS)] = 3,
    json_to: JsonTo = None,
) -> None:
    """Time a program of a session: accesses to registers, and transfers of the DMA accelerator.

    An access is compared with a packet that two processes send to each other and back over a bare
    socket. The two processes are on the same cores as the program and the simulation: both on one
    core, or each on a core of its own. A transfer is compared with a run of a flow that moves as
    many bytes over the same kind of link, with every byte checked, by real time and by the
    processor time of the simulation. Accesses and transfers are measured in the same run. Each
    transfer is made twice, the second time as "again", because the first transfer to the card
    allocates the card's memory.
    """
    from peerlane.benchmark.session.bench import bench_session as bench

    with progress("benchmark"):
        found = bench(_size(size_), accesses, repeat)
    emit(found, _session_table(found), json_to)


def _of_each(
    text: str, what: str, measure: Callable[[int], dict[str, Any]]
) -> list[dict[str, Any]]:
    """The measurements for each number in the list `text`."""
    return _measured([(f"{count} {what}", partial(measure, count)) for count in _counts(text)])


def _measured(cases: Sequence[tuple[str, Callable[[], dict[str, Any]]]]) -> list[dict[str, Any]]:
    """Measures all cases, whose names the progress bar shows; returns the measurements."""
    runs: list[dict[str, Any]] = []
    with progress("benchmark") as bar:
        for name, measure in cases:
            bar(Progress(len(runs) / len(cases), name))
            with wrong_use():
                runs.append(measure())
    return runs


def _peers(text: str | None) -> list[Peer]:
    """The simulators that the list `text` names."""
    from peerlane.benchmark.peers.table import ABSENT, PEERS

    names = [name.strip() for name in text.split(",")] if text is not None else []
    for name in dict.fromkeys(names):
        if name in ABSENT:
            say(f"skipping {name}: {ABSENT[name]}")
        elif name not in PEERS:
            raise typer.BadParameter(
                f"{name!r} is no simulator that can do this job; there are {', '.join(PEERS)}",
                param_hint="--peer",
            )
    return [PEERS[name] for name in dict.fromkeys(names) if name in PEERS]


def _size(text: str) -> int:
    """Reads a number of bytes, which must be a multiple of the burst size of the accelerator."""
    from peerlane import _core

    with wrong_use("--size"):
        number = _core.read_size(text)
    if number % _BURST or not _BURST <= number <= _LARGEST:
        raise typer.BadParameter(
            f"{text!r} is not a multiple of 256 B up to 1 GiB; write for example 32 MiB",
            param_hint="--size",
        )
    return number


def _counts(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise typer.BadParameter(
            f"{text!r} is not a list of numbers; write one or more, such as 1,64,512"
        )
    return [int(part) for part in parts]


Column = tuple[str, "Callable[[Mapping[str, Any]], str]"]
"""A column of numbers: its heading, and a function from a run to the text of its cell."""


def _whole(key: str, heading: str | None = None) -> Column:
    """A column of whole numbers, which have the given key."""
    return heading or key, lambda run_: f"{run_[key]:,.0f}" if run_.get(key) is not None else "-"


def _bytes(key: str, heading: str) -> Column:
    return heading, lambda run_: size(run_.get(key) and round(run_[key]))


def _each(key: str, heading: str) -> Column:
    """A column of nanoseconds per item, from the rate of the items."""
    return heading, lambda run_: f"{1e9 / run_[key]:,.0f}"


WALL: Column = ("wall time", lambda run_: duration(run_["wall_seconds"] * 1e9))
EVENTS = _whole("events_per_second", "events/s")
PEAK = _bytes("peak_bytes", "peak memory")
FABRIC = (
    ("endpoints", lambda run_: str(run_.get("endpoints", 1))),
    _whole("tlps", "TLPs"),
    WALL,
    _whole("tlp_per_second", "TLP/s"),
    _each("tlp_per_second", "ns/TLP"),
    EVENTS,
    PEAK,
)
SLOWER: Column = ("times slower", lambda run_: f"{run_['ratio']:,.1f}" if "ratio" in run_ else "-")
NETWORK = (
    _whole("hops"),
    WALL,
    _whole("hops_per_second", "hops/s"),
    _each("hops_per_second", "ns/hop"),
    EVENTS,
    PEAK,
)
MESSAGES = (
    _whole("hosts"),
    _bytes("payload", "payload"),
    WALL,
    _bytes("payload_per_second", "payload/s"),
    EVENTS,
    PEAK,
)
DEVICES = (
    _whole("accesses"),
    WALL,
    _whole("ns_per_access", "ns/access"),
    EVENTS,
    ("times built-in", lambda run_: f"{run_['ratio']:.2f}"),
)
CIRCUITS = (
    _whole("engines"),
    _whole("tlps", "TLPs"),
    ("processor time", lambda run_: duration(run_["seconds"] * 1e9)),
    _whole("tlp_per_second", "TLP/s"),
    _whole("cycles_per_second", "cycles/s"),
    _whole("ratio", "times slower"),
)


def _table(
    headings: Sequence[str],
    columns: Sequence[Column],
    rows: Iterable[tuple[Sequence[str], Mapping[str, Any]]],
    *folds: str,
) -> Sheet:
    """A table with a row for each run; a narrow terminal may omit the columns in `folds`."""
    from peerlane.cli.tables.sheet import Sheet

    table = Sheet(*headings)
    table.numbers(*(heading for heading, _ in columns))
    table.fold(*folds)
    for names, run_ in rows:
        table.add_row(*names, *(text(run_) for _, text in columns))
    return table


def _session_table(found: Mapping[str, Any]) -> Sheet:
    """The time of each access and the rate of each transfer, beside the value of its reference."""
    from peerlane.cli.tables.sheet import Sheet

    table = Sheet("program", "reference")
    table.numbers("real time", "of it", "ratio", "by CPU")
    for placement, there in found["placements"].items():
        for kind, one in there["accesses"].items():
            table.add_row(
                f"{kind} of a register",
                f"socket, {placement}",
                duration(one["ns"]),
                duration(there["socket_ns"]),
                f"{one['ratio']:.2f}",
                "-",
            )
    for way, one in found["transfers"].items():
        table.add_row(
            f"{size(found['size'])} {way.replace('_', ' ')}",
            "run of a flow",
            f"{size(round(one['bytes_per_second']))}/s",
            f"{size(round(one['run_bytes_per_second']))}/s",
            f"{one['share']:.2f}",
            f"{one['processor_share']:.2f}",
        )
    for what in ("fill", "verify"):
        rate = found[f"{what}_bytes_per_second"]
        table.add_row(f"{what} a buffer", "-", f"{size(round(rate))}/s", "-", "-", "-")
    return table
