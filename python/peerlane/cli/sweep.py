"""`peerlane sweep`: runs a scenario at many points, or the workload of a network at many loads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from peerlane import Fabric, ScenarioError, Simulation
from peerlane.cli.console import InterruptedWorkError, complain, emit, progress, say, warn
from peerlane.cli.files import keep_apart, scenario_text
from peerlane.cli.head import head
from peerlane.cli.options import (
    FAILED,
    JsonTo,
    Models,
    ReportTo,
    Scenario,
    Seed,
    Settings,
    ShowAll,
    writable,
)
from peerlane.cli.report import open_folder, origin, write_pages
from peerlane.cli.tables.cells import duration
from peerlane.cli.tables.points import points as points_table
from peerlane.cli.tables.sweep import sweep as loads_table
from peerlane.fabric.paths import in_order, read_setting
from peerlane.fabric.settings import Setting
from peerlane.fabric.simulation import already_warned, digest_of
from peerlane.fabric.variant import parsed, variant
from peerlane.figures.metrics import UnknownMetricError
from peerlane.figures.table import check_ending
from peerlane.network.bounds import bounds
from peerlane.network.sweep import bytes_per_second, even_loads, the_workload
from peerlane.network.sweep import sweep as sweep_loads
from peerlane.varying.axes import Axis
from peerlane.varying.journal import CompleteError, JournalError, journal_of
from peerlane.varying.points import Sample
from peerlane.varying.sweep import Points, sweep_points

if TYPE_CHECKING:
    from peerlane.network.sweep import Sweep
    from peerlane.report.folder import Folder
    from peerlane.report.page import Page

STEPS = 10
"""Loads of a sweep that says none."""


def _axes(given: list[str] | None) -> list[str]:
    for one in given or ():
        try:
            Axis.read(one)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    return given or []


def _sample(given: str | None) -> str | None:
    if given is not None:
        try:
            Sample.read(given)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    return given


def _table_file(path: str | None) -> str | None:
    if path is not None:
        try:
            check_ending(path)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    return writable(path)


def sweep(  # noqa: C901, PLR0912, PLR0913, PLR0915 - each is an option
    file: Scenario,
    *,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=SPEC",
            callback=_axes,
            help="Vary a key of the scenario: `A..B*F` multiplies from A to B, `A..B+S` adds, "
            "`a,b,c` lists; such as `devices.a.tags=8..256*2`, `links.generation=3,4,5` or "
            '`flows.up.size="64 B..4 KiB*2"`. May be repeated: every combination is a point.',
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Take a value of the result's JSON, such as `flows.up.bytes_per_second` or "
            "`links.h0-s0.up.utilisation`. May be repeated; the rates of all workloads, if absent.",
        ),
    ] = None,
    settings: Settings = None,
    models: Models = None,
    sample: Annotated[
        str | None,
        typer.Option(
            metavar="random:N|lhs:N",
            callback=_sample,
            help="Draw N points instead of every combination: at random, or by a Latin hypercube. "
            "`A..B` then draws from all values between.",
        ),
    ] = None,
    seed: Seed = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            callback=_table_file,
            help="Write the points to FILE, which ends with .csv or .parquet: a column for each "
            "key and metric, `seed`, `status`, `error`.",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on with the sweep that was interrupted when it wrote --out."
        ),
    ] = False,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run the points on the workers of a Dask scheduler, such as tcp://HOST:8786, "
            "instead of the processors of this machine.",
        ),
    ] = None,
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
    every: ShowAll = False,
    json_to: JsonTo = None,
    report_to: ReportTo = None,
) -> None:
    """Run a scenario at many points, on every processor.

    `peerlane sweep pair --vary links.s0-b.lanes=1..8*2 --out lanes.csv`

    With --vary, each combination of the values is a run of its own, with a row for the keys and
    metrics. A point that fails is told with its reason, and the others go on; the exit status is 1
    when all fail. While the sweep goes on, its points are in FILE.journal beside --out
    FILE; after an interruption --resume runs the others. Of more than 8 rates that are alike but
    for the numbers in their names, the least, the median and the most are shown; --all or --metric
    shows each.

    Without --vary, the workload of a network runs at one load after the other:

    `peerlane sweep torus`

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

    The exit status is then 1 when packets were lost.
    """
    loads_alone = {"--loads": loads, "--steps": steps, "--to": to, "--traffic": traffic}
    points_alone = {"--metric": metric, "--sample": sample, "--resume": resume}
    for option, value in (loads_alone if vary else points_alone).items():
        if value:
            other = "is for loads, and excludes --vary" if vary else "needs --vary"
            raise typer.BadParameter(f"{option} {other}; peerlane sweep --help has both forms")
    if resume and out is None:
        raise typer.BadParameter("--resume needs --out, the file of the interrupted sweep")
    if models and scheduler is not None:
        raise typer.BadParameter(
            "models of one's own run on this machine alone; leave out --scheduler"
        )
    journal = None if out is None else str(journal_of(check_ending(out)))
    keep_apart([file], {"--json": json_to, "--out": out, "the journal of --out": journal})
    folder = open_folder(report_to)
    text, source = scenario_text(file)
    given = dict(map(read_setting, settings or ()))
    if not vary:
        _loads(
            text, source, given, (loads, steps, to, traffic), seed, scheduler, out, json_to, folder
        )
        return
    axes = list(map(Axis.read, vary))
    done = total = 0
    try:
        with progress("sweeping") as bar:

            def told(so_far: int, of: int) -> None:
                nonlocal done, total
                done, total = so_far, of
                bar(f"{so_far:,} of {of:,} points", so_far / of)

            outcome = sweep_points(
                text,
                axes,
                metric or (),
                source=source,
                settings=given,
                sample=sample,
                seed=seed,
                scheduler=scheduler,
                out=out,
                resume=resume,
                progress=told,
            )
    except KeyboardInterrupt:
        if not total:
            raise
        kept = f"--resume goes on with those in {journal}" if journal else "--out would keep them"
        raise InterruptedWorkError(
            f"interrupted after {done:,} of {total:,} points; {kept}"
        ) from None
    except ScenarioError:
        raise
    except UnknownMetricError as error:
        raise typer.BadParameter(str(error), param_hint="--metric") from None
    except CompleteError as error:
        say(str(error))
        return
    except JournalError as error:
        raise typer.BadParameter(str(error), param_hint="--out") from None
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--vary") from None
    document = head("points", scenario_digest=digest_of(text)) | outcome.to_json()
    emit(document, points_table(outcome, each=every or bool(metric)), json_to)
    made = _seeds(outcome), digest_of(text)
    is_written = write_pages(folder, lambda: [_points_page(outcome, *made).with_settings(given)])
    if scheduler is not None:
        ran, threads = len(outcome) - outcome.resumed, outcome.workers
        say(
            f"{ran:,} points by {threads} thread{'s' * (threads > 1)} of workers in"
            f" {duration(outcome.wall_seconds * 1e9)}: {duration(outcome.point_seconds * 1e9)} a"
            f" point, and {duration(outcome.overhead_seconds * 1e9)} of overhead"
        )
    if len(outcome.wrong) == len(outcome):
        complain(f"every point failed, first with: {outcome.wrong[0].error}")
        raise typer.Exit(FAILED)
    if outcome.wrong:
        warn(f"{len(outcome.wrong):,} of {len(outcome):,} points failed")
    if not is_written:
        raise typer.Exit(FAILED)


def _points_page(outcome: Points, seeds: str, digest: str) -> Page:
    from peerlane.report.sweep import points_page

    return points_page(outcome, origin(seeds, digest))


def _loads_page(outcome: Sweep, seed: str, digest: str) -> Page:
    from peerlane.report.sweep import loads_page

    return loads_page(outcome, origin(seed, digest))


def _seeds(outcome: Points) -> str:
    """The seeds of all points."""
    seeds = sorted({point.seed for point in outcome.points})
    return str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"


def _loads(  # noqa: PLR0913, PLR0917 - each is an option
    text: str,
    source: str,
    settings: dict[str, Setting],
    which: tuple[str | None, int | None, str | None, str | None],
    seed: int | None,
    scheduler: str | None,
    out: str | None,
    json_to: str | None,
    folder: Folder | None,
) -> None:
    """The sweep of the load of a network."""
    loads, steps, to, traffic = which
    if loads is not None and (to is not None or steps is not None):
        other = "--steps" if to is None else "--to"
        raise typer.BadParameter(f"--loads and {other} exclude each other; write one of them")
    if settings:
        simulation = variant(parsed(text, source), settings, source=source)
    else:
        simulation = Simulation(text, source=source)
    tree = simulation.tree()
    if not tree.traffic:
        raise ScenarioError(
            f"{source} has no [[traffic]] to sweep; vary a key, such as"
            " --vary devices.a.tags=8..64*2, or write [[traffic]]"
        )
    workload = the_workload(tree, traffic)
    try:
        if loads is not None:
            offered = [bytes_per_second(load.strip()) for load in loads.split(",")]
        else:
            limit = 1.2 * bounds(tree, workload).least if to is None else bytes_per_second(to)
            offered = [round(load) for load in even_loads(limit, steps or STEPS)]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    fabric = Fabric.from_toml(text, source=source)
    for path in in_order(parsed(text, source), settings) if settings else ():
        fabric.override(path, settings[path])
    what = f"{workload.id} at {len(offered)} loads"
    with already_warned(), progress(what) as bar:
        outcome = sweep_loads(
            fabric,
            offered,
            workload.id,
            seed=seed,
            scheduler=scheduler,
            progress=lambda done: bar(what, done),
        )
    outcome = replace(outcome, name=tree.name)  # of the file, where the scenario has none
    if out is not None:
        outcome.write(out)
    document = head("sweep", scenario_digest=digest_of(text)) | outcome.to_json()
    emit(document, loads_table(outcome), json_to)
    seed = simulation.result().seed if seed is None else seed
    made = str(seed), digest_of(text)
    is_written = write_pages(folder, lambda: [_loads_page(outcome, *made).with_settings(settings)])
    if lost := sum(point.lost for point in outcome.points):
        complain(f"{lost} packets were lost; peerlane run {source} says where")
        raise typer.Exit(FAILED)
    if not is_written:
        raise typer.Exit(FAILED)
