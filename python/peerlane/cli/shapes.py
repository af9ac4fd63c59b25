"""`peerlane bench shapes`: a fixed set of fabrics, compared with a stored measurement."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Annotated

import typer

from peerlane.benchmark.shapes.measure import UNITS, Measured
from peerlane.cli.console import complain, emit, progress, say, warn, write
from peerlane.cli.files import keep_apart
from peerlane.cli.head import head
from peerlane.cli.options import FAILED, MOST_RUNS, JsonTo, writable, wrong_use
from peerlane.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from peerlane.benchmark.shapes.baseline import Change

_BUSY = 0.5
"""The share of busy processors above which measured times are unreliable."""


def bench_shapes(  # noqa: PLR0913 - options of a command
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SHAPE",
            help=f"The shapes to measure: {', '.join(UNITS)}; all if none is named.",
        ),
    ] = None,
    *,
    save: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            callback=writable,
            help="Store the measurement in FILE, to compare later ones with it.",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Compare with a measurement that --save has stored here."
        ),
    ] = None,
    fail_above: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT",
            help="End with status 1 if a time, a count or memory grew by more than this, such as "
            "5%, beyond noise (with --against).",
        ),
    ] = None,
    repeat: Annotated[
        int,
        typer.Option(
            min=1,
            max=MOST_RUNS,
            metavar="N",
            help="Runs of each shape; the median is reported.",
        ),
    ] = 5,
    quick: Annotated[
        bool, typer.Option("--quick", help="Do a sixteenth of the work, for a first look.")
    ] = False,
    valgrind: Annotated[
        bool,
        typer.Option(
            "--valgrind",
            help="Count instructions and cache misses under valgrind, too: slow, but the same on a "
            "busy machine, and where the processor has no counters.",
        ),
    ] = False,
    json_to: JsonTo = None,
) -> None:
    """Measure the speed on a fixed set of fabrics, and compare it with an earlier measurement.

    `peerlane bench shapes --save before.json`, then with another version `peerlane bench shapes
    --against before.json`

    A fabric of the set is called a shape. In some shapes endpoints write to memory, 128 bytes at
    once; more than 64 endpoints are below several hosts, which a controller joins. In others,
    routers of a torus send messages of 256 bytes, or 16 hosts send to each other through one
    controller, or through four controllers with cables. A unit of work is a write in memory, a hop
    over a fibre, or a TLP on a link. A time counts as changed if all runs of one measurement are
    faster than all runs of the other. Each shape runs in a process of its own, whose peak memory is
    reported.
    """
    from rich.console import Group

    from peerlane import _core
    from peerlane.benchmark.shapes.baseline import changes
    from peerlane.benchmark.shapes.measure import QUICK, machine, measure, missing_valgrind
    from peerlane.cli.tables.shapes import changes_table, shapes_table

    shapes = _chosen(names or [])
    limit = _limit(fail_above, against)
    keep_apart([against], {"--save": save, "--json": json_to})
    divisor = QUICK if quick else 1
    if valgrind and (missing := missing_valgrind()):
        raise typer.BadParameter(missing, param_hint="--valgrind")
    before = _stored(against, shapes, divisor, whole=limit is not None)
    load = os.getloadavg()[0]
    found: list[Measured] = []
    with progress("benchmark") as bar:
        for shape in shapes:
            bar(Progress(len(found) / len(shapes), shape))
            found.append(measure(shape, repeat, divisor=divisor, valgrind=valgrind))
    document = head("shapes") | {
        "machine": machine(),
        "build": _core.BUILD_PROFILE,
        "divisor": divisor,
        "runs": [one.to_json() for one in found],
    }
    if save is not None:
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        write(save, text.encode())
    table: RenderableType = shapes_table(found)
    differences: list[Change] = []
    if before is not None:
        with wrong_use("--against"):
            differences = changes(before, found)
        document["changes"] = [one.to_json() for one in differences]
        table = Group(table, changes_table(differences))
        if missing_there := [one.shape for one in found if one.shape not in before]:
            say(f"{against} does not have {', '.join(missing_there)}")
    _warn_of_load(load)
    emit(document, table, json_to)
    if all(one.instructions_per_unit is None for one in found):
        say("this system counts no instructions (as most virtual machines); --valgrind does")
    _judge(differences, limit)


def _chosen(names: Sequence[str]) -> list[str]:
    from peerlane import _core

    for name in names:
        if name not in UNITS:
            raise typer.BadParameter(
                f"there is no shape {name!r}; {_core.advice(name, list(UNITS))}", param_hint="SHAPE"
            )
    return list(dict.fromkeys(names)) or list(UNITS)


def _stored(
    path: str | None, shapes: Sequence[str], divisor: int, *, whole: bool
) -> dict[str, Measured] | None:
    """The stored measurement, if `path` names one; with `whole`, it must have all shapes."""
    from peerlane import _core
    from peerlane.benchmark.shapes.baseline import read_baseline

    if path is None:
        return None
    with wrong_use("--against"):
        build, before = read_baseline(path, divisor)
    if build is None:
        warn(
            f"{path} does not say how the package was built: profiles other than"
            f" {_core.BUILD_PROFILE!r} do not compare"
        )
    missing = [shape for shape in shapes if shape not in before]
    if missing and (whole or len(missing) == len(shapes)):
        raise typer.BadParameter(
            f"{path} does not have {', '.join(missing)}; leave them out, or --save all",
            param_hint="--against",
        )
    return before


def _limit(text: str | None, against: str | None) -> float | None:
    """The largest ratio of a new to an old value that is not a failure."""
    if text is None:
        return None
    if against is None:
        raise typer.BadParameter(
            "there is nothing to compare with; name a stored measurement by --against",
            param_hint="--fail-above",
        )
    if not re.fullmatch(r"\d{1,4}(\.\d+)? ?%?", text.strip()):
        raise typer.BadParameter(
            f"{text!r} is no percentage; write for example 5%", param_hint="--fail-above"
        )
    return 1 + float(text.strip().rstrip("% ")) / 100


def _warn_of_load(load: float) -> None:
    """Warns if other programs used the processors when the measurement began."""
    cores = os.cpu_count() or 1
    if load > _BUSY * cores:
        warn(f"busy machine (load {load:.1f} on {cores} processors): times do not compare")


def _judge(differences: Sequence[Change], limit: float | None) -> None:
    """Ends the command with a failure if a quantity has grown by more than the limit."""
    if limit is None:
        return
    grown = [one for one in differences if not one.is_noise and one.ratio > limit]
    if grown:
        told = (f"{one.shape} {one.quantity} {one.ratio:.3f} times" for one in grown)
        complain(f"more than before by over {100 * (limit - 1):g} %: {', '.join(told)}")
        raise typer.Exit(FAILED)
