"""How a published system is judged."""

from __future__ import annotations

from dataclasses import fields as fields_of
from dataclasses import replace
from importlib import import_module
from importlib.resources import files
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError
from rich.console import Console

from peerlane.cli.tables.report import report as report_table
from peerlane.cli.tables.report import summary
from peerlane.documents import ReportRow
from peerlane.reproduction.catalogue import systems
from peerlane.reproduction.expected import Expected, ExpectedRow
from peerlane.reproduction.jobs import SHORT_S, Job, Pace, larger, run
from peerlane.reproduction.machine import machine_of
from peerlane.reproduction.report import Report
from peerlane.reproduction.reproduce import reproduce, reproduce_all
from peerlane.reproduction.row import Row
from peerlane.reproduction.tally import Count, Predictions
from peerlane.results.reading import FileError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

    from conftest import Run
    from peerlane.progress import Progress

ROW: dict[str, Any] = {
    "id": "f/1",
    "what": "",
    "unit": "ns",
    "tolerance_percent": 2,
    "kind": "predicted",
}


def row(error: float | None = 1, **fields: Any) -> Row:
    """A row that is off by so many percent of 100, or that has no simulated value."""
    stated = ExpectedRow(**(ROW | {"published": 100} | fields))
    return Row(stated, "f", None if error is None else 100 + error)


def expected(*rows: dict[str, Any], **more: Any) -> Expected:
    figures = [{"name": "f", "rows": [ROW | one for one in rows]}]
    return Expected.model_validate({"title": "t", "source": "s", "figures": figures} | more)


def test_a_row_within_its_tolerance_passes() -> None:
    assert row(-2).passes
    assert not row(2.01).passes


def test_a_row_is_written_with_the_fields_of_its_document_in_their_order() -> None:
    changed = {"unchanged", "change_percent"}
    stated = [one.name for one in fields_of(ReportRow) if one.name not in changed]
    assert [*row().to_json()] == stated


def test_a_gap_never_fails() -> None:
    assert row(None, kind="gap").passes


def test_a_row_without_a_published_value_passes_when_it_was_simulated() -> None:
    assert row(published=None, kind=None).passes
    assert not row(None, published=None, kind=None).passes


def test_the_error_of_a_range_is_the_way_to_its_nearer_end() -> None:
    ends = {"published": None, "published_range": (100, 200), "tolerance_percent": 0}
    assert [row(more, **ends).error_percent for more in (50, -10, 120)] == [0, -10, 10]


def test_a_value_and_a_range_exclude_each_other() -> None:
    with pytest.raises(ValidationError, match="not both"):
        ExpectedRow(**ROW, published=1, published_range=(1, 2))


def test_a_check_has_an_expected_value_which_no_other_kind_has() -> None:
    check = ROW | {"kind": "check", "tolerance_percent": 0}
    assert ExpectedRow(**check, expected=3).is_expected
    assert not ExpectedRow(**check, expected_range=(1, 2)).is_published
    for fields, reason in (
        (ROW | {"expected": 3}, "write kind"),
        (check, "a check needs expected"),
        (check | {"published": 3}, "a check needs expected"),
        (check | {"expected": 3, "published": 3}, "not both"),
    ):
        with pytest.raises(ValidationError, match=reason):
            ExpectedRow(**fields)


def test_a_check_is_held_against_its_expected_value() -> None:
    check = {"kind": "check", "published": None, "tolerance_percent": 0}
    assert row(3, **check, expected=100).error_percent == pytest.approx(3)
    assert row(-10, **check, expected_range=(100, 200)).error_percent == -10
    assert not row(3, **check, expected=100).passes


def test_a_row_without_a_value_has_no_kind_by_default() -> None:
    (figure,) = expected({"id": "f/1"}, {"id": "f/2", "published": 1}).figures
    assert [one.kind for one in figure.rows] == [None, "predicted"]
    (figure,) = expected({"kind": "gap"}).figures
    assert figure.rows[0].kind == "gap"
    fields = {key: value for key, value in ROW.items() if key != "kind"}
    with pytest.raises(ValidationError, match="needs a kind"):
        ExpectedRow(**fields, published=1)


def test_a_gap_with_a_simulated_value_shows_both_and_does_not_fail() -> None:
    gap = row(50, kind="gap")
    assert gap.passes
    assert "+50.00 %" in shown(report_table(report(gap), every=False))


def test_a_derived_row_names_rows_that_there_are() -> None:
    rows = ({"published": 1}, {"id": "f/2", "kind": "derived", "published": 2})
    found = expected(rows[0], rows[1] | {"derived_from": ["f/1"]}).by_figure()["f"]
    assert found[1].derived_from == ("f/1",)
    with pytest.raises(ValidationError, match=r"f/9.*no rows"):
        expected(rows[0], rows[1] | {"derived_from": ["f/9"]})
    with pytest.raises(ValidationError, match='derived_from is for rows of kind = "derived"'):
        expected(rows[0] | {"derived_from": ["f/1"]})


def test_a_figure_that_several_rows_are_held_against_counts_once() -> None:
    main = row(1, id="f/1")
    other = row(3, id="f/2", same_as="f/1")
    third = row(4, id="f/3", same_as="f/1")
    assert report(main, other).tally.predictions == Predictions(1, 1, 1, "f/1")
    assert report(other, main).tally.predictions == Predictions(1, 1, 1, "f/1")
    assert report(other, third).tally.predictions == Predictions(1, 3, 3, "f/2")


def test_a_figure_is_held_against_rows_that_are_predicted() -> None:
    rows = ({"published": 1}, {"id": "f/2", "published": 1, "same_as": "f/1"})
    assert expected(*rows).by_figure()["f"][1].same_as == "f/1"
    with pytest.raises(ValidationError, match="f/2: same_as names 'f/2'"):
        expected(rows[0], rows[1] | {"same_as": "f/2"})
    with pytest.raises(ValidationError, match='same_as is for rows of kind = "predicted"'):
        expected(rows[0], rows[1] | {"kind": "derived"})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('title = "t', "expected.toml: Unterminated string"),
        ('title = "t"\nsource = "s"\nfigures = []\nplot = 1', "plot: extra inputs"),
        (
            """title = "t"\nsource = "s"\n[[figures]]\nname = "f"
            rows = [{ id = "f/1", what = "w", unit = "1", published = 1 }]""",
            r"figures.0.rows.0: f/1: a published value needs a kind, .* \(and 1 more\)",
        ),
    ],
)
def test_a_file_of_rows_that_is_wrong_is_an_error_with_its_place(
    tmp_path: Path, text: str, reason: str
) -> None:
    (tmp_path / "expected.toml").write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=reason):
        Expected.load(tmp_path)


def test_a_source_is_of_one_key_or_of_several() -> None:
    found = expected({}, sources=[{"where": "a.b", "source": "s"}]).sources
    assert found[0].where == ("a.b",)
    with pytest.raises(ValidationError, match="at least 1"):
        expected({}, sources=[{"where": [], "source": "s"}])


def test_a_wide_tolerance_needs_a_reason_and_a_range_has_none() -> None:
    value = ROW | {"published": 100}
    with pytest.raises(ValidationError, match="needs tolerance_reason"):
        ExpectedRow(**(value | {"tolerance_percent": 5.1}))
    with pytest.raises(ValidationError, match="needs tolerance_reason"):
        ExpectedRow(**(value | {"tolerance_percent": 9, "tolerance_reason": " "}))
    reason = {"tolerance_percent": 9, "tolerance_reason": "read off a plot"}
    assert ExpectedRow(**(value | reason)).tolerance_percent == 9
    with pytest.raises(ValidationError, match="only inside it"):
        ExpectedRow(**ROW, published_range=(100, 200))


def test_a_kind_is_of_a_row_that_is_held_against_a_value() -> None:
    with pytest.raises(ValidationError, match="held against nothing"):
        ExpectedRow(**ROW)
    assert ExpectedRow(**(ROW | {"kind": "gap"})).kind == "gap"


@pytest.mark.parametrize("text", ["", "our choice: a round number", "common on Linux"])
def test_our_own_choice_is_no_source(text: str) -> None:
    with pytest.raises(ValidationError, match="no independent source"):
        expected({}, sources=[{"where": "a.b", "source": text}])


def test_ids_do_not_repeat() -> None:
    with pytest.raises(ValidationError, match="repeat"):
        expected({"id": "f/1"}, {"id": "f/1"})


def test_a_calibrated_row_names_what_came_from_it() -> None:
    with pytest.raises(ValidationError, match="calibrated"):
        expected({"kind": "calibrated"})


def test_a_quantity_of_a_machine_is_a_number_and_a_unit() -> None:
    machine = machine_of("rosta")
    assert machine.value("profiles.virtex7.receive_latency") > 0
    for key, value in (("links.delay", "166 ns"), ("links.bit_error_rate", 0.5)):
        found = machine.moved(key, value).quantity(key)
        assert f"{float(found.number):g} {found.unit}".strip() == str(value)
    with pytest.raises(ValueError, match=r"profiles\.virtex7\.clocks = None is not a number"):
        machine.value("profiles.virtex7.clocks")


@pytest.mark.parametrize("name", systems())
def test_every_calibration_stands_in_the_scenario(name: str) -> None:
    folder = files("peerlane.systems") / name
    machine = machine_of(name)
    for entry in Expected.load(folder).calibration:
        values = [machine.quantity(where) for where in entry.where]
        assert all(one.number > 0 for one in values)
        assert len({one.unit for one in values}) == 1


def test_rosta_has_every_published_row() -> None:
    rows = {
        row.id
        for figure in Expected.load(files("peerlane.systems") / "rosta").figures
        for row in figure.rows
    }
    payloads = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
    links = [f"gen{generation}-x{lanes}" for generation in (1, 2, 3) for lanes in (1, 2, 4, 8)]
    cases = ("1", "2", "3", "4", "8.1", "8.2")
    assert {f"table1/{payload}" for payload in payloads} <= rows
    assert {f"table2/{link}/{payload}" for link in links for payload in (128, 256)} <= rows
    assert {f"table3/{payload}/{case}" for payload in (128, 256) for case in cases} <= rows
    assert {f"table2/{link}/{what}" for link in links for what in ("gbit", "theory")} <= rows
    assert {f"latency/{what}" for what in ("1-switch", "3-switches", "switch", "fpga")} <= rows

    assert {f"fig3/{p}/{timer}" for p in (8, 16, 32, 64, 128) for timer in ("hard", "app")} <= rows
    assert {f"{figure}/{count}" for figure in ("fig4", "fig5") for count in range(1, 9)} <= rows
    assert {"chain", "loopback/4KB", "loopback/4MB"} <= rows


def test_rosta_is_mostly_predicted() -> None:
    expected = Expected.load(files("peerlane.systems") / "rosta")
    rows = [row for figure in expected.figures for row in figure.rows]
    published = [row for row in rows if row.kind == "predicted" and row.published is not None]
    measured = ("fig", "table3", "chain", "loopback")
    assert sum(row.id.startswith(measured) for row in published) >= 18
    assert len(expected.calibration) <= 7


def test_each_predicted_row_says_how_it_depends_on_each_fitted_parameter() -> None:
    report = reproduce("rosta", only="peer_read", sensitivity=True)
    names = {entry.name for entry in report.calibration}
    assert report.rows
    for row in report.rows:
        assert row.sensitivity is not None
        assert row.sensitivity.keys() == names
    sensitivity = {row.id: row.sensitivity or {} for row in report.rows}
    one, three = (
        sensitivity[f"peer-read/{far}/4-kib-fifo"]["switch latency"]
        for far in ("1-switch", "3-switches")
    )
    assert three < 2 * one < 0
    assert all(abs(values["register write"]) < 0.05 for values in sensitivity.values())


def test_a_parameter_is_moved_by_a_tenth_or_to_the_next_whole_number() -> None:
    rosta = machine_of("rosta")
    machine, share = larger(rosta, ["profiles.plx-switch.latency"])
    assert share == pytest.approx(0.1)
    assert machine.fabric().to_toml().count('latency = "176 ns"') == 1
    machine, share = larger(rosta, ["profiles.virtex7.idle_cycles"])
    assert share == 1
    assert "idle_cycles = 2" in machine.fabric().to_toml()
    assert "idle_cycles = 1" in rosta.fabric().to_toml()
    none = machine_of("rosta", {"profiles.virtex7.idle_cycles": 0})
    assert larger(none, ["profiles.virtex7.idle_cycles"]) == (none, 0)


def test_keys_of_one_parameter_move_by_one_share_from_values_of_their_own() -> None:
    keys = ("profiles.virtex7.send_latency", "profiles.virtex7.receive_latency")
    values = dict(zip(keys, ("100 ns", "200 ns"), strict=True))
    machine, share = larger(machine_of("rosta", values), keys)
    assert share == pytest.approx(0.1)
    assert [machine.setting(key) for key in keys] == ["110 ns", "220 ns"]


def test_rows_with_a_key_set_otherwise_have_the_unchanged_value_too() -> None:
    unchanged = reproduce("rosta", only="latency")
    report = reproduce(
        "rosta", only="latency", settings={"profiles.virtex7.send_latency": "270 ns"}
    )
    assert [row.unchanged for row in report.rows] == [row.simulated for row in unchanged.rows]
    # The path of the sender is in each latency, in half of an FPGA's, and in none of a switch.
    moved_by = {"switch": 0.0, "fpga": 5.0}
    for row, before in zip(report.rows, unchanged.rows, strict=True):
        more = moved_by.get(row.id.rpartition("/")[2], 10.0)
        # A packet begins with a symbol of each link, which is 2.005 ns at 5 GT/s.
        assert row.simulated == pytest.approx((before.simulated or 0) + more, abs=2.006)
        assert row.expected == before.expected
        change = 100 * (row.simulated or 0) / (before.simulated or 1) - 100
        assert row.change_percent == pytest.approx(change)
    assert "send_latency=270 ns" in shown(report_table(report, every=True)).splitlines()[0]
    assert report.to_json()["settings"] == {"profiles.virtex7.send_latency": "270 ns"}
    assert "unchanged" not in unchanged.to_json()["rows"][0]


def test_a_calibration_is_shown_as_it_is_set() -> None:
    report = reproduce("rosta", only="latency", settings={"profiles.plx-switch.latency": "100 ns"})
    assert [one.value for one in report.calibration if one.name == "switch latency"] == [100]


def test_a_key_that_the_system_does_not_have_is_refused(peerlane: Run) -> None:
    set_ = ("reproduce", "rosta", "--figure", "latency", "--set")
    peerlane(*set_, "profiles.virtex7.clok=200 MHz").refuses("did you mean", "clock")
    peerlane(*set_, "profiles.virtex8.clock=200 MHz").refuses("did you mean profiles.virtex7?")
    peerlane("reproduce", "--set", "links.lanes=8").refuses("needs the SYSTEM")


def shown(table: RenderableType) -> str:
    text = StringIO()
    Console(file=text, width=200).print(table)
    return text.getvalue()


def report(*rows: Row) -> Report:
    return Report(system="s", title="a machine", source="", rows=rows, calibration=())


ROWS = (
    row(id="f/other", published=None, kind=None),
    row(-1.5, id="f/near"),
    row(50, id="f/gap", kind="gap"),
    row(0, id="f/range", published=None, published_range=(100, 200), tolerance_percent=0),
)


def test_rows_with_a_published_value_are_shown_and_the_others_counted() -> None:
    text = shown(report_table(report(*ROWS), every=False))
    assert "f/other" not in text
    assert "rows without a published value: 1 (--all shows them)" in text
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "figures of the source, predicted 2 2 0" in lines
    assert "figures of the source, not reproduced (gap) 1 - -" in lines
    assert "without a published value 1 - -" in lines
    all_ = shown(report_table(report(*ROWS), every=True))
    ids = ("f/near", "f/gap", "f/range", "f/other")
    assert sorted(ids, key=all_.index) == list(ids)
    assert "--all" not in all_


def test_rows_of_a_figure_without_any_published_value_are_shown() -> None:
    assert "f/other" in shown(report_table(report(ROWS[0]), every=False))


def test_the_summary_has_a_line_for_each_system_and_names_what_is_missed() -> None:
    good, bad = report(*ROWS), report(*ROWS, row(-7, id="f/far"))
    lines = shown(summary([good, bad])).splitlines()
    first, second = (line.split() for line in lines if line.lstrip().startswith("s  "))
    assert " ".join(first) == "s a machine 2 of 2 1 - 0 2 0.75 % -1.50 % f/near"
    assert " ".join(second) == "s a machine 2 of 3 1 - 0 3 1.50 % -7.00 % f/far"
    assert "s: f/far is off by -7.00 %" in [line.strip() for line in lines]
    assert not any("f/gap" in line for line in lines)


def test_figures_of_the_source_checks_and_rows_without_a_value_are_counted_apart() -> None:
    check = {"kind": "check", "published": None, "expected": 100}
    found = report(
        *ROWS,
        row(0, id="f/c", **check),
        row(90, id="f/d", **check),
        row(50, id="f/e", kind="calibrated"),
    )
    tally = found.tally
    assert tally.figures == {"calibrated": Count(0, 1), "predicted": Count(2, 0)}
    assert (tally.gaps, tally.checks, tally.unpublished) == (1, Count(1, 1), 1)
    assert tally.predictions == Predictions(2, 0.75, -1.5, "f/near")
    assert not found.passes
    counts = found.to_json()["counts"]
    assert counts["figures"]["gap"] == 1
    assert counts["predictions"]["worst_row"] == "f/near"
    assert counts["fitted_parameters"] == 0


def test_a_system_that_predicts_nothing_says_so() -> None:
    none = report(row(kind="calibrated"))
    assert none.tally.predicts == "predicts 0 independent published figures; 0 fitted parameters"
    assert "s predicts 0 independent published figures" in shown(report_table(none, every=False))
    assert none.to_json()["counts"]["predictions"]["median_error_percent"] is None


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_summary_fits_a_terminal(width: int) -> None:
    text = StringIO()
    far = row(-7, id="f/" + "far" * 12)
    long = replace(report(*ROWS, far), system="tsukuba", title="A machine of " + "boards " * 15)
    Console(file=text, width=width).print(summary([long]))
    table = text.getvalue().partition("Where to look next")[0]
    assert all(len(line) <= width for line in table.splitlines())
    assert "2 of 3" in table


def test_jobs_of_several_systems_run_the_longest_first_and_report_progress() -> None:
    jobs = [Job("tsukuba", "table3"), Job("rosta", "latency"), Job("ccix", "exp3")]
    assert max(Job("ccix", "exp1").seconds, SHORT_S) > Job("ccix", "exp3").seconds == SHORT_S
    heard: list[Progress] = []
    outcomes = run(jobs, heard.append)
    assert outcomes.keys() == set(jobs)
    assert outcomes[jobs[0]].values == {"table3/gth": 16}
    latencies = {f"latency/{what}" for what in ("1-switch", "3-switches", "switch", "fpga")}
    assert outcomes[jobs[1]].values.keys() == latencies
    shares = [float(state) for state in heard]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert heard[-1].remaining_s == 0


def test_a_job_that_takes_longer_than_expected_makes_all_others_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jobs = (Job("ccix", "exp1"), Job("pac", "sweep"))
    other, slow = sorted(jobs, key=lambda job: job.seconds)
    pace = Pace([slow, other], workers=2)
    monkeypatch.setattr("time.monotonic", lambda: 100.0)
    pace.begun(jobs)
    monkeypatch.setattr("time.monotonic", lambda: 100.0 + slow.seconds / 2)
    before = pace.progress()
    assert before.remaining_s == pytest.approx(slow.seconds / 2)
    monkeypatch.setattr("time.monotonic", lambda: 100.0 + 3 * slow.seconds)
    after = pace.progress()
    assert before < after < 1
    assert (after.remaining_s or 0.0) > 0.05 * slow.seconds


@pytest.mark.parametrize("name", systems())
def test_what_is_said_to_take_long_is_a_figure(name: str) -> None:
    seconds = import_module(f"peerlane.systems.{name}.experiments").__dict__.get("SECONDS", {})
    assert seconds.keys() <= Expected.load(files("peerlane.systems") / name).by_figure().keys()


def test_figures_for_which_the_source_has_no_value_can_be_left_out() -> None:
    (report,) = reproduce_all(["ccix"], only="exp1_vck5000", published_only=True)
    assert report.rows == ()
