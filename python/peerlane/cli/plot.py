"""`peerlane plot`: figures of what sweeps and runs have written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from peerlane.cli.console import say
from peerlane.cli.files import keep_apart
from peerlane.cli.options import writable, wrong_use


def _figure_file(path: str | None) -> str | None:
    from peerlane.figures.figure import check_format

    if path is not None:
        with wrong_use():
            check_format(path)
    return writable(path)


def plot(
    result: Annotated[
        str,
        typer.Argument(
            metavar="RESULT",
            help="The table of a sweep (.csv, .parquet), or the JSON of a sweep or a run.",
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
            help="The column up the figure; the first metric, if absent. May be repeated.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            callback=_figure_file,
            help="The figure: .svg, .png, .pdf, or .json for its Vega-Lite specification;"
            " RESULT with .svg, if absent.",
        ),
    ] = None,
) -> None:
    """Plot columns of a sweep or a result (needs `pip install 'peerlane[plot]'`).

    `peerlane plot tags.csv --x devices.a.tags --y flows.up.bytes_per_second`

    Of a sweep, each combination of the other keys is a line, and points that differ in the seed
    alone are their mean with its 95 % confidence interval. A sweep of loads is plotted as latency
    over offered load. Of a run, columns are fields of all entries of a list, such as
    `--y links.utilisation` or `--x flows.bytes --y flows.latency_ns.p99`.
    """
    from peerlane.varying.reading import plot_file

    target = out or str(Path(result).parent / f"{Path(result).stem}.svg")
    keep_apart([result], {"--out": target})
    with wrong_use():
        plot_file(result, x, y or []).save(target)
    say(f"wrote {target}")
