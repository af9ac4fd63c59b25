"""`peerlane sweep`: runs a scenario at many points, or the workload of a network at many loads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from peerlane.cli.files import keep_apart
from peerlane.cli.options import FAILED, MOST_RUNS, JsonTo, ReportTo, ShowAll, checked, wrong_use
from peerlane.cli.request import ScenarioRequest
from peerlane.cli.spread import given

if TYPE_CHECKING:
    from peerlane.fabric.tree import Traffic, Tree
    from peerlane.report.folder import Folder
    from peerlane.report.page import Page
    from peerlane.varying.sweep import Sweep

STEPS = 10
"""The number of loads if the command line gives neither loads nor a number of steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointsRequest:
    """The options that only a sweep of keys (--vary) has."""

    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Take a value of the result's JSON, such as `flows.*.bytes_per_second` or "
            "`devices.fpga.upstream.up.utilisation`. May be repeated; all rates, if absent.",
        ),
    ] = None
    sample: Annotated[
        str | None,
        typer.Option(
            metavar="random:N|lhs:N",
            callback=checked("peerlane.varying.points:Sample.read"),
            help="Draw N points instead of every combination: at random, or by a Latin hypercube. "
            "`A..B` then draws from all values between.",
        ),
    ] = None
    repeat: Annotated[
        int,
        typer.Option(
            min=1,
            max=MOST_RUNS,
            metavar="N",
            help="Run each point with N seeds, and show means with 95 % confidence intervals.",
        ),
    ] = 1
    allow_failures: Annotated[
        bool,
        typer.Option("--allow-failures", help="Exit with 0 although some points failed."),
    ] = False
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on with the sweep that was interrupted when it wrote --out."
        ),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadsRequest:
    """The options that only a sweep of loads (without --vary) has."""

    loads: Annotated[
        str | None,
        typer.Option(
            metavar="LOAD[,LOAD...]",
            help='Payload that each node offers, such as "0.5 GB/s,1 GB/s,2 GB/s".',
        ),
    ] = None
    steps: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1000,
            metavar="N",
            help="Number of even steps up to --to, without --loads; the default is 10.",
        ),
    ] = None
    to: Annotated[
        str | None,
        typer.Option(
            metavar="LOAD", help="The highest load of the steps; a fifth over the bound, if absent."
        ),
    ] = None
    traffic: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The workload to sweep; needed only if there are several."),
    ] = None

    def __post_init__(self) -> None:
        """Refuses --steps and --to if --loads is given."""
        if self.loads is not None and (self.to is not None or self.steps is not None):
            other = "--steps" if self.to is None else "--to"
            raise typer.BadParameter(f"--loads and {other} exclude each other; write one of them")


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRequest:
    """The options of `peerlane sweep`."""

    scenario: ScenarioRequest
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=SPEC",
            callback=checked("peerlane.varying.axes:Axis.read"),
            help="Vary a key, such as `devices.a.tags=8..256*2`: `A..B*F` multiplies from A to B, "
            "`A..B+S` adds, `a,b,c` lists; also `links.generation=3,4,5` or "
            '`flows.up.size="64 B..4 KiB*2"`. May be repeated: every combination is a point.',
        ),
    ] = None
    points: PointsRequest
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            callback=checked("peerlane.figures.table:check_ending", is_file=True),
            help="Write the points to FILE, which ends with .csv or .parquet: a column for each "
            "key and metric, `seed`, `status`, `error`.",
        ),
    ] = None
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run the points on the workers of a Dask scheduler, such as tcp://HOST:8786, "
            "instead of the processors of this machine.",
        ),
    ] = None
    loads: LoadsRequest
    every: ShowAll = False
    json_to: JsonTo = None
    report_to: ReportTo = None

    def __post_init__(self) -> None:
        """Refuses options that exclude each other."""
        for option in given(self.loads if self.vary else self.points):
            other = "is for loads, and excludes --vary" if self.vary else "needs --vary"
            raise typer.BadParameter(f"{option} {other}; peerlane sweep --help has both forms")
        if self.points.resume and self.out is None:
            raise typer.BadParameter("--resume needs --out, the file of the interrupted sweep")
        if self.scenario.models and self.scheduler is not None:
            raise typer.BadParameter(
                "models of one's own run on this machine alone; leave out --scheduler"
            )
        outputs = {"--json": self.json_to, "--out": self.out, "the journal of --out": self.journal}
        keep_apart([self.scenario.file], outputs)

    @property
    def journal(self) -> str | None:
        """The path of the journal beside the file of --out."""
        if self.out is None:
            return None
        from peerlane.figures.table import check_ending
        from peerlane.varying.journal import journal_of

        return str(journal_of(check_ending(self.out)))


def sweep(request: SweepRequest) -> None:
    """Run a scenario at many points, on every processor.

    `peerlane sweep pair --vary links.s0-b.lanes=1..8*2 --out lanes.csv`

    With --vary, each combination of the values (a point) is a run of its own, and a row has its
    keys and metrics; if rows are too wide for the terminal, each point is a column. A point that
    fails is printed with its reason, and does not end the sweep; the exit status is 1, unless
    --allow-failures is given and some points have a result. During the sweep, FILE.journal beside
    --out FILE has the points that are done; after an interruption, --resume runs only the remaining
    points. If more than 8 rates differ only in the numbers in their names, only the least, the
    median and the greatest rate are shown; --all or --metric shows each rate.

    Without --vary, the workload of a network runs at one load after the other:

    `peerlane sweep torus`

    Each load is a run of its own, which measures within `[measure]` and ends shortly after it.
    Without `[measure]`, a run measures the last two thirds of the workload's duration, in which the
    network is full. All rates are payload for each node.

    - offered: the requested load; with random arrivals the load is a little higher or lower.
    - saturated: the accepted rate is over 5 % less than the offered rate, and the difference is
      larger than chance explains.
    - latency: the latency of the messages that were due within `[measure]` and arrived before the
      run's end; in saturation it grows with the length of the run.
    - saturation throughput: the highest accepted rate.
    - bounds: the calculated limits of the rate by the links into the network (injection), by the
      links out of it (ejection) and by its busiest fibre (bisection). The smallest bound applies.

    The exit status of a sweep of loads is 1 if packets were lost.
    """
    from peerlane.cli.report import open_folder
    from peerlane.cli.scenarios import scenario_text

    folder = open_folder(request.report_to)
    text, source = scenario_text(request.scenario.file)
    sweep_all = _sweep_points if request.vary else _sweep_loads
    sweep_all(request, text, source, folder)


def _sweep_points(request: SweepRequest, text: str, source: str, folder: Folder | None) -> None:
    """Runs a sweep of keys, and prints and writes its points."""
    from peerlane.cli.console import complain, emit, say, warn
    from peerlane.cli.head import head
    from peerlane.cli.report import origin, write_pages
    from peerlane.cli.tables.points import points as points_table
    from peerlane.fabric.simulation import digest_of
    from peerlane.formats import duration

    outcome = _swept(request, text, source)
    if outcome is None:
        return
    document = head("points", scenario_digest=digest_of(text)) | outcome.to_json()
    emit(
        document,
        points_table(outcome, each=request.every or bool(request.points.metric)),
        request.json_to,
    )

    def page() -> Page:
        from peerlane.report.sweep import points_page

        made = origin(_seeds(outcome), digest_of(text), request.scenario.file, outcome.name)
        return points_page(outcome, made).with_settings(request.scenario.changed)

    is_written = write_pages(folder, lambda: [page()])
    if request.scheduler is not None:
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
        advice = "" if request.points.allow_failures else "; --allow-failures takes them"
        warn(f"{len(outcome.wrong):,} of {len(outcome):,} points failed{advice}")
    if not is_written or (outcome.wrong and not request.points.allow_failures):
        raise typer.Exit(FAILED)


def _swept(request: SweepRequest, text: str, source: str) -> Sweep | None:
    """Runs the points of the sweep; returns `None` if the sweep to resume is already complete."""
    from peerlane import ScenarioError
    from peerlane.cli.console import InterruptedWorkError, progress, say
    from peerlane.figures.metrics import UnknownMetricError
    from peerlane.varying.axes import Axis
    from peerlane.varying.journal import CompleteError, JournalError
    from peerlane.varying.sweep import sweep_points

    scenario = request.scenario
    axes = list(map(Axis.read, request.vary or ()))
    try:
        with progress("sweeping") as bar:
            return sweep_points(
                text,
                axes,
                request.points.metric or (),
                source=source,
                settings=scenario.changed,
                sample=request.points.sample,
                seed=scenario.seed,
                repeat=request.points.repeat,
                scheduler=request.scheduler,
                out=request.out,
                resume=request.points.resume,
                progress=bar,
            )
    except KeyboardInterrupt:
        if not bar.share:
            raise
        kept = (
            f"--resume goes on with those in {request.journal}"
            if request.out
            else "--out would keep them"
        )
        raise InterruptedWorkError(f"interrupted after {bar.now}; {kept}") from None
    except ScenarioError:
        raise
    except UnknownMetricError as error:
        raise typer.BadParameter(str(error), param_hint="--metric") from None
    except CompleteError as error:
        say(str(error))
        return None
    except JournalError as error:
        raise typer.BadParameter(str(error), param_hint="--out") from None
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--vary") from None


def _seeds(outcome: Sweep) -> str:
    """The seeds of all points."""
    seeds = sorted({point.seed for point in outcome.points})
    return str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"


def _sweep_loads(request: SweepRequest, text: str, source: str, folder: Folder | None) -> None:
    """Runs a sweep of the load of a network, and prints and writes its points."""
    from peerlane import Fabric, ScenarioError, Simulation
    from peerlane.cli.console import complain, emit, progress
    from peerlane.cli.head import head
    from peerlane.cli.report import origin, write_pages
    from peerlane.cli.tables.sweep import sweep as loads_table
    from peerlane.fabric.simulation import already_warned, digest_of
    from peerlane.fabric.variant import parsed, variant
    from peerlane.network.sweep import sweep_loads, the_workload

    settings, seed = request.scenario.changed, request.scenario.seed
    if settings:
        simulation = variant(parsed(text, source), settings)
    else:
        simulation = Simulation(text, source=source)
    tree = simulation.tree()
    if not tree.traffic:
        raise ScenarioError(
            f"{source} has no [[traffic]] to sweep; vary a key, such as"
            " --vary devices.a.tags=8..64*2, or write [[traffic]]"
        )
    workload = the_workload(tree, request.loads.traffic)
    with wrong_use():
        offered = _offered(request.loads, tree, workload)
    fabric = Fabric.from_toml(text, source=source)
    for path in parsed(text, source).in_order(list(settings)):
        fabric.override(path, settings[path])
    with already_warned(), progress(f"{workload.id} at {len(offered)} loads") as bar:
        outcome = sweep_loads(
            fabric,
            offered,
            workload.id,
            seed=seed,
            scheduler=request.scheduler,
            progress=bar,
        )
    outcome = replace(outcome, name=tree.name)  # of the file, where the scenario has none
    if request.out is not None:
        outcome.write(request.out)
    document = head("sweep", scenario_digest=digest_of(text)) | outcome.to_json()
    emit(document, loads_table(outcome), request.json_to)

    def page() -> Page:
        from peerlane.report.sweep import loads_page

        of_all = simulation.result().seed if seed is None else seed
        made = origin(str(of_all), digest_of(text), request.scenario.file, outcome.name)
        return loads_page(outcome, made).with_settings(settings)

    is_written = write_pages(folder, lambda: [page()])
    if lost := sum(point.lost for point in outcome.points):
        complain(f"{lost} packets were lost; peerlane run {source} says where")
        raise typer.Exit(FAILED)
    if not is_written:
        raise typer.Exit(FAILED)


def _offered(request: LoadsRequest, tree: Tree, workload: Traffic) -> list[float]:
    """The loads of a sweep, in bytes per second.

    Raises:
        ValueError: A value is not a load.
    """
    from peerlane.network.bounds import bounds
    from peerlane.network.sweep import bytes_per_second, even_loads

    if request.loads is not None:
        return [bytes_per_second(load.strip()) for load in request.loads.split(",")]
    highest = request.to
    limit = 1.2 * bounds(tree, workload).least if highest is None else bytes_per_second(highest)
    return [round(load) for load in even_loads(limit, request.steps or STEPS)]
