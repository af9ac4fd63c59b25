"""A row of the report on a system: a published or expected value beside the simulated one."""

from __future__ import annotations

from dataclasses import dataclass

from peerlane.reproduction.expected import Kind  # noqa: TC001 - pydantic reads it


@dataclass(frozen=True, slots=True)
class Row:
    """One published value beside the simulated one; the error is in percent of the published.

    A check has an expected value instead, which is ours, and its error is in percent of that.
    """

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
    """The row that is held against the same figure of the source, and counts for both."""
    sensitivity: dict[str, float] | None = None
    """Percent by which the value moves when each calibration parameter grows by 10 %."""
    unchanged: float | None = None
    """The simulated value of the published scenario, where keys of it are set otherwise."""

    @property
    def change_percent(self) -> float | None:
        """The way from the unchanged value, in percent of it."""
        if self.unchanged is None or self.simulated is None:
            return None
        if self.unchanged == 0:
            return 0.0 if self.simulated == 0 else float("inf")
        return 100 * (self.simulated / self.unchanged - 1)

    @property
    def is_published(self) -> bool:
        """Whether the source has a value, or a range of values."""
        return self.published is not None or self.published_range is not None

    @property
    def is_expected(self) -> bool:
        """Whether our own arithmetic or expectation has a value, or a range of values."""
        return self.expected is not None or self.expected_range is not None

    @property
    def is_judged(self) -> bool:
        """Whether there is a value to be close to, or no simulated one."""
        return self.is_published or self.is_expected or self.simulated is None

    @property
    def passes(self) -> bool:
        """Whether the row is as close as it must be; a gap always is."""
        if self.kind == "gap":
            return True
        if self.simulated is None:
            return False
        return self.error_percent is None or abs(self.error_percent) <= self.tolerance_percent
