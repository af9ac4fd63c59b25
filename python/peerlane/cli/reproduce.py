"""`peerlane reproduce`: compares simulations of published systems with the published figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from peerlane.cli import completion
from peerlane.cli.console import complain, emit, progress
from peerlane.cli.head import head
from peerlane.cli.options import FAILED, JsonTo, ReportTo, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane.report.page import Page
    from peerlane.reproduction.report import Report


def reproduce(  # noqa: PLR0913, PLR0917 - each is an option
    system: Annotated[
        str | None,
        typer.Argument(
            metavar="[SYSTEM]",
            help="One of `peerlane list systems`; all, if absent.",
            autocompletion=completion.systems,
        ),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Only this figure or table, such as table3.",
            autocompletion=completion.figures,
        ),
    ] = None,
    json_to: JsonTo = None,
    settings: Settings = None,
    report_to: ReportTo = None,
    implementation: Annotated[
        str | None,
        typer.Option(
            metavar="rtl|model",
            help="Run the circuits (rtl) or the models of all devices of the system; each row then "
            "has the value of the system as it is, too.",
        ),
    ] = None,
    *,
    every: Annotated[
        bool, typer.Option("--all", help="Show the rows without a published value, too.")
    ] = False,
    sensitivity: Annotated[
        bool,
        typer.Option(
            "--sensitivity",
            help="Run each figure with predicted rows again with each fitted parameter 10 % "
            "larger, to see what depends on it. Takes several times as long.",
        ),
    ] = False,
    save: Annotated[
        bool,
        typer.Option(
            "--save",
            help="Write the simulated value of each published row to simulated.toml in the "
            "system's folder. With --sensitivity: move every input of the experiments, and write "
            "what moves predicted rows to sensitivity.toml. Takes minutes to hours; "
            "after Ctrl-C, and after a change, what is still right is not measured again.",
        ),
    ] = False,
    claims: Annotated[
        bool,
        typer.Option(
            "--claims",
            help="Show every number that the sources state, and what became of it, instead of "
            "running anything: how many of each status, or with SYSTEM or --all which.",
        ),
    ] = False,
) -> None:
    """Run a published system's experiments and compare them with its published figures.

    Without SYSTEM, one line sums up each system. With SYSTEM, the rows with a published value are
    shown, and the rows without one are counted; --all shows every row. JSON has every row, with a
    note such as the arithmetic behind a limit, and with --sensitivity the change of the row by each
    parameter, in percent.

    With --set, keys of the scenario in the system's folder have other values, and each row also has
    the value of the unchanged scenario.

    With --implementation rtl, RTL modules of devices, which `make gateware` builds, run in place of
    the device models. The cycles that an RTL module needs are a result of the run, and not a
    parameter: `idle_cycles` and `descriptor_cycles` have no effect.

    With --report, each system has a page of its figures and tables, its fitted parameters and the
    topology.

    The exit status is 1 if a row differs from the published value by more than its tolerance, or if
    `sensitivity.toml` does not confirm that a row is predicted, for example after a change of
    `experiments.py`. The rows are shown in any case.
    """
    from rich.console import Group

    from peerlane.cli.claims import show_claims
    from peerlane.cli.report import open_folder, write_pages
    from peerlane.cli.sensitivity import save_sensitivity
    from peerlane.cli.tables.report import report as report_table
    from peerlane.cli.tables.report import summary
    from peerlane.fabric.paths import read_setting
    from peerlane.reproduction.catalogue import systems
    from peerlane.reproduction.circuits import implementations, require_circuits
    from peerlane.reproduction.reproduce import reproduce_all
    from peerlane.reproduction.simulated import save as save_values

    if claims:
        simulating = {
            "--figure": figure,
            "--set": settings,
            "--implementation": implementation,
            "--report": report_to,
            "--sensitivity": sensitivity,
            "--save": save,
        }
        if unused := [option for option, given in simulating.items() if given]:
            raise typer.BadParameter(f"--claims runs nothing; leave out {', '.join(unused)}")
        show_claims(system, json_to, every=every)
        return
    _check_changes(system, settings, implementation, save=save and not sensitivity)
    names = [system] if system else list(systems())
    if save and sensitivity:
        _no_others(json_to, settings, report_to, every)
        save_sensitivity(names, figure)
        return
    changed = dict(map(read_setting, settings or ()))
    if system and implementation:
        changed |= implementations(system, implementation)
        if implementation == "rtl":
            require_circuits(system, figure)
    folder = open_folder(report_to)
    is_summary = not (system or figure or every or json_to)
    with progress("reproducing") as bar:
        reports = reproduce_all(
            names,
            only=figure,
            published_only=is_summary,
            sensitivity=sensitivity,
            settings=changed,
            progress=bar,
        )
    if save:
        for report in reports:
            save_values(report.system, report.rows)
    documents = [report.to_json() for report in reports]
    tables = [report_table(report, every=every) for report in reports if system or every]
    shown = Group(*tables if system else [*tables, summary(reports)])
    document = head("report") | (documents[0] if system else {"systems": documents})
    emit(document, shown, json_to)
    is_written = write_pages(folder, lambda: _pages(reports))
    is_founded = bool(changed) or _are_founded(reports)
    if not (is_written and is_founded and all(report.passes for report in reports)):
        raise typer.Exit(FAILED)


def _check_changes(
    system: str | None, settings: list[str] | None, implementation: str | None, *, save: bool
) -> None:
    """Refuses options that change a system, if no system is named or if --save is given."""
    if settings and system is None:
        raise typer.BadParameter("--set needs the SYSTEM whose scenario it changes")
    if implementation and system is None:
        raise typer.BadParameter("--implementation needs the SYSTEM whose devices it changes")
    if implementation not in (None, "rtl", "model"):
        unknown = f"{implementation!r} is not known; write rtl or model"
        raise typer.BadParameter(unknown, param_hint="--implementation")
    if save and (settings or implementation):
        raise typer.BadParameter(
            "--save writes the values of a system as it is; leave out --set and --implementation"
        )


def _are_founded(reports: Sequence[Report]) -> bool:
    """Whether the records of the systems confirm all predictions; prints an error if not.

    If the user has changed a system's folder, its record does not confirm the predictions.
    """
    from peerlane.reproduction.sensitivity.rule import concerns

    found = [concerns(report.system) for report in reports]
    for of_system in filter(None, found):
        more = f" (and {len(of_system) - 1} more)" if len(of_system) > 1 else ""
        complain(f"{of_system[0]}{more}")
    return not any(found)


def _no_others(*others: object) -> None:
    """Refuses the given options, which have no effect with --sensitivity --save."""
    if any(others):
        raise typer.BadParameter(
            "--sensitivity --save writes a file, and has no use for --json, --set, --report or"
            " --all; leave them out"
        )


def _pages(reports: Sequence[Report]) -> list[Page]:
    from peerlane.cli.report import origin
    from peerlane.report.reproduction import system_page

    made = origin("as in the experiments")
    return [system_page(report, made) for report in reports]
