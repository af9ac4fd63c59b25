"""`peerlane compare`: what changed from one result to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from peerlane.cli.console import emit
from peerlane.cli.files import keep_apart
from peerlane.cli.head import head
from peerlane.cli.options import JsonTo, wrong_use


def compare(
    before: Annotated[
        Path, typer.Argument(metavar="A.json", help="The earlier result, from `--json`.")
    ],
    after: Annotated[
        Path, typer.Argument(metavar="B.json", help="The later result, from `--json`.")
    ],
    *,
    every: Annotated[bool, typer.Option("--all", help="Show every change.")] = False,
    any_version: Annotated[
        bool,
        typer.Option(
            "--any-version", help="Compare results of different versions of Peerlane, too."
        ),
    ] = False,
    json_to: JsonTo = None,
) -> None:
    """Show what changed from one result to another, the changes of most weight first.

    `peerlane run FILE --json a.json`, then with another value
    `peerlane run FILE --set devices.a.tags=16 --json b.json`, then `peerlane compare a.json b.json`

    The weight of a change is its share of the larger value. Bytes of a link weigh by their share of
    all bytes of the link, its times by their share of the run, and its use by the difference.
    Values that are no numbers, such as the end of a flow that is not complete, come first.
    """
    from peerlane.cli.tables.comparison import comparison
    from peerlane.results.reading import document_of, text_of
    from peerlane.varying.comparison import check_alike
    from peerlane.varying.comparison import compare as compare_documents

    keep_apart([str(before), str(after)], {"--json": json_to})
    names = (str(before), str(after))
    documents = [document_of(text_of(path), path) for path in names]
    with wrong_use():
        check_alike(documents[0], documents[1], names, any_version=any_version)
    outcome = compare_documents(documents[0], documents[1])
    emit(head("comparison") | outcome.to_json(), comparison(outcome, names, every=every), json_to)
