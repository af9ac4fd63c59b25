"""Defines a page: sections of text, charts and tables in one HTML file that needs no other file."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from peerlane.charts import vega
from peerlane.charts.colours import DARK, LIGHT, properties
from peerlane.fabric.variant import told
from peerlane.printable import printable
from peerlane.report.charts.published import SHAPES
from peerlane.report.words import slug, variant_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jinja2 import Environment

    from peerlane.charts.chart import Chart
    from peerlane.fabric.settings import Setting
    from peerlane.report.charts.errors import Deviation
    from peerlane.report.table import Table

_CODE = re.compile(r"`([^`]+)`")
"""The pattern of names and keys in sentences, which are between backticks."""

_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""The characters of JSON that could end a script or begin other HTML, with their escapes."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """An SVG drawing, whose texts are escaped; the files of its images are named after `name`."""

    name: str
    caption: str
    page: str
    paper: str

    @property
    def width(self) -> str:
        """The width of the drawing on a wide page, in pixels."""
        found = re.search(r'<svg[^>]* width="([\d.]+)"', self.page)
        return found[1] if found else "0"


_Named = TypeVar("_Named", "Chart", Drawing)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page under a heading; `hidden` tables are shown only on request."""

    title: str
    words: str = ""
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    hidden: tuple[tuple[str, Table], ...] = ()
    drawing: Drawing | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """The command, scenario and version that made a page, so that it can be made again.

    `file` is the name of the scenario file without its ending; the page gets this name. `file` is
    empty for a scenario that is not in a file. `place` identifies the path of the scenario file, so
    that pages of different files never replace each other.
    """

    command: str
    version: str
    seed: str
    digest: str | None = None
    file: str = ""
    place: str = ""

    def page_name(self, name: str) -> str:
        """The name of the page: the name of the scenario file; without a file, the given name."""
        return slug(self.file or name)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a report.

    `name` is the name of its file without the ending. The index shows `what`, and the pairs of
    words and numbers in `figures`. If `keyed` is set, the page has a legend for the marks of
    published and simulated values, and `deviations` has the errors of the simulated values.
    """

    name: str
    title: str
    what: str
    figures: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    origin: Origin
    source: str = ""
    verdict: str = ""
    failed: bool = False
    keyed: bool = False
    deviations: tuple[Deviation, ...] = ()

    @property
    def charts(self) -> Iterator[Chart]:
        """All charts, from top to bottom."""
        return (chart for section in self.sections for chart in section.charts)

    @property
    def drawings(self) -> Iterator[Drawing]:
        """All drawings, from top to bottom."""
        return (section.drawing for section in self.sections if section.drawing is not None)

    @property
    def images(self) -> Iterator[str]:
        """The names of the images of the page's charts and drawings."""
        yield from (drawing.name for drawing in self.drawings)
        yield from (chart.name for chart in self.charts)

    def with_settings(self, settings: Mapping[str, Setting]) -> Page:
        """The page of a run with changed keys of the scenario; its name and title have the keys.

        The page has no `deviations`, because errors are only shown for the unchanged system.
        """
        if not settings:
            return self
        name = variant_name(self.name, told(dict(sorted(settings.items()))))
        title = f"{self.title}, with {told(settings)}"
        return replace(self.named(name), title=title, deviations=())

    def named(self, name: str) -> Page:
        """The page with another name, which the files of its images also get."""

        def renamed(one: _Named) -> _Named:
            return replace(one, name=f"{name}{one.name.removeprefix(self.name)}")

        sections = (
            replace(
                section,
                charts=tuple(map(renamed, section.charts)),
                drawing=section.drawing and renamed(section.drawing),
            )
            for section in self.sections
        )
        return replace(self, name=name, sections=tuple(sections))


def html(page: Page, script: str, *, index: str | None = "index.html") -> str:
    """The page as HTML, with the library of charts in `script`."""
    return _render("page.html", page.charts, script, page=page, index=index)


def index_html(
    entries: Sequence[Mapping[str, Any]], charts: Sequence[Chart], script: str, version: str
) -> str:
    """The index of pages as HTML."""
    more = {"entries": entries, "charts": charts, "version": version}
    return _render("index.html", iter(charts), script, **more)


def _render(template: str, drawn: Iterator[Chart], script: str, **more: object) -> str:
    specs: list[object] = []
    numbers: dict[str, int] = {}
    for chart in drawn:
        numbers[chart.name] = len(specs)
        specs += [vega.compiled(panel, chart.text) for panel in chart.panels]
    return (
        _environment()
        .get_template(template)
        .render(
            first_spec=numbers,
            specs=_embedded(specs),
            library=script.replace("</script", "<\\/script") if specs else "",
            light=properties(LIGHT),
            dark=properties(DARK),
            shapes=SHAPES,
            **more,
        )
    )


def _embedded(document: object) -> str:
    """The JSON of a document, escaped so that no text in it can end the script of a page."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    return "".join(_UNSAFE.get(sign, sign) for sign in text)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - slow to load
    from markupsafe import Markup, escape  # noqa: PLC0415 - loaded by jinja2

    made = Environment(
        loader=PackageLoader("peerlane.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda one: printable(one, keep="\n") if type(one) is str else one,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["marked"] = lambda words: Markup(  # noqa: S704 - the text is escaped
        _CODE.sub(r"<code>\1</code>", str(escape(printable(words, keep="\n"))))
    )
    made.filters["breakable"] = lambda words: escape(printable(words)).replace(
        "/", Markup("/<wbr>")
    )
    return made
