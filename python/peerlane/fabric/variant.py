"""Creates simulations of a scenario with other values of some keys."""

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
    """Parses the text of a scenario, which may name any device model that is registered.

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
        settings: The new values by the paths of their keys. If several paths set one key, the value
            for a single member of a repeated table has priority over the value for the table;
            otherwise the last value has priority.
        seed: The seed, which replaces the scenario's own.
        warns: Whether to warn about risks of the scenario with the new values.

    Raises:
        ScenarioError: A path names no key, or the scenario cannot be built with these values.
    """
    changed = scenario.copy()
    changed.update(dict(settings))
    with already_warned():  # given here, for the line of the caller
        simulation = Simulation(changed, settings=told(settings), seed=seed)
    if warns:
        warn_of_links(changed, settings)
        for risk in simulation.warnings():
            warnings.warn(ScenarioWarning(risk), stacklevel=2)
    return simulation


def warn_of_links(scenario: Scenario, paths: Iterable[str]) -> None:
    """Warns if a setting for all links has no effect on some links, which have values of their own.

    Warns:
        ScenarioWarning: Some links have a value of their own for the key.
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
    """The settings as words for messages."""
    return ", ".join(f"{path}={_told(value)}" for path, value in settings.items())


def _told(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
