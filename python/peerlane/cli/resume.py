"""`peerlane resume`: goes on with a run from a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from peerlane import CheckpointError, Filter, Simulation
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
from peerlane.cli.checkpoints import (
    CheckpointAt,
    CheckpointEvery,
    CheckpointTo,
    check,
    read_checkpoints,
)
from peerlane.cli.files import keep_apart, keep_from_tables, open_simulation
from peerlane.cli.options import JsonTo, ParquetTo, Settings
from peerlane.cli.outcome import Outputs, conclude, simulate
from peerlane.explaining.hints import hints
from peerlane.fabric.simulation import already_warned


def resume(  # noqa: PLR0913, PLR0917 - each is an option
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The file that --checkpoint has written.")
    ],
    scenario: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|NAME",
            help="Go on only if this scenario, with the values of --set, is that of the "
            "checkpoint. Without it, the scenario in the checkpoint is not compared.",
        ),
    ] = None,
    settings: Settings = None,
    trace: Trace = None,
    perfetto: Perfetto = None,
    vcd: Vcd = None,
    pcap: Pcap = None,
    at: At = None,
    kind: Kind = None,
    address: Address = None,
    flow: Flow = None,
    window: Window = None,
    checkpoint: CheckpointTo = None,
    checkpoint_at: CheckpointAt = None,
    checkpoint_every: CheckpointEvery = None,
    json_to: JsonTo = None,
    parquet_to: ParquetTo = None,
) -> None:
    """Go on with a run from a checkpoint, and print what `peerlane run` would have printed.

    The results are those of a run that was never interrupted, byte for byte; JSON has another
    `command`. The checkpoint has the scenario with its seed and the values of --set, and what was
    measured until then, --interval included. Captures begin anew: they have what takes a wire from
    the checkpoint on.

    Only the version of Peerlane that has written a checkpoint reads it. The exit status is that of
    `peerlane run`.
    """
    captures = {"--trace": trace, "--perfetto": perfetto, "--vcd": vcd, "--pcap": pcap}
    only = Filter(at=at or (), kind=kind or (), address=address, flow=flow or (), window=window)
    check_only(only, captures)
    outputs = {"--json": json_to, **captures}
    keep_apart([file, scenario], outputs)
    keep_apart([scenario], {"--checkpoint": checkpoint, **outputs})
    keep_from_tables({"FILE": file, "--checkpoint": checkpoint, **outputs}, parquet_to)
    checkpoints = read_checkpoints(checkpoint, checkpoint_at, checkpoint_every)
    if settings and scenario is None:
        raise typer.BadParameter("write --scenario FILE, too", param_hint="--set")
    simulation = Simulation.resume(file)
    if scenario is not None:
        with already_warned():
            wanted = open_simulation(scenario, settings=settings)
        if wanted.text != simulation.text:
            message = f"{file} is a checkpoint of another scenario than {scenario}"
            raise CheckpointError(f"{message}; run the scenario anew, or leave out --scenario")
    check(simulation, checkpoints)
    capture(simulation, captures, only)
    outcome = simulate(simulation, f"running {Path(file).stem}", 1, checkpoints)
    lines = list(hints(outcome.result, simulation.tree()))
    conclude(simulation, outcome, outcome.result, Outputs(json_to, parquet_to, only, lines))
