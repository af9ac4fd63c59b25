"""All rules, and `check`, which applies them to a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance import data_link, flow_control, ordering, physical, power, transactions
from conformance.trace import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from conformance.fabric import Fabric
    from conformance.finding import Finding
    from conformance.trace import Line, Trace

    Rule = Callable[[Trace], Iterator[Finding]]

OF_LINKS: tuple[Rule, ...] = (
    *physical.RULES,
    *data_link.RULES,
    *flow_control.RULES,
    *power.RULES,
)
"""Rules of single links, which begin anew when a link has been down."""

RULES: tuple[Rule, ...] = (
    *OF_LINKS,
    *transactions.RULES,
    *ordering.RULES,
)
"""Each rule's docstring begins with the paragraphs of PCI Express Base that it checks."""


NAMED = {rule.__name__: rule for rule in RULES}


def finds(rule: str, trace: Trace) -> bool:
    """Whether a rule finds something in any life of a trace's links."""
    later = trace.later if NAMED[rule] in OF_LINKS else ()
    return any(finding.rule == rule for one in (trace, *later) for finding in NAMED[rule](one))


def check(lines: Iterable[Line], fabric: Fabric) -> list[Finding]:
    """Everything in a trace that the specification does not allow."""
    return judged(read(lines, fabric))


def judged(trace: Trace) -> list[Finding]:
    """Everything in a trace, whose lines were read, that the specification does not allow."""
    found = [finding for rule in RULES for finding in rule(trace)]
    for later in trace.later:
        found += [finding for rule in OF_LINKS for finding in rule(later)]
    return found
