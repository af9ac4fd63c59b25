"""The topology of a session's host, as hwloc reads it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib import resources
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from conftest import MISSING, beside
from peerlane import Simulation
from peerlane.opae import places
from peerlane.opae.topology import hwloc_xml

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run, Write

needs_hwloc = pytest.mark.skipif(
    not shutil.which("lstopo-no-graphics"), reason=f"hwloc-nox {MISSING}"
)

TWO_SOCKETS = beside(__file__, "two_sockets.toml")


def everything(xml: bytes) -> list[ET.Element]:
    """All objects of a topology that was just made."""
    return list(ET.fromstring(xml).iter("object"))  # noqa: S314 - it is our own


def objects(xml: bytes, kind: str) -> list[ET.Element]:
    """The objects of a type."""
    return [one for one in everything(xml) if one.get("type") == kind]


def test_a_card_is_at_its_simulated_address_below_its_socket() -> None:
    simulation = Simulation(TWO_SOCKETS)
    xml = hwloc_xml(simulation, "h0")
    packages = objects(xml, "Package")
    assert [one.get("os_index") for one in packages] == ["0", "1"]
    sets = [int((one.get("cpuset") or "").replace(",", ""), 0) for one in packages]
    assert all(sets)
    assert not sets[0] & sets[1]
    where = {place.name: f"0000:{place.function}" for place in places(simulation)}
    for package, name in zip(packages, ("other", "card"), strict=True):
        devices = [one for one in package.iter("object") if one.get("type") == "PCIDev"]
        assert [one.get("pci_busid") for one in devices] == [where[name]]
        assert devices[0].get("pci_type", "").startswith("1200 [8086:09c4]")
    memory = [int(one.get("local_memory", "0")) for one in objects(xml, "NUMANode")]
    assert memory == [4 << 30, 4 << 30]
    numbers = [one.get("gp_index") for one in everything(xml)]
    assert len(set(numbers)) == len(numbers)


@needs_hwloc
def test_hwloc_reads_the_topology_and_finds_the_cores_near_a_card(tmp_path: Path) -> None:
    simulation = Simulation(TWO_SOCKETS)
    file = tmp_path / "topology.xml"
    file.write_bytes(hwloc_xml(simulation, "h0"))
    environment = {**os.environ, "HWLOC_XMLFILE": str(file)}

    def run(*command: str) -> str:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True, timeout=60
        )
        assert done.stderr == ""
        return done.stdout

    shown = run("lstopo-no-graphics", "--of", "console", "--no-factorize")
    assert shown.count("ProcessingAccelerator") == 2
    assert "8192MB total" in shown or "8GB total" in shown
    for place in places(simulation):
        package = run("hwloc-calc", "-I", "package", f"pci=0000:{place.function}").strip()
        assert package == ("1" if place.name == "card" else "0")


@needs_hwloc
def test_a_program_of_a_session_finds_its_card(
    peerlane: Run, scenario: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = resources.files("peerlane.systems").joinpath("pac", "scenario.toml").read_text()
    (card,) = places(Simulation(text))
    info = ["hwloc-info", f"pci=0000:{card.function}"]
    done = peerlane("opae", "run", *info).succeeds()
    assert re.search(r"type = PCIDev", done.out)
    given = scenario(text="<nothing/>")
    monkeypatch.setenv("HWLOC_XMLFILE", str(given))
    done = peerlane("opae", "run", "sh", "-c", "echo $HWLOC_XMLFILE")
    assert done.out.strip() == str(given)
