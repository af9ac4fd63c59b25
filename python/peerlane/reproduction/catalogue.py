"""The published systems: their folders, titles and machines."""

from __future__ import annotations

from importlib import import_module, resources
from typing import TYPE_CHECKING

from peerlane._core import ScenarioError
from peerlane.building.builder import Fabric
from peerlane.fabric.variant import parsed
from peerlane.reproduction.calibration import changes, moves
from peerlane.reproduction.expected import Expected

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

    from peerlane.fabric.settings import Setting


def systems() -> dict[str, str]:
    """The systems that can be reproduced, and their titles."""
    folders = (f for f in _shelf().iterdir() if f.is_dir() and (f / "expected.toml").is_file())
    return {f.name: Expected.load(f).title for f in sorted(folders, key=lambda f: f.name)}


def system_fabric(system: str) -> Fabric:
    """The machine of a published system, as its `scenario.toml` describes it.

    While the sensitivity of its rows is measured, one of its calibration parameters is moved; keys
    that the user sets otherwise are set so.
    """
    fabric = Fabric.from_toml(scenario_text(system), source=f"{system}/scenario.toml")
    for where, value in (*changes().items(), *moves().items()):
        fabric.override(where, value)
    return fabric


def implementations(system: str, value: str) -> dict[str, Setting]:
    """The keys that give all devices of a system's scenario this implementation, such as "rtl".

    Raises:
        ScenarioError: The scenario has no devices, as networks name none.
    """
    devices = parsed(scenario_text(system), f"{system}/scenario.toml").get("devices", {})
    if not devices:
        raise ScenarioError(f"{system}/scenario.toml: it names no devices that could be circuits")
    return {f"devices.{name}.implementation": value for name in devices}


def require_circuits(system: str, figure: str | None = None) -> None:
    """Refuses a system whose figures need circuits that this build does not have.

    They are the circuit of the system's scenario, and those of `CIRCUITS` of its experiments: of
    one figure, or of all.

    Raises:
        ScenarioError: A circuit is missing; the message says how it comes in.
    """
    module = import_module(f"peerlane.systems.{system}.experiments")
    chosen: dict[str, dict[str, Setting]] = getattr(module, "CIRCUITS", {})
    device, *_ = parsed(scenario_text(system), f"{system}/scenario.toml")["devices"]
    needed = [keys for name, keys in chosen.items() if figure in (None, name)]
    for keys in [{}, *needed]:
        fabric = system_fabric(system).without_flows()
        fabric.set(device, implementation="rtl", **keys).simulation()


def are_circuits(settings: Mapping[str, Setting]) -> bool:
    """Whether these keys of a scenario run a device as a circuit."""
    return any(
        where.endswith(".implementation") and value == "rtl" for where, value in settings.items()
    )


def runs_circuits() -> bool:
    """Whether the figure that is being simulated has circuits in the place of models."""
    return are_circuits(changes())


def folder_of(system: str) -> Traversable:
    """The folder of a system."""
    return _shelf() / system


def scenario_text(system: str) -> str:
    """The text of a system's `scenario.toml`."""
    return (folder_of(system) / "scenario.toml").read_text(encoding="utf-8")


def _shelf() -> Traversable:
    return resources.files("peerlane.systems")
