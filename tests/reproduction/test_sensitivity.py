"""What moves the rows of published systems, and what is made of it."""

from __future__ import annotations

import tomllib
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.resources import files
from multiprocessing import get_context
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerlane.fabric.simulation import Simulation
from peerlane.figures.quantities import Quantity
from peerlane.reproduction.catalogue import scenario_text, systems
from peerlane.reproduction.expected import Expected, is_independent
from peerlane.reproduction.inputs import Input, of_scenario, source_of
from peerlane.reproduction.machine import experiments_of, machine_of
from peerlane.reproduction.sensitivity import measure, record, rule
from peerlane.reproduction.sensitivity.record import Figure, Record
from peerlane.reproduction.sensitivity.rule import concerns, stale, unfounded, unknown
from peerlane.reproduction.sensitivity.search import GROUP, Search
from peerlane.reproduction.sensitivity.task import (
    Move,
    Outcome,
    constants_of,
    fewer,
    look,
    probe,
    simulate,
)
from peerlane.reproduction.steps import STEP, alternatives, constant_steps, steps
from peerlane.systems.rosta import analytic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from conftest import Run
    from peerlane._core import Scenario
    from peerlane.progress import Progress

# --- steps ---


@pytest.mark.parametrize(
    ("key", "value", "first", "share"),
    [
        ("latency", "160 ns", "176 ns", 0.1),
        ("latency", "1 GHz", "1.1 GHz", 0.1),
        ("size", "100 B", "110 B", 0.1),
        ("fraction", 0.5, 0.55, 0.1),
        ("cut_through", True, False, None),
        ("idle_cycles", 0, 1, None),
    ],
)
def test_an_input_moves_by_a_tenth_or_to_the_alternative(
    key: str, value: object, first: object, share: float | None
) -> None:
    step = steps(key, value)[0]
    assert step == (pytest.approx(first) if isinstance(first, float) else first, share)


@pytest.mark.parametrize("value", ["0 ns", "0 B", 0, 0.0, "near", "none", [1, 2]])
def test_what_takes_something_away_and_what_is_no_number_has_no_step(value: object) -> None:
    assert steps("queue", value) == []


def test_a_size_that_must_be_a_power_of_two_moves_to_the_next_one() -> None:
    assert [step.value for step in steps("s", "4 KiB")] == ["4506 B", "4608 B", "8192 B", "2048 B"]
    assert steps("s", "4 KiB")[2].share == 1


@given(st.integers(min_value=1, max_value=1 << 40))
def test_a_whole_number_moves_by_at_least_one_and_says_by_which_share(value: int) -> None:
    first, *others = constant_steps(value)
    assert first.value >= value + max(1, STEP * value - 1e-6)
    for step in (first, *others):
        assert isinstance(step.value, int)
        assert step.share is not None
        assert step.value == pytest.approx(value * (1 + step.share))


def test_all_numbers_of_a_constant_move_together() -> None:
    (step,) = {one.value: one for one in constant_steps(("1 ms", 2.5))[:1]}.values()
    assert step == (("1.1 ms", 2.75), STEP)
    assert constant_steps((10, "name"))[0].value == (11, "name")
    assert constant_steps(("n0", "n1")) == []


@pytest.mark.parametrize(
    ("name", "value", "others"),
    [
        ("profiles.p.latency", '"160 ns"', ["80 ns", "320 ns"]),
        ("profiles.p.queue", "32", [16, 64]),
        ("profiles.p.queue", "10", [5, 20]),
        ("profiles.p.tags", "9", [8, 10]),
        ("profiles.p.stages", "1", [2]),
        ("profiles.p.idle_cycles", "0", [1]),
        ("profiles.p.share", "0.5", [0.25, 1.0]),
        ("profiles.p.bar", '"4 KiB"', ["2048 B", "8192 B"]),
        ("default:hosts.core_atomics", "near", ["far"]),
        ("default:hosts.iommu", "false", [True]),
        ("default:hosts.largest_completion", "4 KiB", ["128 B"]),
        ("default:hosts.memory_read_latency", "90 ns", ["60 ns", "130 ns"]),
        ("default:hosts.cores", "none", []),
    ],
)
def test_a_choice_of_ours_moves_over_its_range(name: str, value: str, others: list[object]) -> None:
    kind: Literal["default", "scenario"] = "default" if "default:" in name else "scenario"
    assert alternatives(Input(kind, name, value)) == others


def test_a_source_may_bound_a_choice() -> None:
    expected = Expected.load(files("peerlane.systems") / "ccix")
    speed = Input("scenario", "links.generation", "4")
    assert expected.others_of(speed) == ["25 GT/s"]
    bare = expected.model_copy(update={"ranges": ()})
    assert bare.others_of(speed) == [3, 5]
    assert expected.others_of(Input("scenario", "hosts.n1sdp.latency", '"1 ns"')) is None


def test_all_numbers_of_a_chosen_constant_move_together() -> None:
    window = Input("constant", "constants.window", "('20 us', '80 us', 'n0', 2)")
    assert alternatives(window) == [("10 us", "40 us", "n0", 1), ("40 us", "160 us", "n0", 3)]
    assert alternatives(Input("constant", "constants.ends", "('n0', 'n1')")) == []


# --- inputs ---


@pytest.mark.parametrize("name", systems())
def test_names_and_what_is_connected_are_no_inputs(name: str) -> None:
    found = of_scenario(scenario_text(name))
    assert found
    last = {key.rpartition(".")[2] for key in found}
    assert not last & {"name", "profile", "base", "model", "to", "upstream", "socket"}


@pytest.mark.parametrize("name", systems())
def test_a_number_of_the_experiments_is_a_constant_of_their_machine(name: str) -> None:
    """Holds that no module has a number of its own, which nothing would move."""
    package = import_module(f"peerlane.systems.{name}")
    for info in walk_packages(package.__path__, f"{package.__name__}."):
        module = import_module(info.name)
        own = {key for key, value in vars(module).items() if key.isupper() and is_number(value)}
        assert own <= UNITS, module


UNITS = {"KIB", "MIB", "GIB", "_MIB", "PAIR"}
"""Units, and the number of nodes of a ring that has one cable."""


def is_number(value: object) -> bool:
    is_quantity = isinstance(value, str) and Quantity.read(value) is not None
    return is_quantity or (isinstance(value, int | float) and not isinstance(value, bool))


def test_a_machine_with_another_constant_leaves_the_first_as_it_was() -> None:
    machine = machine_of("rosta")
    moved = machine.moved("constants.overhead", 30)
    assert dict(analytic.table1(moved))["table1/4"] == pytest.approx(4 / 34, abs=1e-3)
    assert dict(analytic.table1(machine))["table1/4"] == pytest.approx(4 / 27, abs=1e-3)


def test_copies_of_the_fabric_of_a_machine_have_its_moved_defaults() -> None:
    seen: list[Scenario] = []
    machine = replace(machine_of("rosta"), watch=seen.append)
    moved = machine.moved("default:links.delay", "7 ns")
    for fabric in (moved.fabric(), moved.fabric().copy()):
        assert tomllib.loads(fabric.to_toml())["links"]["delay"] == "7 ns"
    assert [scenario.get("name") for scenario in seen] == ["rosta", "rosta"]
    assert "delay" not in tomllib.loads(machine.fabric().to_toml())["links"]


def test_every_simulation_of_a_figure_is_of_a_scenario_that_its_machine_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Holds it of a sweep of loads, which makes simulations of its own from the fabric's text."""
    texts: list[str] = []
    make = Simulation.__init__

    def listen(self: Simulation, scenario: str | Scenario, **more: Any) -> None:
        make(self, scenario, **more)
        texts.append(self.text)

    monkeypatch.setattr(Simulation, "__init__", listen)
    machine = machine_of("tsukuba").moved("default:links.delay", "7 ns")
    next(experiments_of("tsukuba").torus(machine))
    assert len(texts) > 1
    assert {tomllib.loads(text)["links"]["delay"] for text in texts} == {"7 ns"}


def test_the_constants_of_a_study_are_its_inputs_and_said_in_the_record() -> None:
    assert constants_of("chpp")["constants.transfer"].value == "'256 KiB'"
    assert fewer("chpp") == {"transfer": "'256 KiB'"}
    assert machine_of("chpp").constants.transfer == "2 MiB"
    assert fewer("rosta") == {}


# --- one simulation ---


LATENCIES = frozenset({"latency/1-switch", "latency/3-switches"})


def latencies(*moves: Move) -> Mapping[str, float]:
    outcome = simulate("rosta", "latency", LATENCIES, moves)
    assert not outcome.refused
    return outcome.rows


def test_defaults_profiles_keys_and_constants_are_moved() -> None:
    before = latencies()
    key = Input("scenario", "profiles.plx-switch.latency", '"160 ns"')
    # 160 ns and a tenth; the packet waits for the next symbol of 2 ns.
    more = latencies(Move(key))["latency/1-switch"] - before["latency/1-switch"]
    assert 16 <= more < 18.1
    flight = Input("default", "default:links.delay", "100 ns")
    assert latencies(Move(flight))["latency/3-switches"] > before["latency/3-switches"] + 300
    small = Input("profile", "profile:xilinx-7-series.posted_headers", "32")
    assert latencies(Move(small, attempt=2)) == before
    assert simulate("rosta", "latency", LATENCIES, (Move(flight),)).share == pytest.approx(STEP)
    assert latencies() == before


def test_a_look_at_a_figure_finds_its_inputs() -> None:
    found = look("rosta", "latency", LATENCIES).inputs
    assert found["default:hosts.latency"].value == "100 ns"
    assert found["profile:xilinx-7-series.posted_headers"].value == "32"
    assert found["constants.buffer"].value == "'4 MiB'"
    assert not found.keys() & {"default:devices.idle_cycles", "profile:plx.latency"}
    assert "default:devices.implementation" not in found
    assert not any(name.endswith((".model", ".direction")) for name in found)


def test_a_value_that_there_cannot_be_is_refused_or_replaced_by_the_next() -> None:
    lanes = Input("scenario", "links.lanes", "4")
    [move], refused = probe("rosta", lanes, None)
    assert (steps("lanes", 4)[move.attempt].value, refused) == (8, {})
    moves, refused = probe("rosta", lanes, [3, 5])
    assert moves == []
    assert refused.keys() == {"links.lanes=3", "links.lanes=5"}
    choice = Input("default", "default:hosts.core_atomics", "near")
    flag = Input("default", "default:hosts.iommu", "false")
    assert probe("rosta", choice, None) == ([Move(choice, to="far")], {})
    assert probe("rosta", flag, None) == ([Move(flag, to=True)], {})
    assert probe("rosta", flag, [True]) == ([Move(flag, to=True)], {})
    single = Input("default", "default:devices.virtual_bar", "4 KiB")
    moves, refused = probe("rosta", single, None)
    assert moves == []
    assert "no virtual functions" in refused[single.name]
    failing = Input("default", "default:*.memory_enable", "true")
    assert simulate("rosta", "latency", LATENCIES, (Move(failing, to=False),)).refused


def test_a_figure_is_simulated_up_to_the_last_row_that_is_wanted() -> None:
    assert latencies().keys() == LATENCIES
    whole = simulate("rosta", "latency", frozenset({"no such row"})).rows
    assert whole.keys() == {*LATENCIES, "latency/switch", "latency/fpga"}


# --- the search ---


def searched(effect: Callable[[set[str]], Outcome], count: int = 40) -> tuple[Search, int]:
    """A search of inputs, answered by a function of the names of those that are moved."""
    search = Search("f", {"r": 100.0}, frozenset({"r"}), 1.0)
    inputs = [Input("default", f"default:hosts.k{n}", "1") for n in range(count)]
    search.add([Move(one) for one in inputs], movers=set(), still=set())
    simulations = 0
    while search.left:
        group = search.left.pop()
        simulations += 1
        search.heard(group, effect({move.input.name for move in group}))
    return search, simulations


@given(st.sets(st.integers(min_value=0, max_value=39), max_size=5))
def test_a_search_finds_every_input_that_moves_a_row(movers: set[int]) -> None:
    names = {f"default:hosts.k{n}" for n in movers}

    def effect(moved: set[str]) -> Outcome:
        return Outcome({"r": 100.0 + 5 * len(moved & names)}, share=STEP)

    search, simulations = searched(effect)
    assert search.changes.keys() == names
    assert all(found == {"r": pytest.approx(5)} for found in search.changes.values())
    if not movers:
        assert simulations == -(-40 // GROUP)


def test_an_input_that_is_refused_is_named_and_hides_no_other() -> None:
    def effect(moved: set[str]) -> Outcome:
        if "default:hosts.k3" in moved:
            return Outcome(refused="ScenarioError: no")
        return Outcome({"r": 110.0 if "default:hosts.k4" in moved else 100.0}, share=STEP)

    search, _ = searched(effect)
    assert search.refused == {"default:hosts.k3": "ScenarioError: no"}
    assert search.changes == {"default:hosts.k4": {"r": pytest.approx(10)}}


def test_what_moved_nothing_before_is_moved_in_large_groups_and_what_moved_singly() -> None:
    inputs = [Input("scenario", f"hosts.h.k{n}", "1") for n in range(100)]
    still = {one.name for one in inputs[:98]}
    search = Search("f", {"r": 1.0}, frozenset({"r"}), 1.0)
    search.add([Move(one) for one in inputs], movers={"hosts.h.k98"}, still=still)
    assert sorted(map(len, search.left)) == [1, 1, 34, 64]


def test_alternatives_of_one_choice_are_not_taken_together() -> None:
    choice = Input("default", "default:hosts.c", "a")
    moves = [Move(choice, to=to) for to in ("b", "c")]
    search = Search("f", {"r": 1.0}, frozenset({"r"}), 1.0)
    search.add(moves, movers=set(), still={choice.name})
    assert len(search.left) == 2


def test_a_larger_step_counts_by_the_tenth() -> None:
    search, _ = searched(lambda _: Outcome({"r": 150.0}, share=1.0), count=1)
    assert search.changes["default:hosts.k0"] == {"r": pytest.approx(5)}


def test_a_move_that_leads_to_other_rows_is_refused() -> None:
    search = Search("f", {"r/1": 1.0}, frozenset({"r/1"}), 1.0)
    search.heard((Move(Input("constant", "constants.size", "1")),), Outcome({"r/2": 1.0}))
    assert search.refused == {"constants.size": "the rows are others"}


# --- the record and the rule ---


def test_a_record_is_read_as_it_was_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    figure = Figure(
        {"links.lanes": "4"},
        {"r": 1.5},
        {"r": {"links.lanes": 3.25}},
        refused={"default:hosts.iommu=x": "no"},
    )
    figure.little = ["default:links.delay"]
    half = Figure({}, {"q": 2.0}, untried=["links.lanes", "x.y"])
    digests = "s", "e", {"plx": "p"}, {"hosts": "d"}
    written = Record(*digests, {"f": figure, "g": half}, {"n": "1"}, {"links.lanes": "2 or 8"})
    monkeypatch.setattr(record, "folder_of", lambda _: tmp_path)
    assert record.load("x") is None
    (tmp_path / record.FILE).write_text(record.text("x", written), encoding="utf-8")
    assert record.load("x") == written
    (tmp_path / record.FILE).write_text("[digests]\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"--sensitivity --save"):
        record.load("x")


def test_a_record_is_stale_when_a_module_of_the_system_has_another_text(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(record, "folder_of", lambda _: tmp_path)
    (tmp_path / "part").mkdir()
    module = tmp_path / "part" / "machine.py"
    found = set()
    for text in ("size = 1\n", "size = 2\n", "size = 1  # by the article\n"):
        module.write_text(text, encoding="utf-8")
        found.add(record.experiments_digest("x"))
    module.rename(tmp_path / "machine.py")
    assert len(found | {record.experiments_digest("x")}) == 4


def test_a_docstring_makes_no_record_stale(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(record, "folder_of", lambda _: tmp_path)
    module = tmp_path / "machine.py"
    found = set()
    for words in ("bytes", "bytes\nof a page"):
        text = f'"""Sizes."""\n\nsize = 1\n"""In {words}."""\n\nname = "in bytes"\n'
        module.write_text(text, encoding="utf-8")
        found.add(record.experiments_digest("x"))
    assert len(found) == 1
    module.write_text(module.read_text().replace('"in bytes"', '"in pages"'), encoding="utf-8")
    assert record.experiments_digest("x") not in found


def test_our_own_choices_are_no_sources() -> None:
    ours = ("", "our choice", "our choice: none", "common on Linux", "a common choice", "fitted to")
    assert not any(map(is_independent, ours))
    assert is_independent("PCIe Base 2.6.1.2")
    assert source_of("default:links.lanes") == "a common choice"
    assert source_of("default:hosts.memory") == "our choice"
    assert source_of("profile:plx.update_fc_share").startswith("PLX")
    assert source_of("profiles.virtex7.clock") == ""


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder for the record of rosta, as if its latencies were predicted."""
    (tmp_path / "expected.toml").write_text(
        (files("peerlane.systems") / "rosta" / "expected.toml").read_text(encoding="utf-8"),
        encoding="utf-8",
    )
    monkeypatch.setattr(measure, "folder_of", lambda _: tmp_path)
    monkeypatch.setattr(record, "folder_of", lambda _: tmp_path)
    monkeypatch.setattr(Expected, "predicted", lambda _: {"latency": [*LATENCIES]})
    return tmp_path


def test_what_was_measured_is_kept_and_not_measured_again(folder: Path) -> None:
    def interrupt(state: Progress) -> None:
        if state > 0.4:
            raise KeyboardInterrupt

    first = measure.save("rosta", progress=interrupt)
    assert not first.is_whole
    untried = tomllib.loads((folder / record.FILE).read_text(encoding="utf-8"))["figures"][0]
    assert untried["untried"]

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        ends_what_was_begun(folder, partial(measure.save, "rosta", executor=pool))


def ends_what_was_begun(folder: Path, save: Callable[..., measure.Measured]) -> None:
    """Measures what a record lacks, and nothing else, all by one process."""
    shares: list[float] = []
    second = save(progress=shares.append)
    assert second.is_whole
    assert shares == sorted(shares)
    known = record.load("rosta")
    assert known is not None
    (figure,) = known.figures.values()
    assert {*figure.rows} == {"latency/1-switch", "latency/3-switches"}
    moved = figure.moved["latency/3-switches"]
    key = Input("scenario", "profiles.plx-switch.latency", '"160 ns"')
    alone = latencies(Move(key))["latency/3-switches"]
    percent = 100 * (alone / figure.rows["latency/3-switches"] - 1)
    assert moved[key.name] == pytest.approx(percent, rel=0.01)
    assert "profiles.virtex7.send_latency" in moved
    assert "default:devices.virtual_bar" in figure.refused
    assert "default:links.delay" in figure.inputs.keys() - moved.keys()

    assert save().simulations == 1
    figure.inputs["default:links.delay"] = "2 ns"
    figure.inputs["default:devices.implementation"] = "model"
    moved["default:devices.implementation=rtl"] = -3.2
    (folder / record.FILE).write_text(record.text("rosta", known), encoding="utf-8")
    assert save().simulations == 2
    assert "implementation" not in (folder / record.FILE).read_text(encoding="utf-8")
    again = record.load("rosta")
    assert again is not None
    assert again.ranges["default:hosts.latency"] == "50 ns or 200 ns"
    again.ranges["default:hosts.latency"] = "90 ns or 110 ns"
    (folder / record.FILE).write_text(record.text("rosta", again), encoding="utf-8")
    assert save().simulations == 3
    assert [one.name for one in folder.iterdir() if one.suffix == ".part"] == []


def test_a_figure_that_is_not_measured_now_says_what_is_others_than_it_was(folder: Path) -> None:
    other = Figure({"links.lanes": "2", "links.generation": "2"}, {"q": 1.0})
    now = {"links.lanes": Input("scenario", "links.lanes", "4")}
    now_is = record.scenario_digest("rosta"), record.experiments_digest("rosta")
    for digests, untried in (
        (now_is, ["links.lanes"]),
        (("0", now_is[1]), ["links.generation", "links.lanes"]),
        ((now_is[0], "0"), ["links.generation", "links.lanes"]),
    ):
        known = Record(*digests, {"plx": "p"}, {"locks": "l"}, {"other": other})
        (folder / record.FILE).write_text(record.text("rosta", known), encoding="utf-8")
        expected = Expected.load(files("peerlane.systems") / "rosta")
        work = measure._Work("rosta", {}, expected, None)
        work._inputs = {"latency": now}
        found = work.record(["other"])
        assert found.figures["other"].untried == untried
        assert found.defaults == {"locks": "l"}
        assert found.profiles == {"plx": "p"}


def test_what_save_has_no_use_for_is_refused(peerlane: Run) -> None:
    save = ("reproduce", "rosta", "--sensitivity", "--save")
    peerlane(*save, "--json", "-").refuses("has no use for --json")
    peerlane(*save, "--set", "links.lanes=8").refuses("has no use for --json, --set")
    peerlane(*save, "--figure", "latency").refuses("rosta latency has no predicted rows", "fig4")
    peerlane(*save, "--figure", "nosuch").refuses("there is no figure 'nosuch'")


def test_a_record_that_cannot_be_written_is_said_before_any_work(
    peerlane: Run, folder: Path
) -> None:
    (folder / record.FILE).mkdir()
    outcome = peerlane("reproduce", "rosta", "--sensitivity", "--save")
    assert outcome.status != 0
    assert record.FILE in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize("name", systems())
def test_a_predicted_row_holds_whatever_our_own_choices_are(name: str) -> None:
    assert concerns(name) == []


SYSTEM = """
title = "t"
source = "s"

[[figures]]
name = "latency"
unit = "ns"
tolerance_percent = 3
rows = [
    { id = "latency/1-switch", what = "w", published = 700, kind = "predicted" },
    { id = "latency/3-switches", what = "w", published = 1000, kind = "gap" },
]
"""


@pytest.fixture
def one_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., list[str]]:
    """A system with the experiments of rosta, one predicted row, and what a record says of it."""
    monkeypatch.setattr(rule, "folder_of", lambda _: tmp_path)
    monkeypatch.setattr(record, "folder_of", lambda _: tmp_path)
    monkeypatch.setattr(record, "scenario_text", lambda _: scenario_text("rosta"))

    def judged(moved: dict[str, float], more: str = "", **changes: object) -> list[str]:
        (tmp_path / "expected.toml").write_text(SYSTEM + more, encoding="utf-8")
        rows = {"latency/1-switch": 700.0}
        figure = Figure(
            {record.base(name): "1" for name in moved},
            rows,
            dict.fromkeys(rows, moved),
        )
        now = record.scenario_digest("rosta"), record.experiments_digest("rosta")
        known = Record(*now, {}, {}, {"latency": figure})
        expected = Expected.load(tmp_path)
        ours = {name for name in figure.inputs if expected.origin_of(record.base(name)) == "choice"}
        known.ranges = dict.fromkeys(ours, "1 or 2")
        for key, value in changes.items():
            setattr(known if hasattr(known, key) else figure, key, value)
        (tmp_path / record.FILE).write_text(record.text("rosta", known), encoding="utf-8")
        return concerns("rosta")

    return judged


def test_a_row_that_a_choice_moves_out_of_its_tolerance_is_no_prediction(
    one_row: Callable[..., list[str]],
) -> None:
    assert one_row({}) == []
    assert one_row({"default:links.delay": 9.0}) == []  # the catalogue has its source
    (ours,) = one_row({"default:hosts.latency=200 ns": 3.1})
    assert "latency/1-switch is predicted, but default:hosts.latency (1) moves it by +3.1 %" in ours
    assert "as 200 ns, out of its tolerance, and has no independent source" in ours
    assert '"our choice: half of' in ours
    assert all(way in ours for way in ("[[sources]]", "[[calibration]]", "another kind"))
    assert one_row({"default:hosts.latency=200 ns": 2.9}) == []
    (written,) = one_row({"links.lanes=8": -4.0, "links.generation=3": 1.9})
    assert "links.lanes (1) moves it by -4.0 % as 8" in written
    source = '[[sources]]\nwhere = "links.lanes"\nsource = "the article, section 2"\n'
    assert one_row({"links.lanes": -4.0}, source) == []
    assert one_row({"switches.rc47a.upstream.lanes": 9}, source.replace("links", "*")) == []
    (choice,) = one_row({"default:hosts.core_atomics=far": 30.0})
    assert "default:hosts.core_atomics (1) moves it by +30.0 % as far" in choice


def test_a_source_of_no_input_is_named(one_row: Callable[..., list[str]]) -> None:
    source = '[[sources]]\nwhere = "links.lane"\nsource = "the article, section 2"\n'
    (found,) = one_row({}, source)
    assert "[[sources]] has 'links.lane', which is no input; did you mean" in found
    assert "links.lanes" in found


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"scenario": "0"}, "is of an older scenario.toml"),
        ({"profiles": {"plx": "0"}}, "is of an older state of the simulator's profiles"),
        ({"defaults": {"hosts": "0"}}, "is of an older state of the simulator's defaults"),
        ({"figures": {}}, "does not have the figure latency"),
        ({"experiments": "0"}, "is of an older state of the experiments"),
        ({"inputs": {"links.lanes": "4"}}, "is of an older state of [[sources]] and [[cal"),
        ({"rows": {}}, "does not have the predicted row latency/1-switch"),
        ({"untried": ["links.delay"]}, "1 inputs of rosta latency were not moved"),
    ],
)
def test_a_stale_record_is_named(
    one_row: Callable[..., list[str]], changes: dict[str, object], reason: str
) -> None:
    (found,) = one_row({}, **changes)
    assert reason in found
    assert "peerlane reproduce rosta --sensitivity --save" in found


def test_a_missing_or_unreadable_record_is_named(
    one_row: Callable[..., list[str]], tmp_path: Path
) -> None:
    assert one_row({}) == []
    (tmp_path / record.FILE).write_text("figures = 1\n", encoding="utf-8")
    assert "rosta/sensitivity.toml: digests: field required" in stale("rosta")[0]
    (tmp_path / record.FILE).unlink()
    assert "has no sensitivity.toml" in concerns("rosta")[0]
    assert unfounded("rosta") == unknown("rosta") == []


def test_reproduce_refuses_predictions_of_a_stale_record(
    peerlane: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are shown; what `--set` changes is not what the record is of."""
    latency = ("reproduce", "rosta", "--figure", "latency")
    whole = peerlane(*latency)
    assert (whole.status, whole.err) == (0, "")
    monkeypatch.setattr(record, "scenario_digest", lambda _: "another")
    refused = peerlane(*latency)
    assert refused.status == 1
    assert refused.out == whole.out
    assert refused.err.startswith("error: rosta/sensitivity.toml is of an older scenario.toml")
    assert "peerlane reproduce rosta --sensitivity --save" in refused.err
    assert peerlane(*latency, "--set", "links.lanes=8").err == ""
