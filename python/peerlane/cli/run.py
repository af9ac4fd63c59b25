"""`peerlane run`: simulates a scenario."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerlane import Filter
from peerlane.cli.captures import (
    Address,
    At,
    Flow,
    Kind,
    Pcap,
    Perfetto,
    Trace,
    Vcd,
    Window,
    capture,
    check_only,
)
from peerlane.cli.console import warn
from peerlane.cli.files import keep_apart, keep_from_tables, open_simulation
from peerlane.cli.options import (
    MOST_RUNS,
    Circuits,
    JsonTo,
    Models,
    ParquetTo,
    ReportTo,
    Scenario,
    Seed,
    Settings,
)
from peerlane.cli.outcome import Outputs, conclude, simulate
from peerlane.cli.repeat import run_repeated
from peerlane.cli.report import open_folder, origin, write_pages
from peerlane.cli.tables.cells import duration
from peerlane.explaining.hints import hints
from peerlane.fabric.paths import read_setting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from peerlane import Simulation
    from peerlane.fabric.tree import Tree
    from peerlane.report.page import Page
    from peerlane.results.run import RunResult

FINEST = "100 ns"
"""The interval of the samples of a report, where none is given. The simulator doubles it until the
samples of the whole run have room, so that one run is enough, however long it is."""

MOST_HINTS = 8
"""Flows of which a line says what they wait for."""


def _hints(result: RunResult, tree: Tree, arguments: list[str]) -> list[str]:
    """What flows wait for that are far below their links, and the command that has the rest."""
    found = list(hints(result, tree))
    more = len(found) - MOST_HINTS
    shown = found if more <= 0 else [*found[:MOST_HINTS], f"{more} more flows wait"]
    return [f"{line}: {shlex.join(['peerlane', 'explain', *arguments])}" for line in shown]


def run(  # noqa: PLR0913, PLR0917 - each is an option
    file: Scenario,
    settings: Settings = None,
    models: Models = None,
    seed: Seed = None,
    trace: Trace = None,
    perfetto: Perfetto = None,
    vcd: Vcd = None,
    pcap: Pcap = None,
    at: At = None,
    kind: Kind = None,
    address: Address = None,
    flow: Flow = None,
    window: Window = None,
    rtl: Circuits = None,
    check_coherence: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=2**64 - 1,
            metavar="EVENTS",
            help="Check the lines in all caches after every so many events: one writer, or "
            "readers of the same bytes. Slow.",
        ),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=MOST_RUNS,
            metavar="N",
            help="Run N times, with seeds one after the other, and print the means with their "
            "95 % confidence intervals.",
        ),
    ] = None,
    interval: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help='Sample rates and queue lengths each TIME, such as "10us", into `series` of the '
            "JSON: bytes per second of each flow; use, payload per second, waiting TLPs and bytes "
            "in the replay buffer of each direction of each link; use and payload of fibres.",
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1_000_000,
            metavar="N",
            help="Run on N threads, with the results and the trace of one, and warn if there are "
            "fewer. Fabrics are cut at fibres, cables and other wires with a delay. Without it, "
            "long runs of large fabrics have as many threads as there are processors, 8 at most.",
        ),
    ] = None,
    *,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain/--no-explain",
            help="Say of flows that are far below their links what they wait for.",
        ),
    ] = True,
    json_to: JsonTo = None,
    parquet_to: ParquetTo = None,
    report_to: ReportTo = None,
) -> None:
    """Simulate a scenario and print what its flows, traffic, links and fibres did.

    The exit status is 1 when the fabric answered with an error, or when the bytes of a flow or a
    workload did not all arrive as they were sent. After an interrupt (Ctrl-C) or a SIGTERM, such as
    batch systems send, the numbers of what had happened until then are printed, marked as partial
    (JSON: `partial`); the status is 130 or 143.

    Of a flow:

    - latency: from the making of a request, so its wait for the wire is in it, to its last byte: at
      the target for writes, back at the requester for reads and round trips.
      JSON has p90 and p99.9 (`p999`), too, and all latencies as an HDR histogram in picoseconds
      (`histogram_ps`: HdrHistogram V2, compressed, base64).
    - GB/s, MiB/s: bytes between the two readings of the flow's `clock`. "arrival" reads the first
      bit on the wire (of messages, that of the first doorbell) and the last byte at its
      destination; "sender" the first and the last bit of its requests on the wire; "application"
      the system call that moves it and its return. JSON has the readings as `first_byte_ns` and
      `last_byte_ns`.
    - call: duration of that system call, if a driver moves the flow (a device with model
      "sg-dma").
    - steady: the rate within `[measure]`; empty (JSON: null) if the flow was not under way all that
      time.
    - direction "both": `size` each way; a row for both together, then one for its writes and one
      for its reads (JSON: `directions`).
    - data: "intact" when every byte arrived, exactly once, as it was sent; "incomplete" when some
      did not arrive; "differs" when some are wrong; "not compared" when all arrived and another
      flow uses the bytes that are read, too.

    Below the flows, a line says what a flow waits for that has less than 90 % of the rate that the
    slowest link on its way can carry in such packets: `peerlane explain` has the rest, and JSON has
    `waits`. --no-explain leaves this out, and saves its time, a few percent of a run.

    Of each direction of a link, within `[measure]`, or, without it, from the first `start` of a
    workload to the end of the last one (JSON: `measured_ns`):

    - used: share of that time in which anything was on the wire.
    - payload, overhead: bytes of data; bytes of headers, framing and link CRC, and all of the
      packets sent again.
    - DLLPs, ordered sets: bytes of acknowledgements and credits; bytes that keep the lanes in step.
    - replays: TLPs sent again.
    - stalled: time in which a packet waited for credit alone.

    Of traffic, the workload of a network, payload for each node:

    - offered, accepted: the rate that each node should send, and the rate that arrived within
      `[measure]`: the mean over the nodes, and the least and the most of one node.
    - fairness: Jain's index over the nodes, 1 if all have the same rate.
    - latency: from the time a message was due to its last byte at its target.

    Of each direction of a fibre, in the same time as links: a packet travels in frames; overhead is
    the rest of their cycles, and frames sent again; control is credits, acknowledgements and pauses
    in cycles of their own. A network with more than 16 fibres has one line for all of them
    together; of more than 32 directions of links the busiest 16 are shown. JSON has every one.

    Flows begin when every link is up: `start` and `[measure]` count from there. The times in
    results count from the beginning of the run, link initialisation included.

    With --report, the page has the topology, latencies, what flows waited for, and rates and queue
    lengths over time, sampled as --interval says or else as finely as there is room.

    docs/reference/results.md describes the JSON, and the tables of --parquet. Of more than 64 flows
    the slowest 16 are shown, with a line for all of them.

    A request larger than MPS (writes) or MRRS (reads) goes out as several TLPs; its latency is
    that of the whole.
    """
    captures = {"--trace": trace, "--perfetto": perfetto, "--vcd": vcd, "--pcap": pcap}
    only = Filter(at=at or (), kind=kind or (), address=address, flow=flow or (), window=window)
    check_only(only, captures)
    outputs = {"--json": json_to, **captures}
    keep_apart([file], outputs)
    keep_from_tables({"FILE": file, **outputs}, parquet_to)
    several = threads if threads is not None and threads > 1 else None
    if repeat is not None:
        single = {"--check-coherence": check_coherence, "--interval": interval, "--rtl": rtl}
        single |= {"--parquet": parquet_to, "--report": report_to, "--threads": several}
        _refuse_with_repeat({**captures, **single})
        run_repeated(file, repeat, seed=seed, settings=settings or (), json_to=json_to)
        return
    folder = open_folder(report_to)
    simulation = open_simulation(file, seed=seed, settings=settings, circuits=rtl)
    _watch(simulation, check_coherence, explain=explain or folder is not None)
    capture(simulation, captures, only)
    kept = (json_to, parquet_to, report_to)
    interval_ns = None if interval is None else _sample(simulation, interval, kept)
    if folder is not None and interval is None:
        simulation.sample(every=FINEST)
    outcome = simulate(simulation, f"running {Path(file).stem}", threads)
    result = outcome.result
    tree = simulation.tree()
    again = [file, *(word for one in settings or () for word in ("--set", one))]
    again += [word for one in models or () for word in ("--model", one)]
    lines = _hints(result, tree, again) if explain else []
    told = result if interval is not None else replace(result, series=None)
    if not explain:
        told = replace(told, waits=None)

    def more() -> bool:
        is_written = write_pages(folder, lambda: [_page(simulation, result, settings)])
        if result.series and interval_ns and result.series.interval_ns > interval_ns:
            longer = duration(result.series.interval_ns).replace(" ", "")
            too_many = f"there were too many samples, so that each is of {longer}"
            warn(f"{too_many}; write --interval {longer}")
        return is_written

    conclude(simulation, outcome, told, Outputs(json_to, parquet_to, only, lines, more))


def _refuse_with_repeat(options: Mapping[str, object]) -> None:
    """Refuses options, by their names, that are given and are for a single run."""
    for option in (name for name, value in options.items() if value is not None):
        raise typer.BadParameter(f"{option} is for a single run; leave out --repeat")


def _page(simulation: Simulation, result: RunResult, settings: Sequence[str] | None) -> Page:
    from peerlane.report.run import run_page

    page = run_page(simulation, result, origin(str(result.seed), simulation.scenario_digest))
    return page.with_settings(dict(map(read_setting, settings or ())))


def _watch(simulation: Simulation, check_coherence: int | None, *, explain: bool) -> None:
    if check_coherence is not None:
        try:
            simulation.watch_coherence(every=check_coherence)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--check-coherence") from None
    if explain:
        simulation.watch_waits()


def _sample(simulation: Simulation, interval: str, outputs: Sequence[str | None]) -> float:
    """Samples from now on; returns the interval in nanoseconds."""
    if not any(outputs):
        raise typer.BadParameter(
            "samples are not in what is printed; write --json FILE, --parquet DIR or --report DIR,"
            " too",
            param_hint="--interval",
        )
    try:
        return simulation.sample(every=interval)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--interval") from None
