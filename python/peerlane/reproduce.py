"""Runs a published system's experiments and holds them against what its source published."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import reduce
from importlib import import_module, resources
from typing import TYPE_CHECKING, Any

from peerlane.expected import Expected, ExpectedRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from importlib.resources.abc import Traversable

    from peerlane.expected import Kind

Measurements = Iterator[tuple[str, float]]
"""What a function of `experiments.py` gives: a row's id and its simulated value, row by row."""


class UnknownNameError(LookupError):
    """There is no such system, or no such figure in it; the message says which there are."""


@dataclass(frozen=True, slots=True)
class Row:
    """One published value beside the simulated one; the error is in percent of the published."""

    id: str
    figure: str
    what: str
    published: float | None
    published_range: tuple[float, float] | None
    simulated: float | None
    unit: str
    error_percent: float | None
    tolerance_percent: float
    kind: Kind
    note: str

    @property
    def passes(self) -> bool:
        """Whether the row is as close as it must be; a gap always is."""
        if self.kind == "gap":
            return True
        if self.simulated is None:
            return False
        return self.error_percent is None or abs(self.error_percent) <= self.tolerance_percent


@dataclass(frozen=True, slots=True)
class CalibrationEntry:
    """A fitted parameter, with the value that the system's scenario gives it."""

    name: str
    value: float
    unit: str
    meaning: str
    origin: str


@dataclass(frozen=True, slots=True)
class Report:
    """A system's rows and calibration."""

    system: str
    title: str
    source: str
    rows: tuple[Row, ...]
    calibration: tuple[CalibrationEntry, ...]

    @property
    def passes(self) -> bool:
        """Whether every row is within its tolerance."""
        return all(row.passes for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """The report as the command line writes it."""
        calibration = []
        for entry in self.calibration:
            fields = asdict(entry)
            fields["from"] = fields.pop("origin")
            calibration.append(fields)
        return {
            "system": self.system,
            "rows": [asdict(row) for row in self.rows],
            "calibration": calibration,
        }


def systems() -> dict[str, str]:
    """The systems that can be reproduced, and their titles."""
    folders = (f for f in _shelf().iterdir() if f.is_dir() and (f / "expected.toml").is_file())
    return {f.name: Expected.load(f).title for f in sorted(folders, key=lambda f: f.name)}


def reproduce(
    system: str,
    *,
    only: str | None = None,
    progress: Callable[[str, float], object] | None = None,
) -> Report:
    """Runs the experiments of `system`.

    Args:
        system: One of `systems()`.
        only: Runs one figure of the source instead of all.
        progress: Hears the id of each row as its value is there, and the fraction done.

    Raises:
        UnknownNameError: There is no such system or figure.
    """
    _known("system", system, systems())
    folder = _shelf() / system
    expected = Expected.load(folder)
    figures = expected.by_figure()
    if only is not None:
        _known("figure", only, figures)
        figures = {only: figures[only]}
    experiments = import_module(f"peerlane.systems.{system}.experiments")
    total = sum(map(len, figures.values()))
    rows: list[Row] = []
    for name, wanted in figures.items():
        simulated: dict[str, float] = {}
        for row, value in getattr(experiments, name)():
            simulated[row] = value
            if progress is not None:
                progress(row, (len(rows) + len(simulated)) / total)
        _same_rows(name, wanted, simulated)
        rows += [_row(name, row, simulated.get(row.id)) for row in wanted]
    return Report(
        system, expected.title, expected.source, tuple(rows), _calibration(folder, expected)
    )


def _known(what: str, name: str, names: Iterable[str]) -> None:
    if name not in names:
        raise UnknownNameError(f"no {what} {name!r}; there is {', '.join(names)}")


def _shelf() -> Traversable:
    return resources.files("peerlane.systems")


def _same_rows(figure: str, expected: list[ExpectedRow], simulated: dict[str, float]) -> None:
    wanted = {row.id for row in expected if row.kind != "gap"}
    known = {row.id for row in expected}
    if wrong := (wanted - simulated.keys()) | (simulated.keys() - known):
        raise RuntimeError(f"{figure}: experiments and expected.toml differ in {sorted(wrong)}")


def _row(figure: str, expected: ExpectedRow, simulated: float | None) -> Row:
    return Row(
        id=expected.id,
        figure=figure,
        what=expected.what,
        published=expected.published,
        published_range=expected.published_range,
        simulated=simulated,
        unit=expected.unit,
        error_percent=_error_percent(expected, simulated),
        tolerance_percent=expected.tolerance_percent,
        kind=expected.kind,
        note=expected.note,
    )


def _error_percent(expected: ExpectedRow, simulated: float | None) -> float | None:
    """The distance from the published value, or from the nearer end of the published range."""
    if simulated is None:
        return None
    nearest = expected.published
    if expected.published_range is not None:
        low, high = expected.published_range
        if low <= simulated <= high:
            return 0.0
        nearest = low if simulated < low else high
    if nearest is None:
        return None
    if nearest == 0:
        return 0.0 if simulated == 0 else float("inf")
    return 100 * (simulated - nearest) / nearest


def _calibration(folder: Traversable, expected: Expected) -> tuple[CalibrationEntry, ...]:
    if not expected.calibration:
        return ()
    scenario = tomllib.loads((folder / "scenario.toml").read_text(encoding="utf-8"))
    entries = []
    for entry in expected.calibration:
        setting = reduce(lambda table, key: table[key], entry.where.split("."), scenario)
        value, unit = _quantity(str(setting))
        origin = ", ".join(entry.origin)
        entries.append(CalibrationEntry(entry.name, value, unit, entry.meaning, origin))
    return tuple(entries)


def _quantity(text: str) -> tuple[float, str]:
    """Splits "166 ns" into its number and its unit; a plain number has the unit 1."""
    match = re.fullmatch(r"([-+.\deE]+)\s*(\S*)", text)
    if match is None:
        raise ValueError(f"{text!r} is not a number with a unit")
    return float(match[1]), match[2] or "1"
