"""The values of keys of a scenario."""

from __future__ import annotations

import re
from functools import reduce
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def setting(scenario: Mapping[str, Any], where: str) -> object:
    """The value of the key `where`, such as "profiles.plx.latency"."""
    found: object = reduce(lambda table, key: table[key], where.split("."), scenario)
    return found


def quantity(value: object) -> tuple[float, str]:
    """Splits "166 ns" into its number and its unit; a plain number has the unit 1."""
    match = re.fullmatch(r"([-+.\deE]+)\s*(\S*)", str(value))
    if match is None:
        raise ValueError(f"{value!r} is not a number with a unit")
    return float(match[1]), match[2] or "1"
