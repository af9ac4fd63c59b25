"""The critical path of a schedule: its parts, their ends, and the table of a run."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len
from rich.console import Console

from peerlane.cli.tables.run import run as tables
from peerlane.fabric.variant import parsed, variant

if TYPE_CHECKING:
    from conftest import Run, Write
    from peerlane.results.schedules import ScheduleResult

THREE = """\
name = "three"
hosts.h = {}
switches.s = { upstream = "h" }
devices."gpu{i}" = { each = "i = 0..2", model = "gpu", upstream = "s" }
schedules = [{ id = "sum", devices = ["gpu0", "gpu1", "gpu2"], size = "24 KiB" }]
"""


@cache
def ran(**settings: str) -> ScheduleResult:
    changed = {f"schedules.sum.{key}": value for key, value in settings.items()}
    return variant(parsed(THREE, "three.toml"), changed).run().schedules["sum"]


@pytest.mark.parametrize("by", ["push", "pull"])
def test_the_work_on_a_critical_path_adds_up_to_the_time(by: str) -> None:
    one = ran(by=by)
    works = one.works()
    assert sum(work.time_ns for work in works) == pytest.approx(one.time_ns)
    assert sum(work.share for work in works) == pytest.approx(1.0)
    assert [work.time_ns for work in works] == sorted((w.time_ns for w in works), reverse=True)
    for work in works:
        assert 0 < work.longest_share <= work.share
    assert sum(work.count for work in works) == sum(step.count for step in one.critical_path)


@pytest.mark.parametrize("by", ["push", "pull"])
def test_data_and_flags_of_a_ring_go_to_the_next_device(by: str) -> None:
    following = {f"gpu{rank}": f"gpu{(rank + 1) % 3}" for rank in range(3)}
    parts = list(ran(by=by).parts())
    assert {by, "flag", "compute"} <= {part.work for part in parts}
    for part in parts:
        alone = part.work in {"compute", "reduce", "copy"}
        assert part.target == (part.source if alone else following[part.source]), part


def test_a_run_prints_the_critical_path_of_each_schedule(peerlane: Run, scenario: Write) -> None:
    simulation = variant(parsed(THREE, "three.toml"), {})
    console = Console(width=80)
    with console.capture() as captured:
        console.print(tables(simulation.run(), simulation.tree()))
    shown = captured.get().splitlines()
    assert all(cell_len(line) <= 80 for line in shown)
    head = next(number for number, line in enumerate(shown) if "critical path" in line)
    rows = shown[head + 2 : shown.index("", head)]
    assert [row.split()[:2] for row in rows] == [["sum", work.work] for work in ran().works()]
    document = json.loads(peerlane("run", scenario(text=THREE), "--json", "-").succeeds().out)
    path = document["schedules"][0]["critical_path"]
    assert sum(step["time_ns"] for step in path) == pytest.approx(ran().time_ns)


def test_a_schedule_that_does_not_complete_has_no_critical_path(
    peerlane: Run, scenario: Write
) -> None:
    removal = 'incidents = [{ at = "3 us", what = "surprise-removal", node = "gpu1" }]\n'
    stopped = peerlane("run", scenario(text=THREE + removal))
    assert stopped.status == 1, stopped.err
    assert "incomplete" in stopped.out
    assert "critical path" not in stopped.out
