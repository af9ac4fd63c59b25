"""The reference of the command line, made by typer from the functions of the commands."""

from __future__ import annotations

import re
import subprocess
import sys


def markdown() -> str:
    """A section for each command: its help, arguments and options."""
    writer = [sys.executable, "-m", "typer", "peerlane.cli.commands", "utils", "docs"]
    made = subprocess.run(
        [*writer, "--name", "peerlane"],
        check=True,
        capture_output=True,
        text=True,
    )
    # The page has a title of its own, and beside it the list of commands, which typer cuts off.
    text = re.sub(r"\A# .*\n", "", made.stdout)
    text = re.sub(r"\*\*Commands\*\*:\n\n(\* .*\n)+", "", text)
    return re.sub(r"docs/(reference/[\w.-]+)", r"[\g<0>](../\1)", text)
