"""Reads recorded traffic from files of any known form."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from peerlane.importing.traffic import blocks, packets, rows
from peerlane.importing.traffic.request import Ends, Recording
from peerlane.results.reading import FileError, decoded, text_of
from peerlane.varying.reading import rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_RIGHT = (
    "name a table (.csv, .parquet), a trace of `peerlane run --trace`, a log of fio "
    "(write_iolog, write_lat_log), or the output of blkparse"
)


def read(paths: Sequence[str], ends: Ends) -> Recording:
    """The requests of all files; `-` is standard input, with a text of any known form.

    Raises:
        OSError: A file cannot be read.
        FileError: A file is damaged or has no known form, or only some of the files have times.
        MissingPackageError: A file is Parquet, and pandas is not installed.
    """
    recording = Recording()
    timed: dict[bool, str] = {}
    sources = ["standard input" if path == "-" else path for path in paths]
    for path, source in zip(paths, sources, strict=True):
        before = len(recording.requests)
        _read(path, source, ends, recording)
        added = recording.requests[before:]
        if added:
            timed.setdefault(added[0].time is not None, source)
    if not recording.requests:
        raise FileError(f"{', '.join(sources)}: there are no reads and writes; {_RIGHT}")
    if len(timed) > 1:
        raise FileError(
            f"{timed[True]} has times, and {timed[False]} has none; give files of one kind"
        )
    return recording


def _read(path: str, source: str, ends: Ends, recording: Recording) -> None:
    ending = Path(path).suffix
    if ending == ".parquet":
        rows.read(rows_of(path), source, ends, recording)
        return
    text = decoded(sys.stdin.buffer.read(), source) if path == "-" else text_of(path)
    if text.lstrip().startswith("{"):
        packets.read(text, source, ends, recording)
    elif blocks.is_log(text):
        blocks.read(text, source, ends, recording)
    elif ending == ".csv" or path == "-":
        rows.read(rows.of_csv(text, source), source, ends, recording)
    else:
        raise FileError(f"{source}: the form of this file is not known; {_RIGHT}")
