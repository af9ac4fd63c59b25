"""A scenario as TOML: tables of values, tables of tables, and lists of tables."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NETWORK_PARTS = ("hosts", "routers")
"""What a network has of each; written as a table of its own."""


def document(scenario: Mapping[str, Any]) -> Iterator[str]:
    """The text of a scenario, piece by piece."""
    for key, value in scenario.items():
        if not _is_section(value):
            yield f"{_key(key)} = {_value(value)}\n"
    for key, value in scenario.items():
        if isinstance(value, list) and _is_section(value):
            for entry in value:
                yield f"\n[[{_key(key)}]]\n"
                yield from _assignments(entry)
        elif isinstance(value, dict):
            yield from _section(key, value)


def _section(key: str, table: Mapping[str, Any]) -> Iterator[str]:
    if table and all(isinstance(entry, dict) for entry in table.values()):
        for name, entry in table.items():
            parts = _parts(entry) if key == "networks" else {}
            yield f"\n[{_key(key)}.{_key(name)}]\n"
            yield from _assignments({k: v for k, v in entry.items() if k not in parts})
            for part, fields in parts.items():
                yield f"\n[{_key(key)}.{_key(name)}.{_key(part)}]\n"
                yield from _assignments(fields)
    else:
        yield f"\n[{_key(key)}]\n"
        yield from _assignments(table)


def _parts(network: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The tables in the table of a network."""
    return {key: network[key] for key in NETWORK_PARTS if isinstance(network.get(key), dict)}


def _assignments(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        yield f"{_key(key)} = {_value(value)}\n"


def _is_section(value: object) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and all(isinstance(entry, dict) for entry in value)
    )


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return repr(value)
