"""Checks the expectations of a scenario before a run, and compares them with the result."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from peerlane._core import ScenarioError
from peerlane.figures.metrics import UnknownMetricError, check, values_at
from peerlane.figures.quantities import in_unit
from peerlane.results.collection import Collection
from peerlane.results.document import schema_of
from peerlane.results.expectations import Expectation
from peerlane.results.markup import base_unit
from peerlane.results.run import RunResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Row = tuple[str, str, str | None, str | None, int]


def expected(
    rows: Iterable[Row], planned: RunResult, where: Callable[[int], str]
) -> Iterator[Expectation]:
    """Checks the expectations of a scenario before its run, and returns them.

    Args:
        rows: The expectations, as the simulator has read them from the scenario.
        planned: The result before the run, which has the paths of all numbers.
        where: A function that makes the beginning of messages about a line.

    Raises:
        ScenarioError: An expectation names a number that results of the scenario do not have, or a
            bound has another unit.
    """
    document = planned.to_json()
    for row in rows:
        try:
            yield _expected(row, document)
        except ValueError as error:
            raise ScenarioError(f"{where(row[-1])}: expect {row[0]!r}: {error}") from None


def _expected(row: Row, document: dict[str, Any]) -> Expectation:
    """Checks an expectation against the paths of the result before the run, which is JSON.

    Raises:
        ValueError: The number does not exist, or a bound has another unit.
    """
    id_, metric, at_least, at_most, _ = row
    if not {"number", "integer"} & check(document, _schema(), metric):
        raise UnknownMetricError(f"{metric} is no number; name a number of the result")
    least, most = _bound(metric, at_least), _bound(metric, at_most)
    if least is not None and most is not None and least > most:
        raise ValueError(f"at_least is {at_least}, more than at_most, {at_most}; swap them")
    return Expectation(id_, metric, least, most, value=None, met=False)


def judged(result: RunResult, expectations: Sequence[Expectation]) -> RunResult:
    """Returns the result with its expectations, each with the measured value."""
    if not expectations:
        return result
    document = result.to_json()
    rows = [_judged(one, document) for one in expectations]
    return replace(result, expectations=Collection(rows))


def _judged(one: Expectation, document: dict[str, Any]) -> Expectation:
    try:
        value = values_at(document, [one.metric])[one.metric]
    except UnknownMetricError:  # for example, an event of this kind never happened
        value = None
    if not isinstance(value, int | float):
        return one
    is_enough = one.at_least is None or value >= one.at_least
    return replace(
        one, value=value, met=is_enough and (one.at_most is None or value <= one.at_most)
    )


def _bound(metric: str, bound: str | None) -> float | None:
    """Converts a bound to a number in the unit of its metric.

    Raises:
        ValueError: The bound has another unit.
    """
    unit = base_unit(metric)
    if bound is None:
        return None
    try:
        return float(bound.replace("_", ""))
    except ValueError:
        found = in_unit(bound, unit) if unit else None
    if found is None:
        right = f'write one in {unit}, or one such as "1 {unit}"' if unit else "write no unit"
        raise ValueError(f"{bound} is no value of {metric}; {right}")
    return found


@cache
def _schema() -> dict[str, Any]:
    return schema_of(RunResult)
