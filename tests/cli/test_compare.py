"""What changed from one result to another."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import PAIR
from peerlane.fabric.simulation import Simulation
from peerlane.results.reading import FileError, document_of
from peerlane.varying.comparison import ComparisonError, check_alike, compare

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Run, Write

HEAD = {"schema": "peerlane-result/1", "version": "0.1.0"}


def flow(**fields: Any) -> dict[str, Any]:
    return {"simulated_ns": 1000.0, "flows": [{"id": "f", **fields}], "links": []}


def link(**fields: Any) -> dict[str, Any]:
    links = [{"id": "h-d", "direction": "up", **fields}, {"id": "h-d", "direction": "down"}]
    return {"simulated_ns": 1000.0, "flows": [], "links": links}


def test_results_of_one_scenario_and_seed_are_the_same() -> None:
    document = Simulation(PAIR).run().to_json()
    outcome = compare(document, Simulation(PAIR).run().to_json())
    assert outcome.changes == ()
    assert outcome.same > 50


def test_a_change_is_told_by_its_path_and_share() -> None:
    (change,) = compare(flow(rate=100.0, bytes=5), flow(rate=80.0, bytes=5)).changes
    assert (change.path, change.before, change.after) == ("flows.f.rate", 100.0, 80.0)
    assert change.relative == pytest.approx(-0.2)
    assert change.weight == pytest.approx(0.2)


def test_the_changes_of_most_weight_come_first() -> None:
    before = flow(small=100, large=100, gone=1, zero=0, completed=True)
    after = flow(small=101, large=300, new=1, zero=5, completed=False)
    paths = [change.path for change in compare(before, after).changes]
    assert paths[0] == "flows.f.completed"
    assert set(paths[1:4]) == {"flows.f.gone", "flows.f.new", "flows.f.zero"}
    assert paths[4:] == ["flows.f.large", "flows.f.small"]


def test_of_an_entry_that_one_result_has_the_numbers_are_told() -> None:
    share = {"where": "h-d", "kind": "wire", "direction": None, "share": 0.06}
    waits = [{"id": "f", "shares": [share]}], [{"id": "f", "shares": []}]
    (change,) = compare(*({"flows": [], "waits": one} for one in waits)).changes
    assert (change.path, change.weight) == ("waits.f.shares.h-d.share", 0.06)


def steps(work: Callable[[], object]) -> int:
    """The lines of Python that some work runs, each turn of a loop counted."""
    counted = 0

    def count(*_: object) -> Any:
        nonlocal counted
        counted += 1
        return count

    as_before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(as_before)
    return counted


def test_the_work_of_a_comparison_grows_with_the_number_of_links() -> None:
    def work(count: int) -> int:
        """That of results with so many links."""
        ends = [{"id": f"h-d{number}", "direction": "up"} for number in range(count)]
        before, after = (
            {"simulated_ns": 1000.0, "flows": [], "links": [end | {"tlp_bytes": n} for end in ends]}
            for n in (64, 128)
        )
        assert len(compare(before, after).changes) == count
        return steps(lambda: compare(before, after))

    assert work(400) < 9 * work(50)


def swept(*points: tuple[int, int, float], key: str = "lanes") -> dict[str, Any]:
    """A sweep: of each point the value of its key, its seed and a metric."""
    return {
        "keys": [key],
        "metrics": ["rate"],
        "points": [
            {"settings": {key: value}, "seed": seed, "metrics": {"rate": rate}}
            for value, seed, rate in points
        ],
    }


def test_the_points_of_sweeps_are_matched_by_their_settings() -> None:
    outcome = compare(swept((1, 1, 10.0), (2, 1, 20.0)), swept((2, 1, 25.0), (4, 1, 40.0)))
    (change,) = outcome.changes
    assert (change.path, change.before, change.after) == ("points.lanes=2.metrics.rate", 20.0, 25.0)
    assert (outcome.only_before, outcome.only_after) == (("lanes=1",), ("lanes=4",))


def test_points_of_several_seeds_are_matched_by_their_seeds_too() -> None:
    one, other = [(1, 1, 10.0), (1, 2, 11.0)], [(1, 2, 11.0), (1, 3, 12.0)]
    outcome = compare(swept(*one), swept(*other))
    assert outcome.changes == ()
    assert outcome.only_before == ("lanes=1, seed=1",)
    assert outcome.only_after == ("lanes=1, seed=3",)


def test_another_seed_of_a_whole_sweep_is_a_change() -> None:
    outcome = compare(swept((1, 1, 10.0)), swept((1, 2, 11.0)))
    assert {change.path for change in outcome.changes} == {
        "points.lanes=1.seed",
        "points.lanes=1.metrics.rate",
    }
    assert outcome.only_before == outcome.only_after == ()


def test_a_point_that_was_drawn_twice_is_two_points() -> None:
    outcome = compare(swept((1, 1, 10.0), (1, 1, 10.0)), swept((1, 1, 10.0)))
    assert (outcome.changes, outcome.only_before) == ((), ("lanes=1 #2",))


def test_sweeps_over_other_keys_have_no_point_in_common() -> None:
    outcome = compare(swept((1, 1, 10.0)), swept((1, 1, 10.0), key="tags"))
    assert (outcome.only_before, outcome.only_after) == (("lanes=1",), ("tags=1",))


def test_points_of_one_sweep_alone_are_told(peerlane: Run, scenario: Write) -> None:
    file = scenario()
    for name, lanes in (("a", "1,2"), ("b", "2,4")):
        peerlane("sweep", file, "--vary", f"links.lanes={lanes}", "--json", f"{name}.json")
    lines = peerlane("compare", "a.json", "b.json").out.splitlines()
    assert [line.strip() for line in lines[:2]] == [
        "only in a.json: links.lanes=1",
        "only in b.json: links.lanes=4",
    ]
    assert "no change in what both have: all" in lines[2]


@pytest.mark.parametrize(
    ("key", "before", "after", "weight"),
    [
        ("utilisation", 0.002, 0.004, 0.002),
        ("dllp_bytes", 10, 20, 10 / 1020),
        ("credit_stall_ns", 0.0, 5.0, 0.005),
        ("replays", 1, 2, 0.5),
    ],
)
def test_counters_of_a_link_weigh_by_their_share_of_the_link(
    key: str, before: float, after: float, weight: float
) -> None:
    (change,) = compare(
        link(payload_bytes=1000, **{key: before}), link(payload_bytes=1000, **{key: after})
    ).changes
    assert change.path == f"links.h-d.up.{key}"
    assert change.weight == pytest.approx(weight)


def test_who_wrote_a_result_is_no_change() -> None:
    commands = [
        HEAD | {"command": [name], "scenario_digest": name} | flow() | {"name": name}
        for name in "ab"
    ]
    assert compare(*commands).changes == ()


def test_results_of_other_forms_and_versions_are_refused() -> None:
    text = json.dumps(Simulation(PAIR).run().to_json() | HEAD)
    document = document_of(text, "a.json")
    with pytest.raises(FileError, match=r"does not read the form 'peerlane-result/2'"):
        document_of(text.replace("result/1", "result/2"), "a.json")
    other = dict(document, version="0.0.1")
    with pytest.raises(ComparisonError, match=r"a has 0\.1\.0, b has 0\.0\.1; .* --any-version"):
        check_alike(document, other, ("a", "b"), any_version=False)
    check_alike(document, other, ("a", "b"), any_version=True)
    with pytest.raises(ComparisonError, match="the form differs"):
        check_alike(document, dict(document, schema="x"), ("a", "b"), any_version=True)


def test_results_of_different_commands_are_refused(peerlane: Run, scenario: Write) -> None:
    file = scenario()
    peerlane("run", file, "--json", "run.json")
    peerlane("sweep", file, "--vary", "links.lanes=1", "--json", "sweep.json")
    peerlane("compare", "run.json", "sweep.json").refuses(
        "results of different commands: run.json is of `peerlane run`, sweep.json of"
        " `peerlane sweep --vary`; name two files of one command"
    )


def test_two_runs_are_compared(peerlane: Run, scenario: Write) -> None:
    file = scenario()
    peerlane("run", file, "--json", "a.json")
    peerlane("run", file, "--set", "flows.a-to-b.size=8 KiB", "--json", "b.json")
    outcome = peerlane("compare", "a.json", "b.json").succeeds()
    assert ["flows.a-to-b.bytes", "16384", "8192", "-50.00", "%"] in [
        line.split() for line in outcome.out.splitlines()
    ]
    document = json.loads(peerlane("compare", "a.json", "b.json", "--json", "-").out)
    weights = [change["weight"] for change in document["changes"]]
    assert weights == sorted(weights, reverse=True)
    assert "no change" in peerlane("compare", "a.json", "a.json").out


def test_what_is_no_result_is_refused(peerlane: Run, scenario: Write) -> None:
    file = scenario()
    peerlane("run", file, "--json", "a.json")
    peerlane("compare", "a.json", file).refuses("fabric.toml is not JSON")
    peerlane("compare", "a.json", "none.json").refuses("none.json: no such file")
    peerlane("compare", "a.json", "a.json", "--json", "a.json").refuses("name another file")
    Path("list.json").write_text("[1]", encoding="utf-8")
    peerlane("compare", "list.json", "a.json").refuses("list.json: its JSON is not an object")
    Path("bytes.json").write_bytes(bytes(range(256)))
    peerlane("compare", "bytes.json", "a.json").refuses("bytes.json is not text")
