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
"""The interval of the samples of a report, if none is given. The simulator doubles the interval
until all samples of the run fit into memory, so that one run is enough, however long it is."""


def run(request: RunRequest) -> None:
    """Simulate a scenario and print what its flows, traffic, links and fibres did.

    The exit status is 1 when the fabric answered with an error, when bytes of a flow or a workload
    were lost or changed, or when a number is not within the bounds of an [[expect]] of the
    scenario; each of these numbers is printed. --junit has the expectations as test cases. After an
    interrupt (Ctrl-C) or a SIGTERM, such as batch systems send, the numbers up to this time are
    printed, marked as partial (JSON: `partial`); the status is 130 or 143.

    Columns of a flow:

    - latency: from the creation of a request to its last byte, at the target for writes, at the
      requester for reads and round trips; it includes the wait for the wire. JSON has p90 and p99.9
      (`p999`), too, and all latencies as an HDR histogram in picoseconds (`histogram_ps`:
      HdrHistogram V2, compressed, base64).
    - GB/s, MiB/s: bytes over the time between the two readings of the flow's `clock`; with
      `duration`, over the time from the start to the end of the duration, or to the last reading if
      it is later (JSON: `under_way_ns`). "arrival" reads the first bit on the wire (of messages, of
      the first doorbell) and the last byte at its destination; "sender" the first and the last bit
      of its requests on the wire; "application" the system call that moves the flow and its return.
      JSON has the readings as `first_byte_ns` and `last_byte_ns`.
    - call: duration of that system call, if a driver moves the flow (a device with model "sg-dma").
    - ±: half of the 95 % confidence interval of the rate, with --steady, as a part of the rate.
    - steady: the rate within `[measure]`; empty (JSON: null) if the flow was not active all the
      time.
    - direction "both": `size` each way; a row for both together, then a row for writes and a row
      for reads (JSON: `directions`).
    - data: "intact" when every byte arrived, exactly once, as it was sent; "incomplete" when some
      did not arrive; "differs" when some are wrong; "not compared" when all arrived and another
      flow uses the bytes that are read, too.

    The last line names the place where most flows wait longest; `peerlane explain` finds changes
    that help, and JSON has `waits`. --no-explain omits the line, and saves a few percent of the
    run.

    Columns of a direction of a link, within `[measure]`, or else from the first `start` of a
    workload to the end of the last one (JSON: `measured_ns`):

    - used: the share of time with anything on the wire, while a workload that crosses the link was
      active (JSON: `under_way_ns`); of the whole time, if none crosses it.
    - full: the share of the same time in slots in which the wire was busy for 95 % or more; a slot
      is about a fiftieth of the run, or more in large fabrics.
    - GB/s together: payload while all workloads that cross the link were active.
    - payload, overhead: bytes of data; bytes of headers, framing, link CRC and packets sent again.
    - DLLPs, ordered sets: bytes of acknowledgements and credits; bytes that keep the lanes in step.
    - replays: TLPs sent again.
    - stalled: time in which a packet waited only for credit.

    Columns of traffic, the workload of a network, payload for each node:

    - offered, accepted: the rate that each node should send, and the rate that arrived within
      `[measure]`: the mean over the nodes, and the least and the most of a node.
    - fairness: Jain's index over the nodes, 1 if all have the same rate.
    - latency: from the time when a message was due to its last byte at the target.

    For each direction of a fibre, in the same time as links: a packet travels in frames; overhead
    is the rest of their cycles, and frames sent again; control is cycles of credits,
    acknowledgements and pauses. A network of more than 16 fibres has one line for all; of more than
    32 directions of links the busiest 16 are shown. JSON has all.

    Flows begin when every link is up: `start` and `[measure]` count from this time. Times in
    results count from the beginning of the run, including link initialisation.

    With --report, the page has the topology, latencies, waits of flows, and rates and queue lengths
    over time, sampled with --interval or else with the shortest possible interval.

    With --error-bars, the range of each rate and latency is printed instead; a page of --report
    also has the range of each flow's rate.

    docs/reference/results.md describes the JSON, and the tables of --parquet. If there are more
    than 64 flows, the slowest 16 are shown, with a line for all.

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
    """Prints error bars; with --report, runs once more and writes a page that has them."""
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
    """Samples from now on, if --interval or --report is given; the interval in nanoseconds."""
    if request.interval is not None:
        with wrong_use("--interval"):
            return simulation.sample(every=request.interval)
    if request.outputs.report_to is not None:
        simulation.sample(every=FINEST)
    return None


def _where_flows_wait(
    simulation: Simulation, result: RunResult, request: RunRequest, read: tuple[str, str]
) -> Iterator[str]:
    """The place that limits the flows, and the command that finds changes that would help."""
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
    """The places where flows wait; with the changes that would help, unless `most` is 0."""
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
    if request.explain and result.waits and not result.partial:
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
