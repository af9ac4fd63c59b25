"""Loads of networks: what is one, when it is measured, and when nothing moves any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from peerlane import Fabric, ScenarioError, ScenarioWarning, sweep_loads

if TYPE_CHECKING:
    from peerlane.fabric.settings import Setting


def test_a_sweep_without_a_window_leaves_out_the_filling() -> None:
    """A short workload of a wide network, whose first messages are under way for much of it."""
    fabric = Fabric("torus").network("n", shape="torus", size=(8, 8))
    fabric.traffic("n", load=1e9, duration="10 us", senders="routers", receivers="routers")
    (point,) = sweep_loads(fabric, [2e9]).points
    assert not point.saturated
    assert point.accepted_bytes_per_second == pytest.approx(2e9, rel=0.03)


@pytest.mark.parametrize("window", [("20 us", "30 us"), ("1 us", "4 us")])
def test_a_window_in_which_nothing_is_sent_is_refused(window: tuple[str, str]) -> None:
    fabric = Fabric("ring").network("n", shape="ring", size=4).measure(*window)
    senders: dict[str, Any] = {"senders": "routers", "receivers": "routers"}
    fabric.traffic("n", id="w", load=1e9, start="5 us", duration="15 us", **senders)
    with pytest.raises(ScenarioError, match="w sends from 5000 to 20000 ns; write a window"):
        sweep_loads(fabric, [1e9])


@pytest.mark.parametrize("load", [float("nan"), float("inf"), True, None])
def test_a_load_that_is_none_is_refused(load: Any) -> None:
    fabric = Fabric("ring").network("n", shape="ring", size=4)
    with pytest.raises(ScenarioError, match=f"load: {load!r} is not a bandwidth; write one like"):
        fabric.traffic("n", load=load, duration="1 us")


def test_a_number_is_a_load_in_bytes_a_second_wherever_it_is_said() -> None:
    fabric = Fabric("ring").network("n", shape="ring", size=4)
    fabric.traffic("n", id="w", load=1e9, duration="1 us").set_traffic("w", load=2.5e9)
    assert fabric.tree().traffic["w"].load == 2_500_000_000


def test_packets_that_stand_still_are_told() -> None:
    routers: dict[str, Setting] = {"virtual_channels": 1, "channel_buffer": "2 KiB"}
    fabric = Fabric("ring").network("n", size=8, shape="ring", dateline=False, routers=routers)
    fabric.traffic(
        "n",
        load="6 GB/s",
        pattern="tornado",
        message="1536 B",
        duration="30 us",
        senders="routers",
        receivers="routers",
    )
    with pytest.warns(ScenarioWarning, match="deadlock"):
        result = fabric.run()
    assert result.standing_packets > 0
    still = f"{result.standing_packets} packets are blocked for ever: a deadlock"
    assert still in result.failures
