"""Steady rates of random configurations are those of the arithmetic (docs/reference/arithmetic.md).

The arithmetic is written from PCI Express Base, and shares nothing with the simulator.
"""

from __future__ import annotations

import ast
import os
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from arithmetic import formula
from arithmetic.configuration import Configuration, Port
from arithmetic.judge import TOLERANCE, WALKED, judged, simulate, window_ns
from arithmetic.scenarios import KINDS, configuration
from arithmetic.walk import Walk
from arithmetic.wire import Rate

PACKAGE = Path(__file__).parent

COMPARE = {"judge.py", "__main__.py"}
"""What compares the arithmetic with the simulator, and therefore knows both."""

SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
NUMBERS = range(200 if SOAK else 30)
BATCH = 10
MOST_BOUNDED = 3
"""In a batch; about 2 % of all are."""


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of the drawn cases, which `make` chooses."""
    given = request.config.getoption("--hypothesis-seed")
    return int(given) if given and given != "random" else 1


@pytest.mark.seconds(5)
@pytest.mark.parametrize("first", NUMBERS[::BATCH])
def test_rates_are_those_of_the_arithmetic(first: int, seed: int) -> None:
    found = [judged(seed, number) for number in range(first, first + BATCH)]
    missed = [str(one) for one in found if one.verdict == "MISSED"]
    assert not missed, "\n".join(missed)
    assert sum(one.verdict == "bounded" for one in found) <= MOST_BOUNDED


def test_the_arithmetic_imports_nothing_of_the_simulator() -> None:
    for path in sorted(PACKAGE.glob("*.py")):
        if path.name in COMPARE or path.name.startswith("test_"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path.name} imports relatively"
                names = [node.module or ""]
            for name in names:
                top = name.split(".")[0]
                allowed = top in sys.stdlib_module_names or top == "arithmetic"
                assert allowed, f"{path.name} imports {name}"


def test_the_formulas_agree_with_the_packets_one_by_one(seed: int) -> None:
    held = 0
    for number in range(20):
        drawn = configuration(seed, number)
        rates = formula.rates(drawn)
        if rates is None:
            continue
        held += 1
        walked = Walk(drawn).rates(300)
        assert rates == pytest.approx(walked, rel=TOLERANCE), drawn.name
    assert held >= 2


@pytest.mark.parametrize(
    ("generation", "lanes", "max_payload", "symbols"),
    [
        # PCIe Base 3.0, tables 3-7 to 3-9.
        (1, 1, 128, 237),
        (1, 8, 256, 107),
        (1, 16, 1024, 150),
        (2, 4, 512, 205),
        (2, 12, 128, 109),
        (3, 1, 4096, 4239),
        (3, 16, 256, 168),
        (5, 8, 512, 182),
    ],
)
def test_the_guideline_is_that_of_the_tables(
    generation: int, lanes: int, max_payload: int, symbols: int
) -> None:
    rate = Rate(generation, lanes)
    assert rate.ack_limit(max_payload) == rate.symbol * symbols


def test_a_wrong_simulator_is_found(seed: int) -> None:
    """One that sends an Ack and an UpdateFC for each packet, where others are told to wait."""
    drawn = (configuration(seed, number) for number in range(2000))
    for right in islice(filter(_is_full_both_ways, drawn), 3):
        wrong = replace(right, default=Port(ack_packets=1, update_fc_packets=1))
        walked = Walk(right).rates(WALKED)
        simulated = simulate(wrong, window_ns(right, walked))
        assert simulated != pytest.approx(walked, rel=TOLERANCE), right.name


def _is_full_both_ways(drawn: Configuration) -> bool:
    """Whether small packets fill all wires both ways, with the default policies."""
    small = all(drawn.measured(flow) <= 256 for flow in drawn.flows)
    even = len({link.rate for link in drawn.links.values()}) == 1
    return (
        drawn.kind == "two-way" and small and even and not drawn.ports and drawn.default == Port()
    )


def test_all_kinds_are_drawn(seed: int) -> None:
    drawn = [configuration(seed, number) for number in range(200)]
    assert {one.kind for one in drawn} == set(KINDS)
    assert {link.rate.generation for one in drawn for link in one.links.values()} == set(
        range(1, 6)
    )
    assert {link.rate.lanes for one in drawn for link in one.links.values()} == {1, 2, 4, 8, 12, 16}
    assert {len(one.switches) for one in drawn} == {0, 1, 2, 3}
    assert {len(one.flows) for one in drawn} >= {1, 2, 3, 4}
    assert sum(bool(one.ports) for one in drawn) > len(drawn) / 5
