"""The JSON schema of results, which comes from their dataclasses, describes what is written."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from peerlane import RunResult, ScenarioWarning, Simulation

if TYPE_CHECKING:
    from conftest import Run, Write

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs/reference/result.schema.json"
LARGEST = 256 << 10
SCENARIOS = sorted(
    path
    for pattern in ("*.toml", "incidents/*.toml")
    for path in (ROOT / "scenarios").glob(pattern)
)
BEGINNING_NS = 60_000.0
"""Simulated time after which every shipped scenario has moved bytes."""


def schema() -> str:
    """The schema of `RunResult`, as text."""
    from pydantic import TypeAdapter  # noqa: PLC0415 - of the library, whose face has no pydantic

    found = TypeAdapter(RunResult).json_schema(mode="serialization")
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "peerlane-result/1",
        "title": "The result of a run of Peerlane",
    }
    return json.dumps(head | {key: found[key] for key in found if key != "title"}, indent=1) + "\n"


def described() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(FILE.read_text(encoding="utf-8")))


def result_of(path: Path) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScenarioWarning)
        simulation = Simulation.open(path)
    simulation.run_until(BEGINNING_NS)
    written: dict[str, Any] = json.loads(json.dumps(simulation.result().to_json()))
    return written


def test_the_file_is_a_schema_that_is_not_too_long() -> None:
    assert FILE.stat().st_size < LARGEST
    jsonschema.Draft202012Validator.check_schema(json.loads(schema()))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_results_of_shipped_scenarios_are_as_described(path: Path) -> None:
    described().validate(result_of(path))


def test_what_the_command_line_writes_is_as_described(peerlane: Run, scenario: Write) -> None:
    document = json.loads(peerlane("run", scenario(), "--json", "-").out)
    described().validate(document)
    for wrong in (
        document | {"colour": "red"},
        document | {"schema": "peerlane-result/0"},
        {key: document[key] for key in document if key != "measured_ns"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            described().validate(wrong)
