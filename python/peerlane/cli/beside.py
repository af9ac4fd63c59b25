"""Names programs of this Python environment in a form that a shell can run."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


def program(name: str) -> str:
    """The name of a program of this Python environment, or its path if a shell would not find it.

    The path is relative if the program is below the current folder: `.venv/bin/python`.
    """
    own = Path(sys.executable).absolute().parent / name
    found = shutil.which(name)
    if not own.exists() or (found is not None and Path(found).absolute() == own):
        return name
    here = Path.cwd()
    return shlex.quote(str(own.relative_to(here) if own.is_relative_to(here) else own))
