"""Checks the names of settings against the keys of scenarios, to refuse a misspelt name at once."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from peerlane import _core
from peerlane.models.registry import all_models, catalogue

if TYPE_CHECKING:
    from collections.abc import Iterable


def check_name(name: object) -> None:
    """Refuses the name of a node that is not a string.

    Raises:
        TypeError: The name is not a string.
    """
    if not isinstance(name, str):
        raise TypeError(f"{name!r} is not the name of a node; write a string")


def check_keys(kind: str, settings: Iterable[str]) -> None:
    """Refuses settings that are no keys of any section of scenarios.

    Whether a known key belongs to a `kind` of section, such as "devices", is checked by the
    simulator.

    Raises:
        ScenarioError: A setting is unknown; the message has the nearest key of this kind.
    """
    places = _sections(tuple(all_models()))
    for key in settings:
        if key in places:
            continue
        fitting = [one for one, where in places.items() if where & {kind, "upstream"}]
        near = _core.nearest(key, fitting) or _core.nearest(key, list(places))
        advice = f"did you mean {near!r}?" if near else "peerlane list parameters has all keys"
        raise _core.ScenarioError(f"{kind} have no key {key!r}; {advice}")


def kind_of(section: str, key: str) -> str | None:
    """The kind of a key of a section, such as "size" or "time"; `None` for an unknown key."""
    found = _kinds(tuple(all_models()))
    return found.get((section, key)) or found.get(("upstream", key))


def is_of_link(key: str) -> bool:
    """Whether a key of a switch or device belongs to its link to the node above."""
    where = _sections(tuple(all_models())).get(key, set())
    return "upstream" in where and not where & {"switches", "devices"}


@lru_cache(maxsize=8)
def _sections(models: tuple[_core.DeviceModel, ...]) -> dict[str, set[str]]:
    """Every key of scenarios, with the sections that have it."""
    del models  # only a key of the cache: the catalogue includes them
    sections: dict[str, set[str]] = {}
    for row in catalogue()["parameters"]:
        sections.setdefault(row["key"], set()).update(row["sections"])
    return sections


@lru_cache(maxsize=8)
def _kinds(models: tuple[_core.DeviceModel, ...]) -> dict[tuple[str, str], str]:
    """For each section, the kind of each of its keys."""
    del models  # only a key of the cache: the catalogue includes them
    rows = catalogue()["parameters"]
    return {(section, row["key"]): row["kind"] for row in rows for section in row["sections"]}
