"""Completes arguments in a shell: names of scenarios, systems, figures, models and parameters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer  # noqa: TC002 - it reads the annotations itself

from peerlane.cli import shipped


def scenarios(incomplete: str) -> list[str]:
    """The names of shipped scenarios, of scenario files, and of folders that may contain them."""
    base = incomplete[: incomplete.rfind("/") + 1]
    beginning = incomplete.removeprefix(base)
    try:
        entries = sorted(Path(base or ".").iterdir())
    except OSError:
        entries = []
    seen = [one for one in entries if beginning or not one.name.startswith(".")]
    files = [one.name for one in seen if one.suffix == ".toml" and one.is_file()]
    folders = [f"{one.name}/" for one in seen if one.is_dir()]
    found = [base + name for name in files + folders]
    return _beginning(incomplete, [*shipped.names(), *found])


def shipped_scenarios(incomplete: str) -> list[str]:
    """Names of shipped scenarios."""
    return _beginning(incomplete, shipped.names())


def systems(incomplete: str) -> list[str]:
    """Names of published systems."""
    from peerlane.reproduction.catalogue import systems as all_systems

    return _beginning(incomplete, list(all_systems()))


def figures(context: typer.Context, incomplete: str) -> list[str]:
    """The names of the figures of the system on the command line, or of all systems without one."""
    from peerlane.reproduction.catalogue import folder_of
    from peerlane.reproduction.catalogue import systems as all_systems
    from peerlane.reproduction.expected import Expected

    system = context.params.get("system")
    names = [system] if system in all_systems() else list(all_systems())
    known = [figure for name in names for figure in Expected.load(folder_of(name)).by_figure()]
    return _beginning(incomplete, known)


def models(incomplete: str) -> list[str]:
    """Names of device models."""
    return _beginning(incomplete, [model["name"] for model in _catalogue()["models"]])


def listed(incomplete: str) -> list[str]:
    """The topics of `peerlane list`, and the names of their entries."""
    known = _catalogue()
    names = [entry.get("name") or entry["key"] for entries in known.values() for entry in entries]
    return _beginning(incomplete, [*known, "systems", "scenarios", *names])


def _catalogue() -> dict[str, list[dict[str, Any]]]:
    from peerlane import _core

    known: dict[str, list[dict[str, Any]]] = json.loads(_core.catalogue())
    return known


def _beginning(incomplete: str, names: list[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]
