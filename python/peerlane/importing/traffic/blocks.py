"""Reads the requests of a block device from logs of fio and blktrace.

A program that reads makes the drive write into memory, and a program that writes makes the drive
read memory. The logs have no addresses of buffers in memory.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from peerlane.importing.traffic.request import FS, Ends, Recording, Request, amount
from peerlane.results.reading import FileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_SECTOR = 512

_READ, _WRITE, _WAIT = "read", "write", "wait"


class _Event(NamedTuple):
    """A line of a log: the action, its time in femtoseconds, and its bytes."""

    action: str
    time: int | None = None
    size: int = 0
    stage: str = ""
    """What happens to a request of blktrace: Q, it is queued, or D, the drive gets it."""


def is_log(text: str) -> bool:
    """Whether a text is a log of a known form."""
    return _parser(text) is not None


def read(text: str, path: str, ends: Ends, recording: Recording) -> None:
    """Adds the reads and writes of a log to a recording.

    Raises:
        FileError: A line is damaged, or an end is not named.
    """
    if ends.source is None or ends.target is None:
        raise FileError(
            f"{path} is a log of a block device and names no nodes; add --from DRIVE --to MEMORY"
        )
    for event in _timed(_issued(_events(text, path))):
        if event.action in {_READ, _WRITE} and event.size:
            is_read = event.action == _WRITE
            recording.requests.append(
                Request(event.time, ends.source, ends.target, is_read, None, event.size)
            )
        else:
            recording.left_out[event.action] += 1


def _events(text: str, path: str) -> Iterator[_Event]:
    parse = _parser(text)
    for number, line in enumerate(text.splitlines(), 1):
        try:
            if parse and line.strip() and not line.startswith("fio version"):
                yield from parse(line)
        except ValueError as error:
            raise FileError(f"{path}:{number}: {error}") from None


def _issued(events: Iterable[_Event]) -> list[_Event]:
    """The events at which the drive gets a request, or all if the log has only queued requests."""
    found = list(events)
    is_issued = any(event.stage == "D" for event in found)
    return [event for event in found if not is_issued or event.stage == "D"]


def _timed(events: list[_Event]) -> Iterator[_Event]:
    """The events of a log whose times are waits, each with the sum of the waits before it."""
    now = 0
    is_waiting = any(event.action == _WAIT for event in events)
    for event in events:
        if event.action == _WAIT:
            now += event.time or 0
        else:
            yield event._replace(time=now) if is_waiting else event


_IOLOG_ACTIONS = {
    "add",
    "open",
    "close",
    _READ,
    _WRITE,
    "trim",
    "sync",
    "datasync",
    "sync_file_range",
}


def _iolog_2(line: str) -> Iterator[_Event]:
    """A line of version 2 of fio's log: file, action, offset, length."""
    return _iolog(None, line.split(), line)


def _iolog_3(line: str) -> Iterator[_Event]:
    """A line of version 3 of fio's log, which begins with the time in microseconds."""
    time, *fields = line.split()
    return _iolog(amount(time, "us"), fields, line)


def _iolog(time: int | None, fields: list[str], line: str) -> Iterator[_Event]:
    match fields:
        case [_, "wait", delay, *_] if time is None:
            yield _Event(_WAIT, amount(delay, "us"))
        case [_, action, _, size] if action in _IOLOG_ACTIONS:
            yield _Event(action, time, amount(size, "B"))
        case [_, action] if action in _IOLOG_ACTIONS - {_READ, _WRITE}:
            yield _Event(action, time)
        case _:
            raise ValueError(f"{line!r} is no line of fio; write one like 'file read 0 4096'")


_DIRECTIONS = {"0": _READ, "1": _WRITE, "2": "trim"}


def _fio_log(line: str) -> Iterator[_Event]:
    """A line of fio's log of latencies: time in milliseconds, value, direction, size, offset."""
    match [field.strip() for field in line.split(",")]:
        case [time, _, direction, size, *_] if direction in _DIRECTIONS:
            yield _Event(_DIRECTIONS[direction], amount(time, "ms"), amount(size, "B"))
        case _:
            raise ValueError(f"{line!r} is no line of fio; write one like '7, 88000, 0, 4096, 0'")


_BLKPARSE = re.compile(
    r"\s*\d+,\d+ +\d+ +\d+ +(\d+)\.(\d{9}) +\d+ +(\w+) +(\w+)(?: +\d+ \+ (\d+)(?= |$))?"
)
_IS_EVENT = re.compile(r"\s*\d+,\d+\s")


def _blkparse(line: str) -> Iterator[_Event]:
    """A line of blkparse in its default form; the summary at the end has no events."""
    if not _IS_EVENT.match(line):
        return
    found = _BLKPARSE.match(line)
    if found is None:
        raise ValueError(f"{line!r} is no event of blkparse; write its output without -f")
    seconds, nanoseconds, stage, kind, sectors = found.groups()
    if stage in {"D", "Q"}:
        time = int(seconds) * FS + int(nanoseconds) * (FS // 10**9)
        action = "flush"
        if sectors is not None:
            action = "trim" if "D" in kind else _READ if "R" in kind else _WRITE
        elif "F" not in kind:
            action = "command without sectors"
        yield _Event(action, time, int(sectors or 0) * _SECTOR, stage)


_FORMS: tuple[tuple[re.Pattern[str], Callable[[str], Iterator[_Event]]], ...] = (
    (re.compile(r"fio version 2 iolog\s"), _iolog_2),
    (re.compile(r"fio version 3 iolog\s"), _iolog_3),
    (re.compile(r"\d+, *\d+, *\d+, *\d+\b"), _fio_log),
    (_BLKPARSE, _blkparse),
)


def _parser(text: str) -> Callable[[str], Iterator[_Event]] | None:
    """The function that reads a line of a log of this form; `None` if its form is not known."""
    return next((parse for mark, parse in _FORMS if mark.match(text)), None)
