"""The log of incidents, as users meet it: rows of results, JSON, the table of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from peerlane import Fabric

if TYPE_CHECKING:
    from conftest import Run, Write

SCENARIOS = Path(__file__).parents[2] / "scenarios"

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


def test_a_link_that_degrades_loses_nothing_and_says_so(peerlane: Run) -> None:
    told = peerlane("run", "incidents/degrade", "--no-explain").succeeds()
    assert "link retrained, 16 GT/s x4" in told.out
    result = Fabric.load(SCENARIOS / "incidents/degrade.toml").run()
    assert all(flow.completed and flow.intact for flow in result.flows)
    assert [one.what for one in result.incidents] == [
        "link retrained, 16 GT/s x4",
        "link retrained, 16 GT/s x16",
    ]
    fabric = Fabric("kept").host("h").device("d", "h").flow("d", "h", size="64 KiB")
    simulation = fabric.incident("degrade", "d", at="1 us", lanes=4).simulation()
    simulation.run()
    status = simulation.node("h").config_read("00:01.0", 0x82, size=2)
    assert status >> 4 & 0x3F == 4
    assert status >> 14 & 1 == 1


def test_a_function_level_reset_ends_the_flow_of_its_function_alone(peerlane: Run) -> None:
    told = peerlane("run", "incidents/flr", "--no-explain")
    assert told.status == 1
    assert "Function Level Reset" in told.out
    result = Fabric.load(SCENARIOS / "incidents/flr.toml").run()
    flows = {flow.id: flow.completed and flow.intact for flow in result.flows}
    assert flows == {"reset": False, "beside": True, "other": True, "again": True}
    assert result.incidents["card VF 0", "Function Level Reset"].severity is None


def test_a_mask_turns_an_interrupt_storm_into_few_messages(peerlane: Run) -> None:
    told = peerlane("run", "incidents/interrupt-storm", "--no-explain").succeeds()
    assert "intact" in told.out
    fabric = Fabric.load(SCENARIOS / "incidents/interrupt-storm.toml")
    (masked,) = fabric.run().interrupts
    (storm,) = fabric.set("h", interrupt_masking=False).run().interrupts
    blocks, queues = (1 << 20) // 512, 2
    commands = blocks + queues
    assert (storm.sent, storm.held) == (commands, 0)
    assert 0 < masked.sent < commands / 4
    assert masked.held > commands / 2
    assert (storm.dropped, masked.dropped) == (0, 0)


def test_a_removed_card_takes_its_flows_along_and_its_port_records_surprise_down(
    peerlane: Run,
) -> None:
    told = peerlane("run", "incidents/surprise-removal", "--no-explain")
    assert told.status == 1
    assert "served ERR_FATAL of 02:00.0, Surprise Down" in told.out
    result = Fabric.load(SCENARIOS / "incidents/surprise-removal.toml").run()
    flows = {flow.id: flow.completed and flow.intact for flow in result.flows}
    assert flows == {"fetch": False, "store": False, "poll": False, "other": True}
    down = result.incidents["s to card", "Surprise Down"]
    assert (down.severity, down.reported_to) == ("fatal", "h to s")


def test_a_driver_that_is_told_of_a_reset_loses_nothing(peerlane: Run) -> None:
    told = peerlane("run", "incidents/recovery", "--no-explain").succeeds()
    assert "a driver begins again after a reset of its device" in told.out
    result = Fabric.load(SCENARIOS / "incidents/recovery.toml").run()
    (flow,) = result.flows
    assert flow.intact
    assert flow.restarts == 1
    assert result.to_json()["flows"][0]["restarts"] == 1
