"""Defines the entries of `[[expect]]` in a result, with the values that a run measured."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

from peerlane.results import markup
from peerlane.results.document import Document
from peerlane.results.workload import Column


@dataclass(frozen=True, slots=True)
class Expectation(Document):
    """An entry of `[[expect]]`: a number of the result, and the bounds that the scenario expects.

    `metric` is the path of the number in the JSON. The bounds and the measured `value` are in the
    unit of the metric, such as nanoseconds; `value` is `None` if the run has not measured the
    number.
    """

    id: str
    metric: str
    at_least: float | None
    at_most: float | None
    value: float | None
    met: bool

    COLUMNS = (
        Column("expectation", attrgetter("id"), "name"),
        Column("metric", attrgetter("metric"), "name"),
        Column("at least", lambda one: one.shown(one.at_least), "word"),
        Column("at most", lambda one: one.shown(one.at_most), "word"),
        Column("measured", lambda one: one.shown(one.value), "word"),
        Column("state", lambda one: "met" if one.met else "not met", "word"),
    )

    def shown(self, value: float | None) -> str:
        """A value of the metric with its unit."""
        return markup.said(self.metric, value) or "-"

    def failure(self) -> str | None:
        """The reason why the expectation is not met; `None` if it is met."""
        if self.met:
            return None
        if self.value is None:
            return f"{self.metric} was not measured"
        is_less = self.at_least is not None and self.value < self.at_least
        relation, bound = ("less", self.at_least) if is_less else ("more", self.at_most)
        value, right = self.shown(self.value), self.shown(bound)
        if value == right:  # the rounded texts are equal, but the numbers are not
            value, right = str(self.value), str(bound)
        return f"{self.metric} is {value}, {relation} than {right}"
