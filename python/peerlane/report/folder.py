"""Writes the folder of a report: pages, their images, and an index of all pages."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict

import peerlane
from peerlane.charts import vega
from peerlane.errors import PeerlaneError
from peerlane.report.charts.errors import Deviation, errors
from peerlane.report.page import html, index_html
from peerlane.results.reading import FileError, read, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from peerlane.charts.chart import Chart
    from peerlane.report.page import Page

INDEX, IMAGES, CONTENTS = "index.html", "images", "contents.json"


_ERRORS = "Error of every row that is held against a source, for each system."


class ReportError(PeerlaneError, ValueError):
    """A folder cannot be used for a report; the message has the reason and the correction."""


class Entry(BaseModel):
    """An entry of `contents.json`: a page of the folder, and the files that belong to it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str
    title: str
    what: str
    figures: tuple[tuple[str, str], ...]
    files: tuple[str, ...]
    deviations: tuple[Deviation, ...] = ()
    place: str = ""


class Contents(BaseModel):
    """`contents.json`: the files of the folder that reports have written."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    made_by: Literal["peerlane"] = "peerlane"
    pages: tuple[Entry, ...] = ()

    @property
    def files(self) -> set[str]:
        """All files of this folder that reports have written."""
        known = {name for page in self.pages for name in (page.file, *page.files)}
        if (chart := self.chart) is not None:
            known |= set(_images(chart.name))
        return known | {INDEX, CONTENTS} if self.pages else set()

    @property
    def chart(self) -> Chart | None:
        """The chart of the errors of all systems."""
        groups = {Path(page.file).stem: page.deviations for page in self.pages}
        if sum(map(bool, groups.values())) < 2:  # noqa: PLR2004 - a system has its own on its page
            return None
        return errors("index-errors", _ERRORS, groups)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder for pages, which is new or empty, or has an earlier report.

    A page replaces an earlier page with the same name and scenario file; other pages stay. If a
    page of another scenario file has the same name, a number is added to the name. Files that no
    report has written are never changed or deleted.
    """

    path: Path
    contents: Contents

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Folder:
        """Checks that a folder can be used for a report; the folder need not exist.

        Raises:
            ReportError: The folder has other files, cannot be written, or is no folder.
            OSError: The folder cannot be read.
        """
        if not os.fspath(path):
            raise ReportError("the name is empty; name a folder")
        folder = Path(path)
        there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
        if not there.is_dir():
            raise ReportError(f"{there} is a file; name a folder")
        found = sorted(one.name for one in folder.iterdir()) if there == folder else []
        if found and CONTENTS not in found:
            more = ", ..." if len(found) > 3 else ""  # noqa: PLR2004 - enough to know it by
            raise ReportError(
                f"{path} holds other files ({', '.join(found[:3])}{more}); name an empty folder,"
                " or one of an earlier report"
            )
        if not os.access(there, os.W_OK | os.X_OK):
            raise ReportError(f"{there} cannot be written; name another folder")
        return cls(folder, _read(folder / CONTENTS) if found else Contents())

    def write(
        self, pages: Sequence[Page], progress: Callable[[float], object] | None = None
    ) -> Path:
        """Writes pages, their images and the index; returns the path of the page to open first.

        Raises:
            ReportError: A file of the folder that no report has written would be overwritten.
            OSError: A file could not be written; the error has its name.
        """
        new = self._settled(pages)
        pages = tuple(new.values())
        entries = [one for one in self.contents.pages if one.file not in new]
        entries += [_entry(file, page) for file, page in new.items()]
        contents = Contents(pages=tuple(entries))
        for name in sorted(contents.files - self.contents.files):
            if (self.path / name).exists():
                raise ReportError(
                    f"{self.path / name} is of no report; move it, or name another folder"
                )
        index = [] if contents.chart is None else [contents.chart]
        drawn = [*(chart for page in pages for chart in page.charts), *index]
        drawings = [drawing for page in pages for drawing in page.drawings]
        steps = 1 + len(pages) + len(drawn) + len(drawings)
        done = 0

        def step() -> None:
            nonlocal done
            done += 1
            if progress is not None:
                progress(done / steps)

        script = vega.script()
        step()
        self.path.mkdir(parents=True, exist_ok=True)
        # Files that a later report may replace are listed before they are written.
        self._write(CONTENTS, contents.model_dump_json(indent=2) + "\n")
        for file, page in new.items():
            self._write(file, html(page, script))
            step()
        listed = [entry.model_dump() for entry in contents.pages]
        self._write(INDEX, index_html(listed, index, script, peerlane.__version__))
        if drawn or drawings:
            (self.path / IMAGES).mkdir(exist_ok=True)
        for one in drawings:
            self._draw(one.name, one.paper)
            step()
        for chart in drawn:
            self._draw(chart.name, vega.svg(chart))
            step()
        for stale in sorted(self.contents.files - contents.files):
            with suppress(OSError):
                (self.path / stale).unlink()
        first = next(iter(new)) if len(contents.pages) == 1 else INDEX
        return self.path / first

    def _settled(self, pages: Sequence[Page]) -> dict[str, Page]:
        """The pages by the names of their files, which no page of another scenario file has."""
        found: dict[str, Page] = {}
        taken = {entry.file.casefold(): entry.place for entry in self.contents.pages}
        for page in pages:
            own = page.origin.place
            names = chain([page.name], (f"{page.name}-{number}" for number in count(2)))
            name = next(one for one in names if taken.get(f"{one}.html".casefold(), own) == own)
            taken[f"{name}.html".casefold()] = own
            found[f"{name}.html"] = page if name == page.name else page.named(name)
        return found

    def _draw(self, name: str, drawing: str) -> None:
        """Writes the images of a drawing."""
        svg, png = _images(name)
        self._write(svg, drawing)
        self._write(png, vega.png(drawing))

    def _write(self, name: str, content: str | bytes) -> None:
        """Writes a file; after an error, the file is unchanged."""
        target = self.path / name
        part = target.with_name(f"{target.name}.part")
        try:
            part.write_bytes(content.encode() if isinstance(content, str) else content)
            part.replace(target)
        except OSError as error:
            error.filename = str(target)
            with suppress(OSError):
                part.unlink()
            raise


def _entry(file: str, page: Page) -> Entry:
    images = (file for name in page.images for file in _images(name))
    return Entry(
        file=file,
        title=page.title,
        what=page.what,
        figures=page.figures,
        files=tuple(images),
        deviations=page.deviations,
        place=page.origin.place,
    )


def _images(name: str) -> tuple[str, str]:
    return f"{IMAGES}/{name}.svg", f"{IMAGES}/{name}.png"


def _read(path: Path) -> Contents:
    """Reads the contents of an earlier report.

    Raises:
        ReportError: The file is not the contents of a report.
    """
    try:
        found = read(Contents, text_of(path), str(path))
    except FileError as error:
        raise ReportError(f"{error}; name another folder, or remove the file") from None
    if not found.pages:
        raise ReportError(f"{path} has no pages of a report; name another folder, or remove it")
    if any(Path(name).is_absolute() or ".." in name for name in found.files):
        raise ReportError(
            f"{path} has files outside of the folder; name another folder, or remove the file"
        )
    return found
