"""The commands of `peerlane`."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import peerlane
from peerlane import Fabric, Simulation, _core
from peerlane.cli import drawing, tables
from peerlane.cli.bench import bench_app
from peerlane.cli.console import complain, emit, progress, warnings_on_one_line
from peerlane.cli.opae import opae_app
from peerlane.cli.options import JsonTo, writable
from peerlane.cli.pciutils import MissingLspciError
from peerlane.cli.pciutils import lspci as run_lspci
from peerlane.cli.plan import plan_app
from peerlane.fabric.simulation import already_warned
from peerlane.importing import ListingError, load, scenario_of
from peerlane.network.bounds import bounds
from peerlane.network.sweep import bytes_per_second, even_loads, the_workload
from peerlane.network.sweep import sweep as sweep_loads
from peerlane.reproduction.reproduce import UnknownNameError, systems
from peerlane.reproduction.reproduce import reproduce as reproduce_system

FAILED = 1
WRONG_USE = 2
_TYPER_INTERRUPTED = 130
MOST_FAILURES = 8
"""Told in one message; the table and JSON have all."""
STEPS = 10
"""Loads of a sweep that says none."""

app = typer.Typer(
    name="peerlane",
    help="""A lab for PCIe-class fabrics of hosts, switches and FPGAs.

Describe a fabric in a scenario file, simulate it packet by packet with real bytes, and measure it
the way hardware papers do. Begin with `peerlane reproduce`, then `peerlane show FILE` and
`peerlane run FILE` on a scenario of your own.""",
    add_completion=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(bench_app, name="bench")
app.add_typer(opae_app, name="opae")
app.add_typer(plan_app, name="plan")
import_app = typer.Typer(help="Make a scenario from a real machine.")
app.add_typer(import_app, name="import")


class Topic(StrEnum):
    """What `list` can tell about."""

    MODELS = "models"
    PROFILES = "profiles"
    PARAMETERS = "parameters"
    SYSTEMS = "systems"


def _trace_file(path: str | None) -> str | None:
    if path == "-":
        raise typer.BadParameter("a trace goes to a file; standard output has the result")
    return writable(path)


Scenario = Annotated[str, typer.Argument(metavar="FILE", help="The scenario: a TOML file.")]


def run_command_line(arguments: list[str]) -> int:
    """Runs one command; returns its exit status after warnings and at most one error message."""
    try:
        with warnings_on_one_line():
            status = app(arguments, prog_name="peerlane", standalone_mode=False)
    except typer.TyperException as error:
        complain(f"{' '.join(error.format_message().split())} (peerlane --help)")
        return WRONG_USE
    except (
        peerlane.ScenarioError,
        ListingError,
        UnknownNameError,
        MissingLspciError,
    ) as error:
        complain(str(error))
        return WRONG_USE
    except BrokenPipeError:
        raise
    except RuntimeError as error:
        complain(str(error))
        return FAILED
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        complain(where + (error.strerror or str(error)).lower())
        return WRONG_USE
    if status == _TYPER_INTERRUPTED:
        raise KeyboardInterrupt
    return status or 0


@app.callback(invoke_without_command=True)
def _peerlane(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"peerlane {peerlane.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@import_app.callback(invoke_without_command=True)
def _import(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def run(
    file: Scenario,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=2**64 - 1,
            metavar="N",
            help="Of all random streams; replaces the scenario's own.",
        ),
    ] = None,
    trace: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            callback=_trace_file,
            help="Write one JSON object to FILE for every TLP and DLLP: `ns` is when its first "
            "bit takes the wire, `length_ns` how long a TLP is there, `length` the bytes that a "
            "request carries or asks for. The lines of each direction of each link are in the "
            "order of time; those of different links interleave.",
        ),
    ] = None,
    check_coherence: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="EVENTS",
            help="Look at the lines in all caches after every so many events: one writer, or "
            "readers of the same bytes. Slow.",
        ),
    ] = None,
    json_to: JsonTo = None,
) -> None:
    """Simulate a scenario and print what its flows, traffic, links and fibres did.

    The exit status is 1 when the fabric answered with an error, or when the bytes of a flow or a
    workload did not all arrive as they were sent.

    Of a flow:

    - latency: from the making of a request, so its wait for the wire is in it, to its last byte: at
      the target for writes, back at the requester for reads and round trips.
    - GB/s, MiB/s: bytes between the two readings of the flow's `clock`. "arrival" reads the first
      bit on the wire and the last byte at its destination; "sender" the first and the last bit of
      its requests on the wire; "application" the system call that moves it and its return. JSON has
      the readings as `first_byte_ns` and `last_byte_ns`.
    - call: how long that system call took, where a driver moves the flow (a device with model
      "sg-dma").
    - steady: the rate within `[measure]`; nothing (JSON: null) when the flow was not under way all
      that time.
    - direction "both": `size` each way, and one row for both together. Write two flows to see them
      apart.
    - data: "intact" when every byte arrived, exactly once, as it was sent; "incomplete" when some
      did not arrive; "differs" when some are wrong.

    Of each direction of a link, over the whole run:

    - used: share of the time that anything was on the wire.
    - payload, overhead: bytes of data; bytes of headers, framing and link CRC, and all of the
      packets sent again.
    - DLLPs, ordered sets: bytes of acknowledgements and credits; bytes that keep the lanes in step.
    - replays: TLPs sent again.
    - stalled: time in which a packet waited for nothing but credit.

    Of traffic, the workload of a network, payload for each node:

    - offered, accepted: what each node was to send, and what of it arrived within `[measure]` a
      second, in the mean; least and most of one node.
    - fairness: Jain's index over the nodes, 1 where all have the same.
    - latency: from the time a message was due to its last byte at its target.

    Of each direction of a fibre: frames are what a packet travels in; overhead is all else of their
    cycles, and frames sent again; control is credits, acknowledgements and pauses in cycles of
    their own. A network with more than 16 fibres has one line for all of them together; of more
    than 64 directions of links the busiest 16 are shown. JSON has every one.

    Flows begin when every link is up: `start` and `[measure]` count from there. The times in
    results count from the beginning of the run, link initialisation included.

    A request larger than MPS (writes) or MRRS (reads) goes out as several TLPs; its latency is
    that of the whole.
    """
    simulation = Simulation.open(file, seed=seed)
    if trace is not None:
        simulation.trace_to(trace)
    if check_coherence is not None:
        simulation.watch_coherence(every=check_coherence)
    with progress(f"running {Path(file).name}") as bar:
        result = simulation.run(lambda fraction: bar(f"running {Path(file).name}", fraction))
    emit(result.to_json(), tables.run(result, simulation.tree()), json_to)
    if failures := result.failures:
        more = len(failures) - MOST_FAILURES
        shown = failures if more <= 0 else [*failures[:MOST_FAILURES], f"and {more} more"]
        complain("; ".join(shown))
        raise typer.Exit(FAILED)


@app.command()
def show(file: Scenario, json_to: JsonTo = None) -> None:
    """Show the fabric of a scenario after enumeration: widths, rates, payload sizes, addresses.

    Then its networks: shape and size, routers, and the fibres with their ends and delays. A network
    of more than 16 routers is shown by the first of its hosts, and one of more than 16 fibres by
    how many there are; JSON has every one.
    """
    tree = Simulation.open(file).tree()
    emit(tree.to_json(), drawing.tree(tree), json_to)


@app.command()
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
            min=1, max=1000, metavar="N", help="Without --loads: even steps up to --to; 10 of them."
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="LOAD", help="Where these steps end; a fifth over the bound, if absent."
        ),
    ] = None,
    traffic: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Which workload; not needed where there is only one."),
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
        raise typer.BadParameter(f"say either --loads or {other}, not both")
    tree = Simulation.open(file).tree()
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
            Fabric.load(file),
            offered,
            workload.id,
            progress=lambda done: bar(f"{workload.id} at {len(offered)} loads", done),
        )
    outcome = replace(outcome, name=tree.name)  # of the file, where the scenario has none
    emit(outcome.to_json(), tables.sweep(outcome), json_to)
    if lost := sum(point.lost for point in outcome.points):
        complain(f"{lost} packets were lost; peerlane run {file} says where")
        raise typer.Exit(FAILED)


@app.command(context_settings={"ignore_unknown_options": True})
def lspci(
    file: Scenario,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ARGS]...", help="For lspci; -tv, if absent."),
    ] = None,
    *,
    after_run: Annotated[
        bool, typer.Option("--after-run", help="Show the registers as the workload leaves them.")
    ] = False,
) -> None:
    """Run the real lspci on the configuration spaces of a scenario's fabric.

    `peerlane lspci FILE -vvv -s 01:00.0`; after `--` whatever lspci knows.

    The registers are as enumeration leaves them. After a run those of Advanced Error Reporting and
    Device Status tell what went wrong where. Each host is a PCI domain. The exit status is that of
    lspci, from the package pciutils.
    """
    simulation = Simulation.open(file)
    if after_run:
        with progress(f"running {Path(file).name}") as bar:
            simulation.run(lambda fraction: bar(f"running {Path(file).name}", fraction))
    status = run_lspci(simulation.lspci(), arguments or ["-tv"])
    if status:
        raise typer.Exit(status)


@app.command()
def reproduce(
    system: Annotated[
        str | None,
        typer.Argument(metavar="[SYSTEM]", help="One of `peerlane list systems`; all, if absent."),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only this figure or table, such as table3."),
    ] = None,
    json_to: JsonTo = None,
    *,
    no_sensitivity: Annotated[
        bool, typer.Option("--no-sensitivity", help="Run each figure once, as published.")
    ] = False,
) -> None:
    """Run a published system's experiments and hold them against its published figures.

    Figures with predicted rows are run again with each fitted parameter 10 % larger, to see what
    depends on it: the table shows what moves a row most, JSON all of them in percent. JSON also has
    a note on each row, such as the arithmetic behind a limit.

    The exit status is 1 when a row is further from the published value than its tolerance.
    """
    reports = []
    for name in systems() if system is None else [system]:
        with progress(f"reproducing {name}") as bar:
            reports.append(
                reproduce_system(name, only=figure, sensitivity=not no_sensitivity, progress=bar)
            )
    documents = [report.to_json() for report in reports]
    shown = tables.stack([tables.report(report) for report in reports])
    emit(documents[0] if system else {"systems": documents}, shown, json_to)
    if not all(report.passes for report in reports):
        raise typer.Exit(FAILED)


@import_app.command("lspci")
def import_lspci(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|-",
            help="What `sudo lspci -vvv` printed; - is standard input.",
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE|-",
            callback=writable,
            help="Where the scenario goes; standard output, if absent.",
        ),
    ] = None,
) -> None:
    """Write the scenario of a machine from its listing.

    `sudo lspci -vvv | peerlane import lspci - -o machine.toml`

    Each PCI domain is a host. Links are as they were trained; max payload and max read request
    sizes, tags, ACS redirection, BARs and the read completion boundary as they are set. What a
    listing does not tell, such as buffers and latencies, keeps its default. Comments mark what is
    left out: functions beyond 0, integrated endpoints, conventional PCI, links that are down.
    """
    scenario = scenario_of(load(file)).encode()
    if output is None or output == "-":
        sys.stdout.buffer.write(scenario)
    else:
        Path(output).write_bytes(scenario)


@app.command("list")
def list_(
    topic: Annotated[
        Topic | None, typer.Argument(help="Only these; everything, if absent.")
    ] = None,
    json_to: JsonTo = None,
) -> None:
    """List device models, profiles, every parameter with its unit and default, and systems."""
    known: dict[str, list[dict[str, Any]]] = json.loads(_core.catalogue())
    known["systems"] = [{"name": name, "title": title} for name, title in systems().items()]
    columns = {
        "models": ("name", "help"),
        "profiles": ("name", "help", "settings"),
        "parameters": ("where", "key", "default", "unit", "help", "source"),
        "systems": ("name", "title"),
    }
    chosen = {topic.value: known[topic.value]} if topic else known
    shown = [tables.catalogue(name, rows, *columns[name]) for name, rows in chosen.items()]
    emit(chosen, tables.stack(shown), json_to)
