"""The sections of a scenario in the making."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from peerlane._core import ScenarioError
from peerlane.fabric.keys import check_keys, check_name
from peerlane.fabric.settings import written

if TYPE_CHECKING:
    from collections.abc import Mapping


class Sections:
    """A scenario as tables, to which entries are added.

    Args:
        scenario: The tables that are there already.
    """

    def __init__(self, scenario: dict[str, Any]) -> None:
        self._scenario = scenario

    def _table(self, name: str) -> dict[str, Any]:
        table = self._scenario.get(name, {})
        if not isinstance(table, dict):
            raise ScenarioError(f"{name} is not a table; write [{name}]")
        return table

    def _list(self, name: str) -> list[dict[str, Any]]:
        entries = self._scenario.get(name, [])
        if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
            raise ScenarioError(f"{name} is not a list of tables; write [[{name}]]")
        return entries

    def _append(self, kind: str, fields: Mapping[str, Any]) -> Self:
        check_keys(kind, fields)
        self._scenario[kind] = [*self._list(kind), written(fields)]
        return self

    def _add(self, kind: str, name: str, fields: Mapping[str, Any]) -> Self:
        check_name(name)
        table = self._table(kind)
        if name in table:
            raise ScenarioError(f"{name!r} is already among the {kind}")
        self._scenario[kind] = table | {name: written(fields)}
        return self
