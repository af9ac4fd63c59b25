"""Writes recorded requests as `[[flows]]` of a scenario."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from peerlane.fabric.settings import size as size_text
from peerlane.importing.traffic.request import NS
from peerlane.importing.traffic.text import left_out, table
from peerlane.results.reading import FileError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane.importing.traffic.request import Recording, Request

_PAGE = 4096
"""The bytes of a page: no packet of a memory request crosses the end of a page."""


def flows_of(recording: Recording, window: int, *, paced: bool = True) -> str:
    """The text of one flow for each combination of both ends and direction.

    Args:
        recording: The requests; there is at least one.
        window: The size of the memory whose bytes requests without an offset use in turn.
        paced: Whether requests have times, if the recording has times.

    Raises:
        FileError: A request is larger than the window.
    """
    flows: dict[tuple[str, str, str], list[Request]] = defaultdict(list)
    for one in sorted(recording.requests, key=lambda one: one.time or 0):
        flows[one.source, one.target, "read" if one.is_read else "write"].append(one)
    first = min(one.time or 0 for one in recording.requests)
    parts = ["\n".join(_notes(recording, window))]
    for (source, target, direction), requests in flows.items():
        places = _places(requests, window)
        lines = [f"{place}, {one.size}" for place, one in zip(places, requests, strict=True)]
        if paced and requests[0].time is not None:
            times = (_nanoseconds((one.time or 0) - first) for one in requests)
            lines = [f"{time}, {line}" for time, line in zip(times, lines, strict=True)]
        ends = {"from": source, "to": target, "direction": direction}
        flow = table("flows", {"id": f"{source}-to-{target}-{direction}s"} | ends)
        parts.append("\n".join((flow, 'requests = """', *lines, '"""')))
    return "\n\n".join(parts) + "\n"


def _notes(recording: Recording, window: int) -> list[str]:
    """The comments before the flows."""
    notes = [f"# Requests of recorded traffic: {len(recording.requests):,}."]
    if any(one.place is None for one in recording.requests):
        notes.append(
            "# Logs of block devices have no addresses of buffers in memory: each request uses\n"
            f"# the next bytes of a window of {size_text(window)}. Offsets on the drive are unused."
        )
    return notes + left_out(recording.left_out)


def _places(requests: Sequence[Request], window: int) -> list[int]:
    """The offset of each request in the target."""
    # Packets end at pages, so that offsets keep the place in the page.
    lowest = min((one.place or 0 for one in requests if one.has_address), default=0)
    lowest -= lowest % _PAGE
    found = []
    end = 0
    for one in requests:
        if one.place is not None:
            found.append(one.place - lowest if one.has_address else one.place)
            continue
        if one.size > window:
            raise FileError(
                f"a request has {size_text(one.size)}, and the window of buffers only "
                f"{size_text(window)}; add --window with a larger size"
            )
        begin = end if end + one.size <= window else 0
        found.append(begin)
        end = begin + one.size
    return found


def _nanoseconds(time: int) -> str:
    whole, rest = divmod(time, NS)
    return f"{whole}.{rest:06}".rstrip("0").rstrip(".")
