"""What the documentation shows is what happens."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import peerlane
from peerlane import Fabric, Simulation

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_scenario_in_the_readme_runs() -> None:
    (text,) = blocks("toml")
    assert Simulation(text).run().failures == []


def test_the_python_in_the_readme_runs() -> None:
    names: dict[str, Any] = {}
    for block in blocks("python"):
        exec(block, names)  # noqa: S102
    assert names["result"].failures == []


def test_the_example_of_the_package_holds() -> None:
    assert doctest.testmod(peerlane).failed == 0


def test_every_named_scenario_runs() -> None:
    for path in sorted((ROOT / "scenarios").glob("*.toml")):
        assert Fabric.load(path).run().failures == [], path.name
