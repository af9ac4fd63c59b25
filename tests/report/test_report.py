"""Reports: their folders and pages, and how a browser shows them."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from dataclasses import replace
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import MISSING, PAIR
from peerlane import Fabric
from peerlane.charts import vega
from peerlane.charts.chart import Chart
from peerlane.charts.colours import LIGHT
from peerlane.charts.lines import Axis as Shown
from peerlane.charts.lines import Line, lines
from peerlane.cli.shipped import text_of
from peerlane.network.sweep import sweep_loads
from peerlane.report.folder import CONTENTS, IMAGES, INDEX, Folder, ReportError
from peerlane.report.page import Origin, Page, Section, html
from peerlane.report.reproduction import system_page
from peerlane.report.run import run_page
from peerlane.report.sweep import loads_page, points_page
from peerlane.report.table import Column, Table
from peerlane.report.table import Line as Row
from peerlane.report.words import slug, variant_name
from peerlane.reproduction.catalogue import folder_of, systems
from peerlane.reproduction.expected import Expected, ExpectedRow
from peerlane.reproduction.report import CalibrationEntry, Report
from peerlane.reproduction.row import Row as Published
from peerlane.varying.axes import Axis
from peerlane.varying.sweep import sweep_points
from report.chromium import PROGRAM, chromium

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Run, Write
    from report.chromium import Chromium

MOST_BYTES = 3_000_000
WIDTHS = (390, 1440)
HOSTILE = "</script><img src=x onerror=alert(1)>&\"'\u2028"
"""A text that is something else where it is not escaped."""

MADE = Origin("peerlane run pair", "0.0.0", "1")

needs_chromium = pytest.mark.skipif(PROGRAM is None, reason=f"chromium {MISSING}")


# --- folders ---


def leave_images_out(patch: pytest.MonkeyPatch) -> None:
    """Makes empty images, which take no time."""
    patch.setattr(vega, "svg", lambda _: "")
    patch.setattr(vega, "png", lambda _: b"")


@pytest.fixture
def without_images(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_images_out(monkeypatch)


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


@pytest.mark.usefixtures("without_images")
def test_each_variant_has_a_page_and_images_of_its_own(peerlane: Run, tmp_path: Path) -> None:
    """The index tells them apart, and the same settings take the place of the earlier page."""
    folder = tmp_path / "report"
    gen1, gen2 = ("--set", "links.generation=1"), ("--set", "links.generation=2")
    lanes = ("--set", "links.s0-b.lanes=2")
    for settings in [(), gen1, gen2, (*gen1, *lanes), (*lanes, *gen1)]:
        peerlane("run", "pair", *settings, "--report", folder).succeeds()
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


@pytest.mark.usefixtures("without_images")
def test_each_file_of_a_scenario_has_a_page_of_its_own(peerlane: Run, tmp_path: Path) -> None:
    """Whatever letters the names have, and whatever folders the files are in."""
    names = ["北京", "東京", "a/server", "b/server", "!!"]
    for name in names:
        file = tmp_path / f"{name}.toml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(PAIR.replace('"pair"', f'"{name}"'), encoding="utf-8")
    for name in (*names, "a/server", "b/server"):  # the last two again: the pages are replaced
        peerlane("run", tmp_path / f"{name}.toml", "--report", tmp_path / "report").succeeds()
    pages = Folder.open(tmp_path / "report").contents.pages
    files = ["北京.html", "東京.html", "-.html", "server.html", "server-2.html"]
    assert [entry.file for entry in pages] == files
    assert [entry.title for entry in pages] == ["北京", "東京", "!!", "a/server", "b/server"]
    images = [file for entry in pages for file in entry.files]
    assert len(set(images)) == len(images)
    assert (tmp_path / "report" / "index.html").read_text("utf-8").count("server-2.html") == 1


@pytest.mark.usefixtures("without_images")
def test_a_scenario_from_standard_input_has_a_page_named_after_it(
    peerlane: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standard input is read once, although the page has further runs."""
    for name in ("one", "?", "!", "one"):
        given = io.TextIOWrapper(io.BytesIO(PAIR.replace('"pair"', f'"{name}"').encode()))
        monkeypatch.setattr(sys, "stdin", given)
        peerlane("run", "-", "--report", tmp_path / "report").succeeds()
    pages = Folder.open(tmp_path / "report").contents.pages
    assert {(entry.file, entry.title) for entry in pages} == {
        ("one.html", "one"),
        ("-.html", "?"),
        ("--2.html", "!"),
    }


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
    refused(peerlane, tmp_path, "pages.0.title: field required")
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_the_contents_of_a_report_name_no_file_elsewhere(peerlane: Run, tmp_path: Path) -> None:
    entry = {"file": "../secret", "title": "t", "what": "w", "figures": [], "files": []}
    (tmp_path / CONTENTS).write_text(json.dumps({"made_by": "peerlane", "pages": [entry]}))
    refused(peerlane, tmp_path, "has files outside of the folder")


def test_a_folder_that_cannot_be_made_is_named(peerlane: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused(peerlane, tmp_path / "file" / "report", "file is a file; name a folder")
    refused(peerlane, Path("-"), "a folder of files", "not standard output")
    assert not Path("-").exists()


def test_a_wrong_scenario_leaves_no_folder(peerlane: Run, tmp_path: Path) -> None:
    peerlane("run", "pear", "--report", tmp_path / "report").refuses("pear")
    assert not (tmp_path / "report").exists()


def test_a_folder_that_cannot_be_written_is_refused(
    peerlane: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    refused(peerlane, tmp_path, f"{tmp_path} cannot be written; name another folder")
    refused(peerlane, tmp_path / "new", f"{tmp_path} cannot be written; name another folder")


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
    outcome = peerlane(
        "run", scenario(), "--interval", "1us", "--report", tmp_path / "report"
    ).succeeds()
    assert f"wrote {tmp_path / 'report' / 'fabric.html'}" in outcome.err


# --- in a browser ---


def simulated(row: ExpectedRow, index: int) -> float | None:
    """A value that is nearly the published one, or any."""
    if row.kind == "gap":
        return None
    if row.published_range is not None:
        return float(row.published_range[0])
    return 1.0 + index % 7 if row.published is None else float(row.published * 1.004)


def report_of(system: str) -> Report:
    """A report on a system, without its simulations."""
    expected = Expected.load(folder_of(system))
    rows = [
        Published(row, figure, simulated(row, index))
        for figure, rows in expected.by_figure().items()
        for index, row in enumerate(rows)
    ]
    fitted = (CalibrationEntry("latency", 166, "ns", "header in to header out", "table1/4"),)
    return Report(system, expected.title, expected.source, tuple(rows), fitted, {}, expected.plots)


def hostile_run() -> Page:
    """A run of a fabric whose names are as bad as they may be."""
    fabric = Fabric(HOSTILE).links(generation=2, lanes=4).host("h0").switch("s0", "h0")
    fabric.device("a", "s0").device("b", "s0", bar="1 MiB")
    for card in range(3):
        fabric.flow("a", "b", id=f"mmmm-wwww-alveo-{card}-to-mem", size="16 KiB")
    simulation = fabric.simulation()
    simulation.watch_waits()
    simulation.sample(every="100 ns")
    made = Origin(HOSTILE, HOSTILE, HOSTILE)
    return run_page(simulation, simulation.run(), made, fabric.explain())


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
    pages += [hostile_run(), *sweeps(), page("hostile", HOSTILE, text=HOSTILE)]
    with pytest.MonkeyPatch.context() as patch:
        leave_images_out(patch)
        Folder.open(folder).write(pages)
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


BLANK = """[...document.querySelectorAll(".plot")].filter((plot) =>
  !plot.querySelector("svg .role-mark path[d], svg .role-mark line")).length"""
CUT = """[...document.querySelectorAll(".plot .role-axis-label text")].filter((text) =>
  text.textContent.endsWith("…")).length"""
"""Names beside a plot that are cut at their end."""
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
        assert browser.value(CUT) == 0, where
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
def test_what_is_wider_than_the_page_shows_that_it_scrolls(report: Path, browser: Chromium) -> None:
    boxes = """[...document.querySelectorAll(".box")]
      .filter((box) => box.checkVisibility()).map((box) => [
      box.scrollWidth > box.clientWidth + 1, box.parentElement.matches(".scrolls.more")])"""
    shown = []
    for width in (390, 1440):
        browser.open(report / "rosta.html", width=width)
        shown += browser.value(boxes)
    assert [True, True] in shown
    assert [False, False] in shown
    assert all(is_wide == says_so for is_wide, says_so in shown)


@needs_chromium
@pytest.mark.xdist_group("report")
def test_a_hostile_name_is_shown_as_it_is(report: Path, browser: Chromium) -> None:
    browser.open(report / "hostile.html", width=1440)
    spoken = HOSTILE.replace("\u2028", "\\u2028")
    assert browser.value("document.querySelector('h1').textContent") == spoken
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


def test_a_folder_has_a_name() -> None:
    with pytest.raises(ReportError, match="name a folder"):
        Folder.open("")
