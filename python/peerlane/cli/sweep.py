"""`peerlane sweep`: runs a workload of a network at several loads."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from peerlane import Fabric, Simulation
from peerlane.cli.console import complain, emit, progress
from peerlane.cli.files import keep_apart, scenario_text
from peerlane.cli.head import head
from peerlane.cli.options import FAILED, JsonTo, Scenario
from peerlane.cli.tables.sweep import sweep as table
from peerlane.fabric.simulation import already_warned, digest_of
from peerlane.network.bounds import bounds
from peerlane.network.sweep import bytes_per_second, even_loads, the_workload
from peerlane.network.sweep import sweep as sweep_loads

STEPS = 10
"""Loads of a sweep that says none."""


def sweep(  # noqa: PLR0913 - each is an option
    file: Scenario,
    *,
    loads: Annotated[
        str | None,
        typer.Option(
            metavar="LOAD[,LOAD...]",
            help='Payload that each node offers, such as "0.5 GB/s,1 GB/s,2 GB/s".',
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1000,
            metavar="N",
            help="Number of even steps up to --to, without --loads; the default is 10.",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="LOAD", help="The highest load of the steps; a fifth over the bound, if absent."
        ),
    ] = None,
    traffic: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The workload to sweep; needed only if there are several."),
    ] = None,
    json_to: JsonTo = None,
) -> None:
    """Run a workload of a network at one load after the other: latency against offered load.

    `peerlane sweep scenarios/torus.toml`

    Each load is a run of its own that measures within `[measure]` and ends shortly after it; or,
    without one, in the last two thirds of the workload's duration, when the network is full. All
    rates are payload for each node.

    - offered: as asked for; random arrivals make a little more of it, or less.
    - saturated: accepted is over 5 % less than offered, and more than chance makes of few messages.
    - latency: of the messages that were due within `[measure]` and arrived before the run's end;
      in saturation it grows with the length of the run.
    - saturation throughput: the most that was accepted.
    - bounds: by arithmetic, what the way into the network (injection), the way out of it (ejection)
      and its busiest fibre (bisection) carry at most. The smallest one binds.

    The exit status is 1 when packets were lost.
    """
    if loads is not None and (to is not None or steps is not None):
        other = "--steps" if to is None else "--to"
        raise typer.BadParameter(f"--loads and {other} exclude each other; write one of them")
    keep_apart([file], {"--json": json_to})
    text, source = scenario_text(file)
    tree = Simulation(text, source=source).tree()
    workload = the_workload(tree, traffic)
    try:
        if loads is not None:
            offered = [bytes_per_second(load.strip()) for load in loads.split(",")]
        else:
            limit = 1.2 * bounds(tree, workload).least if to is None else bytes_per_second(to)
            offered = [round(load) for load in even_loads(limit, steps or STEPS)]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    with already_warned(), progress(f"{workload.id} at {len(offered)} loads") as bar:
        outcome = sweep_loads(
            Fabric.from_toml(text, source=source),
            offered,
            workload.id,
            progress=lambda done: bar(f"{workload.id} at {len(offered)} loads", done),
        )
    outcome = replace(outcome, name=tree.name)  # of the file, where the scenario has none
    document = head("sweep", scenario_digest=digest_of(text)) | outcome.to_json()
    emit(document, table(outcome), json_to)
    if lost := sum(point.lost for point in outcome.points):
        complain(f"{lost} packets were lost; peerlane run {file} says where")
        raise typer.Exit(FAILED)
