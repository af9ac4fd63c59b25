"""A Sphinx extension that makes the references of commands, keys and Python from the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from extension import commands, parameters, python
from extension.charts.look import style
from extension.figure import Chart, Topology
from peerlane.reproduction.catalogue import systems

if TYPE_CHECKING:
    from collections.abc import Callable

    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

PAGES_BESIDE = "```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"

MACHINE = "## The machine\n"
"""The heading on the pages of published systems under which the fabric is drawn."""

TOPOLOGY = """
:::{{topology}} {}
The fabric of `scenario.toml`, with the widths and rates of its links.
:::
"""

GENERATED: dict[str, Callable[[], str]] = {
    "docs/guide/commands": commands.markdown,
    "docs/guide/scenarios": parameters.markdown,
    "docs/guide/python": python.markdown,
    "docs/conformance/README": lambda: PAGES_BESIDE,
}
"""Pages that go on with Markdown that no file holds."""


def setup(app: Sphinx) -> ExtensionMetadata:
    """Registers the extension with Sphinx."""
    app.connect("builder-inited", _write_style)
    app.connect("source-read", _go_on)
    app.add_directive("chart", Chart)
    app.add_directive("topology", Topology)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write_style(app: Sphinx) -> None:
    static = app.outdir / "_static"
    static.mkdir(parents=True, exist_ok=True)
    (static / "charts.css").write_text(style(), encoding="utf-8")


def _go_on(_app: Sphinx, page: str, source: list[str]) -> None:
    if page in GENERATED:
        source[0] += "\n" + GENERATED[page]()
    for name in systems():
        if page == f"python/peerlane/systems/{name}/README":
            assert MACHINE in source[0], f"{page}.md has no heading {MACHINE}"
            source[0] = source[0].replace(MACHINE, MACHINE + TOPOLOGY.format(name), 1)
