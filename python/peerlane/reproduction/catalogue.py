"""Finds the published systems, and reads their titles and scenarios from their folders."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from peerlane.reproduction.expected import Expected

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


def systems() -> dict[str, str]:
    """The systems that can be reproduced, and their titles."""
    return {folder.name: Expected.load(folder).title for folder in folders()}


def folders() -> list[Traversable]:
    """The folders of the systems that can be reproduced, in the order of their names."""
    found = (f for f in _shelf().iterdir() if f.is_dir() and (f / "expected.toml").is_file())
    return sorted(found, key=lambda folder: folder.name)


def folder_of(system: str) -> Traversable:
    """The folder of a system."""
    return _shelf() / system


def scenario_text(system: str) -> str:
    """The text of a system's `scenario.toml`."""
    return (folder_of(system) / "scenario.toml").read_text(encoding="utf-8")


def _shelf() -> Traversable:
    return resources.files("peerlane.systems")
