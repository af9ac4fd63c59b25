"""`peerlane reproduce --claims`: the status of every number that the sources state."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.console import Group

from peerlane.cli.console import emit
from peerlane.cli.head import head
from peerlane.cli.tables.claims import counts, listed
from peerlane.reproduction.catalogue import systems
from peerlane.reproduction.claims import claims_of
from peerlane.reproduction.reproduce import figure_of

if TYPE_CHECKING:
    from rich.console import RenderableType


def show_claims(system: str | None, json_to: str | None, *, every: bool) -> None:
    """Prints the number of claims of each system, or all claims of one, without a simulation.

    Args:
        system: The system whose claims are printed; by default all systems.
        json_to: The file for the list, or "-".
        every: Whether to print also the claims of each system, and not only their numbers.

    Raises:
        UnknownNameError: The system does not exist.
    """
    known = systems()
    if system is not None:
        figure_of(system, None)
    found = claims_of(known if system is None else [system])
    tables: list[RenderableType] = []
    if system is not None or every:
        for name in found.counts:
            own = [claim for claim in found.claims if claim.system == name]
            tables.append(listed(name, known[name], own))
    if system is None:
        tables.append(counts(found))
    emit(head("claims") | asdict(found), Group(*tables), json_to)
