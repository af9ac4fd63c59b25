"""`peerlane explain`: explains the rates of flows and schedules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from peerlane.cli.files import keep_apart
from peerlane.cli.options import JsonTo, ShowAll, WithErrorBars
from peerlane.cli.request import ScenarioRequest


def explain(  # noqa: PLR0913 - each is an option
    scenario: ScenarioRequest,
    *,
    flow: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The flow or schedule to explain; all, if absent."),
    ] = None,
    what_if: Annotated[
        bool,
        typer.Option(
            "--what-if/--no-what-if",
            help="Run again with each limit lifted, to find what helps and what limits then.",
        ),
    ] = True,
    error_bars: WithErrorBars = False,
    every: ShowAll = False,
    json_to: JsonTo = None,
) -> None:
    """Say where the flows and schedules of a scenario wait, and which changes would help.

    The first line is for the whole fabric. It names the place at which raising the limit gains
    most, the rates at this place, and the steps that raise the limit, one after the other, until
    another place is the limit. The first step is the change that helps most among the changes that
    need no new part: a setting, a slot, a route, a generation or width of a link, a buffer, the
    size of requests. The tables that follow, one for each place, have the steps ("and" keeps the
    changes above), other changes ("or"), and the rate of each flow when it runs alone; "no gain"
    names changes that gain less than 1 %, and "not possible" changes that the scenario refuses,
    with the reason. Each row is the result of a run of its own, and its settings have the form of
    --set.

    The time of a flow, from its start to its last request, is divided into shares by what the flow
    waits for; the shares add up to 100 %:

    - wire: packets of the flow itself keep a wire busy.
    - arbitration: packets of another flow keep busy a wire, or another resource that both flows
      use.
    - credit: the receiver's buffer for the headers or the data of a class of packets is too small
      for the delay until its credit returns. If a buffer is full because its packets are blocked
      downstream, the time is counted for the downstream cause.
    - tags, outstanding: no further request may be outstanding, by the number of requests, by the
      bytes of their completions, or by the commands of a drive.
    - replay-buffer: the replay buffer is full of packets that are not acknowledged yet.
    - datapath: the datapath or the pace of an engine, or the pace of the flow itself.
    - memory, socket: the memory of a host, or the connection between two of its sockets.
    - software: the driver or program that moves the flow.
    - latency: the time of a round trip through links, switches and devices.

    A wait for credit, memory or acknowledgements that is hidden behind a full wire is counted for
    the wire. If a wire is the limit, packets always wait for it. So if the engine of a flow waits
    for credit, tags, outstanding bytes, acknowledgements or its own next step, this wait limits the
    flow, even if it is the smaller part of the flow's time. docs/reference/waits.md has more
    details, and the keys that raise each limit.

    The rate of a schedule is its bus bandwidth. Its time is divided along its critical path:
    transfers count for the busiest wire on their way as long as this wire can have been busy;
    "transfers" is the rest of their time, "flags" the time until the next device has seen that data
    is complete. Changes are made at all devices of a schedule, or at all similar links, and other
    algorithms, requests and engines are tried, too.

    With --error-bars, the sentence of each place has the range in which its rate may lie, and the
    default on which the range depends most.

    Flows are alike if they differ only in numbers, including numbers in their names. Of more than 4
    flows that are alike, only the slowest is shown. --all shows each flow with all its shares, and
    also places whose limit is raised by a change shown above; --flow shows one flow. If there are
    more than 8 places, only the limits of the first 8 are raised, unless --all or --json is given.
    """
    from peerlane.cli.console import emit, progress
    from peerlane.cli.head import head
    from peerlane.cli.outcome import judge_failures
    from peerlane.cli.scenarios import scenario_text
    from peerlane.cli.tables.explain import explain as tables
    from peerlane.explaining.explain import explain as find_out
    from peerlane.fabric.simulation import digest_of

    keep_apart([scenario.file], {"--json": json_to})
    text, source = scenario_text(scenario.file)
    with progress(f"explaining {Path(scenario.file).name}") as bar:
        found = find_out(
            text,
            source=source,
            settings=scenario.changed,
            seed=scenario.seed,
            flow=flow,
            what_if=what_if,
            each=every or json_to is not None,
            progress=bar,
        )
    if error_bars:
        from peerlane.cli.error_bars import found as error_bars_of

        found = found.with_error_bars(error_bars_of(scenario, (text, source)))
    document = head("explanation", scenario_digest=digest_of(text)) | found.to_json()
    emit(document, tables(found, each=every, shares=flow is not None), json_to)
    judge_failures(found.failures)
