"""Reads the scenarios of commands: from files, from standard input, or shipped with Peerlane."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from peerlane._core import ScenarioError
from peerlane.cli import shipped
from peerlane.dotted import join_path
from peerlane.fabric.paths import read_setting
from peerlane.fabric.simulation import Simulation, read_scenario, scenario_of
from peerlane.fabric.variant import parsed, told, variant
from peerlane.formats import shortened
from peerlane.models.registry import all_models

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane._core import Scenario
    from peerlane.fabric.settings import Setting

_MOST_NAMES = 12
"""The most devices that one message names."""


def scenario_text(file: str) -> tuple[str, str]:
    """The text of a scenario, and its name in messages; - is standard input.

    If `file` is the name of a shipped scenario and no file has this name, its text is returned.

    Raises:
        OSError: The file cannot be read.
        ScenarioError: The file does not exist, is empty, too long, or is not text.
    """
    if not file:
        raise ScenarioError("the name of the scenario is empty; write a file, or a shipped name")
    if file == "-":
        return scenario_of(sys.stdin.buffer, "standard input"), "standard input"
    if shipped.is_shipped(file):
        return shipped.text_of(file), f"{file}.toml"
    try:
        return read_scenario(file), file
    except FileNotFoundError:
        raise ScenarioError(f"{file}: {shipped.advice(file)}") from None


def open_simulation(
    file: str,
    *,
    seed: int | None = None,
    settings: Sequence[str] | None = None,
    circuits: str | None = None,
) -> Simulation:
    """Reads a scenario by `scenario_text`, and creates its simulation with new values of some keys.

    `circuits`, the value of --rtl, names the devices for which RTL modules run instead of models.
    """
    return simulation_of(*scenario_text(file), seed=seed, settings=settings, circuits=circuits)


def simulation_of(
    text: str,
    source: str,
    *,
    seed: int | None = None,
    settings: Sequence[str] | None = None,
    circuits: str | None = None,
) -> Simulation:
    """Creates the simulation of the scenario in a text; arguments are as for `open_simulation`."""
    if not settings and circuits is None:
        return Simulation(text, source=source, seed=seed)
    scenario = parsed(text, source)
    return variant(scenario, _values(scenario, settings, circuits), seed=seed)


def faults_of(
    text: str, source: str, settings: Sequence[str] | None, circuits: str | None
) -> list[str]:
    """The errors of the scenario in a text that are independent of each other.

    Raises:
        ScenarioError: The text is not TOML, or a key cannot be set.
    """
    scenario = parsed(text, source)
    values = _values(scenario, settings, circuits)
    scenario.update(values)
    return scenario.faults(told(values) or None, all_models())


def _values(
    scenario: Scenario, settings: Sequence[str] | None, circuits: str | None
) -> dict[str, Setting]:
    """The keys that the options of a command set, with their values."""
    values = dict(map(read_setting, settings or ()))
    if circuits is not None:
        values |= dict.fromkeys(_implementations(scenario, circuits), "rtl")
    return values


def _implementations(scenario: Scenario, circuits: str) -> list[str]:
    """The keys that replace the models of the devices in `circuits` by RTL modules."""
    names = [name.strip() for name in circuits.split(",") if name.strip()]
    if not names:
        raise typer.BadParameter("write the names of devices, such as a,b", param_hint="--rtl")
    written = scenario.copy()
    written.write_out()
    devices = written.members("devices")
    for name in names:
        if name not in {*devices, *scenario.members("devices")}:
            shown = ", ".join(shortened(devices, _MOST_NAMES))
            known = f"its devices are {shown}" if devices else "it has no devices"
            raise typer.BadParameter(
                f"there is no device {name!r} in the scenario; {known}", param_hint="--rtl"
            )
    return [join_path(("devices", name, "implementation")) for name in names]
