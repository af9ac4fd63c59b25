"""A run repeated with other seeds, and the confidence intervals of its numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from conftest import PAIR
from peerlane.fabric.simulation import Simulation
from peerlane.figures.intervals import Interval, student_t
from peerlane.varying.repeat import repeat

if TYPE_CHECKING:
    from conftest import Run, Write

RATE = "flows.a-to-b.bytes_per_second"
NOISY = PAIR.replace("lanes = 4", "lanes = 4\nbit_error_rate = 1e-5")


@pytest.mark.parametrize(
    ("freedom", "t"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (9, 2.2622), (30, 2.0423), (120, 1.9799)],
)
def test_the_quantiles_of_students_t_are_those_of_the_tables(freedom: int, t: float) -> None:
    assert student_t(freedom) == pytest.approx(t, abs=5e-5)


def test_an_interval_has_the_mean_as_often_as_it_says() -> None:
    draw = Random(1)
    found = [Interval.of([draw.gauss(5, 2) for _ in range(3)]) for _ in range(4000)]
    held = sum(abs(one.mean - 5) <= (one.half_width or 0) for one in found)
    assert held / len(found) == pytest.approx(0.95, abs=0.01)


def test_a_single_value_has_no_interval() -> None:
    assert Interval.of([3.0]) == Interval(1, 3.0, None, None, 3.0, 3.0)


def test_a_run_is_repeated_with_seeds_one_after_the_other() -> None:
    outcome = repeat(NOISY, 4, seed=7)
    assert [run.seed for run in outcome.runs] == [7, 8, 9, 10]
    rates = [
        Simulation(NOISY, seed=seed).run().flows[0].bytes_per_second or 0 for seed in range(7, 11)
    ]
    assert outcome.values[RATE] == Interval.of(rates)
    assert not outcome.is_fixed
    assert "seed" not in outcome.values


def test_the_command_prints_the_means_and_their_intervals(peerlane: Run, scenario: Write) -> None:
    file = scenario(text=NOISY)
    outcome = peerlane("run", file, "--repeat", 3, "--set", "seed=5").succeeds()
    assert "3 runs, seeds 5 to 7" in outcome.out
    assert "Student's t" in outcome.out
    document = json.loads(peerlane("run", file, "--repeat", 3, "--json", "-").out)
    assert [run["seed"] for run in document["runs"]] == [1, 2, 3]
    value = document["values"][RATE]
    assert value["count"] == 3
    assert value["least"] < value["mean"] < value["most"]
    assert "nothing in this scenario is random" in peerlane("run", scenario(), "--repeat", 2).out
    rare = scenario(text=PAIR.replace("lanes = 4", "lanes = 4\nbit_error_rate = 1e-18"))
    assert "no random event happened in these runs" in peerlane("run", rare, "--repeat", 2).out


def test_of_many_values_that_are_alike_three_are_shown(peerlane: Run, scenario: Write) -> None:
    flows = PAIR.replace(
        '[[flows]]\nid = "a-to-b"', '[[flows]]\neach = "i = 1..12"\nid = "f{i}"\nstart = "{i} us"'
    )
    outcome = peerlane("run", scenario(text=flows), "--repeat", 2, "--json", "r.json").succeeds()
    outcome = peerlane("run", scenario(text=flows), "--repeat", 2)
    rows = [line for line in outcome.out.splitlines() if ".bytes_per_second" in line]
    assert len(rows) == 3
    assert outcome.out.count(".latency_ns.p50 ") == outcome.out.count(".latency_ns.p99 ") == 3
    assert "of more than 8 values that are alike" in outcome.out
    means = {
        path: value["mean"]
        for path, value in json.loads(Path("r.json").read_text(encoding="utf-8"))["values"].items()
        if re.fullmatch(r"flows\.f\d+\.bytes_per_second", path)
    }
    assert len(means) == 12
    shown = {row.split()[0] for row in rows}
    assert {min(means, key=means.__getitem__), max(means, key=means.__getitem__)} <= shown


def test_what_cannot_be_repeated_is_refused(peerlane: Run, scenario: Write) -> None:
    file = scenario()
    peerlane("run", file, "--repeat", 1).refuses("--repeat", "2")
    peerlane("run", file, "--repeat", 2, "--trace", "t").refuses("--trace is for a single run")
    outcome = peerlane("run", file, "--repeat", 2, "--set", "links.s0-b.fails_at=1 us")
    assert outcome.status == 1
    assert "2 of 2 runs failed, first that with seed 1" in outcome.err
