"""Error bars: how far rates and latencies may be off, because of defaults without a document."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from peerlane.cli.application import run_command_line
from peerlane.varying.error_bars import ErrorBar, ErrorBars, _bar, _Move, error_bars

if TYPE_CHECKING:
    from pathlib import Path

READER = """
[links]
generation = 4
lanes = 8
[hosts.h]
[devices.d]
upstream = "h"
tags = 2
max_payload_supported = "256 B"
[[flows]]
id = "f"
from = "d"
to = "h"
direction = "read"
size = "8 KiB"
"""
RATE = "flows.f.bytes_per_second"


@pytest.fixture(scope="module")
def found() -> ErrorBars:
    return error_bars(READER)


def rate(found: ErrorBars) -> ErrorBar:
    return found.bars[RATE]


def test_the_latency_of_the_host_moves_the_rate_of_reads_with_few_tags(found: ErrorBars) -> None:
    bar = rate(found)
    causes = {(cause.name, cause.to): cause.number for cause in bar.causes}
    slow, fast = (causes["default:hosts.latency", to] for to in ("250 ns", "50 ns"))
    assert slow < bar.value < fast
    # The strongest single changes are within the bar, and other defaults widen it.
    assert bar.low < slow
    assert bar.high > fast


def test_a_value_that_the_scenario_writes_is_no_cause(found: ErrorBars) -> None:
    known = {"hosts.h.latency": "100 ns", "hosts.h.memory_read_latency": "80 ns"}
    narrow = rate(error_bars(READER, settings=known))
    assert narrow.value == rate(found).value
    assert rate(found).low < narrow.low <= narrow.value <= narrow.high < rate(found).high


def test_flags_choices_workloads_and_documented_values_stay(found: ErrorBars) -> None:
    moved = {name.rpartition(".")[2] for name in found.moved}
    assert "latency" in moved
    assert not moved & {"iommu", "peer_to_peer", "direction", "max_read_request"}


def test_what_the_scenario_refuses_is_named_and_moves_nothing(found: ErrorBars) -> None:
    assert "default:hosts.memory_address_bits=16" in found.refused
    assert "16" not in {cause.to for cause in rate(found).causes}


def test_changes_of_different_defaults_are_added_in_quadrature() -> None:
    moves = [_Move(name, "1", to, ("x",)) for name in ("a", "b") for to in ("2", "3")]
    numbers = [97.0, 103.0, 104.0, 96.5]
    found = {move: {"n": number} for move, number in zip(moves, numbers, strict=True)}
    bar = _bar("n", 100.0, found)
    assert bar.high == pytest.approx(100 + 5)
    assert bar.low == pytest.approx(100 - (3**2 + 3.5**2) ** 0.5)
    assert [cause.name for cause in bar.causes] == ["b", "b", "a", "a"]


def test_run_prints_the_range_and_its_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "reader.toml"
    file.write_text(READER, encoding="utf-8")
    assert run_command_line(["run", str(file), "--error-bars", "--json", "-"]) == 0
    bar = json.loads(capsys.readouterr().out)["bars"][RATE]
    assert bar["low"] < bar["value"] < bar["high"]
    assert run_command_line(["run", str(file), "--error-bars", "--repeat", "3"]) == 2
    assert "leave out --error-bars" in capsys.readouterr().err
