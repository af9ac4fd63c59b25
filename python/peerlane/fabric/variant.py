"""A scenario with changed values of some keys."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from peerlane._core import Scenario
from peerlane.dotted import join_path, split_path
from peerlane.fabric.scenario_warning import ScenarioWarning
from peerlane.fabric.simulation import Simulation, already_warned
from peerlane.models.registry import all_models

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from peerlane.fabric.settings import Setting

_MOST = 4
"""The most links that a warning names."""


def parsed(text: str, source: str) -> Scenario:
    """Parses the text of a scenario, which may name all device models of this process.

    Raises:
        ScenarioError: The text is not TOML.
    """
    return Scenario.parse(text, source, all_models())


def variant(
    scenario: Scenario,
    settings: Mapping[str, Setting],
    *,
    seed: int | None = None,
    warns: bool = True,
) -> Simulation:
    """The simulation of a scenario in which the keys of `settings` have other values.

    Args:
        scenario: The scenario, which stays as it is.
        settings: The new values by the paths of their keys. For one key, the value of a member of a
            repeated table overrides the value of the table, and otherwise the last value counts.
        seed: The seed, which replaces the scenario's own.
        warns: Whether to warn of the risks of the changed scenario.

    Raises:
        ScenarioError: A path names no key, or the scenario cannot be built with these values.
    """
    changed = scenario.copy()
    changed.update(dict(settings))
    with already_warned():  # here, with the line that called
        simulation = Simulation(changed, settings=told(settings), seed=seed)
    if warns:
        warn_of_links(changed, settings)
        for risk in simulation.warnings():
            warnings.warn(ScenarioWarning(risk), stacklevel=2)
    return simulation


def warn_of_links(scenario: Scenario, paths: Iterable[str]) -> None:
    """Warns of links that a key of all links does not change.

    Warns:
        ScenarioWarning: There are links with their own value of the key.
    """
    for path in paths:
        if links := scenario.links_with_their_own(path):
            key = split_path(path)[-1]
            shown = ", ".join(links[:_MOST]) + (", ..." if len(links) > _MOST else "")
            warnings.warn(
                ScenarioWarning(
                    f"{path} does not change {shown}, whose own value stays; set"
                    f" {join_path(('links', links[0], key))}, too"
                ),
                stacklevel=3,
            )


def told(settings: Mapping[str, Setting]) -> str:
    """The settings in the form of messages."""
    return ", ".join(f"{path}={_told(value)}" for path, value in settings.items())


def _told(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
