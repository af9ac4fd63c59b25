"""The gallery: a page of all shipped scenarios, each with its drawing after a run."""

from __future__ import annotations

from pathlib import Path

from peerlane import Simulation
from peerlane.cli.shipped import names, text_of, title_of
from peerlane.topology import draw

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "gallery.md"
HEAD = """\
# Gallery of the shipped fabrics

<!-- Made by `make generate` from scenarios/. -->

Each scenario comes with the package: `peerlane run NAME` simulates it, and
`peerlane explain NAME` says what its flows wait for. Each drawing shows the fabric after a run:
a link with more lanes is wider, and the colour of a link shows its use.
"""


def made() -> str:
    """The text of the page."""
    return HEAD + "".join(entry(name) for name in names())


def entry(name: str) -> str:
    """The part of the page on a scenario."""
    title, file = title_of(name), picture(name).relative_to(PAGE.parent).as_posix()
    source = f"[`{name}`](../scenarios/{name}.toml)"
    return f"\n## {name}\n\n{title} ({source}).\n\n![{title}]({file})\n"


def picture(name: str) -> Path:
    """The file of the drawing of a scenario."""
    return PAGE.parent / "pictures" / f"gallery-{name.replace('/', '-')}.svg"


def drawn(name: str) -> str:
    """The drawing of a scenario with the use of its links."""
    simulation = Simulation(text_of(name), source=f"{name}.toml")
    return draw(simulation, simulation.run()) + "\n"
