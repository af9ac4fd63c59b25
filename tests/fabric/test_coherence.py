"""The invariants of coherence, watched while a fabric runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from peerlane import Fabric

if TYPE_CHECKING:
    from conftest import Run
    from peerlane.fabric.simulation import Simulation

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def readers() -> Simulation:
    """A core and an accelerator that read the same page again and again, and are watched."""
    fabric = Fabric("readers").links(generation=4, lanes=8).host("h0", coherent=True)
    fabric.device("card", "h0", model="accelerator").buffer("page", "h0", size="4 KiB")
    fabric.accesses("h0", "page", count=500, interval="100 ns")
    fabric.accesses("card", "page", count=50)
    simulation = fabric.simulation()
    simulation.watch_coherence(every=10)
    return simulation


def test_caches_that_agree_are_not_complained_of() -> None:
    result = readers().run()
    assert result.incoherence is None
    assert result.failures == []


def test_memory_that_is_changed_behind_the_caches_is_told_with_its_line() -> None:
    simulation = readers()
    simulation.run_until(20_000)
    simulation.node("h0").fill(1 << 32, bytes([1]) * 4096)
    told = simulation.run().failures[-1]
    assert told.startswith("not coherent: after 20")
    assert "nobody has written it, and memory has other bytes" in told


def test_caches_that_are_not_there_are_not_watched() -> None:
    simulation = Fabric("plain").host("h0").simulation()
    with pytest.raises(ValueError, match="no host is coherent"):
        simulation.watch_coherence(every=10)


@pytest.mark.parametrize(("events", "status"), [("0", 2), ("some", 2), ("50", 0)])
def test_the_command_line_asks_for_it_by_events(peerlane: Run, events: str, status: int) -> None:
    scenario = SCENARIOS / "coherent.toml"
    assert peerlane("run", scenario, "--check-coherence", events).status == status
