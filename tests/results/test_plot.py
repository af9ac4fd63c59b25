"""Figures of sweeps and results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import PAIR
from peerlane import Fabric
from peerlane.figures.figure import PlotError
from peerlane.figures.plot import plot_rows
from peerlane.varying.reading import plot_file

if TYPE_CHECKING:
    from conftest import Run, Write
    from peerlane.figures.figure import Figure

RATE = "flows.a-to-b.bytes_per_second"
ROWS = [
    {"size": f"{size} KiB", "lanes": lanes, "seed": seed, "rate": float(size * lanes + seed)}
    for size in (1, 2, 4)
    for lanes in (1, 4)
    for seed in (1, 2, 3)
]


def lines(figure: Figure) -> dict[str, list[tuple[float, float]]]:
    """The points of the lines of a figure by their labels."""
    found: dict[str, list[tuple[float, float]]] = {}
    for point in figure.to_dict()["data"]["values"]:
        found.setdefault(point["series"], []).append((point["x"], point["y"]))
    return found


def layers(figure: Figure) -> dict[str, Any]:
    """What each kind of mark of a figure encodes."""
    return {layer["mark"]["type"]: layer["encoding"] for layer in figure.to_dict()["layer"]}


def test_each_combination_of_the_other_keys_is_a_line_of_means_over_seeds() -> None:
    figure = plot_rows(ROWS, "size", "rate", keys=["size", "lanes", "seed"])
    assert lines(figure) == {
        "lanes 1": [(1, 3), (2, 4), (4, 6)],
        "lanes 4": [(1, 6), (2, 10), (4, 18)],
    }
    across = layers(figure)["line"]["x"]
    assert (across["axis"]["title"], across["scale"]["type"]) == ("size, KiB", "log")
    assert layers(figure)["rule"]["y2"] == {"field": "high"}


def test_a_star_in_a_column_stands_for_every_name() -> None:
    rows = [{"lanes": at, "flows.f0.rate": at, "flows.f1.rate": 2 * at, "a..b": 1} for at in (1, 2)]
    assert lines(plot_rows(rows, "lanes", "flows.*.rate")).keys() == {"f0", "f1"}
    assert lines(plot_rows(rows, "lanes", "flows.*1.rate")) == {"": [(1, 2), (2, 4)]}


def test_a_message_names_some_of_thousands_of_columns() -> None:
    rows = [{"lanes": 1, **{f"flows.f{number}.rate": 1.0 for number in range(5000)}}]
    with pytest.raises(PlotError, match=r"there are lanes, flows\.f0\.rate, .*, \.\.\.$") as told:
        plot_rows(rows, "zzzzzzzz", keys=["lanes"])
    assert len(str(told.value)) < 400


def test_a_sample_is_points() -> None:
    rows = [{"a": a, "b": b, "rate": a * b} for a, b in ((1, 5.5), (3, 2.5), (7, 1.5))]
    figure = plot_rows(rows, keys=["a", "b"])
    assert lines(figure) == {"": [(1, 5.5), (3, 7.5), (7, 10.5)]}
    assert layers(figure).keys() == {"point"}


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ("siz", "rate", "did you mean size?"),
        ("size", "ratt", "did you mean rate?"),
        ("size", "*.rate", "there is no column"),
        ("lanes", "size", "size has no numbers"),
    ],
)
def test_an_unknown_column_is_refused_with_the_nearest(x: str, y: str, message: str) -> None:
    with pytest.raises(PlotError, match=message):
        plot_rows(ROWS, x, y)


def test_too_many_lines_are_refused() -> None:
    rows: list[dict[str, Any]] = [{"a": a, "b": b, "y": 1} for a in range(2) for b in range(30)]
    with pytest.raises(PlotError, match="30 lines are too many; plot over another key than a"):
        plot_rows(rows, "a", "y", keys=["a", "b"])


def test_a_figure_is_the_same_file_each_time(tmp_path: Path) -> None:
    for name in ("one.svg", "other.svg"):
        plot_rows(ROWS, "size", "rate", keys=["size", "lanes"]).save(tmp_path / name)
    one, other = ((tmp_path / name).read_bytes() for name in ("one.svg", "other.svg"))
    assert one == other
    assert one.startswith(b"<svg")


def test_a_notebook_shows_a_figure_and_a_prompt_its_caption() -> None:
    figure = plot_rows(ROWS, "size", "rate", keys=["size"], title="pair")
    assert figure._repr_html_().startswith("<svg")
    assert repr(figure) == "<Figure: pair: rate over size.>"


def test_sweeps_and_results_in_python_have_figures() -> None:
    fabric = Fabric.from_toml(PAIR)
    points = fabric.sweep({"links.s0-b.lanes": [1, 2], "devices.a.tags": "8..32*2"}, RATE)
    rates: dict[tuple[Any, Any], Any] = {
        (p.settings["devices.a.tags"], p.settings["links.s0-b.lanes"]): p.metrics[RATE]
        for p in points
    }
    assert lines(points.plot("devices.a.tags")) == {
        f"lanes {lanes}": [(tags, 1e-9 * rates[tags, lanes]) for tags in (8, 16, 32)]
        for lanes in (1, 2)
    }
    result = fabric.run()
    bars = result.plot().to_dict()["data"]["values"]
    assert [bar["value"] for bar in bars] == [100 * link.utilisation for link in result.links]
    points = layers(result.plot("links.payload_bytes", "links.utilisation"))["point"]
    assert points["x"]["axis"]["title"] == "used, %"
    with pytest.raises(PlotError, match=r"it has flows, links"):
        result.plot("traffic.fairness")


def test_samples_are_lines_over_time() -> None:
    simulation = Fabric.from_toml(PAIR).simulation()
    simulation.sample(every="2 us")
    result = simulation.run()
    assert result.series is not None
    ends = [end / 1e3 for end in result.series.end_ns]
    figure = result.plot("series.links.utilisation")
    assert lines(figure) == {
        f"{link.id} {link.direction} utilisation": [
            (end, 100 * value) for end, value in zip(ends, link.utilisation, strict=True)
        ]
        for link in result.series.links
    }
    assert layers(figure)["line"]["x"]["axis"]["title"] == "time, us"
    (points,) = lines(result.plot("series.links.s0-b.down.waiting_tlps")).values()
    waiting = result.series.links["s0-b", "down"].waiting_tlps
    assert [y for _, y in points] == list(waiting)
    with pytest.raises(PlotError, match="there is no s0-c down; there are h0-s0 down"):
        result.plot("series.links.s0-c.down.utilisation")
    with pytest.raises(PlotError, match=r"there are series\.flows\.bytes_per_second"):
        result.plot("series.links.utilisatoin")
    with pytest.raises(PlotError, match="run with --interval"):
        Fabric.from_toml(PAIR).run().plot("series.links.utilisation")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.json"])
def test_what_a_sweep_wrote_is_plotted(peerlane: Run, scenario: Write, name: str) -> None:
    option = "--json" if name.endswith("json") else "--out"
    vary = ("--vary", "links.s0-b.lanes=1,2,4", "--vary", "flows.a-to-b.size=4 KiB,8 KiB")
    peerlane("sweep", scenario(), *vary, "--metric", RATE, option, name)
    labels = {"size 4 KiB", "size 8 KiB"}
    assert lines(plot_file(name, None, [])).keys() == labels
    over = plot_file(name, "flows.a-to-b.size", ["a-to-b GB/s"])
    assert layers(over)["line"]["x"]["axis"]["title"] == "a-to-b size, KiB"
    for ending in ("svg", "png", "pdf", "json"):
        outcome = peerlane("plot", name, "--out", f"f.{ending}")
        assert (outcome.status, outcome.err) == (0, f"wrote f.{ending}\n")
        assert Path(f"f.{ending}").stat().st_size > 1000


def test_what_cannot_be_plotted_is_refused(peerlane: Run, scenario: Write) -> None:
    file = scenario()
    peerlane("plot", file).refuses("fabric.toml is not JSON: line 1", "name a file that")
    peerlane("plot", "none.csv").refuses("none.csv: no such file")
    peerlane("plot", file, "--out", "f.gif").refuses("ends with .svg, .png, .pdf or .json")
    Path("t.csv").write_text("a,b\n1,x\n", encoding="utf-8")
    peerlane("plot", "t.csv", "--x", "c").refuses("there is no column 'c'; there are a, b")
    peerlane("plot", "t.csv", "--x", "a", "--y", "b").refuses("b has no numbers")
    Path("empty.csv").write_text("", encoding="utf-8")
    peerlane("plot", "empty.csv").refuses("the table has no rows")
    Path("t.svg").write_text("", encoding="utf-8")
    peerlane("plot", "t.svg").refuses("t.svg is the file that the command reads")


@pytest.mark.parametrize("name", [".", "..", "/", ""])
def test_a_folder_cannot_be_plotted(peerlane: Run, name: str) -> None:
    peerlane("plot", name).refuses("is a directory")


def test_a_field_that_is_no_sample_is_refused(peerlane: Run, scenario: Write) -> None:
    assert peerlane("run", scenario(), "--interval", "1us", "--json", "r.json").status == 0
    for field in ("id", "direction"):
        ran = peerlane("plot", "r.json", "--y", f"series.links.{field}")
        ran.refuses(f"no samples series.links.{field}", "series.links.utilisation")
    peerlane("plot", "r.json", "--y", "x").refuses("it has flows, links")


@pytest.mark.parametrize("wrong", ["a", "b"])
def test_a_number_that_no_scale_has_is_refused(peerlane: Run, wrong: str) -> None:
    rows = {"a": "1e308,1\n-1e308,2\n", "b": "1,1e308\n2,-1e308\n"}
    Path("t.csv").write_text(f"a,b\n{rows[wrong]}", encoding="utf-8")
    peerlane("plot", "t.csv").refuses(f"{wrong} has the number 1e+308", "1e150")
    Path("t.csv").write_text("a,b\n1e150,-1e150\n2,-1e-320\n", encoding="utf-8")
    assert peerlane("plot", "t.csv").status == 0


def test_a_table_of_one_column_has_nothing_to_plot(peerlane: Run) -> None:
    Path("t.csv").write_text("a\n1\n", encoding="utf-8")
    peerlane("plot", "t.csv").refuses("over a; there is no other column")
    Path("t.csv").write_text("a,b\n1,x\n", encoding="utf-8")
    peerlane("plot", "t.csv").refuses("over a; the other columns are b")
