"""`peerlane calibrate`: fits the values of keys of a scenario to measured numbers."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from peerlane.cli.files import keep_apart
from peerlane.cli.options import FAILED, MEASURED, JsonTo, Measured, writable
from peerlane.cli.request import ScenarioRequest


def calibrate(  # noqa: PLR0913 - each is an option
    scenario: ScenarioRequest,
    *,
    measured: Measured = None,
    free: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY[,KEY...]|KEY=SPEC",
            help="Fit these keys, such as `devices.d.idle_cycles,hosts.h.latency`; with the values"
            " to search as `--vary` takes them, such as `hosts.h.latency=50ns..400ns`. May be"
            " repeated.",
        ),
    ] = None,
    hold_back: Annotated[
        str | None,
        typer.Option(
            metavar="N[,N...]",
            help="Judge the fit by these points, numbered as in the table, and do not spend them.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            callback=writable,
            help="Write the fitted values as profiles in TOML, with their origin in comments.",
        ),
    ] = None,
    json_to: JsonTo = None,
) -> None:
    """Fit keys of a scenario to a few measured numbers, by runs of it.

    `peerlane calibrate lab.toml --measured lab.csv --free devices.d.datapath,hosts.h.latency`

    A measured point is a metric, its measured value, and the values of keys for this point. The
    file is a table as from `peerlane sweep --out`, a TOML file with [[points]], or the output of a
    measuring tool whose rows have the names of workloads. docs/recipes/calibrate.md has an example
    of each form.

    The fit minimises the sum of the squares of the relative errors. The first table has each point
    that was used for the fit, with its error and with its error in a fit without this point; the
    latter shows how well other points would be predicted. The second table has each fitted key: a
    time or rate has its 95 % confidence interval, a whole number has the errors of the next smaller
    and larger number, and a choice has the errors of the other choices.

    If the points do not determine a key, the command names the key and the measurements that would
    be needed, writes nothing, and ends with exit status 1. The command needs `pip install
    'peerlane[calibrate]'`.
    """
    from peerlane.calibrating.calibrate import calibrate as fit
    from peerlane.calibrating.key import CalibrationError
    from peerlane.calibrating.profile import profile_toml
    from peerlane.cli.console import complain, emit, progress, write
    from peerlane.cli.head import command, head
    from peerlane.cli.scenarios import scenario_text
    from peerlane.cli.tables.calibration import calibration as table
    from peerlane.fabric.simulation import digest_of
    from peerlane.fabric.variant import parsed

    if measured is None:
        raise typer.BadParameter("name a file of measured numbers", param_hint=MEASURED)
    keep_apart([scenario.file, measured], {"--json": json_to, "--output": output})
    text, source = scenario_text(scenario.file)
    held = _numbers(hold_back)
    try:
        with progress(f"calibrating {Path(scenario.file).name}") as bar:
            found = fit(
                text,
                measured,
                free or (),
                source=source,
                settings=scenario.changed,
                seed=scenario.seed,
                hold_back=held,
                progress=bar,
            )
    except CalibrationError as error:
        raise typer.BadParameter(str(error)) from None
    document = head("calibration", scenario_digest=digest_of(text)) | found.to_json()
    emit(document, table(found), json_to)
    for one in found.refused:
        complain(one.reason)
    if found.refused:
        if output is not None:
            complain(f"{output} is not written, as keys are refused")
        raise typer.Exit(FAILED)
    if output is not None:
        parts = parsed(text, source)
        parts.update(scenario.changed)
        write(output, profile_toml(found, parts, shlex.join(command())).encode())


def _numbers(text: str | None) -> list[int]:
    """The numbers of the points that an option names."""
    parts = [] if text is None else text.split(",")
    if wrong := [one for one in parts if not one.strip().isdigit()]:
        raise typer.BadParameter(
            f"{wrong[0]!r} is no number of a point; write such as 2,5", param_hint="--hold-back"
        )
    return [int(one) for one in parts]
