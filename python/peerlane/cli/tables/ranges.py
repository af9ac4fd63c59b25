"""Makes the tables of the ranges of error of `peerlane advise --error-bars`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from peerlane.cli.tables.error_bars import add_range, choices, title, unset
from peerlane.cli.tables.sheet import Sheet
from peerlane.formats import NONE, duration, gigabytes, size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.console import RenderableType

    from peerlane.results.advice import Advice, Effect
    from peerlane.results.error_bar import ErrorBar, ErrorBars

_NUMBERS: dict[str, tuple[str, Callable[[float], str]]] = {
    "bytes_per_second": ("GB/s", gigabytes),
    "both_bytes_per_second": ("both directions GB/s", gigabytes),
    "latency_ns": ("latency", duration),
    "to_device_bytes_per_second": ("host to device GB/s", gigabytes),
    "from_device_bytes_per_second": ("device to host GB/s", gigabytes),
}
"""The numbers of pairs and devices: their names, and their texts."""


def ranges(found: Advice, bars: ErrorBars) -> Iterator[RenderableType]:
    """The ranges of the numbers of pairs, all-reduces and changes, and the causes of the ranges."""
    yield Text(f"Ranges of error: {title(bars)}", "bold")
    yield from unset(bars)
    yield _pairs(found)
    if found.all_reduces:
        yield _times(found)
    if found.effects:
        yield _effects(found)
    measured = {path: bar for path, bar in bars.bars.items() if not path.startswith("effects.")}
    yield choices(replace(bars, bars=measured))


def _pairs(found: Advice) -> Sheet:
    """A row for each number of pairs and devices; those with the same range share a row."""
    names = [
        *(
            (("pairs", one.source, one.target), f"{one.source} to {one.target}")
            for one in found.pairs
        ),
        *((("peers", one.name), one.name) for one in found.peers),
    ]
    sheet = Sheet("pair or device", "number")
    sheet.numbers("value", "from", "to", "%")
    sheet.add_column("most by")
    for field, (noun, text) in _NUMBERS.items():
        alike: dict[tuple[str, ...], list[tuple[str, ErrorBar]]] = {}
        for path, name in names:
            bar = found.range_of(*path, field)
            if bar is not None:
                shown = tuple(map(text, (bar.value, bar.low, bar.high)))
                alike.setdefault(shown, []).append((name, bar))
        for (name, bar), *others in alike.values():
            more = f" and {len(others)} more" * bool(others)
            add_range(sheet, (f"{name}{more}", noun), text, bar)
    return sheet


def _times(found: Advice) -> Sheet:
    """The ranges of the times of the all-reduce in percent, by size and algorithm."""
    algorithms = list(dict.fromkeys(one.algorithm for one in found.all_reduces))
    sheet = Sheet("size", title="Time of the all-reduce: from and to, in %")
    sheet.numbers(*algorithms)
    for one in dict.fromkeys(one.size for one in found.all_reduces):
        bars = (found.range_of("all_reduces", way, str(one), "time_ns") for way in algorithms)
        sheet.add_row(size(one), *(NONE if bar is None else _percent(bar) for bar in bars))
    return sheet


def _percent(bar: ErrorBar) -> str:
    down, up = (100 * (end - bar.value) / bar.value for end in (bar.low, bar.high))
    return f"{down:+.1f} {up:+.1f}"


def _effects(found: Advice) -> Sheet:
    """The ranges of the gains of all changes."""
    sheet = Sheet(title="Gains of the changes: from and to, in %")
    sheet.add_column("what if", "prose")
    sheet.numbers("all-reduce", "pair")
    for number, one in enumerate(found.effects):
        sheet.add_row(one.words, *_gains(found, number, one))
    return sheet


def _gains(found: Advice, number: int, one: Effect) -> Iterable[str]:
    for key, gain in (("time_gain", one.time_gain), ("rate_gain", one.rate_gain)):
        bar = found.range_of("effects", str(number), key)
        if gain is None or bar is None:
            yield ""
        else:
            yield " ".join(f"{round(100 * end, 1) + 0.0:+.1f}" for end in (bar.low, bar.high))
