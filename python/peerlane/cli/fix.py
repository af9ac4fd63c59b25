"""`peerlane fix`: replaces the keys of older versions in scenarios by their new names."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from contextlib import suppress
from difflib import unified_diff
from io import BytesIO
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated

import typer

from peerlane.cli.options import FAILED

_STANDARD_INPUT = "-"


def fix(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Scenarios; - is standard input.")
    ],
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; print what would change.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Write nothing; print the changes as a unified diff.")
    ] = False,
) -> None:
    """Rename the keys that had other names in older versions, in place.

    Comments and layout stay as they are. Each change is printed with its line. If the value of a
    key has another meaning in this version, the change is printed, but you have to make it
    yourself. If the text is read from standard input, it is printed with the new keys.

    The exit status is 1 if you have to make a change yourself, and with --check or --diff if a file
    would change. It is 2 if a file is no TOML, or cannot be read or written: such a file stays as
    it is, and all other files are rewritten.
    """
    from peerlane.cli.failures import status_of

    status = 0
    for file in files:
        try:
            status = max(status, _fix(file, writes=not (check or diff), shows=diff))
        except (OSError, ValueError) as error:
            status = max(status, status_of(error))
    if status:
        raise typer.Exit(status)


def _fix(file: str, *, writes: bool, shows: bool) -> int:
    """Rewrites a file, if `writes` is set; returns the exit status.

    Raises:
        OSError: The file cannot be read or written.
        ScenarioError: The file is not TOML.
    """
    from peerlane import _core
    from peerlane.cli.console import say
    from peerlane.fabric.simulation import MOST_BYTES, scenario_of

    name = "standard input" if file == _STANDARD_INPUT else file
    if file == _STANDARD_INPUT:
        content = sys.stdin.buffer.read(MOST_BYTES + 1)
    else:
        with Path(file).open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
    scenario_of(BytesIO(content), name)  # raises an error if the file is no text
    text = content.decode()
    new, made, left = _core.fix(text, name)
    for line, what in sorted(made + left):
        say(f"{name}:{line}: {what}")
    if shows:
        before, now = text.splitlines(keepends=True), new.splitlines(keepends=True)
        sys.stdout.writelines(unified_diff(before, now, fromfile=name, tofile=name))
    elif writes and file == _STANDARD_INPUT:
        sys.stdout.write(new)
    elif writes and new != text:
        replace(Path(file), new.encode())
    return FAILED if left or (made and not writes) else 0


def replace(path: Path, content: bytes) -> None:
    """Replaces a file as a whole: after a failure it has its complete old content.

    Raises:
        OSError: The file cannot be written, and is unchanged.
    """
    real = path.resolve()  # a symbolic link stays a symbolic link
    if not real.is_file():
        raise OSError(errno.EINVAL, "Is no regular file; - is standard input", str(path))
    if not os.access(real, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    try:
        with NamedTemporaryFile(dir=real.parent, prefix=f".{real.name}.", delete=False) as part:
            try:
                part.write(content)
                part.flush()
                os.fsync(part.fileno())
                shutil.copymode(real, part.name)
                Path(part.name).replace(real)
            except BaseException:
                with suppress(OSError):
                    Path(part.name).unlink()
                raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
