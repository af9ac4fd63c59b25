"""Arguments, options and exit statuses that several commands share."""

from __future__ import annotations

import os
from contextlib import contextmanager
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from peerlane.cli import completion
from peerlane.cli.files import is_standard_output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from peerlane.models.loading import Source

FAILED = 1
WRONG_USE = 2

MOST_RUNS = 100_000
"""The most runs of one command that repeats them."""


@contextmanager
def wrong_use(option: str | None = None) -> Iterator[None]:
    """Reports a `ValueError`, but no `ScenarioError`, as a wrong use of the command or option."""
    try:
        yield
    except ValueError as error:
        from peerlane._core import ScenarioError

        if isinstance(error, ScenarioError):
            raise
        raise typer.BadParameter(str(error), param_hint=option) from None


def checked(place: str, *, is_file: bool = False) -> Callable[[Any], Any]:
    """A callback of an option, which refuses wrong values before any work is done.

    Args:
        place: The module and the name of the function that checks a value; it is imported when it
            is needed.
        is_file: Whether the value is also the name of a file that must be writable.
    """
    module, name = place.split(":")

    def callback(given: list[str] | str | None) -> list[str] | str | None:
        for one in [given] if isinstance(given, str) else given or ():
            with wrong_use():
                attrgetter(name)(import_module(module))(one)
        return writable(given) if is_file and not isinstance(given, list) else given

    return callback


def writable(path: str | None) -> str | None:
    """Refuses a file that could not be written, before any work is done."""
    if path is None or path == "-":
        return path
    if not path:
        raise typer.BadParameter("the name is empty; name a file")
    if Path(path).is_dir():
        raise typer.BadParameter(f"{path} is a folder; name a file in it")
    above = Path(path).absolute().parent
    if not above.is_dir():
        parent = Path(path).parent
        if above.exists():
            raise typer.BadParameter(f"{parent} is not a folder; name a file elsewhere")
        raise typer.BadParameter(
            f"there is no folder {parent}; create the folder, or name a file elsewhere"
        )
    place = Path(path) if Path(path).exists() else Path(path).absolute().parent
    if not os.access(place, os.W_OK):
        raise typer.BadParameter(f"{place} cannot be written; name a file elsewhere")
    return path


def json_file(path: str | None) -> str | None:
    """Checks that a file can be written; returns its path, or - for any name of standard output."""
    return "-" if path is not None and is_standard_output(path) else writable(path)


Scenario = Annotated[
    str,
    typer.Argument(
        metavar="FILE|NAME|-",
        help="The scenario, such as pair: a TOML file, or the name of a shipped one; - is standard "
        "input. `peerlane list scenarios` has the names.",
        autocompletion=completion.scenarios,
    ),
]

JsonTo = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE|-",
        callback=json_file,
        help="Write the numbers as JSON to FILE; - is standard output, with nothing else on it.",
    ),
]


ReportTo = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="DIR",
        help="Write a page with charts and tables to the folder DIR; with images of the charts and "
        "an index of all pages there.",
    ),
]


def _table_folder(path: str | None) -> str | None:
    """Checks that a folder for tables can be written, and that tables can be made."""
    if path is None:
        return None
    from peerlane.results.parquet import check_pyarrow, table_files
    from peerlane.results.run import RunResult

    if path == "-":
        raise typer.BadParameter("tables are files; name a folder, not standard output")
    if not path:
        raise typer.BadParameter("the name is empty; name a folder, such as tables, or . for this")
    if os.path.lexists(path) and not Path(path).is_dir():
        raise typer.BadParameter(f"{path} is a file; name a folder")
    if not Path(path).exists():
        writable(path)
    elif not os.access(path, os.W_OK):
        raise typer.BadParameter(f"{path} cannot be written; name a folder elsewhere")
    for name in table_files(RunResult):
        if (Path(path) / name).is_dir():
            raise typer.BadParameter(
                f"{path} has a folder {name}, where a table is written; name another folder"
            )
    check_pyarrow()
    return path


ParquetTo = Annotated[
    str | None,
    typer.Option(
        "--parquet",
        metavar="DIR",
        callback=_table_folder,
        help="Write the numbers as Parquet to the folder DIR: flows.parquet, links.parquet and so "
        "on, with the names of the JSON (needs `pip install 'peerlane[parquet]'`).",
    ),
]


def _models(context: typer.Context, given: list[str] | None) -> list[str]:
    """Loads device models for the scenarios of this command."""
    context.with_resource(loaded(given or []))
    return given or []


@contextmanager
def loaded(given: Sequence[str]) -> Iterator[None]:
    """Loads device models, each given as NAME=FILE, in this context.

    Raises:
        typer.BadParameter: A value does not name a model; the message has the reason.
    """
    models: dict[str, Source] = {}
    for one in given:
        name, _, source = one.partition("=")
        if not name or not source:
            right = "write NAME=FILE.py, NAME=FILE.py:CLASS or NAME=libNAME.so"
            raise typer.BadParameter(f"{one!r} is no model; {right}", param_hint="--model")
        if name in models:
            right = f"write {name} once, or another name for the second"
            raise typer.BadParameter(f"{name!r} is given twice; {right}", param_hint="--model")
        models[name] = source
    if not models:
        yield
        return
    from peerlane.cli.second_interrupt import second_interrupt_ends
    from peerlane.models.registry import registered_models

    registering = registered_models(models)
    try:
        registering.__enter__()
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--model") from None
    try:
        with second_interrupt_ends():
            yield
    finally:
        registering.__exit__(None, None, None)


Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="NAME=FILE",
        callback=_models,
        help="Load a model of the scenario, which runs its code: the device model NAME from "
        "FILE.py, FILE.py:CLASS or a library such as libNAME.so. May be repeated.",
    ),
]

ShowAll = Annotated[
    bool, typer.Option("--all", help="Show each of many that are alike; JSON always has all.")
]

WithErrorBars = Annotated[
    bool,
    typer.Option(
        "--error-bars",
        help="Print how far rates and latencies may be off: each default that no document states "
        "is moved over its range, in some dozens of runs.",
    ),
]

Seed = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=2**63 - 1,
        metavar="N",
        help="Seed of all random streams; replaces the scenario's own.",
    ),
]

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        callback=checked("peerlane.fabric.paths:read_setting"),
        help="Set a key for this run, such as `devices.a.tags=16`: section, name or id, key; as "
        'well `links.generation=4` or `profiles.virtex7.clock="200 MHz"`. `*` '
        "stands for every name. May be repeated.",
    ),
]

MEASURED = "--measured"

Measured = Annotated[
    str | None,
    typer.Option(
        MEASURED,
        metavar="FILE",
        help="Measured numbers: a table with the columns of a sweep (.csv), points in TOML, or the"
        " output of fio (JSON), nvbandwidth, p2pBandwidthLatencyTest, nccl-tests or perftest.",
    ),
]

Circuits = Annotated[
    str | None,
    typer.Option(
        "--rtl",
        metavar="NAME[,NAME]",
        help="Run these devices as circuits, not as models: as `make gateware` builds them.",
    ),
]


def _libraries(given: list[str] | None) -> list[str]:
    """Loads libraries of circuits, each given as NAME=FILE."""
    names = set()
    for one in given or ():
        name, _, path = one.partition("=")
        if not name or not path:
            right = "write NAME=FILE, such as mine=libmine.so"
            raise typer.BadParameter(f"{one!r} is no circuit; {right}", param_hint="--circuit")
        if name in names:
            right = f"write {name} once, or another name for the second"
            raise typer.BadParameter(f"{name!r} is given twice; {right}", param_hint="--circuit")
        names.add(name)
        from peerlane.circuits.loading import load

        try:
            load(path, name)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--circuit") from None
    return given or []


Libraries = Annotated[
    list[str] | None,
    typer.Option(
        "--circuit",
        metavar="NAME=FILE",
        callback=_libraries,
        help="Load the circuit NAME of the scenario from a library of `peerlane circuit build`, "
        "which runs its code. May be repeated.",
    ),
]
