"""`peerlane compare`: the changes from one result to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from peerlane.cli.console import emit, out
from peerlane.cli.files import keep_apart
from peerlane.cli.head import head
from peerlane.cli.options import MEASURED, JsonTo, Measured, wrong_use


def compare(  # noqa: PLR0913 - each is an option
    before: Annotated[
        Path, typer.Argument(metavar="A.json", help="The earlier result, from `--json`.")
    ],
    after: Annotated[
        Path | None,
        typer.Argument(
            metavar="[B.json]",
            help="The later result, from `--json`. Without it, published values beside the"
            " simulated ones of A.json, from `peerlane reproduce`; with --measured, measured ones.",
        ),
    ] = None,
    *,
    measured: Measured = None,
    every: Annotated[bool, typer.Option("--all", help="Show every change.")] = False,
    any_version: Annotated[
        bool,
        typer.Option(
            "--any-version", help="Compare results of different versions of Peerlane, too."
        ),
    ] = False,
    json_to: JsonTo = None,
) -> None:
    """Show the changes from one result to another, the largest weight first.

    `peerlane run FILE --json a.json`, then with another value `peerlane run FILE --set
    devices.a.tags=16 --json b.json`, then `peerlane compare a.json b.json`

    The weight of a change is its size divided by the larger value. For links, a change of bytes is
    divided by all bytes of the link, a change of a time by the time of the run, and a change of the
    use is its own weight. Changes of values that are no numbers, such as the missing end of an
    incomplete flow, come first. Two results of `peerlane reproduce` are compared row by row, beside
    the published values.

    `peerlane compare a.json --measured fio.json` prints measured numbers beside the simulated ones
    of a run or of a sweep. A row of a measuring tool is compared with the workload that has the
    name of the row. A table or a TOML file can name any other value: see docs/recipes/calibrate.md.
    """
    from peerlane.cli.tables.comparison import comparison
    from peerlane.cli.tables.report import comparison_of_reports
    from peerlane.reproduction.written import reports_of
    from peerlane.results.reading import document_of, kind_of, text_of
    from peerlane.varying.comparison import check_alike
    from peerlane.varying.comparison import compare as compare_documents

    if measured is not None:
        if after is not None:
            raise typer.BadParameter("compares one result; leave out B.json", param_hint=MEASURED)
        keep_apart([str(before), measured], {"--json": json_to})
        _beside(before, measured, json_to)
        return
    if after is None:
        _published(before, every=every, json_to=json_to)
        return
    keep_apart([str(before), str(after)], {"--json": json_to})
    names = (str(before), str(after))
    documents = [document_of(text_of(path), path) for path in names]
    with wrong_use():
        check_alike(documents[0], documents[1], names, any_version=any_version)
    outcome = compare_documents(documents[0], documents[1])
    table = comparison(outcome, names, every=every)
    if kind_of(documents[0]) == "report":
        table = comparison_of_reports(
            reports_of(documents[0]), reports_of(documents[1]), names, every=every
        )
    emit(head("comparison") | outcome.to_json(), table, json_to)


def _beside(path: Path, measured: str, json_to: str | None) -> None:
    """Prints measured numbers beside the numbers of a run or a sweep."""
    from peerlane.cli.tables.measured import beside as table
    from peerlane.measured.beside import beside
    from peerlane.measured.reading import measured as rows_of
    from peerlane.results.reading import document_of, text_of

    document = document_of(text_of(str(path)), str(path), "result", "points")
    outcome = beside(document, rows_of(measured), measured)
    emit(head("measured") | outcome.to_json(), table(outcome), json_to)


def _published(path: Path, *, every: bool, json_to: str | None) -> None:
    """Prints the rows of a result of `peerlane reproduce`, in the form of that command."""
    from rich.console import Group

    from peerlane.cli.tables.report import report
    from peerlane.reproduction.written import reports_of
    from peerlane.results.reading import document_of, kind_of, text_of

    document = document_of(text_of(str(path)), str(path))
    if kind_of(document) != "report":
        raise typer.BadParameter("write a second result to compare with", param_hint="B.json")
    if json_to is not None:
        raise typer.BadParameter(f"{path} has these numbers as JSON; leave out --json")
    out().print(Group(*(report(one, every=every) for one in reports_of(document))))
