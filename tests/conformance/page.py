"""A page of docs/conformance: its source, and the text that is made of it and of a trace."""

from __future__ import annotations

import textwrap
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conftest import beside

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.trace import Line

LONGEST = 60
"""A page has fewer lines."""

WIDTH = 138
"""Characters of a line of prose."""


HEAD = beside(__file__, "page.head")


@dataclass(frozen=True)
class Show:
    """Which lines of the trace a page shows: those next to one that has the values `around`."""

    around: dict[str, Any]
    columns: list[str]
    links: list[str] = field(default_factory=list)
    """Only lines of these links; all if there are none."""
    only: list[str] = field(default_factory=list)
    """Only lines with one of these keys, or a value of one, as in "arrival=tlp"; empty for all."""
    skip: int = 0
    """How many lines with the values `around` come before."""
    before: int = 0
    after: int = 7

    def pick(self, lines: list[Line]) -> list[Line]:
        """The lines, in the order of time.

        Raises:
            ValueError: The trace has no such line.
        """
        kept = [line for line in lines if not self.links or line["link"] in self.links]
        kept = [line for line in kept if not self.only or any(_has(line, one) for one in self.only)]
        kept.sort(key=lambda line: line["ns"])
        found = [number for number, line in enumerate(kept) if self.around.items() <= line.items()]
        if len(found) <= self.skip:
            raise ValueError(f"the trace has {len(found)} lines with {self.around}")
        at = found[self.skip]
        return kept[max(0, at - self.before) : at + self.after + 1]


@dataclass(frozen=True)
class Page:
    """The source of a page: one TOML file."""

    name: str
    title: str
    paragraphs: str
    rule: str
    scenario: str
    show: Show
    laws: list[str]
    modelled: str
    not_modelled: str
    until_us: float | None = None

    @classmethod
    def read(cls, path: Path) -> Page:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        show = Show(**values.pop("show"))
        return cls(name=path.stem, show=show, **values)

    def text(self, lines: list[Line]) -> str:
        """The page in Markdown, with lines of the trace of its scenario."""
        laws = "\n".join(f"- {_law(law)}" for law in self.laws)
        return f"""\
# {self.title}

<!-- Made by `make generate` from {self.name}.toml. -->

{textwrap.fill(f"{self.paragraphs}: {self.rule}", WIDTH)}

```toml
{self.scenario.strip()}
```

```text
{_table(self.show.pick(lines), self.show.columns)}
```

Checked by

{laws}

{textwrap.fill(f"Modelled: {self.modelled}.", WIDTH)}

{textwrap.fill(f"Not modelled: {self.not_modelled}.", WIDTH)}
"""


def summary(pages: list[Page], absent: dict[str, str]) -> str:
    """The table of what is and is not modelled."""
    rows = [
        f"| [{page.title}]({page.name}.md) | {page.paragraphs} | {page.modelled} "
        f"| {page.not_modelled} |"
        for page in pages
    ]
    rows += [f"| {what} | | | {why} |" for what, why in absent.items()]
    return HEAD + "\n".join(rows) + "\n"


def _has(line: Line, wanted: str) -> bool:
    key, _, value = wanted.partition("=")
    return key in line and value in {"", line[key]}


def _law(law: str) -> str:
    path, name = law.split(": ")
    return f"[`{name}`](../../{path})"


def _table(lines: list[Line], columns: list[str]) -> str:
    """The fields `columns` of lines; of alternatives, as in "tlp|dllp", the first there is."""
    rows = [[column.split("|")[0] for column in columns]]
    rows += [[_cell(line, column) for column in columns] for line in lines]
    widths = [max(len(row[number]) for row in rows) for number in range(len(columns))]
    padded = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join(padded)


def _cell(line: Line, column: str) -> str:
    found = next((key for key in column.split("|") if key in line), None)
    if found is None:
        return "-"
    value = line[found]
    text = f"{value:.2f}" if isinstance(value, float) else str(value)
    return f"{text} arrives" if found == "arrival" else text
