"""Loads and stores between hosts, and an endpoint whose functions belong to several of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conftest import needs_lspci
from peerlane import Fabric

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run


MEMORY = 1 << 32
"""Where the memory of a host begins."""


def shared(*owners: str) -> Fabric:
    """Two hosts that share a controller, and an endpoint at it with a function for each owner."""
    fabric = Fabric("shared").links(generation=3, lanes=8).controller("c", ports=3)
    for number in range(2):
        fabric.host(f"h{number}")
        fabric.device(f"n{number}", f"h{number}", model="nic")
    fabric.io_port("slot", owners)
    return fabric.device("card", "slot", virtual_functions=len(owners) - 1)


def test_there_is_no_window_without_a_controller() -> None:
    simulation = Fabric("two").host("a").host("b").simulation()
    with pytest.raises(ValueError, match="a does not reach b by loads and stores"):
        simulation.node("a").window("b")


def test_the_tree_tells_whose_functions_there_are() -> None:
    (controller,) = shared("h1", "h0").simulation().tree().controllers
    (port,) = controller.io_ports
    assert (port.name, port.endpoint, port.owners) == ("slot", "card", ("h1", "h0"))


@needs_lspci
def test_lspci_tells_virtual_functions_by_their_identity(peerlane: Run, tmp_path: Path) -> None:
    path = tmp_path / "shared.toml"
    path.write_text(shared("h0", "h1").to_toml())
    listed = peerlane("lspci", path, "--", "-n").out.splitlines()
    assert "0002:01:00.1 1200: 10ee:9039" in listed


def test_loads_and_stores_cross_cables_which_the_tree_shows(peerlane: Run, tmp_path: Path) -> None:
    fabric = Fabric("row").links(generation=3, lanes=8).controller("c0").controller("c1")
    fabric.cable("c0", "c1", generation=2, lanes=4)
    for number in range(2):
        fabric.host(f"h{number}")
        fabric.device(f"n{number}", f"h{number}", model="nic", controller=f"c{number}")
    simulation = fabric.simulation()
    host, place = simulation.node("h0"), MEMORY + 0x2000
    host.write(host.window("h1") + place, b"afar")
    assert host.read(host.window("n1") + place, 4) == b"afar"
    tree = simulation.tree()
    (cable,) = tree.cables
    assert (cable.source, cable.target, cable.generation, cable.lanes) == ("c0", "c1", 2, 4)
    assert [node.processor for node in tree.nodes] == [None, None, 0, 1]
    path = tmp_path / "row.toml"
    path.write_text(fabric.to_toml())
    assert "cable c0-c1  x4 Gen2 (5 GT/s)" in peerlane("show", path).out


def test_owners_are_a_list() -> None:
    with pytest.raises(TypeError, match=r"owners are a list of names; write \['h0'\]"):
        Fabric("one").io_port("slot", "h0")
