"""`peerlane check` says before a run what the run would say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from conftest import beside
from network.test_network import RISKY

if TYPE_CHECKING:
    from conftest import Run, Write


def test_a_scenario_without_fault_has_its_counts(peerlane: Run, scenario: Write) -> None:
    checked = peerlane("check", scenario()).succeeds()
    assert checked.err == ""
    assert checked.out == "pair: 4 nodes, 1 workload, 0 warnings\n"


@pytest.mark.parametrize(
    "options",
    [
        ["--set", "devices.a.tgas=1"],
        ["--set", "flows.a-to-b.from=nobody"],
        ["--set", "links.lanes=3"],
        ["--rtl", "nobody"],
    ],
)
def test_a_check_refuses_what_a_run_refuses(
    peerlane: Run, scenario: Write, options: list[str]
) -> None:
    path = scenario()
    ran, checked = peerlane("run", path, *options), peerlane("check", path, *options)
    checked.refuses()
    assert checked.err == ran.err.replace("peerlane run --help", "peerlane check --help")


def test_a_check_warns_of_what_a_run_warns_of(peerlane: Run, scenario: Write) -> None:
    path = scenario(text=RISKY)
    ran, checked = peerlane("run", path), peerlane("check", path)
    assert checked.status == 0
    assert "deadlock" in checked.err
    assert checked.err in ran.err
    assert checked.out.endswith("1 warning\n")
    document = json.loads(peerlane("check", path, "--json", "-").out)
    (warning,) = document["warnings"]
    assert checked.err == f"warning: {warning}\n"
    assert document["schema"] == "peerlane-check/1"


SEVERAL = beside(__file__, "several_errors.toml")


def test_a_check_reports_all_errors_that_do_not_follow_from_each_other(
    peerlane: Run, scenario: Write
) -> None:
    path = scenario(text=SEVERAL.replace("nowhere", "h"))
    checked = peerlane("check", path)
    assert checked.status == 2
    lines = sorted(int(line.split(":")[2]) for line in checked.err.splitlines())
    assert lines == [2, 4, 7, 12, 18, 19, 20]
    first = peerlane("run", path).err
    assert checked.err.startswith(first)
    assert checked.err.count("error: ") == 7


def test_a_check_stops_where_the_rest_would_follow(peerlane: Run, scenario: Write) -> None:
    checked = peerlane("check", scenario(text=SEVERAL))
    lines = [int(line.split(":")[2]) for line in checked.err.splitlines()]
    assert 9 in lines
    assert 8 not in lines


def test_a_check_reports_one_error_where_there_is_one(peerlane: Run, scenario: Write) -> None:
    for wrong in (('from = "a"\n', ""), ('to = "b"', 'to = "c"'), ("[links]", "[links")):
        path = scenario(wrong)
        peerlane("check", path).refuses()
        assert peerlane("check", path).err == peerlane("run", path).err


def test_a_check_does_not_run(peerlane: Run, scenario: Write) -> None:
    checked = peerlane(
        "check", scenario(('size = "16 KiB"', 'size = "1 TiB"\nwindow = "4 KiB"'))
    ).succeeds()
    assert "0 warnings" in checked.out
