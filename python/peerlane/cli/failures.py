"""Prints the message of a command that fails, and determines its exit status."""

from __future__ import annotations

import errno

import typer

from peerlane._core import ModelError, ScenarioError, UnitError
from peerlane.circuits import CircuitError
from peerlane.cli.console import InterruptedWorkError, complain
from peerlane.cli.foreign import complain_of_code
from peerlane.cli.lspci import MissingLspciError
from peerlane.cli.options import FAILED, WRONG_USE
from peerlane.cli.usage import usage_message
from peerlane.importing import ListingError
from peerlane.reproduction.reproduce import UnknownNameError
from peerlane.results.reading import FileError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""Errors of a full disk or a closed stream: the command failed, although its use was correct."""


def status_of(error: Exception) -> int:
    """Prints the message of a command's error, and returns the exit status.

    Raises:
        KeyboardInterrupt: The user interrupted the command.
        Exception: The error itself, if it is a defect of Peerlane.
    """
    match error:
        case typer.TyperException():
            complain(usage_message(error))
            return WRONG_USE
        case (
            CircuitError()
            | FileError()
            | ScenarioError()
            | ListingError()
            | UnknownNameError()
            | MissingLspciError()
        ):
            complain(str(error))
            return WRONG_USE
        case ModelError() | UnitError():
            complain_of_code(error)
            return FAILED
        case InterruptedWorkError():
            raise KeyboardInterrupt(str(error)) from None
        case RuntimeError():
            complain(str(error))
            return FAILED
        case OSError():
            is_full = error.errno in _FULL
            # Functions that write a file put the file's name into the error.
            where = error.filename or ("standard output" if is_full else None)
            why = "it is closed" if error.errno == errno.EBADF else error.strerror or str(error)
            complain((f"{where}: " if where else "") + why.lower())
            return FAILED if is_full else WRONG_USE
    raise error
