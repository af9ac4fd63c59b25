"""Replaces the device models of a published system by circuits: RTL modules that are simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane._core import ScenarioError
from peerlane.fabric.variant import parsed
from peerlane.reproduction.catalogue import scenario_text
from peerlane.reproduction.machine import experiments_of, machine_of

if TYPE_CHECKING:
    from peerlane.fabric.settings import Setting


def implementations(system: str, value: str) -> dict[str, Setting]:
    """The keys that set the implementation of each device in a system's scenario to `value`.

    Raises:
        ScenarioError: The scenario names no devices, for example because it has only networks.
    """
    devices = parsed(scenario_text(system), f"{system}/scenario.toml").members("devices")
    if not devices:
        raise ScenarioError(f"{system}/scenario.toml: it names no devices that could be circuits")
    return {f"devices.{name}.implementation": value for name in devices}


def require_circuits(system: str, figure: str | None = None) -> None:
    """Checks that this build has the circuits with which figures of a system are simulated.

    The scenario chooses one circuit for all figures. `CIRCUITS` in `experiments.py` of the system
    can choose another circuit for a figure. Without `figure`, the circuits of all figures are
    checked.

    Raises:
        ScenarioError: A circuit is missing; the message says how to build it in.
    """
    chosen: dict[str, dict[str, Setting]] = getattr(experiments_of(system), "CIRCUITS", {})
    device, *_ = parsed(scenario_text(system), f"{system}/scenario.toml").members("devices")
    needed = [keys for name, keys in chosen.items() if figure in (None, name)]
    for keys in [{}, *needed]:
        fabric = machine_of(system).fabric()
        fabric.set(device, implementation="rtl", **keys).simulation()
