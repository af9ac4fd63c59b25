"""`peerlane run`: simulates a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from peerlane.cli.options import FAILED, wrong_use
from peerlane.cli.request import RunRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerlane import Simulation
    from peerlane.report.page import Page
    from peerlane.results.error_bar import ErrorBars
    from peerlane.results.explanation import Explanation
    from peerlane.results.run import RunResult

FINEST = "100 ns"
"""The initial interval of the samples of a report, if --interval is absent. The simulator doubles
the interval whenever the samples need too much memory, so that it suits runs of any length."""


def run(request: RunRequest) -> None:
    """Simulate a scenario and print what its flows, traffic, links and fibres did.

    The exit status is 1 if the fabric answered a request with an error, if bytes of a flow or a
    workload were lost or changed, or if a number is not within the bounds of an [[expect]] of the
    scenario; each number outside its bounds is printed. --junit has the expectations as test cases.
    After an interrupt (Ctrl-C) or a SIGTERM, such as batch systems send, the numbers up to this
    time are printed, marked as partial (JSON: `partial`); the status is 130 or 143.

    Columns of a flow:

    - latency: from the creation of a request to its last byte, at the target for writes, at the
      requester for reads and round trips; it includes the wait for the wire. JSON has p90 and p99.9
      (`p999`), too, and all latencies as an HDR histogram in picoseconds (`histogram_ps`:
      HdrHistogram V2, compressed, base64).
    - GB/s, MiB/s: bytes divided by the time between the two readings of the flow's `clock`. With
      `duration`, the time is from the start to the end of the duration, or to the last reading if
      that is later (JSON: `under_way_ns`). The clock "arrival" is read at the first bit on the wire
      (of messages: of the first doorbell) and when the last byte arrives at its destination; the
      clock "sender" at the first and the last bit of the flow's requests on the wire; the clock
      "application" when the system call that moves the flow begins and returns. JSON has the
      readings as `first_byte_ns` and `last_byte_ns`.
    - call: duration of the system call that moves the flow, if a driver moves it (a device with the
      model "sg-dma").
    - ±: half of the 95 % confidence interval of the rate, relative to the rate (with --steady).
    - steady: the rate within `[measure]`; empty (JSON: null) if the flow was not active all the
      time.
    - direction "both": `size` bytes in each direction, with a row for both directions together, a
      row for writes and a row for reads (JSON: `directions`).
    - data: "intact" if every byte arrived exactly once, as it was sent; "incomplete" if bytes did
      not arrive; "differs" if bytes are wrong; "not compared" if all bytes arrived, but another
      flow also uses the memory that is read.

    The last line names the place at which most flows wait longest; `peerlane explain` finds changes
    that help. JSON has the waits of each flow in `waits`. --no-explain omits this line, and
    shortens the run by a few percent.

    Columns of a direction of a link, within `[measure]`, or else from the first `start` of a
    workload to the end of the last one (JSON: `measured_ns`):

    - used: the share of time in which the wire carried anything. Only the time counts in which a
      workload that crosses the link was active (JSON: `under_way_ns`); if no workload crosses the
      link, the whole time counts.
    - full: the share of the same time in which the wire was nearly always busy. The time is divided
      into slots of about a fiftieth of the run (longer in large fabrics), and a slot counts if the
      wire was busy for at least 95 % of it.
    - GB/s together: payload rate in the time in which all workloads that cross the link were
      active.
    - payload, overhead: bytes of data; bytes of headers, framing, link CRC and packets sent again.
    - DLLPs, ordered sets: bytes of acknowledgements and credits; bytes that keep the lanes in step.
    - replays: TLPs sent again.
    - stalled: time in which a packet waited for credit and for nothing else.

    Columns of traffic, the workload of a network, payload for each node:

    - offered, accepted: the rate that each node should send, and the rate that arrived within
      `[measure]`, as the mean, the least and the greatest rate of a node.
    - fairness: Jain's index over the nodes, 1 if all have the same rate.
    - latency: from the time when a message was due to its last byte at the target.

    Each direction of a fibre has a row, for the same time as links. A packet on a fibre travels in
    frames: overhead is all cycles of frames except payload, and frames sent again; control is the
    cycles of credits, acknowledgements and pauses. A network of more than 16 fibres has one row for
    all fibres; of more than 32 directions of links, only the 16 busiest are shown. JSON has all
    rows.

    Flows begin when every link is up: `start` and `[measure]` count from this time. Times in
    results count from the beginning of the run, including link initialisation.

    With --report, a page has the topology, latencies, waits of flows, and rates and queue lengths
    over time. The interval of the samples is --interval, or else the shortest possible interval.

    With --error-bars, the range of each rate and latency is printed instead; a page of --report
    also has the range of each flow's rate.

    docs/reference/results.md describes the JSON, and the tables of --parquet. If there are more
    than 64 flows, the slowest 16 are shown, with a row for all flows together.

    A request larger than MPS (writes) or MRRS (reads) is sent as several TLPs; its latency ends
    with the last one.
    """
    if request.error_bars:
        _run_with_error_bars(request)
        return
    if request.repeat is not None:
        from peerlane.cli.repeat import run_repeated

        run_repeated(request)
        return
    from peerlane.cli.outcome import conclude, simulate
    from peerlane.cli.report import open_folder, write_pages

    folder = open_folder(request.outputs.report_to)
    text = request.scenario.text()
    simulation = request.scenario.simulation(request.rtl, text)
    if request.junit is not None and not simulation.result().expectations:
        message = (
            "the scenario expects nothing; write [[expect]] with metric and at_least or at_most"
        )
        raise typer.BadParameter(message, param_hint="--junit")
    _watch(simulation, request)
    request.captures.begin(simulation)
    interval_ns = _sample(simulation, request)
    outcome = simulate(simulation, request)
    result = outcome.result
    lines = list(_where_flows_wait(simulation, result, request, text))

    def write_more() -> bool:
        is_written = write_pages(folder, lambda: [_page(simulation, result, request, text)])
        _warn_of_samples(result, interval_ns)
        return is_written

    conclude(simulation, outcome, request, lines, write_more)


def _run_with_error_bars(request: RunRequest) -> None:
    """Prints error bars; with --report, runs once more and writes a page with the error bars."""
    from peerlane.cli.error_bars import run_with_error_bars
    from peerlane.cli.outcome import judge_failures, simulate
    from peerlane.cli.report import open_folder, write_pages

    folder = open_folder(request.outputs.report_to)
    text = request.scenario.text()
    bars = run_with_error_bars(request, text)
    if folder is None:
        return
    simulation = request.scenario.simulation(text=text)
    _watch(simulation, request)
    _sample(simulation, request)
    outcome = simulate(simulation, request)
    is_written = write_pages(
        folder, lambda: [_page(simulation, outcome.result, request, text, bars)]
    )
    if outcome.broken_off is not None:
        raise outcome.broken_off
    judge_failures(outcome.result.failures)
    if not is_written:
        raise typer.Exit(FAILED)


def _watch(simulation: Simulation, request: RunRequest) -> None:
    if request.check_coherence is not None:
        with wrong_use("--check-coherence"):
            simulation.watch_coherence(every=request.check_coherence)
    if request.explain or request.outputs.report_to is not None:
        simulation.watch_waits()


def _sample(simulation: Simulation, request: RunRequest) -> float | None:
    """Begins to sample if --interval or --report is given; returns --interval in nanoseconds."""
    if request.interval is not None:
        with wrong_use("--interval"):
            return simulation.sample(every=request.interval)
    if request.outputs.report_to is not None:
        simulation.sample(every=FINEST)
    return None


def _where_flows_wait(
    simulation: Simulation, result: RunResult, request: RunRequest, read: tuple[str, str]
) -> Iterator[str]:
    """Yields a line with the place that limits the flows, and the command that finds remedies."""
    if request.explain and result.waits is not None:
        explanation = _explained(simulation, result, request, read, most=0)
        if explanation.bottlenecks:
            again = request.scenario.again("explain")
            yield f"{explanation.sentence} What would help: {again}"


def _explained(
    simulation: Simulation,
    result: RunResult,
    request: RunRequest,
    read: tuple[str, str],
    **options: Any,  # noqa: ANN401 - those of the function
) -> Explanation:
    """Explains where flows wait, with the changes that would help unless `most` is 0."""
    from peerlane.explaining.explain import explained

    text, source = read
    settings = request.scenario.changed
    return explained(text, simulation, result, source=source, settings=settings, **options)


def _page(
    simulation: Simulation,
    result: RunResult,
    request: RunRequest,
    read: tuple[str, str],
    bars: ErrorBars | None = None,
) -> Page:
    from peerlane.cli.console import progress
    from peerlane.cli.report import origin
    from peerlane.report.run import run_page

    explanation = None
    if request.explain and (result.waits or result.schedules) and not result.partial:
        with progress(f"explaining {Path(request.scenario.file).name}") as bar:
            explanation = _explained(simulation, result, request, read, progress=bar)
        if bars is not None:
            explanation = explanation.with_error_bars(bars)
    made = origin(str(result.seed), simulation.scenario_digest, request.scenario.file, result.name)
    page = run_page(simulation, result, made, explanation, bars)
    return page.with_settings(request.scenario.changed)


def _warn_of_samples(result: RunResult, interval_ns: float | None) -> None:
    """Warns if the interval of the samples is longer than --interval."""
    if interval_ns and result.series and result.series.interval_ns > interval_ns:
        from peerlane.cli.console import warn
        from peerlane.formats import duration

        longer = duration(result.series.interval_ns).replace(" ", "")
        too_many = f"there were too many samples, so that each is of {longer}"
        warn(f"{too_many}; write --interval {longer}")
