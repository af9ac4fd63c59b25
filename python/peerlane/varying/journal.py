"""Stores the finished points of a sweep in a file, so that an interrupted sweep can be resumed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

from peerlane._core import __version__
from peerlane.errors import PeerlaneError
from peerlane.figures.table import difference
from peerlane.results.document import Document
from peerlane.results.reading import FileError, read
from peerlane.varying.work import SweepPoint  # noqa: TC001 - pydantic reads it

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from peerlane.varying.work import Point, Study


@dataclass(frozen=True, slots=True)
class _Head:
    """The first line of a journal, which identifies the sweep to which the points belong."""

    schema: Literal["peerlane-sweep-journal/2"]
    version: str
    scenario: str
    keys: list[str]
    metrics: list[str]


@dataclass(frozen=True, slots=True)
class _Done(Document):
    """A line of a journal: the outcome of a point, and the seed that was requested for it."""

    outcome: SweepPoint
    given_seed: int | None


class JournalError(PeerlaneError, ValueError):
    """A sweep cannot be resumed from a journal; the message has the correction."""


class CompleteError(JournalError):
    """There is nothing to resume, because the sweep is complete."""


def check_resumable(
    out: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]], given: Sequence[str]
) -> None:
    """Checks that a sweep to be resumed has no table yet, so that it is not run again by mistake.

    Args:
        out: The file of the table.
        columns: All requested columns.
        rows: The requested points.
        given: The columns that the rows have before the points are run.

    Raises:
        CompleteError: The table exists, and there is no journal.
        JournalError: The table exists, and has other points or metrics.
        OSError: The table cannot be read.
    """
    if not out.exists() or journal_of(out).exists():
        return
    if other := difference(out, columns, rows, given):
        raise JournalError(
            f"{out} is not of this sweep: {other}; leave out --resume to write it anew, or name"
            " another --out"
        )
    raise CompleteError(
        f"{out} is complete: no sweep was interrupted; without --resume it runs anew"
    )


def journal_of(out: Path) -> Path:
    """The journal of a sweep that is written to `out`."""
    return out.with_name(out.name + ".journal")


class Journal:
    """A file with a line for each point, after a line that identifies their sweep.

    Args:
        path: The path of the file.
        study: The values that all points share.
        keys: The keys that are varied.
        resume: Whether to continue after the points that the file has.

    Raises:
        JournalError: The file has points of another sweep, or has points and `resume` is not set.
        OSError: The file cannot be read or written.
    """

    def __init__(self, path: Path, study: Study, keys: Sequence[str], *, resume: bool) -> None:
        self._path = path
        head = _head(study, keys)
        self._done: dict[str, list[SweepPoint]] = {}
        whole = self._read(head, resume=resume) if path.exists() else 0
        self._file = path.open("ab")
        self._file.truncate(whole)
        if not whole:
            self._write(head)

    def take(self, point: Point) -> SweepPoint | None:
        """Removes and returns the outcome of a point that was done before, or `None`."""
        found = self._done.get(_identity(point.settings, point.seed))
        return found.pop() if found else None

    def add(self, point: Point, outcome: SweepPoint) -> None:
        """Writes the outcome of a point; it is stored even if this process is killed at once."""
        self._write(_Done(replace(outcome, seconds=0.0), point.seed))

    def close(self) -> None:
        """Closes the journal, which is kept for a later sweep."""
        self._file.close()

    def remove(self) -> None:
        """Removes the journal, after its points were written to a table."""
        self._file.close()
        self._path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _where: TracebackType | None,
    ) -> None:
        self.close()

    def _write(self, line: _Head | _Done) -> None:
        try:
            self._file.write((json.dumps(asdict(line), ensure_ascii=False) + "\n").encode())
            self._file.flush()
        except OSError as error:
            error.filename = error.filename or str(self._path)
            raise

    def _read(self, head: _Head, *, resume: bool) -> int:
        """Reads the points; returns the length of all complete lines, as the last may be cut."""
        content = self._path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        try:
            first, *others = whole.decode().splitlines() or [""]
            there = read(_Head, first, "line 1")
            points = [read(_Done, line, f"line {number}") for number, line in enumerate(others, 2)]
        except (FileError, UnicodeDecodeError) as error:
            raise JournalError(
                f"{self._path} is no journal of a sweep ({error}); remove the file to begin anew,"
                " or name another output"
            ) from None
        if points and not resume:
            raise JournalError(
                f"{self._path} has {len(points)} points of an interrupted sweep; --resume goes on"
                " with it; remove the file to begin anew"
            )
        for part, value in asdict(head).items():
            if points and getattr(there, part) != value:
                raise JournalError(
                    f"{self._path} is of a sweep with another {part}; remove the file to begin"
                    " anew, or name another output"
                )
        for number, point in enumerate(points, 2):
            missing = set(there.metrics).difference(point.outcome.metrics)
            if point.outcome.status == "ok" and missing:
                raise JournalError(
                    f"{self._path}, line {number}: no {min(missing)}; remove the file to begin"
                    " anew, or name another output"
                )
            identity = _identity(point.outcome.settings, point.given_seed)
            self._done.setdefault(identity, []).append(point.outcome)
        return len(whole) if points else 0


def _head(study: Study, keys: Sequence[str]) -> _Head:
    return _Head(
        schema="peerlane-sweep-journal/2",
        version=__version__,
        scenario=hashlib.sha256((study.text + study.settings).encode()).hexdigest(),
        keys=list(keys),
        metrics=list(study.metrics or ()),
    )


def _identity(settings: Mapping[str, Any], seed: int | None) -> str:
    return json.dumps([settings, seed], sort_keys=True)
