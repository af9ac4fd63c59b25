"""Reads recorded traffic from files of any known form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from peerlane.importing.traffic import blocks, packets, rows
from peerlane.importing.traffic.request import Ends, Recording
from peerlane.results.reading import FileError, text_of
from peerlane.varying.reading import TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

_RIGHT = (
    "name a table (.csv, .parquet), a trace of `peerlane run --trace`, a log of fio "
    "(write_iolog, write_lat_log), or the output of blkparse"
)


def read(paths: Sequence[str], ends: Ends) -> Recording:
    """The requests of all files.

    Raises:
        OSError: A file cannot be read.
        FileError: A file is damaged or has no known form, or only some of the files have times.
    """
    recording = Recording()
    timed: dict[bool, str] = {}
    for path in paths:
        before = len(recording.requests)
        _read(path, ends, recording)
        added = recording.requests[before:]
        if added:
            timed.setdefault(added[0].time is not None, path)
    if not recording.requests:
        raise FileError(f"{', '.join(paths)}: there are no reads and writes; {_RIGHT}")
    if len(timed) > 1:
        raise FileError(
            f"{timed[True]} has times, and {timed[False]} has none; give files of one kind"
        )
    return recording


def _read(path: str, ends: Ends, recording: Recording) -> None:
    if Path(path).suffix == ".parquet":
        rows.read(path, ends, recording)
        return
    text = text_of(path)
    if text.lstrip().startswith("{"):
        packets.read(path, ends, recording)
    elif blocks.is_log(text):
        blocks.read(text, path, ends, recording)
    elif Path(path).suffix in TABLES:
        rows.read(path, ends, recording)
    else:
        raise FileError(f"{path}: the form of this file is not known; {_RIGHT}")
