"""Every row of every published system is within its tolerance, and nothing else was published."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conftest import figure, of
from peerlane.reproduction.catalogue import folder_of, systems
from peerlane.reproduction.expected import Expected
from peerlane.reproduction.jobs import Job

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG_S = 4
"""Figures that take longer run alone; the others of a system run in one process."""


def figures() -> Iterator[object]:
    """Each figure, with the marks that say when it is begun and in which process."""
    for system in systems():
        for name in Expected.load(folder_of(system)).by_figure():
            seconds = Job(system, name).seconds
            short = [of(system)] if seconds <= LONG_S else []
            marks = [pytest.mark.seconds(seconds), *short]
            yield pytest.param(system, name, id=f"{system}-{name}", marks=marks)


@pytest.mark.parametrize(("system", "name"), list(figures()))
def test_every_row_is_within_its_tolerance(system: str, name: str) -> None:
    missed = {row.id: row.error_percent for row in figure(system, name).rows if not row.passes}
    assert missed == {}
