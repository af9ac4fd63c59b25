"""The sections of a scenario in the making."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from peerlane.fabric.keys import check_keys, check_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from peerlane._core import Scenario


class Sections:
    """A scenario to which entries are added."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario

    def _append(self, kind: str, fields: Mapping[str, Any]) -> Self:
        check_keys(kind, fields)
        self._scenario.append(kind, dict(fields))
        return self

    def _add(self, kind: str, name: str, fields: Mapping[str, Any]) -> Self:
        check_name(name)
        self._scenario.add(kind, name, dict(fields))
        return self

    def _update(self, table: str, settings: Mapping[str, Any]) -> Self:
        """Sets keys of a table, all or none."""
        changed = self._scenario.copy()
        changed.update({f"{table}.{key}": value for key, value in settings.items()})
        self._scenario = changed
        return self
