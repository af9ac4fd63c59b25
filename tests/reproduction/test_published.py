"""Every published value of every system is met within its tolerance, and is what was published."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from conftest import figure, of
from peerlane.reproduction.catalogue import folder_of, systems
from peerlane.reproduction.expected import Expected
from peerlane.reproduction.jobs import Job
from peerlane.reproduction.machine import experiments_of
from peerlane.reproduction.simulated import load, rounded

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG_S = 4
"""Figures that take longer run alone; the others of a system run in one process."""

SHORTER = {
    ("pac", "sweep"): {"whole": 1 << 28},
    ("ccix", "exp1"): {"swept": 500},
    ("ccix", "exp1_vck5000"): {"swept": 500},
}
"""Constants of figures that show the same with less; `make demo` runs them as they are.

The rate of 256 MiB is that of 4 GiB, as the third figure of pac proves. Nothing depends on the
number of samples but the time.
"""


def figures() -> Iterator[object]:
    """Each figure, with the marks that say when it is begun and in which process.

    A long one without any published or expected value has nothing to miss.
    """
    for system in systems():
        for name, rows in Expected.load(folder_of(system)).by_figure().items():
            seconds = LONG_S if (system, name) in SHORTER else Job(system, name).seconds
            is_short = seconds <= LONG_S
            if is_short or any(row.is_held for row in rows):
                marks = [pytest.mark.seconds(seconds), *([of(system)] if is_short else [])]
                yield pytest.param(system, name, id=f"{system}-{name}", marks=marks)


@pytest.mark.parametrize(("system", "name"), list(figures()))
def test_every_row_is_within_its_tolerance(
    system: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiments = experiments_of(system)
    constants = partial(experiments.Constants, **SHORTER.get((system, name), {}))
    monkeypatch.setattr(experiments, "Constants", constants)
    rows = figure(system, name).rows
    assert {row.id: row.error_percent for row in rows if not row.passes} == {}
    if (system, name) not in SHORTER:
        known = load(folder_of(system))
        simulated = {row.id: rounded(row.simulated) for row in rows if row.simulated is not None}
        stale = {one: value for one, value in known.items() if simulated.get(one, value) != value}
        assert stale == {}, "`make published` writes what the systems do now"


CCIX = {
    "lanes/pcie-1.0": 250,
    "lanes/pcie-4.0": 1.97,
    "lanes/cxl-32gt": 3.94,
    "lanes/pcie-6.0": 7.88,
    "bulk/poll": (128, 256),
    "exp1/read-throughput-ratio/1KiB": 3.3,
    "exp1/read-throughput-ratio/16KiB": 1.29,
    "exp1/read-throughput-ratio/32KiB": 0.87,
    "exp1/small-reads-shorter": 33,
    "exp1/small-writes-longer": 32,
    "exp1/latency-better-up-to": 4,
    "exp2/64B/total": 2453,
    "exp2/64B/iommu": 617,
    "exp2/64B/read": 700,
    "exp2/64B/atc": 2453 - 617 - 700,
    # "An access latency that is tripled"; from 32 KB on "transfer time begins to dominate".
    "check/exp2/miss-over-hit/64B": 3,
    "exp3/u280/read": 100,
    "exp3/u280/write": 80,
    "exp3/vck5000/read": 170,
    "exp3/vck5000/write": 150,
    # "For larger transfers the two levels become faster."
    "check/exp3/vck5000-over-u280/16KiB": (0, 1),
    "exp4/host/1-cores": 333,
    "exp4/device/1-cores": 674,
    "exp4/host/3-cores": 235,
    "exp4/device/3-cores": 741,
    "exp5/compare/host": 50,
    "exp5/compare/device": (740, 800),
    "locks/low/host": 80,
    "locks/high/host": (200, 250),
    "locks/low/device": (750, 800),
    "locks/high/device": (750, 800),
}
"""What the source of ccix states, noted a second time from its text, not from `expected.toml`."""


def test_the_published_values_of_ccix_are_those_of_its_source() -> None:
    figures = Expected.load(folder_of("ccix")).by_figure().values()
    values = {
        row.id: row.published if row.published_range is None else row.published_range
        for rows in figures
        for row in rows
    }
    assert {name: value for name, value in values.items() if value is not None} == CCIX
