"""Files of checkpoints: written as a whole or not at all, and never over what is something else."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from peerlane import _core

if TYPE_CHECKING:
    from os import PathLike


def check_replaceable(path: str | PathLike[str], scenario: str) -> None:
    """Refuses a file that is there and is no checkpoint of the scenario with this text.

    Raises:
        OSError: The file cannot be read.
        CheckpointError: It is something else.
    """
    file = Path(path)
    if not file.exists():
        return
    what = "is no checkpoint"
    if file.is_file():
        try:
            text, _ = _core.checkpoint_scenario(file.read_bytes())
        except _core.CheckpointError as error:
            what = f"is there, and {error}".split(";", maxsplit=1)[0]
        else:
            if text == scenario:
                return
            what = "is a checkpoint of another scenario"
    message = f"{path} {what}; name another file, or remove it"
    raise _core.CheckpointError(message)


def write(path: str | PathLike[str], content: bytes) -> None:
    """Writes a file under another name, and then gives it its name.

    Raises:
        OSError: The file cannot be written. What was there before is still there.
    """
    file = Path(os.path.realpath(path))
    try:
        handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(handle, "wb") as temporary:
            temporary.write(content)
            temporary.flush()
            os.fsync(temporary.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(file)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read(path: str | PathLike[str]) -> tuple[_core.Simulation, str]:
    """The simulation in the checkpoint at `path`, and the text of its scenario.

    Raises:
        OSError: The file cannot be read.
        CheckpointError: It is no checkpoint, is damaged, or is of another version.
    """
    content = Path(path).read_bytes()
    try:
        text, _ = _core.checkpoint_scenario(content)
        return _core.resume(content), text
    except _core.CheckpointError as error:
        message = f"{path}: {error}"
        raise _core.CheckpointError(message) from None
