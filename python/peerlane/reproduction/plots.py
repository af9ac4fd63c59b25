"""Reads the `[[plots]]` of `expected.toml`: the rows and the axes of each plot of a system."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

_SIZES = {"B": 1} | {
    f"{prefix}{ending}": 1 << 10 * power
    for power, prefix in enumerate("KMGT", 1)
    for ending in ("B", "iB")
}
"""The bytes of each unit of sizes in ids of rows; KB and KiB are both 1024 bytes."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class XAxis(_Strict):
    """The horizontal axis of a plot.

    The values on the axis are numbers in the ids of rows, such as "4", "64B" or "32-tags"; sizes
    are in bytes. With the scale "names", the values are the keys of `names`, in the order of the
    file.
    """

    label: str
    unit: str = ""
    scale: Literal["linear", "log", "names"] = "linear"
    names: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _names_where_they_are_shown(self) -> Self:
        if bool(self.names) != (self.scale == "names"):
            raise ValueError(
                f'x "{self.label}": names and scale = "names" belong together; write both, or none'
            )
        return self


class YAxis(_Strict):
    """The vertical axis of a plot; its unit is the unit of the plot's rows."""

    label: str
    scale: Literal["linear", "log"] = "linear"


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a row in a plot: its panel, its line, and its value on the horizontal axis."""

    panel: str
    series: str
    x: float | str


class Plot(_Strict):
    """A plot of rows of one figure or table of the source.

    `rows` is the form of the rows' ids. It contains `{x}`, it may contain `{series}` for several
    lines, and `{panel}` for several plots side by side. `series` and `panels` map the texts at
    these places of an id to labels; a row with another text at such a place is left out.
    """

    figure: str
    caption: str
    rows: str
    x: XAxis
    y: YAxis
    series: dict[str, str] = Field(default_factory=dict)
    panels: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _places(self) -> Self:
        found = re.findall(r"\{(\w*)\}", self.rows)
        labelled = {"series": self.series, "panel": self.panels}
        wanted = {"x", *(place for place, labels in labelled.items() if labels)}
        if len(set(found)) != len(found) or set(found) != wanted:
            raise ValueError(
                f'{self.figure}: rows = "{self.rows}" needs {{x}} once, and {{series}} and'
                " {panel} where series and panels have labels"
            )
        return self

    def places(self, ids: list[str]) -> dict[str, Place]:
        """The rows of the plot among the rows of its figure, by their ids.

        Raises:
            ValueError: A label belongs to no row, or the id of a row does not have a required
                number.
        """
        form = re.compile(self._form())
        found = {}
        for one in ids:
            if match := form.fullmatch(one):
                parts = match.groupdict()
                panel, series = parts.get("panel", ""), parts.get("series", "")
                found[one] = Place(
                    self.panels.get(panel, ""), self.series.get(series, ""), self._x(one, match)
                )
        self._check(found, ids)
        return found

    def _form(self) -> str:
        """The regular expression that matches the ids of the plot's rows."""
        known = {"x": self.x.names, "series": self.series, "panel": self.panels}
        form = re.escape(self.rows)
        for place, labels in known.items():
            values = "|".join(map(re.escape, labels)) or "[^/]+"
            form = form.replace(rf"\{{{place}\}}", f"(?P<{place}>{values})")
        return form

    def _x(self, row: str, match: re.Match[str]) -> float | str:
        given = match["x"]
        if self.x.names:
            return self.x.names[given]
        number = re.fullmatch(r"(\d+(?:\.\d+)?)[- ]?([A-Za-z]*|%)", given)
        if number is None:
            raise ValueError(
                f"{self.figure}: {row} has no number at {{x}}; write rows that leaves it out, or"
                ' scale = "names"'
            )
        return float(number[1]) * _SIZES.get(number[2], 1)

    def _check(self, found: dict[str, Place], ids: list[str]) -> None:
        if not found:
            raise ValueError(
                f'{self.figure}: rows = "{self.rows}" is the form of no row; there are'
                f" {', '.join(ids[:4])}, ..."
            )
        shown = found.values()
        for place, labels, used in (
            ("series", self.series, {one.series for one in shown}),
            ("panels", self.panels, {one.panel for one in shown}),
            ("x.names", self.x.names, {one.x for one in shown}),
        ):
            if idle := [key for key, label in labels.items() if label not in used]:
                raise ValueError(f"{self.figure}: {place} {idle[0]!r} is in the id of no row")
