"""Adds entries to the sections of a scenario that a program builds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from peerlane.fabric.keys import check_keys, check_name
from peerlane.fabric.settings import with_unit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from peerlane._core import Scenario


class Sections:
    """A scenario to which a program adds entries."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario

    def _append(self, kind: str, fields: Mapping[str, Any]) -> Self:
        check_keys(kind, fields)
        self._scenario.append(kind, stated(kind, fields))
        return self

    def _add(self, kind: str, name: str, fields: Mapping[str, Any]) -> Self:
        check_name(name)
        self._scenario.add(kind, name, stated(kind, fields))
        return self

    def _update(self, table: str, settings: Mapping[str, Any]) -> Self:
        """Sets keys of a table; if one of the keys is wrong, none of them is set."""
        changed = self._scenario.copy()
        fields = stated(table.partition(".")[0], settings)
        changed.update({f"{table}.{key}": value for key, value in fields.items()})
        self._scenario = changed
        return self


def stated(section: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a table of a section, with units added to plain numbers."""
    return {key: with_unit(section, key, value) for key, value in fields.items()}
