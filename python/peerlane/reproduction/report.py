"""Defines the report on a system: published and simulated values, and fitted parameters."""

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
    """A fitted parameter, with its value in the system's scenario."""

    name: str
    value: float
    unit: str
    meaning: str
    origin: str
    outcome: float | None = None
    """The value of the parameter that was measured by simulation of circuits."""


@dataclass(frozen=True, slots=True)
class Report(Brief):
    """The rows and the fitted parameters of a system, whose scenario may have changed keys."""

    system: str
    title: str
    source: str
    rows: tuple[Row, ...]
    calibration: tuple[CalibrationEntry, ...]
    settings: Mapping[str, Setting] = field(default_factory=dict)
    plots: tuple[Plot, ...] = ()
    """The plots of the rows of figures."""
    about: Mapping[str, str] = field(default_factory=dict)
    """A line about each figure and table of the source, also about figures that were not run."""

    @property
    def passes(self) -> bool:
        """Whether every row is within its tolerance."""
        return all(row.passes for row in self.rows)

    @property
    def judged(self) -> tuple[Row, ...]:
        """The rows that are counted as passed or failed."""
        return tuple(row for row in self.rows if row.is_judged)

    @property
    def missed(self) -> tuple[Row, ...]:
        """The rows whose simulated value is outside their tolerance."""
        return tuple(row for row in self.judged if not row.passes)

    @property
    def worst(self) -> Row | None:
        """The row with the largest error, if any row is compared with a value."""
        known = [row for row in self.judged if row.error_percent is not None]
        return max(known, key=lambda row: abs(row.error_percent or 0), default=None)

    @property
    def tally(self) -> Tally:
        """Counts the rows, separately for published values, own expectations, and no value."""
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
