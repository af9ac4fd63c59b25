"""`peerlane list`: names models, profiles, parameters and published systems."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

import typer

from peerlane import _core
from peerlane.cli.console import emit
from peerlane.cli.options import JsonTo
from peerlane.cli.tables.catalogue import catalogue
from peerlane.cli.tables.cells import stack
from peerlane.reproduction.catalogue import systems


class Topic(StrEnum):
    """A topic of `peerlane list`."""

    MODELS = "models"
    PROFILES = "profiles"
    PARAMETERS = "parameters"
    SYSTEMS = "systems"


COLUMNS = {
    "models": ("name", "help"),
    "profiles": ("name", "help", "settings"),
    "parameters": ("key", "default", "unit", "where", "help", "source"),
    "systems": ("name", "title"),
}
"""The columns of each topic, of which the first is a name."""


def list_(
    topic: Annotated[Topic | None, typer.Argument(help="The topic; all topics, if absent.")] = None,
    json_to: JsonTo = None,
) -> None:
    """List device models, profiles, every parameter with its unit and default, and systems."""
    known: dict[str, list[dict[str, Any]]] = json.loads(_core.catalogue())
    known["systems"] = [{"name": name, "title": title} for name, title in systems().items()]
    chosen = {topic.value: known[topic.value]} if topic else known
    shown = [catalogue(name, rows, *COLUMNS[name]) for name, rows in chosen.items()]
    emit(chosen, stack(shown), json_to)
