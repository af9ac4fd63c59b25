"""Counts the rows of a system: published values, own checks, and rows without a value.

The three sorts of rows are counted separately, because only published values show how well the
source is reproduced.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from peerlane.reproduction.expected import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from peerlane.reproduction.row import Row


@dataclass(frozen=True, slots=True)
class Count:
    """The number of rows whose value is within the tolerance, and of rows outside it."""

    within: int = 0
    missed: int = 0

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Count:
        """The count of some rows."""
        passes = [row.passes for row in rows]
        return cls(passes.count(True), passes.count(False))

    @property
    def all(self) -> int:
        """The number of all rows."""
        return self.within + self.missed


@dataclass(frozen=True, slots=True)
class Predictions:
    """The number of published values that a system predicts, and the errors in percent.

    A published value with which several rows are compared counts once. The median is the median of
    the absolute errors. The worst error has its sign, and the id of its row.
    """

    count: int
    median_error_percent: float | None
    worst_error_percent: float | None
    worst_row: str | None


@dataclass(frozen=True, slots=True)
class Tally:
    """The numbers of a system's rows, separately for each sort of row."""

    figures: dict[str, Count]
    """The counts of reproduced published values, by kind; kinds without rows are left out."""
    gaps: int
    """The number of published values that are not reproduced."""
    checks: Count
    """The counts of rows that are compared with our own arithmetic or expectation."""
    unpublished: int
    """The number of rows that are compared with nothing."""
    predictions: Predictions
    fitted: int
    """The number of fitted parameters."""

    @classmethod
    def of(cls, rows: Sequence[Row], fitted: int) -> Tally:
        """Counts rows.

        Args:
            rows: All rows of a report.
            fitted: The number of fitted parameters.
        """
        published = [
            row for row in rows if row.expected.kind != "gap" and row.expected.is_published
        ]
        by_kind = {kind: [row for row in published if row.expected.kind == kind] for kind in KINDS}
        checks = [row for row in rows if row.expected.is_expected]
        gaps = sum(row.expected.kind == "gap" for row in rows)
        return cls(
            figures={kind: Count.of(some) for kind, some in by_kind.items() if some},
            gaps=gaps,
            checks=Count.of(checks),
            unpublished=len(rows) - gaps - len(published) - len(checks),
            predictions=_predictions(_independent(by_kind["predicted"])),
            fitted=fitted,
        )

    @property
    def published(self) -> Count:
        """The count of all published values that are reproduced."""
        counts = self.figures.values()
        return Count(sum(one.within for one in counts), sum(one.missed for one in counts))

    @property
    def predicts(self) -> str:
        """A sentence about the number of predicted values, their errors, and fitted parameters."""
        found = self.predictions
        words = f"predicts {_counted(found.count, 'independent published figure')}"
        if found.median_error_percent is not None:
            words += f", median error {found.median_error_percent:.2f} %"
            words += f", worst {found.worst_error_percent:+.2f} % ({found.worst_row})"
        return f"{words}; {_counted(self.fitted, 'fitted parameter')}"

    def to_json(self) -> dict[str, Any]:
        """The counts as the command line writes them."""
        figures: dict[str, Any] = {kind: _json(one) for kind, one in self.figures.items()}
        found = self.predictions
        return {
            "figures": figures | {"gap": self.gaps},
            "checks": _json(self.checks),
            "unpublished": self.unpublished,
            "predictions": {
                "count": found.count,
                "median_error_percent": found.median_error_percent,
                "worst_error_percent": found.worst_error_percent,
                "worst_row": found.worst_row,
            },
            "fitted_parameters": self.fitted,
        }


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _json(count: Count) -> dict[str, int]:
    return {"within": count.within, "missed": count.missed}


def _independent(rows: Iterable[Row]) -> list[Row]:
    """One row for each published value: the row named by `same_as`, or the first that was run."""
    by_figure: dict[str, Row] = {}
    for row in rows:
        figure = row.expected.same_as or row.id
        if figure == row.id or figure not in by_figure:
            by_figure[figure] = row
    return list(by_figure.values())


def _predictions(rows: Sequence[Row]) -> Predictions:
    errors = [
        (row.error_percent, row.id)
        for row in rows
        if row.error_percent is not None and math.isfinite(row.error_percent)
    ]
    if not errors:
        return Predictions(len(rows), None, None, None)
    worst, row = max(errors, key=lambda one: abs(one[0]))
    return Predictions(len(rows), median(abs(error) for error, _ in errors), worst, row)
