"""A figure: a Vega-Lite specification for notebooks and other tools, and static files of it."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from peerlane.charts import vega
from peerlane.errors import MissingPackageError, PeerlaneError
from peerlane.printable import json_text

if TYPE_CHECKING:
    from os import PathLike

    from peerlane.charts.chart import Chart, Spec

FORMATS = (".svg", ".png", ".pdf", ".json")


class PlotError(PeerlaneError, ValueError):
    """A table has no such column, or nothing to plot; the message says what it has."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a table or a result; a notebook shows it, and `save` writes it to a file."""

    chart: Chart

    def __repr__(self) -> str:
        return f"<Figure: {self.chart.caption}>"

    def to_dict(self) -> Spec:
        """The Vega-Lite specification, with its data: `altair.Chart.from_dict` takes it."""
        return vega.specification(self.chart)

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the figure in the format of the file's ending: .svg, .png, .pdf or .json.

        JSON is the Vega-Lite specification. The same figure is the same file.

        Raises:
            PlotError: The ending is that of no format.
            MissingPackageError: vl-convert-python is not installed, and the format needs it
                (`pip install 'peerlane[plot]'`).
            OSError: The file could not be written; the error has its name.
        """
        path = check_format(path)
        if path.suffix == ".json":
            content = f"{json_text(self.to_dict())}\n".encode()
        else:
            drawing = vega.svg(self.chart)
            forms = {".png": vega.png, ".pdf": vega.pdf}
            content = forms.get(path.suffix, str.encode)(drawing)
        try:
            path.write_bytes(content)
        except OSError as error:
            error.filename = error.filename or str(path)
            raise

    def _repr_html_(self) -> str:
        """The drawing as a notebook shows it; without vl-convert-python, how to install it."""
        try:
            return vega.svg(self.chart)
        except MissingPackageError as error:
            return f"<pre>{escape(str(error))}</pre>"


def check_format(path: str | PathLike[str]) -> Path:
    """The path of a figure, if its ending is that of a format.

    Raises:
        PlotError: It is not.
    """
    found = Path(path)
    if found.suffix not in FORMATS:
        raise PlotError(f"{path}: write a name that ends with .svg, .png, .pdf or .json")
    return found
