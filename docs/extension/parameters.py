"""The reference of scenarios, from the data of `peerlane list`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from peerlane import _core

if TYPE_CHECKING:
    from collections.abc import Iterable

Entry = dict[str, Any]


def markdown() -> str:
    """Tables of the device models, of the keys of each section, and of the profiles."""
    known: dict[str, list[Entry]] = json.loads(_core.catalogue())
    lines = ["## Device models", ""]
    lines += _table(
        "model", "device", rows=[(_code(e["name"]), e["help"]) for e in known["models"]]
    )
    for where in dict.fromkeys(entry["where"] for entry in known["parameters"]):
        keys = [_parameter(entry) for entry in known["parameters"] if entry["where"] == where]
        lines += [
            f"## {_section(where)}",
            "",
            *_table("key", "default", "unit", "meaning", rows=keys),
        ]
    lines += ["## Profiles", "", "`profile` at a node sets keys of its ports:", ""]
    profiles = [(_code(e["name"]), e["help"], _settings(e)) for e in known["profiles"]]
    return "\n".join(lines + _table("profile", "ports", "settings", rows=profiles))


def _section(where: str) -> str:
    """The heading of a section: its tables as a scenario names them, if they are in scenarios."""
    tables, _, model = where.partition(", model ")
    if " " in tables.replace(", ", ""):
        return where[0].upper() + where[1:]
    heading = ", ".join(map(_code, tables.split(", ")))
    return f"{heading} with model {_code(model)}" if model else heading


def _parameter(entry: Entry) -> tuple[str, ...]:
    meaning = f"{entry['help']} *Source: {entry['source']}.*"
    return _code(entry["key"]), entry["default"], entry["unit"], meaning


def _settings(profile: Entry) -> str:
    return "<br>".join(_code(setting) for setting in profile["settings"])


def _code(text: str) -> str:
    return f"`{text}`"


def _table(*head: str, rows: Iterable[tuple[str, ...]]) -> list[str]:
    """A Markdown table, with an empty line after it."""
    cells = [head, ("---",) * len(head), *rows]
    return [
        *(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in cells),
        "",
    ]
