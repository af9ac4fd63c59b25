"""Writes a calibration as TOML: a profile for each node, with the origin of its values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tomli_w

from peerlane._core import __version__
from peerlane.dotted import join_path, split_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from peerlane._core import Scenario
    from peerlane.calibrating.calibration import Calibration, Fitted

_NODES = ("hosts", "switches", "devices")
_NODE_KEY = 3
"""The number of parts in the path of a key that a profile can have: section, name, key."""


def profile_toml(calibration: Calibration, scenario: Scenario, command: str) -> str:
    """The TOML with the fitted values and their certainty, below comments on their origin.

    Args:
        calibration: The calibration, which must have no refused keys.
        scenario: The scenario that was fitted.
        command: The command line of the calibration.
    """
    spent = [point for point in calibration.points if not point.held_back]
    held = len(calibration.points) - len(spent)
    how = (
        f"predicts {held} points that were held back" if held else "predicts each point without it"
    )
    judged = calibration.predicted_percent
    lines = [
        f"# Fitted by Peerlane {__version__} to {len(spent)} measured points, which judge no more:",
        f"#   {command}",
        f"# The fit leaves {calibration.misfit_percent:.2f} % of error"
        + ("." if judged is None else f", and {how} within {judged:.2f} %."),
    ]
    tables: dict[tuple[str, ...], list[Fitted]] = {}
    for one in calibration.values:
        *place, _ = split_path(one.key)
        tables.setdefault(tuple(place), []).append(one)
    for table, values in tables.items():
        lines += ["", *_table(table, values, scenario)]
    return "\n".join(lines) + "\n"


def _table(place: tuple[str, ...], values: list[Fitted], scenario: Scenario) -> Iterator[str]:
    """The lines of a table of a profile; of the scenario, if no profile can have these keys."""
    path = join_path(place)
    if place[0] in _NODES and len(place) + 1 == _NODE_KEY:
        name = place[0] if place[1] == "*" else place[1]
        while name in scenario.members("profiles"):
            name += "-fitted"
        base = scenario.get(f"{path}.profile")
        keys = ", ".join(split_path(one.key)[-1] for one in values)
        yield f"# Write profile = {_toml(name)} in [{path}], and without {keys} there."
        yield f"[{join_path(('profiles', name))}]"
        if isinstance(base, str):
            yield f"base = {_toml(base)}"
    else:
        yield f"# Write these keys into [{path}] of the scenario."
        yield f"[{path}]"
    for one in values:
        yield f"{_line(split_path(one.key)[-1], one.value)}  # {_certainty(one)}"


def _certainty(one: Fitted) -> str:
    known = [f"{near.value} leaves {near.misfit_percent:.1f} %" for near in one.neighbours]
    if one.low is not None:
        known = [f"{one.low} to {one.high} with 95 % confidence"]
    before = "no value" if one.before is None else one.before
    return ", ".join([*known, f"{before} before"])


def _toml(value: Any) -> str:  # noqa: ANN401 - any value of TOML
    return _line("key", value).partition(" = ")[2]


def _line(key: str, value: object) -> str:
    table: Mapping[str, Any] = {key: value}
    return tomli_w.dumps(table).strip()
