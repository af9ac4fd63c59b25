"""The report on a system: each published value beside the simulated one, and what was fitted."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from peerlane.reproduction.tally import Tally
from peerlane.results.brief import Brief

if TYPE_CHECKING:
    from collections.abc import Mapping

    from peerlane.fabric.settings import Setting
    from peerlane.reproduction.plots import Plot
    from peerlane.reproduction.row import Row


@dataclass(frozen=True, slots=True)
class CalibrationEntry:
    """A fitted parameter, with the value that the system's scenario gives it."""

    name: str
    value: float
    unit: str
    meaning: str
    origin: str
    outcome: float | None = None
    """The value that circuits have instead, as measured."""


@dataclass(frozen=True, slots=True)
class Report(Brief):
    """A system's rows and calibration, perhaps with keys of its scenario set otherwise."""

    system: str
    title: str
    source: str
    rows: tuple[Row, ...]
    calibration: tuple[CalibrationEntry, ...]
    settings: Mapping[str, Setting] = field(default_factory=dict)
    plots: tuple[Plot, ...] = ()
    """How the rows of figures are plotted."""
    about: Mapping[str, str] = field(default_factory=dict)
    """A line on each figure and table of the source, also on those that were not run."""

    @property
    def passes(self) -> bool:
        """Whether every row is within its tolerance."""
        return all(row.passes for row in self.rows)

    @property
    def judged(self) -> tuple[Row, ...]:
        """The rows that are held against the source, or against our own expectation."""
        return tuple(row for row in self.rows if row.is_judged)

    @property
    def missed(self) -> tuple[Row, ...]:
        """The rows that are further from what they are held against than their tolerance."""
        return tuple(row for row in self.judged if not row.passes)

    @property
    def worst(self) -> Row | None:
        """The row with the largest error, if any row is held against a value."""
        known = [row for row in self.judged if row.error_percent is not None]
        return max(known, key=lambda row: abs(row.error_percent or 0), default=None)

    @property
    def tally(self) -> Tally:
        """The rows, counted apart by what they are held against."""
        return Tally.of(self.rows, len(self.calibration))

    def to_json(self) -> dict[str, Any]:
        """The report as the command line writes it."""
        calibration = []
        for entry in self.calibration:
            fields = asdict(entry)
            fields["from"] = fields.pop("origin")
            if entry.outcome is None:
                del fields["outcome"]
            calibration.append(fields)
        rows = [row.to_json() for row in self.rows]
        if self.settings:
            for fields, row in zip(rows, self.rows, strict=True):
                fields |= {"unchanged": row.unchanged, "change_percent": row.change_percent}
        document = {
            "system": self.system,
            "counts": self.tally.to_json(),
            "rows": rows,
            "calibration": calibration,
        }
        return document | ({"settings": dict(self.settings)} if self.settings else {})
