"""What a rule found wrong."""

from __future__ import annotations

from dataclasses import dataclass

TOLERANCE_NS = 1e-4
"""Times are whole femtoseconds, and a byte on twelve lanes takes no whole number of them."""


@dataclass(frozen=True)
class Finding:
    """A place in a trace where it does not follow the specification."""

    rule: str
    where: str
    ns: float
    text: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.where} at {self.ns:.3f} ns: {self.text}"
