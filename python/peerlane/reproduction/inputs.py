"""Lists the inputs of a system's experiments: keys of a scenario, profiles' settings, defaults."""

from __future__ import annotations

import json
from ast import literal_eval
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Literal

from peerlane import _core
from peerlane._core import read_value
from peerlane.dotted import split_path
from peerlane.fabric.variant import parsed
from peerlane.results.workload import LISTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerlane._core import Scenario

Kind = Literal["scenario", "constant", "profile", "default"]

DEFAULT, PROFILE, CONSTANT = "default:", "profile:", "constants."
"""The prefixes of three kinds of inputs: defaults, settings of built-in profiles, and constants."""

NAMES = {"name", "seed", "base", "profile", "model", "to", "from", "owners", "controller"}
NAMES |= {"upstream", "processor", "port", "socket", "from_port", "to_port", "shape", "size", "afu"}
NAMES |= {"implementation", "ack_policy", "update_fc_policy"}
"""The keys of a scenario that do not count as inputs.

Most of these keys are names and connections. `implementation` is no input, because values that are
simulated with circuits are not compared with values of models. The policies of DLLPs are no inputs,
because a policy only selects which numbers are used, and these numbers are inputs.
"""

NODES = ("hosts", "switches", "devices", "io_ports", "controllers", "networks")
ENDS = ("cables", "fibres")
"""The sections whose tables are nodes (`NODES`), and the sections whose tables join two nodes."""


@dataclass(frozen=True, slots=True, order=True)
class Input:
    """An input of the simulated rows: its name and its value.

    A key of the scenario has its path as its name. "profile:plx.tags" is the name of a setting in a
    profile of the simulator, "default:hosts.tags" the name of a parameter's default, and
    "constants.size" the name of a constant of the machine.
    """

    kind: Kind
    name: str
    value: str = field(compare=False)
    """The value as text in the form of TOML; for a constant, in the form of Python."""


def of_scenario(text: str) -> dict[str, Input]:
    """The keys that a scenario writes and that are inputs; keys of workloads are left out."""
    return {
        path: Input("scenario", path, json.dumps(value))
        for path, value in parsed(text, "scenario.toml").written()
        if split_path(path)[0] in {"links", "profiles", *NODES, *ENDS} and not is_name(path)
    }


def is_name(name: str) -> bool:
    """Whether the last part of an input's name is one of `NAMES`, the keys that are no inputs."""
    return name.rpartition(".")[2] in NAMES


def value_of(one: Input) -> object:
    """The value of an input, converted from its text."""
    if one.kind == "constant":
        return literal_eval(one.value)
    return json.loads(one.value) if one.kind == "scenario" else read_value(one.value)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the simulator: the name of its default, its key, default, source and range.

    If no document states the default, the range has the least and the greatest value of real
    machines; it is empty if these are not known.
    """

    name: str
    key: str
    default: str
    source: str
    range: tuple[str, ...]


@cache
def choices(key: str) -> tuple[str, ...]:
    """The names from which the value of a key is chosen; empty for a key with other values."""
    rows = json.loads(_core.catalogue())["parameters"]
    named = (row["choices"] for row in rows if row["key"] == key and row["kind"] == "choice")
    return tuple(dict.fromkeys(choice for found in named for choice in found))


_EACH = "each"
"""The key for the number of equal tables; its default is no property of the fabric."""


@cache
def parameters() -> dict[str, dict[str, Parameter]]:
    """For each kind of table, such as "hosts" or "devices.nic", the parameters by their keys."""
    found: dict[str, dict[str, Parameter]] = {}
    for one in json.loads(_core.catalogue())["parameters"]:
        if one["key"] == _EACH:
            continue
        sections, model = one["sections"], one["model"]
        shared = "*" if "hosts" in sections and len(sections) > 1 else sections[0]
        name = DEFAULT + ".".join(filter(None, (shared, model, one["key"])))
        entry = Parameter(name, one["key"], one["default"], one["source"], tuple(one["range"]))
        for section in sections:
            kind = f"{section}.{model}" if model else section
            found.setdefault(kind, {})[one["key"]] = entry
    return found


@cache
def profiles() -> dict[str, dict[str, tuple[str, str]]]:
    """For each profile of the simulator, the value and the source of each setting."""
    return {
        one["name"]: {each["key"]: (each["value"], each["source"]) for each in one["settings"]}
        for one in json.loads(_core.catalogue())["profiles"]
    }


def everywhere() -> set[str]:
    """The names of all defaults and of all settings of the simulator's profiles."""
    return _defaults().keys() | {
        f"{PROFILE}{name}.{key}" for name, settings in profiles().items() for key in settings
    }


def source_of(name: str) -> str:
    """The text in the catalogue about the origin of a default or of a profile's setting.

    The text is empty for any other input.
    """
    if name.startswith(PROFILE):
        profile, _, key = name.removeprefix(PROFILE).rpartition(".")
        return profiles()[profile][key][1] if key in profiles().get(profile, {}) else ""
    found = _defaults().get(name)
    return found.source if found else ""


def range_of(name: str) -> list[object]:
    """The two ends of the range that the catalogue states for a default; empty without a range."""
    found = _defaults().get(name)
    return [read_value(end) for end in found.range] if found else []


@cache
def _defaults() -> dict[str, Parameter]:
    """All parameters of the simulator, by the names of their defaults."""
    return {one.name: one for entries in parameters().values() for one in entries.values()}


def used(scenario: Scenario) -> Iterator[Use]:
    """The values that the TOML tables of a scenario take from defaults and from profiles."""
    for path, section, model, profile in scenario.unwritten():
        key = split_path(path)[-1]
        if key == _EACH or not _is_studied(path, section):
            continue
        if profile is not None:
            value = profiles()[profile][key][0]
            yield Use(Input("profile", f"{PROFILE}{profile}.{key}", value), path, key)
        else:
            one = parameters()[f"{section}.{model}" if model else section][key]
            yield Use(Input("default", one.name, one.default), path, key)


@dataclass(frozen=True, slots=True)
class Use:
    """A value that a TOML table of a scenario takes from a default or from a profile.

    `key` is the key with which the table can set the value, and `path` is the path of this key.
    """

    input: Input
    path: str
    key: str


def kinds(scenario: Scenario) -> set[str]:
    """The kinds of tables in a scenario, such as "hosts" or "devices.nic"."""
    found = [one for one in scenario.tables() if _is_studied(f"{one[0]}.", one[1])]
    models = {f"{section}.{model}" for _, section, model in found if model is not None}
    return models | {section for _, section, _ in found}


def _is_studied(path: str, section: str) -> bool:
    """Whether a table has inputs: its section is in `_STUDIED`, and it is in no other table."""
    return section in _STUDIED and path.partition(".")[0] == section


_STUDIED = {"links", *NODES, *ENDS, *LISTS, "buffers"}
