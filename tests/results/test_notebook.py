"""What notebooks show: drawings and tables that are HTML, whole and escaped."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from conftest import PAIR
from peerlane import Collection, Explanation, Fabric, RunResult, Simulation, sweep_loads
from peerlane.results import markup

ROOT = Path(__file__).parents[2]
ODD = '<script>alert("&")</script>'
VOID = {"br", "path", "rect", "circle"}


class Page(HTMLParser):
    """The text of a page, whose elements must end in their order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.tags.append(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def page(shown: object) -> Page:
    found = Page(getattr(shown, "_repr_html_")())  # noqa: B009 - as notebooks look for it
    assert "script" not in found.tags
    return found


@pytest.fixture(scope="module")
def result() -> RunResult:
    return Fabric.from_toml(PAIR).override("name", ODD).run(watch_waits=True)


def test_a_fabric_is_its_drawing() -> None:
    shown = page(Fabric.from_toml(PAIR).override("name", ODD))
    assert "svg" in shown.tags
    assert any(ODD in text for text in shown.text)


def test_a_simulation_is_the_tables_of_its_tree_and_the_time() -> None:
    simulation = Simulation(PAIR)
    assert {"h0", "s0", "a", "b"} <= set(page(simulation.tree()).text) <= set(page(simulation).text)
    assert "<Simulation of <text> at 0 ns>" in page(simulation).text


def test_a_fabric_that_is_not_complete_says_why() -> None:
    shown = page(Fabric().device("a", "nowhere"))
    assert "svg" not in shown.tags
    assert "<fabric>: there is no host; write [hosts.h0]" in "".join(shown.text)


def test_a_run_is_its_flows_and_links(result: RunResult) -> None:
    shown = page(result)
    assert any(ODD in text for text in shown.text)
    assert shown.text.count("a-to-b") == 1
    assert shown.text.count("s0-a") == 2
    flow = result.flows["a-to-b"]
    assert flow.bytes_per_second is not None
    assert f"{flow.bytes_per_second / 1e9:.4g} GB/s" in shown.text


def test_a_run_that_failed_says_so() -> None:
    broken = Fabric().links(fails_at="5 us").host("h").device("d", "h")
    result = broken.flow("d", "h", id="f", size="1 MiB").run()
    assert set(result.failures) <= set(page(result).text)
    assert result.failures


def test_a_collection_is_a_table(result: RunResult) -> None:
    shown = page(result.links)
    assert {"id", "direction", "utilisation", "payload", "credit stall"} <= set(shown.text)
    assert page(Collection([])).tags[:1] == ["div"]


def test_an_explanation_is_sentences_and_bars(result: RunResult) -> None:
    explanation: Explanation = result.explain()
    shown = page(explanation)
    assert explanation.flows["a-to-b"].sentence in shown.text
    assert explanation.sentence in shown.text
    lifted = Fabric.from_toml(PAIR).explain().bottlenecks[0]
    assert {str(lifted), "what if", "as it is"} <= set(page(lifted).text)


def test_a_sweep_is_a_table() -> None:
    points = Fabric.from_toml(PAIR).sweep({"links.lanes": [1, 3, 4]}, "flows.a-to-b.bytes")
    shown = page(points)
    assert {"links.lanes", "1", "4", "16 KiB"} <= set(shown.text)
    (wrong,) = points.wrong
    assert wrong.error in shown.text


def test_a_sweep_of_loads_is_a_table() -> None:
    fabric = Fabric("ring").network("r", shape="ring", size=3, hosts={"memory": "1 MiB"})
    fabric.traffic("r", load="1 GB/s", message="256 B", duration="5 us")
    shown = page(sweep_loads(fabric, loads=["0.5 GB/s"]))
    assert {"offered", "accepted"} <= set(shown.text)


def test_of_a_long_table_the_rest_is_counted() -> None:
    rows = [[number] for number in range(markup.MOST_ROWS + 5)]
    assert Page(markup.table(["n"], rows)).text[-1] == "5 more rows"


NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_its_outputs(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert all(not cell.get("outputs") and not cell.get("execution_count") for cell in cells)


@pytest.mark.seconds(6)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    kinds = {kind for out in outputs for kind in out.get("data", {})}
    assert "text/html" in kinds
    assert not [out.text for out in outputs if out.get("name") == "stderr"]
    drawn = [out.data["text/html"] for out in outputs if "<svg" in str(out.get("data"))]
    assert len(drawn) == 3
    for html in drawn:
        Page(html)
