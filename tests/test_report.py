"""Reports: folders, words and charts of pages, and how a browser shows them."""

from __future__ import annotations

import errno
import json
import os
import sys
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from chromium import PROGRAM, chromium
from conftest import MISSING, PAIR
from peerlane import Fabric
from peerlane.cli.shipped import text_of
from peerlane.network.sweep import sweep as sweep_loads
from peerlane.report import vega
from peerlane.report.charts.chart import Chart
from peerlane.report.charts.lines import Axis as Shown
from peerlane.report.charts.lines import Line, lines
from peerlane.report.charts.names import short_names, wire_name
from peerlane.report.charts.over_time import over_time
from peerlane.report.charts.scales import Scale, is_geometric
from peerlane.report.colours import LIGHT
from peerlane.report.folder import CONTENTS, IMAGES, INDEX, Folder, ReportError
from peerlane.report.page import Origin, Page, Section, html
from peerlane.report.reproduction import heading, system_page
from peerlane.report.run import run_page
from peerlane.report.sweep import loads_page, points_page
from peerlane.report.table import Column, Table
from peerlane.report.table import Line as Row
from peerlane.report.words import duration, number, percent, rate, size, slug, variant_name
from peerlane.reproduction.catalogue import folder_of, systems
from peerlane.reproduction.expected import Expected
from peerlane.reproduction.plots import Plot
from peerlane.reproduction.report import CalibrationEntry, Report
from peerlane.reproduction.row import Row as Published
from peerlane.varying.axes import Axis
from peerlane.varying.sweep import sweep_points

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from chromium import Chromium
    from conftest import Run, Write
    from peerlane.results.run import RunResult

MOST_BYTES = 3_000_000
WIDTHS = (390, 1440)
HOSTILE = "</script><img src=x onerror=alert(1)>&\"'\u2028"
"""A text that is something else where it is not escaped."""

MADE = Origin("peerlane run pair", "0.0.0", "1")

needs_chromium = pytest.mark.skipif(PROGRAM is None, reason=f"chromium {MISSING}")


# --- what expected.toml says of plots ---


def plot(**fields: Any) -> Plot:
    stated: dict[str, Any] = {
        "figure": "fig1",
        "caption": "A rate over a size.",
        "rows": "fig1/{x}",
        "x": {"label": "size"},
        "y": {"label": "rate"},
    }
    return Plot.model_validate(stated | fields)


def test_a_plot_finds_its_rows_by_the_form_of_their_ids() -> None:
    places = plot(
        rows="fig1/{panel}/{series}-tags/{x}",
        series={"4": "4 tags", "8": "8 tags"},
        panels={"read": "reads"},
    ).places(["fig1/read/4-tags/64B", "fig1/read/8-tags/2KiB", "fig1/write/4-tags/1", "fig1/rule"])
    assert [(one.panel, one.series, one.x) for one in places.values()] == [
        ("reads", "4 tags", 64),
        ("reads", "8 tags", 2048),
    ]


@pytest.mark.parametrize(
    ("fields", "ids", "reason"),
    [
        ({}, ["fig2/1"], r"'fig1/\{x\}' is the form of no row|is the form of no row"),
        ({}, ["fig1/ring"], "fig1/ring has no number"),
        ({"rows": "fig1/{series}/{x}"}, [], "needs {x} once"),
        ({"series": {"a": "A"}}, [], "needs {x} once"),
        ({"rows": "fig1"}, [], "needs {x} once"),
        (
            {"rows": "fig1/{series}/{x}", "series": {"a": "A", "b": "B"}},
            ["fig1/a/1"],
            "series 'b' is in the id of no row",
        ),
        ({"x": {"label": "way", "scale": "names"}}, [], "names and scale"),
        ({"x": {"label": "way", "names": {"a": "A"}}}, [], "names and scale"),
    ],
)
def test_a_plot_that_fits_no_rows_is_refused(
    fields: dict[str, Any], ids: list[str], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        plot(**fields).places(ids)


def test_the_rows_of_a_plot_have_one_unit() -> None:
    rows = [
        {"id": "fig1/1", "what": "a rate", "unit": "GB/s"},
        {"id": "fig1/2", "what": "a time", "unit": "ns"},
    ]
    shared = {"tolerance_percent": 1, "kind": "predicted"}
    document: dict[str, Any] = {
        "title": "t",
        "source": "s",
        "figures": [{"name": "fig1", "rows": [row | shared for row in rows]}],
        "plots": [plot().model_dump()],
    }
    with pytest.raises(ValueError, match="have one unit"):
        Expected.model_validate(document)
    document["plots"][0]["figure"] = "fig9"
    with pytest.raises(ValueError, match="there are fig1"):
        Expected.model_validate(document)


# --- words and scales ---


def test_numbers_of_a_page_have_four_digits() -> None:
    assert (number(3.14159), number(12345.678), number(None)) == ("3.142", "12345.7", "–")  # noqa: RUF001
    assert (duration(1500), rate(2.5e9), size(1536)) == ("1.5 µs", "2.5 GB/s", "1.5 KiB")
    assert percent(-1.234) == "\N{MINUS SIGN}1.23 %"
    assert percent(-0.001) == percent(0.0) == "0.00 %"


def test_names_that_differ_differ_when_they_are_short() -> None:
    names = [
        "rack-12-position-7-slot-3 down",
        "rack-12-position-7-slot-3 up",
        "a up",
        "grow update",
    ]
    assert list(short_names(names).values()) == [
        "rack-12-po…-slot-3 ↓",
        "rack-12-po…-slot-3 ↑",
        "a ↑",
        "grow update",
    ]
    alike = [f"{'a' * 30}{number}{'b' * 30}" for number in range(12)]
    shown = short_names(alike)
    assert len(set(shown.values())) == len(alike)
    assert max(map(len, shown.values())) <= 20


def test_the_direction_of_a_fibre_goes_from_router_to_router() -> None:
    assert wire_name("r0-r1", "r0") == "r0 → r1"
    assert wire_name("r0-r1", "r1") == "r1 → r0"
    assert wire_name("h0-s0", "up") == "h0-s0 up"


def test_steps_that_are_even_are_no_factors() -> None:
    assert all(map(is_geometric, ([1, 2, 4], [1, 3, 10, 30])))
    assert not any(map(is_geometric, ([1, 2, 3], [10, 20, 30])))


def test_figures_are_named_as_in_their_source() -> None:
    found = [heading(name) for name in ("fig3", "table2", "exp1_vck5000", "peer_read")]
    assert found == ["Figure 3", "Table 2", "Experiment 1, VCK5000", "Peer read"]


def test_no_name_is_a_path_or_the_index() -> None:
    assert slug("../../etc/passwd") == "etc-passwd"
    assert slug("index") != "index"
    assert slug("///") == "-"
    assert len(slug("x" * 500)) <= 80


def test_labels_beside_lines_do_not_overlap() -> None:
    scale = Scale([0, 10], height=200)
    beside = sorted(map(scale.pixels, scale.apart([5, 5.01, 5.02, 9.9, 9.95], gap=13)))
    assert all(after - before > 12.9 for before, after in pairwise(beside))
    assert 0 <= beside[0] <= beside[-1] <= 200


def test_a_logarithmic_scale_has_round_ticks() -> None:
    assert Scale([1.5, 1500], height=100, log=True).axis["values"] == [1, 10, 100, 1000]


# --- folders ---


def page(name: str, title: str = "a page", *, text: str = "words") -> Page:
    panel = lines(
        "", [Line(text, [1, 2], [3, 4]), Line("b", [1, 2], [5, 6])], Shown(text), Shown("y")
    )
    chart = Chart(f"{name}-1", text, text, (panel,))
    table = Table((Column(text), Column("kind", "kind")), (Row((text, "gap")),), (text,))
    section = Section(text, text, (chart,), (table,), ((text, table),))
    origin = Origin(text, text, text, text)
    return Page(name, title, text, ((text, text),), (section,), origin, text, text, keyed=True)


def test_a_report_is_self_contained(tmp_path: Path) -> None:
    first = Folder.open(tmp_path / "new" / "report").write([page("one")])
    assert first.name == "one.html"
    text = first.read_text(encoding="utf-8")
    assert "vegaEmbed" in text
    assert len(text.encode()) < MOST_BYTES
    image = first.parent / IMAGES / "one-1"
    assert image.with_suffix(".svg").read_text(encoding="utf-8").startswith("<svg")
    assert "var(--" not in image.with_suffix(".svg").read_text(encoding="utf-8")
    assert image.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_a_page_takes_the_place_of_its_own_name_alone(tmp_path: Path) -> None:
    Folder.open(tmp_path).write([page("one"), page("two")])
    (tmp_path / "notes.txt").write_text("mine")
    without = Page("two", "second", "two", (), (), MADE)
    Folder.open(tmp_path).write([without])
    contents = json.loads((tmp_path / CONTENTS).read_text())
    assert [entry["title"] for entry in contents["pages"]] == ["a page", "second"]
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(
        [CONTENTS, IMAGES, INDEX, "notes.txt", "one.html", "two.html"]
    )
    assert {one.name for one in (tmp_path / IMAGES).iterdir()} == {"one-1.svg", "one-1.png"}


def test_each_variant_has_a_page_and_images_of_its_own(
    peerlane: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index tells them apart, and the same settings take the place of the earlier page."""
    monkeypatch.setattr(vega, "svg", lambda _: "")
    monkeypatch.setattr(vega, "png", lambda _: b"")
    folder = tmp_path / "report"
    gen1, gen2 = ("--set", "links.generation=1"), ("--set", "links.generation=2")
    lanes = ("--set", "links.s0-b.lanes=2")
    for settings in [(), gen1, gen2, (*gen1, *lanes), (*lanes, *gen1)]:
        ran = peerlane("run", "pair", *settings, "--report", folder)
        assert ran.status == 0, ran.err
    pages = Folder.open(folder).contents.pages
    assert [(entry.file, entry.title) for entry in pages] == [
        ("pair.html", "pair"),
        ("pair-with-links.generation-1.html", "pair, with links.generation=1"),
        ("pair-with-links.generation-2.html", "pair, with links.generation=2"),
        (
            "pair-with-links.generation-1-links.s0-b.lanes-2.html",
            "pair, with links.s0-b.lanes=2, links.generation=1",
        ),
    ]
    files = [file for entry in pages for file in (entry.file, *entry.files)]
    assert len(set(files)) == len(files) > 20
    assert all((folder / file).is_file() for file in files)
    index = (folder / INDEX).read_text(encoding="utf-8")
    assert all(f'<a href="{entry.file}">{entry.title}</a>' for entry in pages)
    assert index.count("<li>") == len(pages)


def test_the_page_of_a_variant_of_a_system_has_no_part_in_the_errors_of_systems() -> None:
    report = report_of("rosta")
    variant = system_page(replace(report, settings={"links.generation": 2}), MADE)
    assert system_page(report, MADE).deviations
    assert (variant.name, variant.deviations) == ("rosta-with-links.generation-2", ())
    assert variant.title.endswith(", with links.generation=2")


def test_settings_that_differ_have_names_that_differ() -> None:
    settings = ["a=1", "a=-1", "a=*", "a=+", f"a={'x' * 99}", f"a={'x' * 98}y", "a=é", "a=è"]
    names = {variant_name("one", one) for one in settings}
    assert len(names) == len(settings)
    assert all(len(name) <= 80 and slug(name) == name for name in names)


def test_a_file_of_no_report_is_never_overwritten(tmp_path: Path) -> None:
    Folder.open(tmp_path).write([Page("one", "one", "one", (), (), MADE)])
    (tmp_path / "two.html").write_text("mine")
    with pytest.raises(ValueError, match=r"two\.html is of no report"):
        Folder.open(tmp_path).write([page("two")])
    assert (tmp_path / "two.html").read_text() == "mine"


def refused(peerlane: Run, folder: Path, *words: str) -> None:
    peerlane("run", "pair", "--report", folder).refuses("--report", *words)


def test_a_folder_with_other_files_is_refused(peerlane: Run, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    refused(peerlane, tmp_path, "holds other files (thesis.tex)", "empty folder")
    refused(peerlane, tmp_path / "thesis.tex", "is a file; name a folder")
    (tmp_path / CONTENTS).write_text('{"pages": [{"file": "../x"}]}')
    refused(peerlane, tmp_path, "damaged")
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_the_contents_of_a_report_name_no_file_elsewhere(peerlane: Run, tmp_path: Path) -> None:
    entry = {"file": "../secret", "title": "t", "what": "w", "figures": [], "files": []}
    (tmp_path / CONTENTS).write_text(json.dumps({"made_by": "peerlane", "pages": [entry]}))
    refused(peerlane, tmp_path, "damaged")


def test_a_folder_that_cannot_be_made_is_named(peerlane: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused(peerlane, tmp_path / "file" / "report", "file is a file; name a folder")


def test_a_wrong_scenario_leaves_no_folder(peerlane: Run, tmp_path: Path) -> None:
    peerlane("run", "pear", "--report", tmp_path / "report").refuses("pear")
    assert not (tmp_path / "report").exists()


def test_a_folder_that_cannot_be_written_is_refused(
    peerlane: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    refused(peerlane, tmp_path, f"{tmp_path} cannot be written; name another folder")
    refused(peerlane, tmp_path / "new", f"{tmp_path} cannot be written; name another folder")


def test_a_missing_extra_is_named_before_any_work(
    peerlane: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    outcome = peerlane("reproduce", "--report", tmp_path / "report")
    outcome.refuses("pip install 'peerlane[report]'", status=1)
    assert not (tmp_path / "report").exists()


def test_a_full_disk_takes_nothing_from_the_result(
    peerlane: Run, scenario: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, _content: bytes) -> int:
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    file = scenario()
    monkeypatch.setattr(Path, "write_bytes", full)
    outcome = peerlane("run", file, "--report", tmp_path / "report")
    assert outcome.status == 1
    assert "a-to-b" in outcome.out
    assert "no space left on device; the report is not whole" in outcome.err
    assert "Traceback" not in outcome.err
    assert not list((tmp_path / "report").glob("*.part"))


# --- the command line ---


def test_a_report_changes_no_json(peerlane: Run, scenario: Write, tmp_path: Path) -> None:
    file = scenario()
    alone = json.loads(peerlane("run", file, "--json", "-").out)
    beside = json.loads(peerlane("run", file, "--json", "-", "--report", tmp_path / "report").out)
    assert alone | {"command": ()} == beside | {"command": ()}


def test_an_interval_is_for_a_report_too(peerlane: Run, scenario: Write, tmp_path: Path) -> None:
    outcome = peerlane("run", scenario(), "--interval", "1us", "--report", tmp_path / "report")
    assert outcome.status == 0, outcome.err
    assert f"wrote {tmp_path / 'report' / 'pair.html'}" in outcome.err


def test_a_repeated_run_has_no_report(peerlane: Run, scenario: Write, tmp_path: Path) -> None:
    peerlane("run", scenario(), "--repeat", "2", "--report", tmp_path).refuses("--report")


# --- in a browser ---


def simulated(row: Mapping[str, Any], index: int) -> float | None:
    """A value that is nearly the published one, or any."""
    if row["kind"] == "gap":
        return None
    if row["published_range"] is not None:
        return float(row["published_range"][0])
    return 1.0 + index % 7 if row["published"] is None else float(row["published"] * 1.004)


def report_of(system: str) -> Report:
    """A report on a system, without its simulations."""
    expected = Expected.load(folder_of(system))
    rows = [
        Published(
            figure=figure,
            simulated=simulated(row.model_dump(), index),
            error_percent=0.4 if row.published and row.kind != "gap" else None,
            **row.model_dump(),
        )
        for figure, rows in expected.by_figure().items()
        for index, row in enumerate(rows)
    ]
    fitted = (CalibrationEntry("latency", 166, "ns", "header in to header out", "table1/4"),)
    return Report(system, expected.title, expected.source, tuple(rows), fitted, {}, expected.plots)


def hostile_run() -> Page:
    """A run of a fabric whose names are as bad as they may be."""
    fabric = Fabric(HOSTILE).links(generation=2, lanes=4).host("h0").switch("s0", "h0")
    fabric.device("a", "s0").device("b", "s0", bar="1 MiB")
    for _ in range(3):
        fabric.flow("a", "b", size="16 KiB")
    simulation = fabric.simulation()
    simulation.watch_waits()
    simulation.sample(every="100 ns")
    return run_page(simulation, simulation.run(), Origin(HOSTILE, HOSTILE, HOSTILE))


def sweeps() -> list[Page]:
    """Sweeps of keys, with lines and as a sample, and of loads."""
    axes = [Axis.read("links.s0-b.lanes=1,2"), Axis.read("links.generation=1,2")]
    torus = Fabric.from_toml(text_of("torus"))
    return [
        points_page(replace(sweep_points(PAIR, axes), name="lines"), MADE),
        points_page(
            replace(sweep_points(PAIR, axes, sample="lhs:3"), name="sample"),
            MADE,
        ),
        loads_page(sweep_loads(torus, [1e9, 2e9], "uniform"), MADE),
    ]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pages of all kinds, without their images."""
    folder = tmp_path_factory.mktemp("pages") / "report"
    pages = [system_page(report_of(system), MADE) for system in systems()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vega, "svg", lambda _: "")
        patch.setattr(vega, "png", lambda _: b"")
        pages += [hostile_run(), *sweeps(), page("hostile", HOSTILE, text=HOSTILE)]
        Folder.open(folder).write(pages)
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


BLANK = """[...document.querySelectorAll(".plot")].filter((plot) =>
  !plot.querySelector("svg .role-mark path[d], svg .role-mark line")).length"""
OVERFLOWN = """[...document.querySelectorAll(".plot svg")].filter((svg) =>
  svg.getBoundingClientRect().right > document.documentElement.clientWidth).length"""
SMALLEST = """Math.min(1, ...[...document.querySelectorAll(".drawing svg")].map((svg) =>
  svg.getBoundingClientRect().width / svg.viewBox.baseVal.width))"""
"""The least scale of a drawing: at 1 its words have 10 pixels."""


COLOURS = """(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const paint = (one, property) => one ? getComputedStyle(one)[property] : dark;
  return {
    paper: paint(document.body, "backgroundColor"),
    words: paint(document.querySelector("h1"), "color"),
    axis: paint(document.querySelector(".plot .role-axis-label text"), "fill"),
    drawing: paint(document.querySelector(".drawing text"), "fill"),
  };
})()"""
"""The colours of a page, of its charts and of its drawing."""


@needs_chromium
@pytest.mark.xdist_group("report")
@pytest.mark.seconds(15)
def test_a_browser_shows_every_chart_of_every_page(report: Path, browser: Chromium) -> None:
    pages = sorted(report.glob("*.html"))
    assert len(pages) == len(systems()) + 6
    for path, (width, dark) in product(pages, zip(WIDTHS, (False, True), strict=True)):
        where = f"{path.name}, {width} px, {'dark' if dark else 'light'}"
        browser.open(path, width=width, dark=dark)
        assert browser.complaints() == [], where
        assert browser.requests() == [path.as_uri()], where
        assert browser.value(BLANK) == 0, where
        assert browser.value(OVERFLOWN) == 0, where
        assert browser.value(SMALLEST) >= 0.74, where
        assert browser.value("document.documentElement.scrollWidth") == width, where
        assert browser.value("document.querySelectorAll('img, main script').length") == 0, where
        shown = browser.value(COLOURS)
        browser.paint(dark=not dark)
        other = browser.value(COLOURS)
        assert (shown["paper"] == "rgb(255, 255, 255)") is not dark, where
        assert all(shown[part] != other[part] for part in shown), where
        assert browser.complaints() == [], where


@needs_chromium
@pytest.mark.xdist_group("report")
def test_a_hostile_name_is_shown_as_it_is(report: Path, browser: Chromium) -> None:
    browser.open(report / "hostile.html", width=1440)
    assert browser.value("document.querySelector('h1').textContent") == HOSTILE
    spoken = HOSTILE.replace("\u2028", "\\u2028")
    assert browser.value("document.querySelector('.plot').ariaLabel") == spoken


@pytest.mark.xdist_group("report")
def test_a_page_has_at_most_three_megabytes(report: Path) -> None:
    assert all(path.stat().st_size <= MOST_BYTES for path in report.glob("*.html"))


@pytest.mark.parametrize("scenario", ["pair", "torus", "halo", "coherent", "locks"])
def test_a_page_names_every_workload_of_its_run(scenario: str) -> None:
    simulation = Fabric.from_toml(text_of(scenario)).simulation()
    result = simulation.run()
    made = run_page(simulation, result, MADE)
    cells = {
        cell
        for section in made.sections
        for table in section.tables
        for line in table.lines
        for cell in line.cells
    }
    kinds = ("flows", "traffic", "collectives", "accesses", "locks", "transactions")
    ids = {one.id for kind in kinds for one in getattr(result, kind)}
    assert ids
    assert ids <= cells


def test_a_page_of_many_flows_stays_small() -> None:
    fabric = Fabric("many").links(generation=3, lanes=4).host("h0").switch("s0", "h0")
    for device in range(16):
        fabric.device(f"d{device}", "s0", bar="1 MiB")
    for flow in range(500):
        source, target = flow % 16, (7 * flow + 1) % 16
        name = f"a flow with a long name, number {flow}"
        fabric.flow(f"d{source}", f"d{target}", id=name, size="4 KiB")
    simulation = fabric.simulation()
    simulation.watch_waits()
    simulation.sample(every="100 ns")
    made = run_page(simulation, simulation.run(), MADE)
    assert len(html(made, vega.script()).encode()) <= MOST_BYTES


@pytest.mark.xdist_group("report")
def test_every_plot_of_a_source_is_on_its_page(report: Path) -> None:
    contents = json.loads((report / CONTENTS).read_text())
    images = {name for entry in contents["pages"] for name in entry["files"]}
    # Beside its plots each system has its errors and its topology.
    for system in systems():
        plots = Expected.load(files("peerlane.systems") / system).plots
        ours = {name for name in images if name.startswith(f"{IMAGES}/{system}-")}
        assert len(ours) == 2 * (len(plots) + 2)
    assert all((report / name).is_file() for name in images)


def test_a_chart_has_a_sentence_and_words_for_those_who_do_not_see_it() -> None:
    for system in systems():
        for chart in system_page(report_of(system), MADE).charts:
            assert chart.caption.endswith(".")
            assert len(chart.text) > len(chart.caption)


def test_the_image_of_a_chart_has_all_its_panels_and_lines() -> None:
    charts = {chart.name: chart for chart in system_page(report_of("ccix"), MADE).charts}
    drawing = vega.svg(charts["ccix-exp1-2"])
    for words in ("reads", "writes", "latency, ns", "CCIX", "PCIe DMA"):
        assert f">{words}</text>" in drawing
    assert drawing.count(f'stroke="{LIGHT["c1"]}"') == drawing.count(f'stroke="{LIGHT["c2"]}"') == 2


@pytest.mark.xdist_group("report")
def test_the_image_of_a_topology_needs_no_style_of_a_page(report: Path) -> None:
    drawings = [path.read_text() for path in (report / IMAGES).glob("*-topology.svg")]
    assert len(drawings) == len(systems()) + 1
    assert not any("var(" in drawing or "color-mix" in drawing for drawing in drawings)


# --- over time ---


def sampled(text: str, interval: str) -> tuple[Chart, RunResult]:
    """The chart over time of a scenario, and its result."""
    simulation = Fabric.from_toml(text).simulation()
    simulation.sample(every=interval)
    result = simulation.run()
    assert result.series is not None
    chart = over_time("time", result.series)
    assert chart is not None
    return chart, result


def values_of(chart: Chart, panel: str) -> list[dict[str, Any]]:
    """The points of the plot or map with this title."""
    found: list[dict[str, Any]] = next(one for one in chart.panels if one.title == panel).spec[
        "data"
    ]["values"]
    return found


def test_the_end_of_a_run_has_no_rate_that_its_wires_do_not_have() -> None:
    text = text_of("pair")
    for interval in ("97 ns", "100 ns", "1 us", "1.7 us"):
        chart, _ = sampled(text, interval)
        # Gen3 x4 carries 3.94 GB/s; a packet of 256 bytes counts when its last byte is there.
        most = 3.94 + 256 / float(interval.split()[0]) / (1 if interval.endswith("ns") else 1000)
        assert max(point["y"] for point in values_of(chart, "Rates")) <= most, interval


def test_a_run_that_waits_for_nothing_is_drawn_up_to_its_last_payload() -> None:
    scenario = Fabric("dead").links(generation=3, lanes=4).host("h0").switch("s0", "h0")
    scenario.device("a", "s0", fails_at="5 us").device("b", "s0", bar="1 MiB")
    chart, result = sampled(scenario.flow("a", "b", size="1 MiB").to_toml(), "1 us")
    last = max(point["x"] for point in values_of(chart, "Rates") if point["y"])
    assert max(point["x"] for point in values_of(chart, "Rates")) == last < 10
    assert f"the run ends at {duration(result.simulated_ns)}" in chart.caption


def test_the_caption_of_samples_names_what_is_drawn() -> None:
    fabric = Fabric("idle").host("h0").device("a", "h0").flow("a", "h0", size="64 B")
    chart, _ = sampled(fabric.to_toml(), "100 ns")
    assert chart.caption == "Rates, use of wires and replay buffers over time."


# --- latencies and the index ---


def page_of(fabric: Fabric) -> Page:
    simulation = fabric.simulation()
    return run_page(simulation, simulation.run(), MADE)


def test_a_chart_of_some_workloads_says_of_how_many() -> None:
    fabric = Fabric("many").host("h0").device("a", "h0")
    for _ in range(30):
        fabric.flow("a", "h0", size="64 B")
    chart = next(one for one in page_of(fabric).charts if one.name == "many-latencies")
    assert chart.caption.startswith("Latencies of the first 24 of 30 workloads: ")


def test_one_latency_has_no_distribution() -> None:
    fabric = Fabric("one").host("h0").device("a", "h0").flow("a", "h0", size="64 B")
    chart = next(one for one in page_of(fabric).charts if one.name == "one-latencies")
    assert [panel.title for panel in chart.panels] == ["percentiles"]


def test_the_index_says_which_runs_failed() -> None:
    fabric = Fabric("dead").links(generation=3, lanes=4).host("h0").switch("s0", "h0")
    fabric.device("a", "s0", fails_at="5 us").device("b", "s0", bar="1 MiB")
    assert page_of(fabric.flow("a", "b", size="1 MiB")).what.endswith(", which failed.")


# --- sweeps ---


def sweep_of(*axes: str) -> Page:
    return points_page(sweep_points(PAIR, [Axis.read(axis) for axis in axes]), MADE)


def test_the_points_of_a_sweep_have_the_unit_of_its_chart() -> None:
    found = sweep_of("links.s0-b.lanes=1,2")
    (chart,), (table,) = found.charts, found.sections[-1].tables
    assert chart.panels[0].spec["title"] == "flows.a-to-b rate, GB/s"
    at = [column.title for column in table.columns].index("flows.a-to-b rate")
    values = [point["y"] for point in chart.panels[0].spec["data"]["values"]]
    assert [line.cells[at] for line in table.lines] == [f"{value:.4g} GB/s" for value in values]


def test_a_key_of_which_one_value_has_results_is_in_the_caption() -> None:
    (chart,) = sweep_of("links.s0-b.lanes=1,2", "devices.b.bar='4 KiB','4 MiB'").charts
    assert chart.caption == "flows.a-to-b rate over links.s0-b.lanes, at devices.b.bar = 4 MiB."


def test_no_line_joins_names() -> None:
    (chart,) = sweep_of("devices.a.profile=generic,plx").charts
    assert {layer["mark"]["type"] for layer in chart.panels[0].spec["layer"]} == {"point"}
    (chart,) = sweep_of("devices.a.tags=8,16").charts
    assert {layer["mark"]["type"] for layer in chart.panels[0].spec["layer"]} == {"line", "point"}


# --- print ---

LONG = 300
"""Rows of a table that takes many pages of paper."""


def folded() -> Page:
    """A page with a table of one row, a long one and one of three rows, all folded away."""

    def rows(count: int) -> Table:
        return Table((Column("n", "number"),), tuple(Row((str(at),)) for at in range(count)))

    hidden = (("a long table", rows(LONG)), ("a short table", rows(3)))
    plain = page("print")
    return replace(plain, sections=(*plain.sections, Section("Tables", hidden=hidden)))


@needs_chromium
@pytest.mark.xdist_group("report")
def test_paper_has_what_is_folded_away_if_it_is_short(tmp_path: Path, browser: Chromium) -> None:
    Folder.open(tmp_path / "r").write([folded()])
    browser.open(tmp_path / "r" / "print.html", width=1440)
    browser.value("dispatchEvent(new Event('beforeprint'))")
    opened = "[...document.querySelectorAll('details')].map((one) => one.open)"
    assert browser.value(opened) == [True, False, True]


def test_the_page_of_a_run_has_its_iommus() -> None:
    fabric = Fabric("mmu").host("h0", iommu=True).device("a", "h0").flow("a", "h0", size="64 KiB")
    assert [one.title for one in page_of(fabric).sections][-1] == "I/O MMUs"


def test_a_folder_has_a_name() -> None:
    with pytest.raises(ReportError, match="name a folder"):
        Folder.open("")
