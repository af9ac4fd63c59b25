"""Dataclasses for the JSON of `peerlane reproduce`, whose form no other dataclass has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from peerlane.reproduction.expected import Kind
from peerlane.reproduction.report import CalibrationEntry
from peerlane.reproduction.tally import Count, Predictions
from peerlane.results.document import Document, renamed


@dataclass(frozen=True, slots=True)
class ReportRow(Document):
    """A row of a report on a published system: a published value beside the simulated one."""

    id: str
    figure: str
    what: str
    published: float | None
    published_range: tuple[float, float] | None
    simulated: float | None
    unit: str
    error_percent: float | None
    tolerance_percent: float
    kind: Kind | None
    note: str
    expected: float | None = None
    expected_range: tuple[float, float] | None = None
    tolerance_reason: str = ""
    derived_from: tuple[str, ...] = ()
    same_as: str = ""
    sensitivity: dict[str, float] | None = None
    unchanged: float | None = None
    change_percent: float | None = None


@dataclass(frozen=True, slots=True)
class Fitted(CalibrationEntry, Document):
    """A parameter of a published system that was fitted to some of its rows."""

    __pydantic_config__ = renamed(origin="from")


@dataclass(frozen=True, slots=True)
class Counts(Document):
    """The numbers of rows of a report by their kinds."""

    figures: dict[str, Count | int]
    checks: Count
    unpublished: int
    predictions: Predictions
    fitted_parameters: int


@dataclass(frozen=True, slots=True)
class Report(Document):
    """The report on a system."""

    system: str
    counts: Counts
    rows: tuple[ReportRow, ...]
    calibration: tuple[Fitted, ...]
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reports(Document):
    """The reports on several systems."""

    systems: tuple[Report, ...]
