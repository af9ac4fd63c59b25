"""A scenario expects numbers of its result within bounds, and a run that misses one has failed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from conftest import PAIR, cases_of, rows_of
from peerlane import Fabric, ScenarioError, Simulation

if TYPE_CHECKING:
    from conftest import Run, Write

RATE = "flows.a-to-b.bytes_per_second"


def expecting(*entries: str) -> str:
    return PAIR + "".join(f"\n[[expect]]\n{entry}\n" for entry in entries)


MET = f'id = "rate"\nmetric = "{RATE}"\nat_least = "1 MB/s"\nat_most = "1000 GB/s"'
MISSED = f'id = "fast"\nmetric = "{RATE}"\nat_least = "1000 GB/s"'


def test_a_run_meets_what_it_reaches(peerlane: Run, scenario: Write) -> None:
    ran = peerlane("run", scenario(text=expecting(MET)), "--json", "-").succeeds()
    (one,) = json.loads(ran.out)["expectations"]
    assert one.pop("value") == json.loads(ran.out)["flows"][0]["bytes_per_second"]
    bounds = {"at_least": 1e6, "at_most": 1e12}
    assert one == {"id": "rate", "metric": RATE, **bounds, "met": True}


def test_a_run_that_misses_one_fails_with_the_measured_value(
    peerlane: Run, scenario: Write
) -> None:
    ran = peerlane("run", scenario(text=expecting(MET, MISSED)))
    assert ran.status == 1
    assert re.fullmatch(
        rf"error: fast: {re.escape(RATE)} is [\d.]+ [GM]B/s, less than 1000 GB/s\n", ran.err
    )
    assert re.search(r"^rate .* met$", ran.out, re.MULTILINE)
    assert re.search(r"^fast .* not met$", ran.out, re.MULTILINE)


@pytest.mark.parametrize(
    ("metric", "bounds", "is_met"), rows_of(__file__, "expectations.toml", "met")
)
def test_every_number_of_a_result_can_be_expected(
    metric: str, bounds: str, *, is_met: bool
) -> None:
    (one,) = Simulation(expecting(f'metric = "{metric}"\n{bounds}')).run().expectations
    assert (one.id, one.metric, one.met) == ("expectation-1", metric, is_met)
    assert (one.failure() is None) == is_met


def test_a_number_that_was_not_measured_is_missed() -> None:
    steady = 'metric = "flows.a-to-b.steady_bytes_per_second"\nat_least = "1 B/s"'
    result = Simulation(expecting(steady)).run()
    assert result.failures == [
        "expectation-1: flows.a-to-b.steady_bytes_per_second was not measured"
    ]
    assert result.faults == []


def test_a_value_near_its_bound_is_shown_with_all_its_digits() -> None:
    value = Simulation(PAIR).run().flows[0].bytes_per_second
    assert value is not None
    bound = value * (1 + 1e-9)
    (why,) = Simulation(expecting(f'metric = "{RATE}"\nat_least = {bound!r}')).run().failures
    assert why == f"expectation-1: {RATE} is {value}, less than {bound}"


WRONG = cases_of(__file__, "expectations.toml", "wrong")


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_a_wrong_expectation_is_refused_with_its_line(
    peerlane: Run, scenario: Write, case: dict[str, Any]
) -> None:
    path = scenario(text=expecting(case["entry"]))
    line = PAIR.count("\n") + 2
    for command in ("run", "check"):
        refused = peerlane(command, path)
        refused.refuses(*case["words"])
        where = re.match(rf"error: {re.escape(str(path))}:(\d+): ", refused.err)
        assert where, refused.err
        assert line <= int(where[1]) <= line + 3


def test_two_expectations_have_two_names(peerlane: Run, scenario: Write) -> None:
    peerlane("check", scenario(text=expecting(MET, MET))).refuses(
        'expect "rate", id: this id is already on line'
    )


def test_a_check_counts_the_expectations(peerlane: Run, scenario: Write) -> None:
    checked = peerlane("check", scenario(text=expecting(MET, MISSED)))
    assert (checked.status, checked.err) == (0, "")
    assert checked.out.endswith("1 workload, 2 expectations, 0 warnings\n")


def test_junit_has_a_test_case_for_each_expectation(peerlane: Run, scenario: Write) -> None:
    path = scenario(text=expecting(MET, MISSED))
    ran = peerlane("run", path, "--junit", "junit.xml")
    assert ran.status == 1
    (suite,) = ET.parse(Path("junit.xml")).getroot()  # noqa: S314 - we wrote it
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("pair", "2", "1")
    assert suite.get("errors") == "0"
    met, missed = suite
    assert [(one.get("classname"), one.get("name")) for one in suite] == [
        ("pair", "rate"),
        ("pair", "fast"),
    ]
    assert list(met) == []
    (failure,) = missed
    assert failure.tag == "failure"
    assert f"error: fast: {failure.get('message')}\n" == ran.err


def test_junit_has_the_faults_of_a_run_as_a_test_case(peerlane: Run, scenario: Write) -> None:
    text = expecting(MET).replace('name = "pair"', 'name = "pair \\u0001"')
    path = scenario(("generation = 2", 'generation = 2\nfails_at = "1 us"'), text=text)
    assert peerlane("run", path, "--junit", "junit.xml").status == 1
    (suite,) = ET.parse(Path("junit.xml")).getroot()  # noqa: S314 - we wrote it
    assert (suite.get("name"), suite.get("errors")) == (r"pair \x01", "1")
    case = suite.find("testcase[@name='the run itself']")
    assert case is not None
    assert case.find("error") is not None


def test_junit_needs_expectations(peerlane: Run, scenario: Write, tmp_path: Path) -> None:
    path = scenario()
    peerlane("run", path, "--junit", "junit.xml").refuses("write [[expect]]")
    assert not (tmp_path / "junit.xml").exists()
    text = expecting(MET)
    peerlane("run", scenario(text=text), "--junit", "j.xml", "--repeat", "2").refuses("--junit")
    peerlane("run", path, "--junit", path).refuses("is the file that the command reads")


def test_each_seed_and_each_point_meets_the_expectations_or_fails(
    peerlane: Run, scenario: Write
) -> None:
    path = scenario(text=expecting(MISSED))
    repeated = peerlane("run", path, "--repeat", "2")
    assert repeated.status == 1
    assert "2 of 2 runs failed" in repeated.err
    fabric = Fabric.from_toml(expecting(f'metric = "{RATE}"\nat_least = "1 GB/s"'))
    points = list(fabric.sweep({"links.lanes": [1, 4]}))
    assert [point.status for point in points] == ["failed", "ok"]
    assert f"expectation-1: {RATE} is" in str(points[0].error)


def test_a_bound_is_a_key_like_others(peerlane: Run, scenario: Write) -> None:
    path = scenario(text=expecting(MISSED))
    assert peerlane("run", path, "--set", "expect.fast.at_least=1 B/s").status == 0
    refused = peerlane("run", path, "--set", "expect.fast.at_least=1 ns")
    refused.refuses("with expect.fast.at_least=1 ns: ", "1 ns is no value of")


def test_what_if_runs_expect_nothing(peerlane: Run, scenario: Write) -> None:
    explained = peerlane("explain", scenario(text=expecting(MISSED)))
    assert (explained.status, explained.err) == (0, "")


def test_a_fabric_in_code_expects() -> None:
    fabric = Fabric("code").host("h").device("a", "h").flow("a", "h", id="up", size="64 KiB")
    fabric.expect("flows.up.bytes_per_second", at_least="1 MB/s", id="rate")
    fabric.expect("flows.up.latency_ns.p{q}", at_most=1.0, each="q = 50..50")
    result = fabric.run()
    assert result.expectations["rate"].met
    assert [one.met for one in result.expectations] == [True, False]
    (why,) = result.failures
    assert why.startswith("expectation-2: flows.up.latency_ns.p50 is ")
    assert not fabric.without_flows().flow("a", "h", size="64 KiB").run().expectations
    with pytest.raises(ScenarioError, match="has no 'down'"):
        fabric.expect("flows.down.bytes_per_second", at_least=1).run()
