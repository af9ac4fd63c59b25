"""Reads and writes `sensitivity.toml`: how much each input changes a system's predicted rows.

Digests in the file identify the scenario, modules, profiles and defaults of the measurement.
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
"""The change of a row, in percent, above which the file lists the input that causes it."""

STRONG = 2.0
"""The change of a row, in percent, above which the row counts as dependent on the input."""

_HEAD = """\
# Change of each predicted row of {system}, in percent: when an input with a source changes by
# 10 %, and when a choice of ours (`ranges`) has another value.
# Written by `peerlane reproduce {system} --sensitivity --save`; see docs/reference/rows.md.

"""


@dataclass
class Figure:
    """The measurements of one figure."""

    inputs: dict[str, str] = field(default_factory=dict)
    """Each input with which a changed value was tried, and the unchanged value."""
    rows: dict[str, float] = field(default_factory=dict)
    """The values of the predicted rows with unchanged inputs."""
    moved: dict[str, dict[str, float]] = field(default_factory=dict)
    """For each row, the inputs that change it by more than `LISTED`, and the change in percent."""
    little: list[str] = field(default_factory=list)
    """The inputs that change rows, but no row by more than `LISTED`."""
    refused: dict[str, str] = field(default_factory=dict)
    """The changed values that the fabric or the experiment refuses, and the reasons."""
    untried: list[str] = field(default_factory=list)
    """The inputs with which no changed value has been tried yet."""

    @property
    def movers(self) -> set[str]:
        """The inputs that change any row, or of which a changed value is refused."""
        moved = {key for found in self.moved.values() for key in found}
        return {base(key) for key in (*moved, *self.little, *self.refused)}


@dataclass
class Record:
    """The measurements of all figures of a system."""

    scenario: str
    """SHA-256 of the contents of `scenario.toml`, without comments."""
    experiments: str
    """SHA-256 of the text of the system's modules, without docstrings."""
    profiles: dict[str, str]
    """SHA-256 of each profile of the simulator that the fabric uses."""
    defaults: dict[str, str]
    """SHA-256 of the defaults of each kind of table in the fabric and its workloads."""
    figures: dict[str, Figure]
    fewer: dict[str, str] = field(default_factory=dict)
    """The constants that have other values in the study than in `reproduce`, with the values in the
    study."""
    ranges: dict[str, str] = field(default_factory=dict)
    """For each input whose value is our own choice, the other values that are tried."""


def base(name: str) -> str:
    """The name of the changed input, which is the part of a change's name before "="."""
    return name.partition("=")[0]


def digest(value: object) -> str:
    """SHA-256 of the JSON of a value."""
    return sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def scenario_digest(system: str) -> str:
    """SHA-256 of the contents of a system's scenario, without comments."""
    return digest(tomllib.loads(scenario_text(system)))


def experiments_digest(system: str) -> str:
    """SHA-256 of the text of a system's modules, without docstrings and empty lines."""
    folder = Path(str(folder_of(system)))
    modules = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.py")}
    return digest({name: _code(path.read_text(encoding="utf-8")) for name, path in modules.items()})


def _code(text: str) -> str:
    """The text of a module, without docstrings, other strings that stand alone, and empty lines."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str()), lineno=first, end_lineno=int(last)):
                lines[first - 1 : last] = [""] * (last - first + 1)
    return "\n".join(filter(None, lines))


def profile_digests(names: Iterable[str]) -> dict[str, str]:
    """SHA-256 of each named profile of the simulator; names that are no profiles are left out."""
    known = profiles()
    return {name: digest(known[name]) for name in sorted(names) if name in known}


def default_digests(kinds: Iterable[str]) -> dict[str, str]:
    """SHA-256 of the defaults of each kind of table; unknown kinds are left out."""
    known = parameters()
    return {
        kind: digest({one.key: one.default for one in known[kind].values()})
        for kind in sorted(kinds)
        if kind in known
    }


def load(system: str) -> Record | None:
    """Reads `sensitivity.toml` of a system; `None` if there is no file.

    Raises:
        FileError: The file does not have the form of `sensitivity.toml`.
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
    """A figure in the form of the file, without the values of inputs, which the file has once."""

    name: str
    rows: dict[str, float]
    moved: dict[str, dict[str, float]]
    little: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    untried: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _File(Document):
    """The form of the file, in which each input is stored once for all figures."""

    digests: _Digests
    inputs: dict[str, str]
    figures: list[_Figure]
    fewer: dict[str, str] = field(default_factory=dict)
    ranges: dict[str, str] = field(default_factory=dict)

    def figure(self, one: _Figure) -> tuple[str, Figure]:
        """The name of a figure, and the figure with all inputs that were tried."""
        tried = {name: value for name, value in self.inputs.items() if name not in one.untried}
        fields = asdict(one)
        return fields.pop("name"), Figure(inputs=tried, **fields)


def advice(system: str) -> str:
    """The advice for a `sensitivity.toml` that is missing or stale."""
    return f"write it by `peerlane reproduce {system} --sensitivity --save`"


def text(system: str, record: Record) -> str:
    """The text of `sensitivity.toml` for a record."""
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
    """Changes rounded to three digits, the largest change first."""
    largest = sorted(found.items(), key=lambda entry: (-abs(entry[1]), entry[0]))
    return {name: float(f"{value:.3g}") for name, value in largest if not math.isnan(value)}
