"""The matrices and tables of `peerlane advise`, in the layouts of NVIDIA's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from peerlane.cli.tables.ranges import ranges
from peerlane.cli.tables.sheet import Sheet
from peerlane.formats import duration, gigabytes, percent, size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

    from peerlane.results.advice import Advice, AllReduce, Critical, Effect, Pair, Peer

_ABSENT = "N/A"
_MOST_PAIRS = 3
"""The most pairs that a reason names."""

_NARROWEST = 6
"""The least width of a cell."""


_HEADS = (
    ("size", "count", "type", "redop", "algorithm", "time", "algbw", "busbw", "#wrong"),
    ("(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", ""),
)
"""The headings of nccl-tests, and their units."""


class Matrix:
    """A matrix with its title; a terminal that is too narrow gets the columns in several parts.

    Args:
        title: The title, with the unit.
        corner: The word above the numbers of the rows.
        rows: The cells.
    """

    def __init__(self, title: str, corner: str, rows: Sequence[Sequence[str]]) -> None:
        self._title = title
        self._corner = corner
        self._rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield _line(self._title)
        width = max(_NARROWEST, *(len(cell) for row in self._rows for cell in row))
        count = len(self._rows[0])
        at_once = max((options.max_width - _NARROWEST) // (width + 1), 1)
        for first in range(0, count, at_once):
            shown = range(first, min(first + at_once, count))
            head = "".join(f"{column:>{width + 1}}" for column in shown)
            yield _line(f"{self._corner:>{_NARROWEST}}{head}")
            for number, row in enumerate(self._rows):
                cells = "".join(f"{row[column]:>{width + 1}}" for column in shown)
                yield _line(f"{number:>{_NARROWEST}}{cells}")
        yield Text("")


def _line(text: str) -> Text:
    return Text(text, no_wrap=True, overflow="ignore")


def advice(found: Advice) -> RenderableType:
    """The matrices, the table of the all-reduce, the changes, and the ranges if there are any."""
    parts = [*_devices(found), *_matrices(found), *_all_reduces(found), *_effects(found)]
    return Group(*parts, *(ranges(found, found.error_bars) if found.error_bars else ()))


def _devices(found: Advice) -> Iterator[RenderableType]:
    for number, one in enumerate(found.peers):
        below = one.above if one.above == one.host else f"{one.above}, {one.host}"
        yield Text(f"Device: {number}, {one.name}, {one.model}, pciBusID: {one.id}, below {below}")
    yield Text("")


def _matrices(found: Advice) -> Iterator[RenderableType]:
    def cells(of_pair: Callable[[Pair], str], of_peer: Callable[[Peer], str]) -> list[list[str]]:
        return [
            [
                of_peer(row) if row is column else of_pair(found.pair(row.name, column.name))
                for column in found.peers
            ]
            for row in found.peers
        ]

    corner = "D\\D"
    connected = cells(lambda pair: str(int(pair.is_connected)), lambda _: "1")
    yield Matrix("P2P Connectivity Matrix", corner, connected)
    for reason, pairs in found.reasons():
        shown = [f"{one.source} to {one.target}" for one in pairs[:_MOST_PAIRS]]
        more = [f"{len(pairs) - len(shown)} more"] if len(pairs) > len(shown) else []
        yield Text(f"0 is {', '.join([*shown, *more])}: {reason}")
    if any(found.reasons()):
        yield Text("")
    memory = [_rate(one.memory_bytes_per_second) for one in found.peers]
    of_peer = dict(zip((one.name for one in found.peers), memory, strict=True))
    one_way = cells(lambda pair: _rate(pair.bytes_per_second), lambda one: of_peer[one.name])
    both = cells(lambda pair: _rate(pair.both_bytes_per_second), lambda one: of_peer[one.name])
    late = cells(lambda pair: _time(pair.latency_ns), lambda one: _time(one.kernel_ns))
    yield Matrix("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)", corner, one_way)
    yield Matrix("Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)", corner, both)
    yield Matrix("P2P=Enabled Latency (P2P Writes) Matrix (us)", "GPU", late)
    yield Text(
        "The diagonals are memory_bandwidth and kernel_latency of the device, without a run.\n"
        "Latency: a kernel writes 16 B and a flag, until a kernel of the other device has read"
        " the flag.\n"
    )
    to_device = [_rate(one.to_device_bytes_per_second) for one in found.peers]
    from_device = [_rate(one.from_device_bytes_per_second) for one in found.peers]
    yield Matrix("Host to Device Bandwidth Matrix (GB/s)", "", [to_device])
    yield Matrix("Device to Host Bandwidth Matrix (GB/s)", "", [from_device])


def _rate(bytes_per_second: float | None) -> str:
    return _ABSENT if bytes_per_second is None else f"{bytes_per_second / 1e9:.2f}"


def _time(ns: float | None) -> str:
    return _ABSENT if ns is None else f"{ns / 1e3:.2f}"


def _all_reduces(found: Advice) -> Iterator[RenderableType]:
    if found.obstacle is not None:
        yield Text(f"There is no all-reduce: {found.obstacle}\n")
        return
    islands = f", islands of {found.island}" if found.island else ""
    yield Text(f"# all-reduce of {len(found.ranks)} GPUs: {', '.join(found.ranks)}{islands}")
    for heads in _HEADS:
        yield _line(f"#{_row(*heads)[1:]}".rstrip())
    simulated = [one for one in found.all_reduces if not one.extrapolated]
    extrapolated = [one for one in found.all_reduces if one.extrapolated]
    yield from (_line(_cells(one)) for one in simulated)
    if extrapolated:
        low, high = found.line
        yield Text(f"# extrapolated: a + b * size, from the times of {size(low)} and {size(high)}")
        if low < found.least_line:
            yield Text(
                f"# rough: the line should begin at {size(found.least_line)} or more, where parts"
                f" of {size(found.chunk)} overlap"
            )
        yield from (_line(_cells(one)) for one in extrapolated)
    yield Text("")
    parts = [
        f"{one.algorithm} {size(one.least)}"
        + (f" to {size(one.most)}" if one.most > one.least else "")
        for one in found.fastest
    ]
    yield Text(f"The fastest algorithm (*) by size: {', '.join(parts)}.")
    if found.critical is not None:
        yield Text(f"{_critical(found.critical)}\n")


def _row(*cells: str) -> str:
    widths = (11, 11, 6, 6, 10, 11, 8, 8, 7)
    return "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _cells(one: AllReduce) -> str:
    wrong = _ABSENT if one.correct is None else "0" if one.correct else "some"
    rates = (one.algorithm_bytes_per_second, one.bus_bytes_per_second)
    counts = (str(one.size), str(one.size // 4), "int32", "sum", one.algorithm)
    return _row(*counts, _time(one.time_ns), *map(_rate, rates), wrong) + "*" * one.fastest


_STEPS = {
    "push": "writes of {device} to {peer}",
    "pull": "reads of {device} from {peer}",
    "flag": "the flags between {device} and {peer}",
    "reduce": "sums in {device}",
    "copy": "copies in {device}",
    "compute": "the start of the kernel of {device}",
}
"""The kinds of steps of a critical path, in words."""

_NOUNS = {
    "push": "writes",
    "pull": "reads",
    "flag": "flags",
    "reduce": "sums",
    "copy": "copies",
    "compute": "starts",
}


def _critical(one: Critical) -> str:
    """The main part of the critical path, in words."""
    steps = _STEPS[one.work].format(device=one.device, peer=one.peer)
    part, whole = percent(one.share), percent(one.work_share)
    said = f"The critical path of {one.algorithm} with {size(one.size)}: {part} are {steps}"
    if whole != part:
        said += f" ({whole} with the {_NOUNS[one.work]} of other devices)"
    if one.link is None:
        return f"{said}."
    busy = percent(one.utilisation or 0.0)
    return f"{said}; the busiest wire between both, `{one.link} {one.direction}`, is {busy} used."


def _effects(found: Advice) -> Iterator[RenderableType]:
    row, slowest = found.improved, found.slowest
    if row is None and slowest is None:
        return
    if not found.effects:
        yield Text("No change that was tried gains or costs 1 % or more.")
        return
    tried = [
        *([f"{row.algorithm} with {size(row.size)}"] if row else []),
        *([f"{slowest.source} to {slowest.target}, the slowest pair"] if slowest else []),
    ]
    table = Sheet(title=f"Changes that gain or cost 1 % or more, by runs of {'; '.join(tried)}")
    table.add_column("what if", "prose")
    table.numbers("all-reduce", "gain %", "pair GB/s", "pair gain %")
    rate = gigabytes(slowest.bytes_per_second) if slowest else ""
    table.add_row("as it is", duration(row.time_ns) if row else "", "", rate, "")
    for one in found.effects:
        table.add_row(one.words, *_effect(one))
    yield table


def _effect(one: Effect) -> tuple[str, str, str, str]:
    time = duration(one.time_ns) if one.time_ns is not None else ""
    rate = gigabytes(one.bytes_per_second) if one.bytes_per_second is not None else ""
    return time, _gain(one.time_gain), rate, _gain(one.rate_gain)


def _gain(share: float | None) -> str:
    return "" if share is None else f"{round(100 * share, 1) + 0.0:+.1f}"
