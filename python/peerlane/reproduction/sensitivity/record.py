"""`sensitivity.toml`: how much each input changes the predicted rows of a system.

Digests identify the scenario, modules, profiles and defaults of the measurement.
"""

from __future__ import annotations

import ast
import json
import math
import tomllib
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from peerlane.reproduction.catalogue import folder_of, scenario_text
from peerlane.reproduction.inputs import parameters, profiles
from peerlane.results.document import Document
from peerlane.results.reading import FileError, read_toml

if TYPE_CHECKING:
    from collections.abc import Iterable

FILE = "sensitivity.toml"

LISTED = 0.5
"""An input is listed if moving it changes a row by more than this, in percent."""

STRONG = 2.0
"""A row depends on an input that changes it by more than this, in percent."""

_HEAD = """\
# Change of each predicted row of {system}, in percent: when an input with a source changes by
# 10 %, and when a choice of ours (`ranges`) has another value.
# Written by `peerlane reproduce {system} --sensitivity --save`; see docs/reference/rows.md.

"""


@dataclass
class Figure:
    """The measurements of one figure."""

    inputs: dict[str, str] = field(default_factory=dict)
    """Every input that was tried, with its value."""
    rows: dict[str, float] = field(default_factory=dict)
    """The values of the predicted rows with unchanged inputs."""
    moved: dict[str, dict[str, float]] = field(default_factory=dict)
    """The inputs that move each row by more than `LISTED`, with the change in percent."""
    little: list[str] = field(default_factory=list)
    """Inputs that move rows, but none of them by more than `LISTED`."""
    refused: dict[str, str] = field(default_factory=dict)
    """Moves that the fabric or the experiment refuses, and the reasons."""
    untried: list[str] = field(default_factory=list)
    """Inputs that have not been moved yet."""

    @property
    def movers(self) -> set[str]:
        """The inputs that move any row, or are refused."""
        moved = {key for found in self.moved.values() for key in found}
        return {base(key) for key in (*moved, *self.little, *self.refused)}


@dataclass
class Record:
    """The measurements of a system."""

    scenario: str
    """SHA-256 of the contents of `scenario.toml`, without comments."""
    experiments: str
    """SHA-256 of the text of the system's modules."""
    profiles: dict[str, str]
    """SHA-256 of each profile of the simulator that the fabric uses."""
    defaults: dict[str, str]
    """SHA-256 of the defaults of each kind of table in the fabric and its workloads."""
    figures: dict[str, Figure]
    fewer: dict[str, str] = field(default_factory=dict)
    """The constants whose values in the study differ from those in `reproduce`, with these
    values."""
    ranges: dict[str, str] = field(default_factory=dict)
    """The values to which each input is moved that is a choice of ours."""


def base(name: str) -> str:
    """The name of the moved input, without the value to which a choice was moved."""
    return name.partition("=")[0]


def digest(value: object) -> str:
    """SHA-256 of any value of JSON."""
    return sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def scenario_digest(system: str) -> str:
    """SHA-256 of the contents of a system's scenario, without comments."""
    return digest(tomllib.loads(scenario_text(system)))


def experiments_digest(system: str) -> str:
    """SHA-256 of a system's modules, with their constants, but without their docstrings."""
    folder = Path(str(folder_of(system)))
    modules = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.py")}
    return digest({name: _code(path.read_text(encoding="utf-8")) for name, path in modules.items()})


def _code(text: str) -> str:
    """The lines of a module, without docstrings, other single strings and empty lines."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str()), lineno=first, end_lineno=int(last)):
                lines[first - 1 : last] = [""] * (last - first + 1)
    return "\n".join(filter(None, lines))


def profile_digests(names: Iterable[str]) -> dict[str, str]:
    """SHA-256 of profiles of the simulator; names that are no profiles are left out."""
    known = profiles()
    return {name: digest(known[name]) for name in sorted(names) if name in known}


def default_digests(kinds: Iterable[str]) -> dict[str, str]:
    """SHA-256 of the defaults of kinds of tables; unknown kinds are left out."""
    known = parameters()
    return {
        kind: digest({one.key: one.default for one in known[kind].values()})
        for kind in sorted(kinds)
        if kind in known
    }


def load(system: str) -> Record | None:
    """The record of a system; `None` if there is no file.

    Raises:
        FileError: The file is not a record.
    """
    path = folder_of(system) / FILE
    if not path.is_file():
        return None
    try:
        found = read_toml(_File, path.read_bytes(), f"{system}/{FILE}")
    except FileError as error:
        raise FileError(f"{error}; {advice(system)}") from None
    figures = dict(map(found.figure, found.figures))
    return Record(**asdict(found.digests), figures=figures, fewer=found.fewer, ranges=found.ranges)


@dataclass(frozen=True)
class _Digests(Document):
    scenario: str
    experiments: str
    profiles: dict[str, str]
    defaults: dict[str, str]


@dataclass(frozen=True)
class _Figure(Document):
    """A figure in the form of the file: only with inputs that not all figures share."""

    name: str
    rows: dict[str, float]
    moved: dict[str, dict[str, float]]
    little: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    untried: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _File(Document):
    """The file, in which the inputs of all figures are stored once."""

    digests: _Digests
    inputs: dict[str, str]
    figures: list[_Figure]
    fewer: dict[str, str] = field(default_factory=dict)
    ranges: dict[str, str] = field(default_factory=dict)

    def figure(self, one: _Figure) -> tuple[str, Figure]:
        """A figure with its name, and with all inputs that were moved."""
        tried = {name: value for name, value in self.inputs.items() if name not in one.untried}
        fields = asdict(one)
        return fields.pop("name"), Figure(inputs=tried, **fields)


def advice(system: str) -> str:
    """The advice for a record that is missing or stale."""
    return f"write it by `peerlane reproduce {system} --sensitivity --save`"


def text(system: str, record: Record) -> str:
    """The record in the form of `sensitivity.toml`."""
    inputs: dict[str, str] = {}
    for figure in record.figures.values():
        inputs |= figure.inputs
    document = {
        "digests": {
            "scenario": record.scenario,
            "experiments": record.experiments,
            "profiles": record.profiles,
            "defaults": record.defaults,
        },
        **({"fewer": dict(sorted(record.fewer.items()))} if record.fewer else {}),
        "inputs": dict(sorted(inputs.items())),
        "ranges": dict(sorted(record.ranges.items())),
        "figures": [
            _written(name, figure, inputs) for name, figure in sorted(record.figures.items())
        ],
    }
    return _HEAD.format(system=system) + tomli_w.dumps(document)


def _written(name: str, figure: Figure, inputs: dict[str, str]) -> dict[str, Any]:
    untried = sorted({*figure.untried, *inputs} - figure.inputs.keys())
    moved = {row: _rounded(found) for row, found in sorted(figure.moved.items())}
    return {
        "name": name,
        **({"untried": untried} if untried else {}),
        **({"little": sorted(figure.little)} if figure.little else {}),
        "rows": dict(sorted(figure.rows.items())),
        **({"refused": dict(sorted(figure.refused.items()))} if figure.refused else {}),
        "moved": moved,
    }


def _rounded(found: dict[str, float]) -> dict[str, float]:
    """Changes with three digits, the largest change first."""
    largest = sorted(found.items(), key=lambda entry: (-abs(entry[1]), entry[0]))
    return {name: float(f"{value:.3g}") for name, value in largest if not math.isnan(value)}
