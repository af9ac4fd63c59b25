"""The JSON Schema of scenarios accepts what the simulator accepts."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from conftest import PAIR
from peerlane import _core
from peerlane._core import read_value
from peerlane.models.registry import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Run

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for pattern in ("scenarios/**/*.toml", "python/peerlane/systems/*/scenario.toml")
    for path in ROOT.glob(pattern)
)
LISTS = {"cables", "fibres", "incidents", *dict(_core.workload_lists())}


@cache
def validator() -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(json.loads(_core.schema()))


def errors(scenario: dict[str, Any]) -> list[str]:
    return [error.message for error in validator().iter_errors(scenario)]


def test_it_is_a_schema(peerlane: Run) -> None:
    printed = peerlane("schema").succeeds()
    jsonschema.Draft7Validator.check_schema(json.loads(printed.out))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_shipped_scenarios_are_accepted(path: Path) -> None:
    assert errors(tomllib.loads(path.read_text(encoding="utf-8"))) == []


def tables() -> Iterator[tuple[str, dict[str, Any]]]:
    """A table with each key of the catalogue alone, with its default, and the section of each."""
    for row in catalogue()["parameters"]:
        only = {key: row[key] for key in ("model", "what") if row[key] is not None}
        is_value = row["kind"] not in {"text", "list", "table"} and row["default"] != ""
        if is_value and not row["default"].startswith("the next"):
            for section in row["sections"]:
                yield section, only | {row["key"]: read_value(row["default"])}


def test_every_default_is_accepted_as_a_value() -> None:
    wrong = {}
    for section, table in tables():
        known = validator().schema["properties"]
        if section == "upstream":
            scenario: dict[str, Any] = {"devices": {"d": {"upstream": table}}}
        elif section not in known:  # the scenario itself, and what only Python has
            continue
        elif section in LISTS:
            kind = {} if section != "incidents" else {"what": table.get("what", "degrade")}
            scenario = {section: [kind | table]}
        elif known[section].get("properties"):
            scenario = {section: table}
        else:
            scenario = {section: {"d": table}}
        if found := errors(scenario):
            wrong[section, *table] = found
    assert wrong == {}


@pytest.mark.parametrize(
    ("right", "wrong", "word"),
    [
        ("lanes = 4", "lans = 4", "lans"),
        ("[devices.a]", '[devices.a]\nmodel = "nic"\nstore_and_forward = "1 GB/s"', "store"),
        ('size = "16 KiB"', 'size = "16 KiBs"', "16 KiBs"),
        ('size = "16 KiB"', "size = 16384", "16384"),
        ("[hosts.h0]", "[hosts.h0]\ntags = true", "True"),
        ("[[flows]]", "[[flow]]", "flow"),
        ("[[flows]]", '[[incidents]]\nat = "1 us"\nwhat = "hot"\n[[flows]]', "hot"),
        ("[[flows]]", '[[incidents]]\nwhat = "surprise-removal"\nlanes = 1\n[[flows]]', "lanes"),
        ("[[flows]]", '[networks.t.routers]\nfifo = "4 KiB"\n[[flows]]', "fifo"),
    ],
)
def test_what_is_wrong_is_found(right: str, wrong: str, word: str) -> None:
    assert right in PAIR
    found = errors(tomllib.loads(PAIR.replace(right, wrong, 1)))
    assert found
    assert word in "\n".join(found)


def test_a_model_of_ones_own_has_its_keys(peerlane: Run, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from peerlane import Device, Parameter\n\n\n"
        'class Own(Device):\n    """Mine."""\n\n    depth = Parameter(4, help="Commands.")\n',
        encoding="utf-8",
    )
    printed = peerlane("schema", "--model", "own=own.py:Own")
    known = jsonschema.Draft7Validator(json.loads(printed.out))
    for key, is_right in (("depth", True), ("deptj", False), ("send_queue", True)):
        scenario = {"devices": {"d": {"model": "own", key: 3}}}
        assert known.is_valid(scenario) is is_right, key
    # Without the model, nobody knows its keys.
    assert errors({"devices": {"d": {"model": "own", "depth": 3}}}) == []
