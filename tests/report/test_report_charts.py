"""Charts of reports: the rows and samples that they show, their words and scales."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from conftest import PAIR
from peerlane import Fabric
from peerlane.charts.colours import DARK, LIGHT
from peerlane.charts.names import short_names, wire_name
from peerlane.charts.scales import Scale, is_geometric, rows
from peerlane.cli.shipped import text_of
from peerlane.formats import size
from peerlane.report.charts.over_time import over_time
from peerlane.report.page import Origin, Page
from peerlane.report.reproduction import heading
from peerlane.report.run import WAITS, run_page
from peerlane.report.sweep import points_page
from peerlane.report.words import duration, number, percent, rate, slug
from peerlane.reproduction.expected import Expected
from peerlane.reproduction.plots import Plot
from peerlane.topology.use import percent as percent_of
from peerlane.varying.axes import Axis
from peerlane.varying.sweep import sweep_points

if TYPE_CHECKING:
    from peerlane.charts.chart import Chart
    from peerlane.results.run import RunResult

MADE = Origin("peerlane run pair", "0.0.0", "1")


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
    for values in ([5, 5.01, 5.02, 9.9, 9.95], [*[0.0] * 9, 5]):
        beside = sorted(map(scale.pixels, scale.apart(values, gap=13)))
        assert all(after - before > 12.9 for before, after in pairwise(beside))
        assert -0.01 < beside[0] <= beside[-1] < 200.01


def test_a_logarithmic_scale_has_round_ticks() -> None:
    assert Scale([1.5, 1500], height=100, log=True).axis["values"] == [1, 10, 100, 1000]


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
    assert chart.caption == "Rates, use of wires, use of memory and replay buffers over time."


# --- names, colours, rates and sockets ---


def test_names_beside_rows_are_whole_or_cut_in_their_middle() -> None:
    names = [f"fpga-alveo-u280-card{card}-to-mem" for card in range(4)]
    axis = rows("of", names, "band", 0.1)["axis"]
    wide = axis["labelExpr"].rpartition(" : ")[2]
    assert all(f'"{name}": "{name}"' in wide for name in names)
    narrow = short_names(names)
    assert all(name.startswith("fpga") and name.endswith("to-mem") for name in narrow.values())
    assert len(set(narrow.values())) == len(names)
    assert "labelExpr" not in rows("of", ["a", "b"], "band", 0.1)["axis"]


def test_each_cause_of_waiting_has_a_colour_of_its_own() -> None:
    assert len(set(WAITS.values())) == len(WAITS)
    names = {colour.removeprefix("var(--").removesuffix(")") for colour in WAITS.values()}
    assert names <= set(LIGHT) & set(DARK)


def two_sockets() -> Fabric:
    """A device that writes to the memory of the other socket."""
    fabric = Fabric("two").host("h", sockets=2)
    fabric.device("a", "h", socket=1)
    return fabric.flow("a", "h", id="far", size="64 KiB")


def test_a_run_has_a_chart_of_the_rates_of_its_workloads() -> None:
    simulation = two_sockets().simulation()
    result = simulation.run()
    made = run_page(simulation, result, MADE)
    (chart,) = (one for one in made.charts if one.name == "two-rates")
    (bar,) = chart.panels[0].spec["data"]["values"]
    assert (bar["of"], 1e9 * bar["value"]) == ("far", result.flows["far"].bytes_per_second)
    (workloads,) = (one for one in made.sections if one.title == "Workloads")
    assert workloads.tables[0].lines[0].cells[:2] == ("far", "a to h, socket 0")


def test_a_connection_of_sockets_is_drawn_with_its_use_and_has_a_row_over_time() -> None:
    simulation = two_sockets().simulation()
    simulation.sample(every="100 ns")
    result = simulation.run()
    series = result.series
    assert series is not None
    shares = {one.direction: one.utilisation for one in series.sockets}
    used = result.links["h.0-1", "back"].utilisation
    assert max(shares["back"]) > used > 0.1 > max(shares["forth"])
    moved = sum(
        rate * (end - begin) / 1e9
        for rate, begin, end in zip(
            series.sockets["h.0-1", "back"].payload_bytes_per_second,
            [series.begin_ns, *series.end_ns],
            series.end_ns,
            strict=False,
        )
    )
    assert moved == pytest.approx(64 << 10)
    page = run_page(simulation, result, MADE)
    (chart,) = (one for one in page.charts if one.name == "two-time")
    assert "h.0-1 back" in str(chart.panels[1].spec["data"])
    assert f"\N{LEFTWARDS ARROW} {percent_of(used)}" in next(page.drawings).page


def test_the_memory_of_a_host_is_drawn_with_its_use_and_has_a_row_over_time() -> None:
    """The time that memory is busy is that of its lines."""
    fabric = Fabric("one").host("h", memory_bandwidth="4 GB/s").device("a", "h")
    simulation = fabric.flow("a", "h", id="up", size="1 MB").simulation()
    simulation.sample(every="1 us")
    result = simulation.run()
    series = result.series
    assert series is not None
    edges = pairwise([series.begin_ns, *series.end_ns])
    (memory,) = series.memories
    busy = sum(
        share * (end - begin) for share, (begin, end) in zip(memory.utilisation, edges, strict=True)
    )
    assert (memory.host, memory.socket) == ("h", 0)
    assert busy == pytest.approx(1e6 / 4, rel=1e-3)
    page = run_page(simulation, result, MADE)
    assert re.search(r"host, memory \d+ %", next(page.drawings).page)
    (chart,) = (one for one in page.charts if one.name == "one-time")
    assert "Memory" in [panel.title for panel in chart.panels]


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


def test_the_page_of_a_run_has_its_iommus() -> None:
    fabric = Fabric("mmu").host("h0", iommu=True).device("a", "h0").flow("a", "h0", size="64 KiB")
    assert [one.title for one in page_of(fabric).sections][-1] == "I/O MMUs"


# --- sweeps ---


def sweep_of(*axes: str) -> Page:
    return points_page(sweep_points(PAIR, [Axis.read(axis) for axis in axes]), MADE)


def test_the_points_of_a_sweep_have_the_unit_of_its_chart() -> None:
    found = sweep_of("links.s0-b.lanes=1,2")
    (chart,), (table,) = found.charts, found.sections[-1].tables
    assert chart.panels[0].spec["title"] == "a-to-b rate, GB/s"
    at = [column.title for column in table.columns].index("a-to-b GB/s")
    values = [point["y"] for point in chart.panels[0].spec["data"]["values"]]
    assert [line.cells[at] for line in table.lines] == [f"{value:.4g}" for value in values]


def test_a_sweep_has_one_chart_with_a_plot_for_each_quantity_and_lines_by_name() -> None:
    fabric = Fabric.from_toml(PAIR).flow("b", "a", id="back", size="4 KiB")
    metrics = ["flows.*.bytes_per_second", "links.s0-b.*.utilisation"]
    outcome = fabric.sweep({"switches.s0.upstream.lanes": [1, 2]}, metrics)
    made = points_page(outcome, MADE)
    (chart,) = made.charts
    specs = [panel.spec for panel in chart.panels]
    assert [spec["title"] for spec in specs] == ["rate, GB/s", "used, %"]
    names = [{point["series"] for point in spec["data"]["values"]} for spec in specs]
    assert names == [{"a-to-b", "back"}, {"s0-b down", "s0-b up"}]
    assert chart.caption == "Rate and used over s0 uplink lanes."
    assert made.title == "pair: sweep of s0 uplink lanes"


def test_no_two_lines_of_a_sweep_look_the_same() -> None:
    fabric = Fabric("many").host("h", ports=4)
    for card in range(4):
        fabric.device(f"d{card}", "h").flow(f"d{card}", "h", id=f"flow-{card}", size="4 KiB")
    (chart,) = points_page(
        fabric.sweep({"links.lanes": [1, 2], "links.generation": [1, 2, 3]}), MADE
    ).charts
    assert chart.is_wide
    layers = {layer["mark"]["type"]: layer for layer in chart.panels[0].spec["layer"]}
    names = [f"flow-{card}, generation {rate}" for card in range(4) for rate in (1, 2, 3)]
    assert [one["text"] for one in layers["text"]["data"]["values"]] == names
    scales = [layers["point"]["encoding"][part]["scale"] for part in ("color", "shape")]
    assert scales[0]["domain"] == scales[1]["domain"] == names
    colours, shapes = (scale["range"] for scale in scales)
    assert len(set(zip(colours, shapes, strict=True))) == len(names)
    assert colours == colours[:3] * 4, "a colour for each generation"
    dashes = layers["line"]["encoding"]["strokeDash"]["scale"]["range"]
    assert len(set(map(tuple, dashes[:3]))) == 3, "a line shows through those above it"


def test_a_plot_of_a_sweep_has_a_line_for_each_of_many_names() -> None:
    fabric = Fabric("many").host("h", ports=12)
    for card in range(12):
        fabric.device(f"d{card}", "h").flow(f"d{card}", "h", id=f"f{card}", size="4 KiB")
    (chart,) = points_page(fabric.sweep({"links.lanes": [1, 2]}), MADE).charts
    (panel,) = chart.panels
    assert {point["series"] for point in panel.spec["data"]["values"]} == {
        f"f{card}" for card in range(12)
    }


def test_a_key_of_which_one_value_has_results_is_in_the_caption() -> None:
    (chart,) = sweep_of("links.s0-b.lanes=1,2", "devices.b.bar='4 KiB','4 MiB'").charts
    assert chart.caption == "Rate over s0-b lanes, at b bar = 4 MiB."


def test_no_line_joins_names() -> None:
    (chart,) = sweep_of("devices.a.profile=generic,plx").charts
    assert {layer["mark"]["type"] for layer in chart.panels[0].spec["layer"]} == {"point"}
    (chart,) = sweep_of("devices.a.tags=8,16").charts
    assert {layer["mark"]["type"] for layer in chart.panels[0].spec["layer"]} == {"line", "point"}
