"""The programs of the Python environment with Peerlane, with the paths that a shell needs."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


def program(name: str) -> str:
    """The name of a program beside this Python, or its path if a shell would not find this program.

    The path is relative if the program is below the current folder, as in `.venv/bin/python`.
    """
    own = Path(sys.executable).absolute().parent / name
    found = shutil.which(name)
    if not own.exists() or (found is not None and Path(found).absolute() == own):
        return name
    here = Path.cwd()
    return shlex.quote(str(own.relative_to(here) if own.is_relative_to(here) else own))
