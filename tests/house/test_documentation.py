"""What the documentation shows is what happens."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import peerlane
from conftest import figure, of
from peerlane import Fabric

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_of_the_page_on_results_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/reference/results.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, names)  # noqa: S102
    assert names["slowest"] == names["flow"].latency.max
    assert names["used"].max() <= 1
    assert names["headers"] == 16


CASES = {
    "1": "one flow",
    "2": "two, A to B to C",
    "3": "three, A to B to C to D",
    "4": "four, a ring on one board",
    "8.1": "eight, a ring over both boards",
    "8.2": "eight, all across the cables",
}


MARKS = {"calibrated": ", fitted", "derived": ", derived"}


@of("rosta")
def test_the_result_in_the_readme_is_the_result() -> None:
    rows = {row.id: row for row in figure("rosta", "table3").rows}
    lines = [
        "| flows at once | 128-byte packets | simulated | 256-byte packets | simulated |",
        "|---|--:|--:|--:|--:|",
    ]
    for case, what in CASES.items():
        cells = [what]
        for payload in (128, 256):
            row = rows[f"table3/{payload}/{case}"]
            mark = MARKS.get(row.expected.kind or "", "")
            cells += [f"{row.expected.published:.0f}", f"{row.simulated:.0f}{mark}"]
        lines.append(f"| {' | '.join(cells)} |")
    table = "\n".join(lines) + "\n"
    assert table in README, f"README.md has to say\n{table}"


def test_the_example_of_the_package_holds() -> None:
    assert doctest.testmod(peerlane).failed == 0


def test_every_named_scenario_runs() -> None:
    for path in sorted((ROOT / "scenarios").glob("*.toml")):
        assert Fabric.load(path).run().failures == [], path.name
