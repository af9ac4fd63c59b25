"""The drawing of a fabric's topology: what is in it, and where."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from conftest import PAIR
from peerlane import Fabric
from peerlane.report.topology import draw

SCENARIOS = sorted((Path(__file__).parent.parent / "scenarios").glob("*.toml"))


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 - of our own making


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_shipped_scenario_is_drawn(path: Path) -> None:
    parsed(draw(Fabric.load(path)))


def test_links_say_their_width_and_generation() -> None:
    texts = [text.text for text in parsed(draw(Fabric.from_toml(PAIR))).iter()]
    assert texts.count("x4 Gen2") == 3


def test_a_result_gives_the_use_of_both_directions() -> None:
    fabric = Fabric.from_toml(PAIR)
    result = fabric.run()
    use = result.links["s0-b", "down"].utilisation
    assert f"↓ {100 * use:.0f} %" in draw(fabric, result)
