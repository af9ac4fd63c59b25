"""Text from outside does not control a terminal, and is visible in a page."""

from __future__ import annotations

import json
import shutil
import unicodedata
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerlane.printable import json_text, printable

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Outcome, Run

HOSTILE = "a\x1b]0;title\x07\x1b[31mred\x9b31m\x7f\u202egnp[bold]\u2066 $x_{"
"""Sets the title and colours, by C0, DEL and C1; overrides the direction; markup and a formula."""

SCENARIO = f"""
name = {json.dumps(HOSTILE)}
[hosts.h]
[devices.d]
upstream = "h"
[[flows]]
from = "d"
to = "h"
size = "64 KiB"
"""


def acting(text: str) -> list[str]:
    """The characters of a text that are not letters, marks, signs, spaces or ends of lines."""
    return [one for one in text if unicodedata.category(one)[0] == "C" and one != "\n"]


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / f"{HOSTILE.replace('/', '')}.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


def assert_no_text_acts(ran: Outcome) -> None:
    assert acting(ran.out + ran.err) == []


@pytest.mark.parametrize(
    "command",
    [
        ["run"],
        ["run", "--json", "-"],
        ["run", "--set", "devices.a.tags=3"],
        ["run", "--repeat", "2"],
        ["show"],
        ["show", "--json", "-"],
        ["explain"],
        ["sweep", "--vary", "seed=1,2"],
        ["import", "lspci"],
        ["compare"],
        ["plot"],
        ["top"],
    ],
    ids=" ".join,
)
def test_no_command_prints_what_acts(peerlane: Run, scenario: Path, command: list[str]) -> None:
    name, *options = command
    places = [scenario] * (2 if name == "compare" else 1)
    if name == "import":
        assert_no_text_acts(peerlane(*command, scenario))
        return
    ran = peerlane(name, *places, *options)
    assert_no_text_acts(ran)
    if name in {"run", "show", "explain"} and not options:
        assert (ran.status, ran.err) == (0, "")
        assert r"\x1b[31m" in ran.out
        assert r"\u202e" in ran.out
        assert "[bold]" in ran.out


def test_results_of_such_names_are_compared_and_plotted(peerlane: Run, scenario: Path) -> None:
    for seed in ("1", "2"):
        peerlane("run", scenario, "--seed", seed, "--json", scenario.with_name(f"{seed}.json"))
    one, other = (scenario.with_name(f"{seed}.json") for seed in ("1", "2"))
    assert json.loads(one.read_text(encoding="utf-8"))["name"] == HOSTILE
    ran = peerlane("compare", one, other, "--all").succeeds()
    assert_no_text_acts(ran)
    figure = scenario.with_name("figure.svg")
    ran = peerlane("plot", one, "--out", figure)
    assert (ran.status, acting(ran.err)) == (0, [])
    assert acting(figure.read_text(encoding="utf-8")) == []


def test_no_page_has_what_acts(peerlane: Run, scenario: Path) -> None:
    ran = peerlane("run", scenario, "--report", scenario.parent / "pages")
    if ran.status:
        pytest.skip("pages need a package that is not installed")
    folder = scenario.parent / "pages"
    pages = [path.read_text(encoding="utf-8") for path in folder.glob("*.html")]
    assert pages
    for page in pages:
        assert not {*"\x1b\x07\x9b\x7f\u202e\u2066"} & {*page}
    shutil.rmtree(folder)


@given(st.text())
def test_what_is_printable_has_escapes_for_the_rest(text: str) -> None:
    assert printable(text).isprintable()
    assert printable(printable(text)) == printable(text)
    assert (printable(text) == text) is text.isprintable()
    assert "\n" not in printable(text)
    assert printable(text, keep="\n").count("\n") == text.count("\n")


@given(st.dictionaries(st.text(), st.text()))
def test_json_has_the_same_texts_with_escapes(document: dict[str, str]) -> None:
    text = json_text(document)
    assert json.loads(text) == document
    assert text.replace("\n", "").isprintable()
