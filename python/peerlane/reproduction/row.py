"""Compares the simulated value of a row with its published or expected value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from peerlane.results.brief import Brief

if TYPE_CHECKING:
    from peerlane.reproduction.expected import ExpectedRow


@dataclass(frozen=True, slots=True)
class Row(Brief):
    """A row of `expected.toml`, and the value that was simulated for it."""

    expected: ExpectedRow
    figure: str
    simulated: float | None
    sensitivity: dict[str, float] | None = None
    """For each fitted parameter, the change of the value in percent if it is increased by 10 %."""
    unchanged: float | None = None
    """The value simulated with the unchanged scenario of the system, if `--set` has changed
    keys."""

    @property
    def id(self) -> str:
        """The id of the row."""
        return self.expected.id

    @property
    def error_percent(self) -> float | None:
        """The error of the simulated value, in percent of the published or expected value.

        For a range, the error is 0 within the range, and otherwise relative to the nearer end.
        """
        if self.simulated is None:
            return None
        nearest = self.expected.value
        if self.expected.ends is not None:
            low, high = self.expected.ends
            if low <= self.simulated <= high:
                return 0.0
            nearest = low if self.simulated < low else high
        if nearest is None:
            return None
        if nearest == 0:
            return 0.0 if self.simulated == 0 else float("inf")
        return 100 * (self.simulated - nearest) / nearest

    @property
    def change_percent(self) -> float | None:
        """The change of the simulated value by `--set`, in percent of the value without it."""
        if self.unchanged is None or self.simulated is None:
            return None
        if self.unchanged == 0:
            return 0.0 if self.simulated == 0 else float("inf")
        return 100 * (self.simulated / self.unchanged - 1)

    @property
    def is_judged(self) -> bool:
        """Whether the row is counted as passed or failed.

        A row of the kind `gap` is not counted. Any other row is counted if it has a published or
        expected value, or if its simulated value is missing.
        """
        return self.expected.kind != "gap" and (self.expected.is_held or self.simulated is None)

    @property
    def passes(self) -> bool:
        """Whether the simulated value is within the row's tolerance; always true for a `gap`."""
        if self.expected.kind == "gap":
            return True
        if self.simulated is None:
            return False
        error = self.error_percent
        return error is None or abs(error) <= self.expected.tolerance_percent

    def to_json(self) -> dict[str, Any]:
        """The row as the command line writes it."""
        own: dict[str, dict[str, Any]] = {
            "id": {"figure": self.figure},
            "published_range": {"simulated": self.simulated},
            "unit": {"error_percent": self.error_percent},
        }
        fields: dict[str, Any] = {}
        for key, value in self.expected.model_dump().items():
            fields |= {key: value} | own.get(key, {})
        return fields | {"sensitivity": self.sensitivity}
