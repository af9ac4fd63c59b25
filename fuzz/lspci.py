"""Listings of lspci: any text results in a scenario, or in one message with the line."""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

import peerlane

with atheris.instrument_imports(include=["peerlane.importing"]):
    import peerlane.importing  # noqa: F401

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from importing.test_import import tree_or_refusal

if __name__ == "__main__":
    atheris.enabled_hooks.add("RegEx")
    # libFuzzer restarts the process by its first argument, which it uses as a command.
    atheris.Setup([f"{sys.executable} {sys.argv[0]}", *sys.argv[1:]], tree_or_refusal)
    atheris.Fuzz()
