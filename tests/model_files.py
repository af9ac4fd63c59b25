"""A scenario with a device model of one's own in files, and commands that use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.cli.application import run_command_line

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def written(folder: Path, scenario: str, model: str) -> tuple[str, str]:
    """Writes a scenario and a model to a folder; returns their paths."""
    paths = folder / "own.toml", folder / "ssd.py"
    for path, text in zip(paths, (scenario, model), strict=True):
        path.write_text(text, encoding="utf-8")
    return str(paths[0]), str(paths[1])


def said(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Runs a command; returns its status, and all that it prints on one line."""
    status = run_command_line(arguments)
    out, err = capfd.readouterr()
    return status, " ".join((out + err).split())
