"""The list of the commands of `peerlane`, each with the module that implements it."""

from __future__ import annotations

from typing import Annotated

import typer

import peerlane
from peerlane.cli.group import Command, group

app = group(
    """A lab for PCIe-class fabrics of hosts, switches and FPGAs.

Describe a fabric in a scenario file, simulate it packet by packet with real bytes, and measure it
the way hardware papers do. Begin with `peerlane reproduce` and `peerlane run pair`; then let
`peerlane new` write a scenario of your own, and give it to `peerlane show` and `peerlane run`.""",
    {
        "run": Command("peerlane.cli.run", "run", is_brief=True),
        "explain": Command("peerlane.cli.explain", "explain"),
        "advise": Command("peerlane.cli.advise", "advise"),
        "top": Command("peerlane.cli.top", "top"),
        "check": Command("peerlane.cli.check", "check"),
        "fix": Command("peerlane.cli.fix", "fix"),
        "show": Command("peerlane.cli.show", "show"),
        "new": Command("peerlane.cli.new", "new"),
        "sweep": Command("peerlane.cli.sweep", "sweep", is_brief=True),
        "compare": Command("peerlane.cli.compare", "compare"),
        "calibrate": Command("peerlane.cli.calibrate", "calibrate"),
        "plot": Command("peerlane.cli.plot", "plot"),
        "bundle": Command("peerlane.cli.bundle", "bundle"),
        "lspci": Command("peerlane.cli.lspci", "lspci", {"ignore_unknown_options": True}),
        "reproduce": Command("peerlane.cli.reproduce", "reproduce"),
        "schema": Command("peerlane.cli.schema", "schema"),
        "list": Command("peerlane.cli.list", "list_"),
        "bench": Command("peerlane.cli.bench", "bench_app"),
        "opae": Command("peerlane.cli.opae.group", "opae_app"),
        "circuit": Command("peerlane.cli.circuit", "circuit_app"),
        "plan": Command("peerlane.cli.plan", "plan_app"),
        "import": Command("peerlane.cli.importing", "import_app"),
    },
    name="peerlane",
    add_completion=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
