"""The log of incidents, as users meet it: rows of results, JSON, the table of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from peerlane import Fabric

if TYPE_CHECKING:
    from conftest import Run, Write

SCENARIOS = Path(__file__).parents[1] / "scenarios"

DOWN = """
[hosts.h]
[devices.d]
upstream = { to = "h", fails_at = "10 us" }
[[flows]]
from = "d"
to = "h"
size = "1 MiB"
direction = "read"
"""


def test_a_run_prints_its_incidents(scenario: Write, peerlane: Run) -> None:
    told = peerlane("run", scenario(text=DOWN), "--no-explain")
    assert told.status == 1
    _, log = told.out.split("incident at")
    (line,) = (line for line in log.splitlines() if "Surprise Down" in line)
    assert line.split()[:8] == ["10", "us", "h", "to", "d", "Surprise", "Down", "fatal"]


def test_a_result_has_incidents_where_there_are_any(scenario: Write) -> None:
    result = Fabric.load(scenario(text=DOWN)).run()
    down = result.incidents["h to d", "Surprise Down"]
    assert (down.at_ns, down.severity, down.function) == (10_000.0, "fatal", "00:01.0")
    assert result.to_json()["incidents"][0]["where"] == "h to d"
    quiet = Fabric("quiet").host("h").device("d", "h").flow("d", "h", size="4 KiB")
    assert "incidents" not in quiet.run().to_json()


def test_a_shipped_scenario_of_a_fault_says_what_is_missing(peerlane: Run) -> None:
    told = peerlane("run", "incidents/poisoned-read", "--no-explain")
    assert told.status == 1
    assert "fetch: missing in its region: 512 B at" in told.out
    assert "Poisoned TLP Received" in told.out
    listed = peerlane("list", "scenarios")
    assert "incidents/completer-abort" in listed.out


def test_a_result_lists_missing_bytes_where_there_are_any() -> None:
    fabric = Fabric("quiet").host("h").device("d", "h").flow("d", "h", size="4 KiB")
    (flow,) = fabric.run().to_json()["flows"]
    assert "missing" not in flow
    fabric = fabric.incident("poison", "d", at="0 ns")
    result = fabric.run()
    ((offset, length),) = result.flows[0].missing
    assert offset == 0
    assert result.flows[0].bytes == 4096 - length
    assert result.to_json()["flows"][0]["missing"]


def test_a_function_level_reset_ends_the_flow_of_its_function_alone(peerlane: Run) -> None:
    told = peerlane("run", "incidents/flr", "--no-explain")
    assert told.status == 1
    assert "Function Level Reset" in told.out
    result = Fabric.load(SCENARIOS / "incidents/flr.toml").run()
    flows = {flow.id: flow.completed and flow.intact for flow in result.flows}
    assert flows == {"reset": False, "beside": True, "other": True, "again": True}
    assert result.incidents["card VF 0", "Function Level Reset"].severity is None


def test_a_driver_that_is_told_of_a_reset_loses_nothing(peerlane: Run) -> None:
    told = peerlane("run", "incidents/recovery", "--no-explain")
    assert told.status == 0
    assert "a driver begins again after a reset of its device" in told.out
    result = Fabric.load(SCENARIOS / "incidents/recovery.toml").run()
    (flow,) = result.flows
    assert flow.intact
    assert flow.restarts == 1
    assert result.to_json()["flows"][0]["restarts"] == 1
