"""The `peerlane` command: its subcommands, and the exit status of each outcome."""

from __future__ import annotations

import errno
import sys
from typing import Annotated

import typer

import peerlane
from peerlane._core import ModelError, UnitError
from peerlane.cli.bench import bench_app
from peerlane.cli.compare import compare
from peerlane.cli.console import InterruptedWorkError, complain, warnings_on_one_line
from peerlane.cli.explain import explain
from peerlane.cli.foreign import complain_of_code
from peerlane.cli.head import set_command
from peerlane.cli.importing import import_app
from peerlane.cli.list import list_
from peerlane.cli.lspci import MissingLspciError, lspci
from peerlane.cli.new import new
from peerlane.cli.opae.group import opae_app
from peerlane.cli.options import FAILED, WRONG_USE
from peerlane.cli.plan import plan_app
from peerlane.cli.plot import plot
from peerlane.cli.reproduce import reproduce
from peerlane.cli.run import run
from peerlane.cli.show import show
from peerlane.cli.sweep import sweep
from peerlane.cli.top import top
from peerlane.importing import ListingError
from peerlane.reproduction.reproduce import UnknownNameError
from peerlane.results.reading import FileError

_TYPER_INTERRUPTED = 130

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of a disk that takes no more: the command was right, and failed."""

app = typer.Typer(
    name="peerlane",
    help="""A lab for PCIe-class fabrics of hosts, switches and FPGAs.

Describe a fabric in a scenario file, simulate it packet by packet with real bytes, and measure it
the way hardware papers do. Begin with `peerlane reproduce` and `peerlane run pair`; then let
`peerlane new` write a scenario of your own, and give it to `peerlane show` and `peerlane run`.""",
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(run)
app.command()(explain)
app.command()(top)
app.command()(show)
app.command()(new)
app.command()(sweep)
app.command()(compare)
app.command()(plot)
app.command(context_settings={"ignore_unknown_options": True})(lspci)
app.command()(reproduce)
app.command("list")(list_)
app.add_typer(bench_app, name="bench")
app.add_typer(opae_app, name="opae")
app.add_typer(plan_app, name="plan")
app.add_typer(import_app, name="import")


def run_command_line(arguments: list[str]) -> int:
    """Runs one command; returns its exit status after warnings and at most one error message."""
    set_command(arguments)
    try:
        with warnings_on_one_line():
            status = app(arguments, prog_name="peerlane", standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        complain(f"{' '.join(error.format_message().split())} (peerlane --help)")
        return WRONG_USE
    except (
        FileError,
        peerlane.ScenarioError,
        ListingError,
        UnknownNameError,
        MissingLspciError,
    ) as error:
        complain(str(error))
        return WRONG_USE
    except (ModelError, UnitError) as error:
        complain_of_code(error)
        return FAILED
    except InterruptedWorkError as error:
        raise KeyboardInterrupt(str(error)) from None
    except BrokenPipeError:
        raise
    except RuntimeError as error:
        complain(str(error))
        return FAILED
    except OSError as error:
        is_full = error.errno in _FULL
        # Whatever writes to a file names it.
        where = error.filename or ("standard output" if is_full else None)
        complain((f"{where}: " if where else "") + (error.strerror or str(error)).lower())
        return FAILED if is_full else WRONG_USE
    if status == _TYPER_INTERRUPTED:
        raise KeyboardInterrupt
    return status or 0


@app.callback(invoke_without_command=True)
def _peerlane(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"peerlane {peerlane.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
