"""The page of defaults without a document: what each is, why, and over which range it is moved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from conftest import beside
from peerlane import _core
from peerlane._core import read_value
from peerlane.calibrating.error_bars import values_of
from peerlane.figures.quantities import Quantity
from peerlane.reproduction.expected import is_independent
from peerlane.reproduction.inputs import parameters

if TYPE_CHECKING:
    from fractions import Fraction

FILE = Path(__file__).parents[2] / "docs" / "reference" / "choices.md"

HEAD = beside(__file__, "choices.head")


def made() -> str:
    """The page."""
    rows = {}
    for entries in parameters().values():
        for one in entries.values():
            moved = values_of(one.name, read_value(one.default))
            if moved and not is_independent(one.source):
                to = ", ".join(str(value) for value in moved)
                name = one.name.removeprefix("default:")
                rows[name] = f"| `{name}` | {one.default} | {to} | {one.source} |"
    return HEAD + "\n".join(rows[name] for name in sorted(rows)) + "\n"


def test_every_default_lies_in_its_stated_range() -> None:
    stated = [one for one in json.loads(_core.catalogue())["parameters"] if one["range"]]
    assert stated
    for one in stated:
        assert not is_independent(one["source"]), one["key"]
        low, *_, high = one["range"]
        assert low != high, one["key"]
        if one["default"] not in {low, high}:
            assert amount(low) < amount(one["default"]) < amount(high), one["key"]


def amount(text: str) -> Fraction:
    quantity = Quantity.read(text)
    assert quantity is not None, text
    return quantity.amount


def test_a_default_at_the_end_of_its_range_is_moved_to_the_other_end_alone() -> None:
    assert values_of("default:hosts.memory_address_bits", 32) == [64]
    assert values_of("default:hosts.memory_address_bits", 64) == [32]
