"""Compares measured numbers with simulated numbers of a run, or of the points of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from peerlane.fabric.variant import told
from peerlane.figures.metrics import numbers
from peerlane.figures.quantities import amount_of
from peerlane.measured.point import of_rows, paths_of
from peerlane.results.document import Document, encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane.measured.point import Point
    from peerlane.measured.row import Row


Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pair(Document):
    """A measured number, and the simulated number with which it is compared.

    `metric` is `None` if the name of a row of a measuring tool is the name of no workload.
    `simulated` is `None` if no run of the result has the settings of the point. The error is the
    error of the simulated number.
    """

    name: str
    metric: str | None
    settings: Json
    measured: float
    simulated: float | None
    error_percent: float | None


@dataclass(frozen=True, slots=True)
class Beside(Document):
    """All numbers of a file of measured numbers, in its order, with the simulated numbers."""

    pairs: tuple[Pair, ...]

    def to_json(self) -> dict[str, Any]:
        """The numbers as the command line writes them."""
        return encode(self)


def beside(document: Json, rows: Sequence[Point | Row], source: str) -> Beside:
    """Compares measured numbers with the simulated numbers of a document.

    Args:
        document: The JSON of a run, or of a sweep over keys.
        rows: The content of a file of measured numbers.
        source: The name of the file, for messages.

    Raises:
        FileError: A point has a metric that the document does not have.
    """
    swept = "points" in document
    runs = [(one["settings"], one["metrics"]) for one in document["points"]] if swept else []
    if not swept:
        runs = [({}, numbers(document))]
    paths = list(document["metrics"]) if swept else paths_of(document)
    found = []
    for row, point in of_rows(rows, paths, source):
        if point is None:
            assert row is not None  # noqa: S101 - `of_rows` has one of both
            found.append(Pair(f"{row.name} {row.field}", None, {}, row.value, None, None))
            continue
        simulated = next(
            (run.get(point.metric) for have, run in runs if _same(have, point.settings)), None
        )
        number = float(simulated) if isinstance(simulated, int | float) else None
        measured = float(point.value)
        error = None if number is None else 100 * (number / measured - 1)
        name = f"{row.name} {row.field}" if row else point.metric
        found.append(Pair(name, point.metric, point.settings, measured, number, error))
    return Beside(tuple(found))


def _same(one: Json, other: Json) -> bool:
    """Whether two sets of settings are equal; units of a value may differ."""

    def amounts(settings: Json) -> dict[str, object]:
        known = {key: amount_of(value) for key, value in settings.items()}
        return {
            key: told({"": value}) if known[key] is None else known[key]
            for key, value in settings.items()
        }

    return amounts(one) == amounts(other)
