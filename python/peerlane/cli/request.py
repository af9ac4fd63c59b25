"""Defines the options of `peerlane run` with their rules, and the scenario of any command."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerlane.cli.captures import Captures
from peerlane.cli.files import keep_apart, keep_from_tables
from peerlane.cli.options import (
    MOST_RUNS,
    Circuits,
    JsonTo,
    Libraries,
    Models,
    ParquetTo,
    ReportTo,
    Scenario,
    Seed,
    Settings,
    WithErrorBars,
    writable,
)
from peerlane.cli.spread import given

if TYPE_CHECKING:
    from peerlane import Simulation
    from peerlane.fabric.settings import Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRequest:
    """The scenario of a command, with other values of some keys and another seed."""

    file: Scenario
    settings: Settings = None
    models: Models = None
    libraries: Libraries = None
    seed: Seed = None

    @property
    def changed(self) -> dict[str, Setting]:
        """The new values of keys, by their paths."""
        from peerlane.fabric.paths import read_setting

        return dict(map(read_setting, self.settings or ()))

    @property
    def running(self) -> str:
        """The name of the work for the progress of a run."""
        return f"running {Path(self.file).stem}"

    def text(self) -> tuple[str, str]:
        """The text of the scenario, and its name in messages; standard input is read only once."""
        from peerlane.cli.scenarios import scenario_text

        return scenario_text(self.file)

    def simulation(
        self, circuits: str | None = None, text: tuple[str, str] | None = None
    ) -> Simulation:
        """The simulation of the scenario, in which some devices are RTL modules.

        Args:
            circuits: The names of the devices that are RTL modules, separated by commas.
            text: The value that `self.text()` returned, if the scenario has been read already.
        """
        from peerlane.cli.scenarios import simulation_of

        read = text or self.text()
        opened = simulation_of(*read, seed=self.seed, settings=self.settings, circuits=circuits)
        self._warn_of_models(opened)
        return opened

    def _warn_of_models(self, simulation: Simulation) -> None:
        """Warns of device models that the scenario does not use."""
        names = {given.partition("=")[0] for given in self.models or ()}
        for name in sorted(
            names - {node.model for node in simulation.tree().nodes} if names else ()
        ):
            from peerlane.cli.console import warn

            right = f'write model = "{name}" in the section of a device'
            warn(f"--model {name}: no device of the scenario has this model; {right}")

    def again(self, command: str) -> str:
        """The command line that runs another command on the same scenario."""
        options = [
            ("--set", self.settings),
            ("--model", self.models),
            ("--circuit", self.libraries),
        ]
        words = [
            word for option, values in options for one in values or () for word in (option, one)
        ]
        return shlex.join(["peerlane", command, self.file, *words])


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The files and folders to which the numbers of a run are written."""

    json_to: JsonTo = None
    parquet_to: ParquetTo = None
    report_to: ReportTo = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """The options of `peerlane run`."""

    scenario: ScenarioRequest
    captures: Captures
    rtl: Circuits = None
    check_coherence: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=2**64 - 1,
            metavar="EVENTS",
            help="Check the lines in all caches, which is slow: after every so many events, that "
            "there is one writer, or readers of the same bytes.",
        ),
    ] = None
    repeat: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=MOST_RUNS,
            metavar="N",
            help="Run N times, and print means with intervals: with seeds one after the other; the "
            "intervals have 95 % confidence.",
        ),
    ] = None
    error_bars: WithErrorBars = False
    steady: Annotated[
        bool,
        typer.Option(
            "--steady",
            help="Let every workload go on, whatever its amount is, until the rate of each in the "
            "steady state is known to 5 %, and print the rates with their 95 % confidence "
            "intervals. As --set measure.steady=true.",
        ),
    ] = False
    interval: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Sample rates and queue lengths each TIME, such as 10us: into `series` of the "
            "JSON, bytes per second of each flow; use, payload per second, waiting TLPs and bytes "
            "in the replay buffer of each direction of each link; use and payload of fibres.",
        ),
    ] = None
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1_000_000,
            metavar="N",
            help="Run on N threads, with the results of one: with its trace, too, and a warning if "
            "there are fewer. Fabrics are cut at fibres, cables and other wires with a delay. "
            "Without it, long runs of large fabrics have as many threads as there are "
            "processors, 8 at most.",
        ),
    ] = None
    explain: Annotated[
        bool,
        typer.Option(
            "--explain/--no-explain",
            help="Say where flows wait, in the last line: in a report, what would help, too.",
        ),
    ] = True
    junit: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            callback=writable,
            help="Write the expectations as test cases of JUnit XML: each [[expect]] of the "
            "scenario, to FILE, which CI servers read.",
        ),
    ] = None
    outputs: Outputs

    def __post_init__(self) -> None:
        """Refuses options that exclude each other, and adds the setting of --steady."""
        if self.steady:
            settings = [*(self.scenario.settings or ()), STEADY]
            object.__setattr__(self, "scenario", replace(self.scenario, settings=settings))
        files = {"--json": self.outputs.json_to, "--junit": self.junit, **self.captures.files}
        keep_apart([self.scenario.file], files)
        keep_from_tables({"FILE": self.scenario.file, **files}, self.outputs.parquet_to)
        many = "--error-bars" if self.error_bars else "--repeat"
        allowed = {*_OF_MANY, many, *(["--report"] if self.error_bars else [])}
        for option in given(self) if self.error_bars or self.repeat is not None else ():
            if option not in allowed and (option != "--threads" or self.threads != 1):
                raise typer.BadParameter(f"{option} is for a single run; leave out {many}")
        if self.interval is not None and not any(given(self.outputs)):
            raise typer.BadParameter(
                "samples are not in what is printed; write --json FILE, --parquet DIR or"
                " --report DIR, too",
                param_hint="--interval",
            )


STEADY = "measure.steady=true"
"""The setting that --steady adds."""

_OF_MANY = {"--set", "--model", "--circuit", "--seed", "--steady", "--explain", "--json"}
"""The options that are also possible if there are many runs, each of which has a single thread."""
