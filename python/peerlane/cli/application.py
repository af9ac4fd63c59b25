"""Runs a command of the command line, and determines its exit status."""

from __future__ import annotations

import sys
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from peerlane.cli.head import set_command
from peerlane.fabric.scenario_warning import ScenarioWarning
from peerlane.models.model_warning import ModelWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

_TYPER_INTERRUPTED = 130


def run_command_line(arguments: list[str]) -> int:
    """Runs one command; returns its exit status after warnings and at most one error message."""
    set_command(arguments)
    try:
        with _warnings_on_one_line():
            status = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - a module of its own knows them
        from peerlane.cli.failures import status_of

        return status_of(error)
    if status == _TYPER_INTERRUPTED:
        raise KeyboardInterrupt
    return status or 0


def _run(arguments: list[str]) -> int | None:
    if arguments == ["--version"]:
        # The libraries of the command line take five times as long to load as `importlib.metadata`.
        from importlib.metadata import version

        print(f"peerlane {version('peerlane')}")
        return 0
    from peerlane.cli.commands import app

    status: int | None = app(arguments, prog_name="peerlane", standalone_mode=False)
    return status


@contextmanager
def _warnings_on_one_line() -> Iterator[None]:
    """Prints each warning about a scenario or a model once, by `console.warn`, on one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", ScenarioWarning)
        warnings.simplefilter("always", ModelWarning)
        as_usual = warnings.showwarning

        def show(  # noqa: PLR0913, PLR0917 - as Python calls it
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, (ScenarioWarning, ModelWarning)):
                from peerlane.cli.console import warn

                warn(str(message))
            else:
                as_usual(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield
