"""A scenario with some of its keys set otherwise."""

from __future__ import annotations

import re
import tomllib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from peerlane._core import ScenarioError
from peerlane.dotted import join_path, split_path
from peerlane.fabric.paths import in_order, put, with_their_own
from peerlane.fabric.scenario_warning import ScenarioWarning
from peerlane.fabric.simulation import Simulation, already_warned

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from peerlane.fabric.settings import Setting

_LINE = re.compile(r":\d+: ")
"""A line of the text that the simulator read, which is not the file's."""


_MOST = 4
"""Links that a warning names."""


def parsed(text: str, source: str) -> dict[str, Any]:
    """The tables of a scenario.

    Raises:
        ScenarioError: It is not TOML.
    """
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        reason = str(error)
    Simulation(text, source=source)  # the simulator's own parser names the line
    raise ScenarioError(f"{source}: {reason}")


def variant(
    scenario: Mapping[str, Any],
    settings: Mapping[str, Setting],
    *,
    source: str,
    seed: int | None = None,
    warns: bool = True,
) -> Simulation:
    """The simulation of a scenario in which the keys of `settings` have other values.

    Args:
        scenario: The tables of the scenario, which stay as they are.
        settings: The new values by the paths of their keys; that of a member of a repeated table
            counts more than that of the table, and otherwise the last one of two for one key.
        source: The name of the scenario in messages.
        seed: Replaces the scenario's own.
        warns: Whether to warn of the risks that the scenario then has.

    Raises:
        ScenarioError: A path names no key, or the scenario cannot be built with these values.
    """
    changed = _copied(dict(scenario))
    for path in in_order(changed, settings):
        put(changed, path, settings[path])
    changed.setdefault("name", Path(source).stem or source)  # what messages call it is longer
    name = f"{source} with {told(settings)}" if settings else source
    try:
        with already_warned():  # here, where warnings have no lines of another text either
            simulation = Simulation(tomli_w.dumps(changed), source=name, seed=seed)
    except ScenarioError as error:
        raise ScenarioError(_LINE.sub(": ", str(error), count=1)) from None
    if warns:
        warn_of_links(changed, settings)
        for risk in simulation.warnings():
            warnings.warn(ScenarioWarning(_LINE.sub(": ", risk, count=1)), stacklevel=2)
    return simulation


def warn_of_links(scenario: Mapping[str, Any], paths: Iterable[str]) -> None:
    """Warns of links that a key of all links does not change.

    Warns:
        ScenarioWarning: There are some.
    """
    for path in paths:
        if links := with_their_own(dict(scenario), path):
            key = split_path(path)[-1]
            shown = ", ".join(links[:_MOST]) + (", ..." if len(links) > _MOST else "")
            warnings.warn(
                ScenarioWarning(
                    f"{path} does not change {shown}, whose own value stays; set"
                    f" {join_path(('links', links[0], key))}, too"
                ),
                stacklevel=3,
            )


def _copied(part: Any) -> Any:  # noqa: ANN401 - whatever TOML has
    """Tables and lists of their own; a sweep makes one for each point."""
    if isinstance(part, dict):
        return {key: _copied(value) for key, value in part.items()}
    return [_copied(one) for one in part] if isinstance(part, list) else part


def told(settings: Mapping[str, Setting]) -> str:
    """The settings as a message has them."""
    return ", ".join(f"{path}={_told(value)}" for path, value in settings.items())


def _told(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
