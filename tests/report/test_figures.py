"""Figures and tables of what `peerlane reproduce --json` has written."""

from __future__ import annotations

import json
import re
import struct
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from peerlane import _core
from peerlane.figures.figure import PlotError, inches_of
from peerlane.figures.plot import plot_bars, plot_rows
from peerlane.report.figures import plot_report
from peerlane.reproduction.written import reports_of
from report.test_report import report_of

if TYPE_CHECKING:
    from conftest import Run

FIGURE = plot_rows([{"lanes": 1, "rate": 2.0}, {"lanes": 2, "rate": 3.0}], "lanes", "rate")


def written(*systems: str) -> dict[str, Any]:
    """The JSON of reports, which nothing was simulated for."""
    head = {"schema": "peerlane-report/1", "version": _core.__version__, "command": []}
    reports = [report_of(system).to_json() for system in systems]
    return head | (reports[0] if len(reports) == 1 else {"systems": reports})


def values(document: dict[str, Any], figure: str) -> set[str]:
    return {
        row
        for panel in plot_report(document, figure).chart.panels
        for point in panel.spec["data"]["values"]
        if (row := point.get("row") or point.get("of")) and point["simulated"] is not None
    }


def test_a_written_report_is_read_as_it_was() -> None:
    report = report_of("rosta")
    (found,) = reports_of(json.loads(json.dumps(written("rosta"))))
    assert found.rows == report.rows
    assert (found.title, found.plots) == (report.title, report.plots)


def test_a_figure_of_a_source_has_published_and_simulated_values() -> None:
    document = written("rosta")
    known = {row["id"] for row in document["rows"] if row["simulated"] is not None}
    assert values(document, "fig3") == {one for one in known if one.startswith("fig3/")}
    # No plot is stated for this one.
    assert values(document, "overhead") == {one for one in known if one.startswith("overhead/")}
    text = str(plot_report(document, "overhead").to_dict())
    assert "rings: published" in text
    legend = "'values': ['predicted', 'calibrated', 'derived']"
    assert legend in str(plot_report(document, "fig4").to_dict()), "the shapes of its marks"
    assert values(written("rosta", "ccix"), "rosta/fig3")


def test_a_wrong_figure_lists_all(peerlane: Run) -> None:
    Path("r.json").write_text(json.dumps(written("rosta")), encoding="utf-8")
    every = list(dict.fromkeys(row["figure"] for row in written("rosta")["rows"]))
    peerlane("plot", "r.json").refuses("name a figure with --figure", ", ".join(every))
    peerlane("plot", "r.json", "--figure", "table9").refuses("did you mean", ", ".join(every))
    peerlane("plot", "r.json", "--figure", "nope").refuses("'nope'; there are", ", ".join(every))
    peerlane("reproduce", "rosta", "--figure", "table9").refuses("did you mean", ", ".join(every))
    peerlane("plot", "r.json", "--figure", "fig3", "--x", "a").refuses("--x and --y are for")
    Path("t.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    peerlane("plot", "t.csv", "--figure", "fig3").refuses("--figure is for the JSON of")
    labels = ("--title", "My title", "--x-label", "over this", "--y-label", "this much")
    peerlane("plot", "r.json", "--figure", "fig3", *labels, "--width", "1column").succeeds()
    drawing = Path("r.svg").read_text(encoding="utf-8")
    assert all(f">{words}</text>" in drawing for words in labels[1::2])
    assert ' width="3.5in"' in drawing


@pytest.mark.parametrize("width", ["3.3in", "85 mm", "2columns"])
def test_an_image_is_as_wide_as_it_should_be_in_every_format(width: str, tmp_path: Path) -> None:
    inches = inches_of(width)
    figure = FIGURE.styled(width=width)
    for ending in ("svg", "png", "pdf"):
        figure.save(tmp_path / f"f.{ending}")
    svg = (tmp_path / "f.svg").read_text(encoding="utf-8")
    found = re.search(r' width="([\d.]+)in"', svg)
    assert found is not None
    assert float(found[1]) == pytest.approx(inches, abs=0.03)
    pixels = struct.unpack(">I", (tmp_path / "f.png").read_bytes()[16:20])[0]
    assert pixels == pytest.approx(300 * inches, abs=10)
    box = re.search(rb"MediaBox \[0 0 ([\d.]+)", (tmp_path / "f.pdf").read_bytes())
    assert box is not None
    assert float(box[1]) == pytest.approx(72 * inches, abs=3)


def test_long_names_leave_room_for_the_plot_of_a_narrow_image() -> None:
    rows = [{"name": f"fpga-alveo-u280-card{card}-to-memory", "rate": 1.0} for card in range(3)]
    figure = plot_bars(rows, "name", "rate").styled(width="1column")
    spec = figure.to_dict()
    assert spec["params"] == [{"name": "narrow", "value": True}]
    assert spec["width"] > 100


@pytest.mark.parametrize("width", ["", "3", "0in", "99in", "3columns", "1..2in", "3px"])
def test_a_wrong_width_is_refused(width: str) -> None:
    with pytest.raises(PlotError, match="write inches"):
        inches_of(width)


def test_two_reports_are_compared_row_by_row_beside_the_published_values(peerlane: Run) -> None:
    document = written("rosta")
    Path("a.json").write_text(json.dumps(document), encoding="utf-8")
    changed = next(row for row in document["rows"] if row["published"] and row["simulated"])
    before = changed["simulated"]
    changed["simulated"] = 2 * before
    Path("b.json").write_text(json.dumps(document), encoding="utf-8")
    outcome = peerlane("compare", "a.json", "b.json").succeeds()
    (line,) = (line for line in outcome.out.splitlines() if line.startswith(changed["id"]))
    assert "+100.00 %" in line
    assert "1 row changed" in outcome.out
    alone = peerlane("compare", "a.json").succeeds()
    assert "published" in alone.out.splitlines()[1]
    peerlane("compare", "a.json", "--json", "c.json").refuses("leave out --json")


def test_a_report_of_a_system_that_is_not_known_is_read_all_the_same() -> None:
    document = written("rosta") | {"system": "none"}
    (found,) = reports_of(document)
    assert found == replace(found, title="", source="", plots=())
    assert plot_report(document, "fig3").chart.panels
