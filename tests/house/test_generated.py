"""Files that code makes are what it makes today; `make generate` writes them (`generate.py`)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance import test_conformance_pages
from fabric import test_typed_keys
from house import gallery, guide, test_choices
from peerlane.cli.shipped import names
from peerlane.reproduction.machine import machine_of
from peerlane.topology import draw
from reproduction import test_claims, test_published_page
from results import test_result_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]


def drawn() -> str:
    """Eight FPGAs write to each other across the cables between two boards."""
    fabric = machine_of("rosta").fabric()
    for number in range(1, 5):
        a, b = f"a{number}", f"b{number}"
        fabric.flow(a, b, size="4 MiB").flow(b, a, size="4 MiB")
    simulation = fabric.simulation()
    return draw(simulation, simulation.run()) + "\n"


def guide_file(page: Path, file: Path) -> str:
    """A page of the guide, or one of its pictures."""
    return guide.anew(page)[file]


PAGES = test_conformance_pages.FOLDER
MADE: dict[Path, Callable[[], str]] = {
    # First, because the pages that code makes as a whole are among these.
    **{
        file: partial(guide_file, page, file)
        for page in guide.PAGES
        for file in (page, *guide.pictures(page))
    },
    test_typed_keys.FILE: test_typed_keys.made,
    test_result_schema.FILE: test_result_schema.schema,
    test_claims.FILE: test_claims.schema,
    test_choices.FILE: test_choices.made,
    test_published_page.FILE: test_published_page.made,
    ROOT / "docs" / "pictures" / "rosta.svg": drawn,
    PAGES / "README.md": test_conformance_pages.table,
    **{
        PAGES / f"{name}.md": partial(test_conformance_pages.made, name)
        for name in test_conformance_pages.SOURCES
    },
    gallery.PAGE: gallery.made,
    **{gallery.picture(name): partial(gallery.drawn, name) for name in names()},
}
"""Texts by the files that have them. Each scenario has a test of its digest, beside these."""


def params() -> Iterator[object]:
    """Each file; one process makes a page and its pictures, for which the page runs once."""
    pages = {file: page.stem for page in guide.PAGES for file in guide.pictures(page)}
    pages |= {page: page.stem for page in guide.PAGES}
    for file in MADE:
        marks = [pytest.mark.xdist_group(f"page-{pages[file]}")] if file in pages else []
        yield pytest.param(file, id=file.relative_to(ROOT).as_posix(), marks=marks)


@pytest.mark.parametrize("file", list(params()))
def test_a_file_is_what_the_code_makes(file: Path) -> None:
    assert file.read_text(encoding="utf-8") == MADE[file](), f"make generate writes {file}"
