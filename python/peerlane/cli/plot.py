"""`peerlane plot`: draws figures of the results of sweeps, runs and reproductions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerlane.cli.console import say
from peerlane.cli.files import keep_apart
from peerlane.cli.options import checked, wrong_use

if TYPE_CHECKING:
    from peerlane.figures.figure import Figure


def _drawn(result: str, x: str | None, y: list[str], figure: str | None) -> Figure:
    from peerlane.results.reading import document_of, kind_of, text_of
    from peerlane.varying.reading import TABLES, plot_document, plot_file

    if Path(result).suffix not in TABLES:
        kinds = ("result", "points", "sweep", "report")
        document = document_of(text_of(result), result, *kinds)
        if kind_of(document) == "report":
            if x or y:
                raise typer.BadParameter("--x and --y are for sweeps and runs; write --figure NAME")
            from peerlane.report.figures import plot_report

            return plot_report(document, figure)
        if figure is None:
            return plot_document(document, x, y)
    if figure is not None:
        raise typer.BadParameter("--figure is for the JSON of `peerlane reproduce`")
    return plot_file(result, x, y)


def plot(  # noqa: PLR0913 - each is an option
    result: Annotated[
        str,
        typer.Argument(
            metavar="RESULT",
            help="The table of a sweep (.csv, .parquet), or the JSON of a sweep, a run or"
            " `peerlane reproduce`.",
        ),
    ],
    *,
    x: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column along the figure; the first, if absent."),
    ] = None,
    y: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="The column up the figure, such as `flows.*.bytes_per_second` for every flow; the"
            " first metric, if absent. May be repeated.",
        ),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Of the JSON of `reproduce`: the figure or table, such as fig3; a wrong name lists"
            " all.",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The words above the figure.")
    ] = None,
    x_label: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The words of the horizontal axis.")
    ] = None,
    y_label: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The words of the vertical axis.")
    ] = None,
    width: Annotated[
        str | None,
        typer.Option(
            metavar="WIDTH",
            callback=checked("peerlane.figures.figure:inches_of"),
            help="The width of the image: 3.3in, 85mm, 1column or 2columns (of an IEEE paper). PNG"
            " then has 300 pixels an inch.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            callback=checked("peerlane.figures.figure:check_format", is_file=True),
            help="The figure: .svg, .png, .pdf, or .json for its Vega-Lite specification;"
            " RESULT with .svg, if absent.",
        ),
    ] = None,
) -> None:
    """Plot columns of a sweep or a result.

    `peerlane plot tags.csv --x devices.a.tags --y flows.up.bytes_per_second`

    In a plot of a sweep, each combination of the other keys is a line, and points that differ only
    in the seed are shown as their mean with its 95 % confidence interval. A sweep of loads is
    plotted as latency over offered load. In a plot of a run, columns are fields of all entries of a
    list, such as `--y links.utilisation` or `--x flows.bytes --y flows.latency_ns.p99`. In a figure
    of `peerlane reproduce`, rings are published values and filled marks are simulated values.
    """
    target = out or str(Path(result).parent / f"{Path(result).stem}.svg")
    keep_apart([result], {"--out": target})
    with wrong_use():
        drawn = _drawn(result, x, y or [], figure)
        drawn.styled(title=title, x_label=x_label, y_label=y_label, width=width).save(target)
    say(f"wrote {target}")
