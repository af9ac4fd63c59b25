"""`peerlane lspci`: runs the real `lspci` on a simulated fabric."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING, Annotated

import typer

from peerlane.cli.console import progress
from peerlane.cli.request import ScenarioRequest

if TYPE_CHECKING:
    from collections.abc import Sequence


def lspci(
    scenario: ScenarioRequest,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ARGS]...", help="Arguments of lspci; -tv, if absent."),
    ] = None,
    *,
    after_run: Annotated[
        bool, typer.Option("--after-run", help="Show the registers as the workload leaves them.")
    ] = False,
) -> None:
    """Run the real lspci on the configuration spaces of a scenario's fabric.

    `peerlane lspci FILE -vvv -s 01:00.0`; all options after `--` go to lspci.

    The registers have the values after enumeration. With --after-run, the registers of Advanced
    Error Reporting and Device Status show the errors of each function in the run. Each host is a
    PCI domain. The exit status is the exit status of lspci, from the package pciutils.
    """
    simulation = scenario.simulation()
    if after_run:
        with progress(scenario.running) as bar:
            simulation.run(bar)
    status = _lspci_on(simulation.lspci(), arguments or ["-tv"])
    if status:
        raise typer.Exit(status)


def _lspci_on(dump: str, arguments: Sequence[str]) -> int:
    """Runs `lspci -F` on a dump; returns its exit status.

    Raises:
        MissingLspciError: The program lspci is not installed.
    """
    program = shutil.which("lspci")
    if program is None:
        raise MissingLspciError
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix="peerlane-", suffix=".lspci"
    ) as file:
        file.write(dump)
        file.flush()
        command = [program, "-F", file.name, *arguments]
        return subprocess.run(command, check=False).returncode


class MissingLspciError(Exception):
    """The program lspci is not installed."""

    def __init__(self) -> None:
        super().__init__("lspci is missing; install the package pciutils")
