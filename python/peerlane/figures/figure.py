"""Defines a figure: a Vega-Lite specification, which can be shown or saved as an image."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from peerlane.charts import vega
from peerlane.errors import PeerlaneError
from peerlane.printable import json_text

if TYPE_CHECKING:
    from os import PathLike

    from peerlane.charts.chart import Chart, Spec

COLUMNS = {1.0: 3.5, 2.0: 7.16}
"""The widths of one and of two columns of an IEEE paper, in inches."""

_UNITS = {"in": 1.0, "mm": 1 / 25.4, "cm": 1 / 2.54}
_LEAST, _MOST = 1, 40
_DOTS, _POINTS = 300, 72
"""The number of pixels in an inch of a PNG, and the number of points in an inch of a PDF."""

FORMATS = (".svg", ".png", ".pdf", ".json")


class PlotError(PeerlaneError, ValueError):
    """A table does not have the column, or has nothing to plot; the message names the columns."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a table or a result; a notebook shows it, and `save` writes it to a file.

    `inches` is the width of the whole image, if it is given.
    """

    chart: Chart
    inches: float | None = None

    def __repr__(self) -> str:
        return f"<Figure: {self.chart.caption}>"

    def to_dict(self) -> Spec:
        """The Vega-Lite specification with its data, for example for `altair.Chart.from_dict`."""
        return vega.specification(self.chart, self._pixels)

    @property
    def _pixels(self) -> float | None:
        return None if self.inches is None else self.inches * vega.INCH

    def styled(
        self,
        *,
        title: str | None = None,
        x_label: str | None = None,
        y_label: str | None = None,
        width: str | None = None,
    ) -> Figure:
        """The figure with other texts or another width; values that are not given do not change.

        Args:
            title: The title above the figure.
            x_label: The title of the horizontal axis.
            y_label: The title of the vertical axis.
            width: The width of the whole image, such as "3.3in", "85mm", "1 column" or "2 columns".

        Raises:
            PlotError: The width is not a valid width.
        """
        chart = self.chart.labelled(x_label, y_label)
        if title is not None:
            chart = replace(chart, title=title)
        return Figure(chart, self.inches if width is None else inches_of(width))

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the figure in the format of the file's ending: .svg, .png, .pdf or .json.

        JSON is the Vega-Lite specification. Files of the same figure are identical.

        Raises:
            PlotError: The ending belongs to no format.
            OSError: The file could not be written; the error has the file's name.
        """
        path = check_format(path)
        if path.suffix == ".json":
            content = f"{json_text(self.to_dict())}\n".encode()
        else:
            content = self._image(path.suffix)
        try:
            path.write_bytes(content)
        except OSError as error:
            error.filename = error.filename or str(path)
            raise

    def _image(self, suffix: str) -> bytes:
        """The figure as an image file; if `inches` is given, a PNG has 300 pixels an inch."""
        drawing = vega.svg(self.chart, self._pixels)
        if suffix == ".svg":
            return drawing.encode()
        if self.inches is None:
            return vega.png(drawing) if suffix == ".png" else vega.pdf(drawing)
        if suffix == ".png":
            return vega.png(vega.in_units(drawing, vega.INCH), _DOTS / vega.INCH)
        return vega.pdf(vega.in_units(drawing, _POINTS))

    def _repr_html_(self) -> str:
        """HTML of the figure."""
        return vega.svg(self.chart, self._pixels)


def inches_of(width: str) -> float:
    """A width in inches: `3.3in`, `85mm`, `8.5cm`, `1 column` or `2 columns`.

    Raises:
        PlotError: The text is no width, or the width is less than an inch or more than 40.
    """
    found = re.fullmatch(r"([\d.]+)\s*(in|mm|cm|columns?)", width.strip())
    try:
        number, unit = (float(found[1]), found[2]) if found else (0.0, "")
    except ValueError:
        number, unit = 0.0, ""
    inches = COLUMNS.get(number, 0.0) if unit.startswith("column") else number * _UNITS.get(unit, 0)
    if not _LEAST <= inches <= _MOST:
        raise PlotError(
            f"{width!r} is no width; write inches such as 3.3in, 85mm, 8.5cm, 1column or 2columns,"
            f" from {_LEAST} to {_MOST} inches"
        )
    return inches


def check_format(path: str | PathLike[str]) -> Path:
    """Checks that the ending of a figure's path belongs to a format; returns the path.

    Raises:
        PlotError: The ending belongs to no format.
    """
    found = Path(path)
    if found.suffix not in FORMATS:
        raise PlotError(f"{path}: write a name that ends with .svg, .png, .pdf or .json")
    return found
