"""Defines a measured point: settings of a run, a metric of its result, and the measured number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from peerlane._core import nearest
from peerlane.dotted import join_path, split_path
from peerlane.figures.headings import heading
from peerlane.figures.metrics import numbers
from peerlane.figures.quantities import amount_of, in_unit, unit_of
from peerlane.results.reading import FileError
from peerlane.results.workload import LISTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from peerlane.measured.row import Row

_UNITS = {"GB/s": "B/s", "ns": "ns"}
"""For each unit of headings, the unit of results."""


@dataclass(frozen=True, slots=True)
class Point:
    """A measured number, and the metric of a result with which it is compared.

    Args:
        metric: The metric by its path, such as "flows.up.bytes_per_second", or by the heading of
            its column, such as "up GB/s".
        value: The number, with a unit or in the unit of the metric.
        settings: The keys that are set in the run, by their paths.
        held_back: Whether the point is not used for a fit, but compared with it.
        where: The place of the number in a file, for messages.
    """

    metric: str
    value: float | str
    settings: Mapping[str, Any] = field(default_factory=dict)
    held_back: bool = False
    where: str = ""

    def resolved(self, metrics: Mapping[str, str]) -> Point:
        """The point with the path of its metric, and its value in the unit of the result.

        Args:
            metrics: The paths of the metrics of a result, by the paths themselves and by their
                headings.

        Raises:
            FileError: The metric does not exist, or the value is no positive number of its kind.
        """
        is_uplink = self.metric.split(".")[2:3] == ["upstream"]
        path = metrics.get(self.metric, self.metric if is_uplink else None)
        if path is None:
            near = nearest(self.metric, list(metrics))
            right = f"did you mean {near}?" if near else "docs/reference/sweeps.md has the names"
            raise FileError(
                f"{self.where}: {self.metric!r} is no metric of results and no key of scenarios;"
                f" {right}"
            )
        words = heading(path)
        unit = _UNITS.get(words.unit, "")
        has_unit = isinstance(self.value, str) and unit_of(self.value) != ""
        value = in_unit(self.value, unit) if has_unit and unit else amount_of(self.value)
        if value is not None and path != self.metric and not has_unit:
            value /= words.factor
        if value is None or value <= 0:
            like = f"a number above 0 in {unit}, or with a unit" if unit else "a number above 0"
            raise FileError(f"{self.where}: {self.value!r} is no value of {path}; write {like}")
        return Point(path, value, self.settings, self.held_back, self.where)


def of_rows(
    rows: Iterable[Point | Row], paths: Sequence[str], source: str
) -> list[tuple[Row | None, Point | None]]:
    """The points of a file; a point that was made from a measuring tool's row is paired with it.

    A row becomes a point if its name is the name of a workload; other rows have no point.

    Args:
        rows: The rows or points of the file.
        paths: The paths of the metrics of a result.
        source: The name of the file.
    """
    metrics = {heading(path).head: path for path in reversed(paths)} | {one: one for one in paths}
    parts = [split_path(path) for path in paths]
    lists = {one[1]: one[0] for one in parts if one[0] in LISTS and len(one) > 1}
    found: list[tuple[Row | None, Point | None]] = []
    for row in rows:
        if isinstance(row, Point):
            found.append((None, row.resolved(metrics)))
            continue
        where = (lists.get(row.name, ""), row.name, *row.field.split("."))
        path = join_path(where) if where[0] else ""
        point = Point(path, row.value, where=f"{source}: {row.name}")
        found.append((row, point if path in metrics else None))
    return found


def paths_of(document: Mapping[str, Any]) -> list[str]:
    """The paths of a result's metrics, including latencies, which have no value before the run."""
    parts = ("mean", "min", "p50", "p90", "p99", "p999", "max")
    return [
        *numbers(document),
        *(
            join_path((section, one["id"], "latency_ns", part))
            for section in LISTS
            for one in document.get(section, ())
            if "latency_ns" in one
            for part in parts
        ),
    ]
