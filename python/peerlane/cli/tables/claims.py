"""Makes the tables of claims: numbers of claims by their status, and the claims of a system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from peerlane.cli.tables.sheet import Sheet
from peerlane.reproduction.claims import STATUSES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane.reproduction.claims import Claim, ClaimList


def counts(claims: ClaimList) -> RenderableType:
    """The number of claims for each status and system, with sums."""
    table = Sheet("status")
    table.numbers(*claims.counts, "total")
    for status in STATUSES:
        each = [of_system.get(status, 0) for of_system in claims.counts.values()]
        table.add_row(status, *map(str, each), str(sum(each)))
    sums = [sum(of_system.values()) for of_system in claims.counts.values()]
    table.add_row("total", *map(str, sums), str(sum(sums)))
    return Group(table, Text(NEXT))


NEXT = """\
Where to look next:
  peerlane reproduce SYSTEM --claims  the claims, each with its row or the reason
  peerlane reproduce SYSTEM           the rows beside the published values"""


def listed(system: str, title: str, claims: Sequence[Claim]) -> RenderableType:
    """The claims of a system, and the number of claims for each status."""
    table = Sheet("claim")
    table.add_column("what", "prose")
    table.add_column("value", "number")
    table.add_column("unit")
    table.add_column("status")
    table.add_column("row, key or reason", "prose")
    table.fold("unit")
    for claim in claims:
        place = "\n".join((*claim.row, *claim.where))
        found = "\n".join(filter(None, (place, claim.reason)))
        table.add_row(claim.id, claim.what, value_of(claim), claim.unit, claim.status, found)
    by_status = [(status, sum(claim.status == status for claim in claims)) for status in STATUSES]
    told = ", ".join(f"{number} {status}" for status, number in by_status if number)
    heading = Text(f"{system}: {title}", style="bold")
    return Group(heading, table, Text(f"{len(claims)} claims: {told}", "bold"))


def value_of(claim: Claim) -> str:
    """The published value as text; a dash if it is lost in our copy of the source."""
    if claim.value is None:
        return "-"
    several = claim.value if isinstance(claim.value, tuple) else (claim.value,)
    return ", ".join(one if isinstance(one, str) else f"{one:.10g}" for one in several)
