"""Writes tables of a scenario as text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def table(section: str, fields: Mapping[str, object]) -> str:
    """An entry of a list of tables; the values are texts, numbers, or lists of these."""
    lines = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items())
    return "\n".join([f"[[{section}]]", *lines])


def left_out(counts: Mapping[str, int]) -> list[str]:
    """The comment with the number of events of each kind that are left out, if there are any."""
    shown = ", ".join(f"{name} ({count:,})" for name, count in counts.items())
    return [f"# Left out: {shown}."] if shown else []
