"""Paths of keys and of values: parts with dots between them, such as `devices.a.tags`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from peerlane._core import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterable

_PART = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|[^."\']+')


def split_path(path: str) -> tuple[str, ...]:
    """The parts of a path; one with a dot in it stands in quotes.

    Raises:
        ScenarioError: It is not a path.
    """
    parts, position = [], 0
    while match := _PART.match(path, position):
        part = match[0]
        if part[0] == '"':
            try:
                part = json.loads(part)
            except ValueError:
                break
        parts.append(part[1:-1] if part[0] == "'" else part.strip())
        position = match.end()
        if position == len(path):
            return tuple(parts)
        if path[position] != ".":
            break
        position += 1
    raise ScenarioError(f"{path!r} is not the path of a key; write one such as devices.a.tags")


def join_path(parts: Iterable[str]) -> str:
    """The text of a path."""
    bare = re.compile(r"[^.\"'\s]+")
    return ".".join(p if bare.fullmatch(p) else json.dumps(p, ensure_ascii=False) for p in parts)
