"""Defines `Machine`: all inputs of the figures of a published system."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from peerlane.building.builder import Fabric
from peerlane.dotted import join_path
from peerlane.fabric.variant import parsed
from peerlane.figures.quantities import Quantity
from peerlane.reproduction.catalogue import scenario_text
from peerlane.reproduction.inputs import CONSTANT, DEFAULT, PROFILE, used

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from _typeshed import DataclassInstance

    from peerlane._core import Scenario
    from peerlane.fabric.settings import Setting
    from peerlane.fabric.simulation import Simulation

Constants = TypeVar("Constants", bound="DataclassInstance")


@dataclass(frozen=True, slots=True)
class Machine(Generic[Constants]):
    """The inputs of a system's figures; a change of an input creates another machine.

    Experiments build each scenario that they simulate from `fabric()` or `simulation()`.
    """

    system: str
    scenario: str
    """The text of the system's `scenario.toml`, in which keys may be changed."""
    constants: Constants
    """The numbers that the system's experiments use in addition to the scenario."""
    unwritten: Mapping[str, Setting] = field(default_factory=dict)
    """The changed values of defaults and of settings of profiles, by the names of the inputs."""
    watch: Callable[[Scenario], object] | None = None
    """A function that is called with each scenario that is simulated."""

    def __deepcopy__(self, _: object) -> Self:
        """Returns the machine itself, because copies of its fabrics share one machine."""
        return self

    def moved(self, name: str, value: Any) -> Self:  # noqa: ANN401 - a constant may be anything
        """The machine with another value of an input.

        Args:
            name: The key of the scenario, "constants.NAME", or the name of a default or of a
                profile's setting, in the form of `Input`.
            value: The new value.

        Raises:
            ScenarioError: The scenario has no such section, name or id.
        """
        if name.startswith(CONSTANT):
            constants = replace(self.constants, **{name.removeprefix(CONSTANT): value})
            return replace(self, constants=constants)
        if name.startswith((DEFAULT, PROFILE)):
            return replace(self, unwritten={**self.unwritten, name: value})
        return replace(self, scenario=self._whole().override(name, value).to_toml())

    def fabric(self) -> Fabric:
        """The fabric of the scenario, without its workloads."""
        return self._made().without_flows()

    def simulation(self) -> Simulation:
        """The simulation of the scenario itself.

        Raises:
            ScenarioError: The scenario cannot be built.
        """
        return self._made().simulation()

    def value(self, where: str) -> float:
        """The number at a key of the scenario or at "constants.NAME", in the unit written there."""
        return float(self.quantity(where).number)

    def quantity(self, where: str) -> Quantity:
        """The number at a key of the scenario or at "constants.NAME", with its unit.

        Raises:
            ValueError: The key has no number.
        """
        value = self.setting(where)
        if (found := Quantity.read(str(value))) is None:
            raise ValueError(f"{where} = {value!r} is not a number with a unit")
        return found

    def setting(self, where: str) -> Any:  # noqa: ANN401 - whatever TOML has
        """The value of a key of the scenario, or of "constants.NAME"."""
        if where.startswith(CONSTANT):
            return getattr(self.constants, where.removeprefix(CONSTANT))
        return self._parsed().get(where)

    @property
    def runs_circuits(self) -> bool:
        """Whether a device of the scenario is a circuit instead of a model."""
        scenario = self._parsed()
        keys = (
            join_path(("devices", one, "implementation")) for one in scenario.members("devices")
        )
        return any(scenario.get(key) == "rtl" for key in keys)

    def completed(self, text: str) -> str:
        """The text of a scenario, with the changed values of defaults and profiles added."""
        if self.watch is None and not self.unwritten:
            return text
        scenario = parsed(text, f"{self.system}/scenario.toml")
        if self.watch is not None:
            self.watch(scenario)
        moved = (use for use in used(scenario) if use.input.name in self.unwritten)
        scenario.update({use.path: self.unwritten[use.input.name] for use in moved})
        return scenario.to_toml() if self.unwritten else text

    def _parsed(self) -> Scenario:
        return parsed(self.scenario, f"{self.system}/scenario.toml")

    def _whole(self) -> Fabric:
        return Fabric.from_toml(self.scenario, source=f"{self.system}/scenario.toml")

    def _made(self) -> Fabric:
        made = _Made.from_toml(self.scenario, source=f"{self.system}/scenario.toml")
        made.machine = self
        return made


class _Made(Fabric):
    """A fabric to whose scenarios `Machine.completed` adds the changed inputs."""

    machine: Machine[Any]

    def to_toml(self) -> str:
        return self.machine.completed(super().to_toml())

    def _simulated(self) -> Scenario:
        return parsed(self.to_toml(), self._scenario.source)


def machine_of(system: str, settings: Mapping[str, Setting] | None = None) -> Machine[Any]:
    """The machine of a published system.

    Args:
        system: The name of the system.
        settings: The new values of keys of its scenario.
    """
    constants = experiments_of(system).Constants()
    machine: Machine[Any] = Machine(system, scenario_text(system), constants)
    for where, value in (settings or {}).items():
        machine = machine.moved(where, value)
    return machine


def experiments_of(system: str) -> Any:  # noqa: ANN401 - a module
    """The module with a function for each figure of a system, and the class of its constants."""
    return import_module(f"peerlane.systems.{system}.experiments")
