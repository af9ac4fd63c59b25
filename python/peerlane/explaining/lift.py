"""Defines a change of a scenario that may lift a limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from peerlane.figures.quantities import amount_of
from peerlane.results.bottleneck import joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from peerlane.explaining.present import Present
    from peerlane.results.bottleneck import Value


@dataclass(frozen=True, slots=True)
class Lifting:
    """Keys that may together lift a limit.

    Each entry of `values` is a step: it has a value for every key, and lifts the limit further than
    the previous entry. `is_setting` is true if the change is only a setting. `is_part` is true if
    the change needs another part, such as a faster memory. All other changes need a slot, a link or
    a buffer. If the change removes a fault, `reason` describes the fault.
    """

    keys: tuple[str, ...]
    before: tuple[Value, ...]
    values: tuple[tuple[Value, ...], ...]
    is_part: bool = False
    is_setting: bool = False
    reason: str | None = None

    @property
    def table(self) -> str:
        """The path of the table that has the first key."""
        return self.keys[0].rpartition(".")[0]

    @property
    def is_of_slots(self) -> bool:
        """Whether the change moves devices to other slots, one more device at each step."""
        return self.keys[0].endswith(".upstream.to")

    @property
    def is_of_errors(self) -> bool:
        """Whether the change removes bit errors."""
        return self.keys[0].endswith("bit_error_rate")

    @property
    def is_of_pages(self) -> bool:
        """Whether software maps memory by larger pages."""
        return self.keys[0].endswith(".iommu_page")

    @property
    def is_of_software(self) -> bool:
        """Whether the software would have to make larger requests, or move data in another way."""
        return self.keys[0].endswith(".request_size") or self.is_of_schedules

    @property
    def is_of_schedules(self) -> bool:
        """Whether a schedule would have another algorithm, or other requests."""
        return self.keys[0].startswith("schedules.")

    @property
    def is_comparison(self) -> bool:
        """Whether the change removes a latency, which no real part can do."""
        return self.is_part and all(amount_of(value) == 0 for value in self.values[0])


def setting(present: Present, values: Mapping[str, Value], reason: str | None = None) -> Lifting:
    """A change with one step, in which all keys get new values at once."""
    before = tuple(map(present.value, values))
    return Lifting(tuple(values), before, (tuple(values.values()),), reason=reason)


def subject(names: Iterable[str], one: str, many: str) -> str:
    """Names as the subject of a sentence, followed by the verb for one or for many names."""
    quoted = [f"`{name}`" for name in names]
    return f"{joined(quoted)} {one if len(quoted) == 1 else many}"
