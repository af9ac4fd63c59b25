"""Results and traces of every shipped scenario are those that were written down, to the byte.

A change of behaviour changes a digest, in the commit that explains it, and
`make generate` writes the file anew. What only moves code changes none.
"""

from __future__ import annotations

import json
import tempfile
import tomllib
import warnings
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, SHIPPED
from peerlane import ScenarioWarning, Simulation

DIGESTS = ROOT / "tests" / "digests.toml"
TRACE_NS = 300_000.0
"""Traces are cut here, in simulated nanoseconds from the beginning of the run."""


def digests(scenario: str) -> dict[str, str]:
    """SHA-256 of the result, as `run --json` writes it but with sorted keys, and of the trace.

    Not of histograms: their bytes are those of a compressor, and quantiles tell what they hold.
    """
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore", ScenarioWarning)
        result = Simulation.open(ROOT / scenario).run().to_json()
        traced = Simulation.open(ROOT / scenario)
        traced.capture("trace", trace := Path(folder) / "trace")
        traced.run_until(TRACE_NS)
        del traced  # which closes the file
        text = json.dumps(without_histograms(result), sort_keys=True).encode()
        return {
            "result": sha256(text).hexdigest(),
            "trace": sha256(trace.read_bytes()).hexdigest(),
        }


def made() -> str:
    """The text of the file."""
    sections = []
    for name in SHIPPED:
        values = "".join(f'{key} = "{value}"\n' for key, value in digests(name).items())
        sections.append(f'["{name}"]\n{values}')
    return "\n".join(sections)


def without_histograms(value: Any) -> Any:
    """A part of a document without the encoded histograms in it."""
    if isinstance(value, dict):
        kept = {key: one for key, one in value.items() if key != "histogram_ps"}
        return {key: without_histograms(one) for key, one in kept.items()}
    return [without_histograms(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("scenario", SHIPPED)
def test_a_scenario_has_its_digests(scenario: str) -> None:
    written = tomllib.loads(DIGESTS.read_text(encoding="utf-8"))
    assert digests(scenario) == written[scenario]


def test_every_digest_is_of_a_scenario() -> None:
    assert sorted(tomllib.loads(DIGESTS.read_text(encoding="utf-8"))) == SHIPPED
