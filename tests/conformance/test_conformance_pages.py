"""The pages of docs/conformance, which say what the simulator does today."""

from __future__ import annotations

import re
import tempfile
import tomllib
from pathlib import Path

import pytest

from conformance.checker import check
from conformance.page import LONGEST, Page, summary
from conformance.test_conformance import complain, traced

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "conformance"
ABSENT = FOLDER / "absent.toml"
"""What has no page, because nothing of it is modelled."""
SOURCES = sorted(path.stem for path in FOLDER.glob("*.toml") if path != ABSENT)


def page(name: str) -> Page:
    return Page.read(FOLDER / f"{name}.toml")


def made(name: str) -> str:
    """The page as it should be, of a trace that conforms."""
    source = page(name)
    until_ns = None if source.until_us is None else source.until_us * 1000
    with tempfile.TemporaryDirectory() as folder:
        lines, fabric = traced(source.scenario, Path(folder) / "trace", until_ns)
    findings = check(lines, fabric)
    assert not findings, complain(findings)
    return source.text(lines)


def table() -> str:
    absent = tomllib.loads(ABSENT.read_text(encoding="utf-8"))
    return summary([page(name) for name in SOURCES], absent)


def test_every_page_has_a_source_and_is_short() -> None:
    pages = {path.stem: path for path in FOLDER.glob("*.md") if path.stem != "README"}
    assert sorted(pages) == SOURCES
    for path in pages.values():
        assert len(path.read_text(encoding="utf-8").splitlines()) < LONGEST


@pytest.mark.parametrize("name", SOURCES)
def test_the_laws_of_a_page_exist(name: str) -> None:
    laws = page(name).laws
    assert laws
    for law in laws:
        path, function = law.split(": ")
        text = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"\b(fn|def) {function}\b", text), law
