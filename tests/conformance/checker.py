"""All rules, and `check`, which applies them to a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance import data_link, flow_control, ordering, physical, transactions
from conformance.trace import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from conformance.fabric import Fabric
    from conformance.finding import Finding
    from conformance.trace import Line, Trace

    Rule = Callable[[Trace], Iterator[Finding]]

RULES: tuple[Rule, ...] = (
    *physical.RULES,
    *data_link.RULES,
    *flow_control.RULES,
    *transactions.RULES,
    *ordering.RULES,
)
"""Each rule's docstring begins with the paragraphs of PCI Express Base that it checks."""


def check(lines: Iterable[Line], fabric: Fabric) -> list[Finding]:
    """Everything in a trace that the specification does not allow."""
    trace = read(lines, fabric)
    return [finding for rule in RULES for finding in rule(trace)]
