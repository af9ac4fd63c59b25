"""Estimates the errors of advice that are due to defaults that no document states.

Short runs, with each kind of pair and each algorithm, find the defaults that matter, as `peerlane
run --error-bars` does. For each of these, the advice is measured again. Pairs with links of the
same rates and the same nominal numbers are measured once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from peerlane._core import ScenarioError
from peerlane.advising.changes import LEAST, again
from peerlane.advising.collectives import all_reduces
from peerlane.advising.peers import exchange, measured, write
from peerlane.calibrating.error_bars import error_bars, moves_of
from peerlane.results.advice import MEASURED
from peerlane.results.error_bar import ErrorBar, ErrorBars, MovedDefault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from peerlane._core import Scenario
    from peerlane.advising.collectives import Ranks
    from peerlane.advising.machine import Machine, Table
    from peerlane.calibrating.error_bars import Move
    from peerlane.results.advice import Advice, Pair, Peer

_SHORT = {"size": "256 KiB"}
_TO_DEVICE = {**_SHORT, "window": "4 KiB"}
"""The bytes of a flow of the short runs, and the part of a BAR that takes them again and again."""

_LARGE = 64 << 10
"""The largest all-reduce of the short runs, unless all simulated sizes are larger."""

_APART_US = 500
"""The time between the starts of two workloads of a short run."""


def ranges_of(
    found: Advice,
    changed: Callable[[Mapping[str, Any]], Machine],
    ranks: Ranks,
    sizes: tuple[Sequence[int], int],
    progress: Callable[[float], object],
) -> ErrorBars:
    """The ranges of all numbers of some advice.

    Args:
        found: The advice.
        changed: A function that makes the fabric with changed keys.
        ranks: The GPUs of the all-reduce.
        sizes: The sizes of the all-reduce, and the largest of them that is simulated.
        progress: A function that is called with the fraction done, 0 to 1.
    """
    machine = changed({})
    kinds = Kinds(machine, found)
    short = _short(machine, found, kinds, ranks)
    bars = error_bars(
        short.to_toml(),
        source=short.source,
        seed=machine.seed,
        executor=machine.executor,
        progress=lambda done: progress(0.1 * done),
    )
    moves = list(_that_matter(bars, moves_of(short)))
    nominal = found.numbers()
    refused = dict(bars.refused)
    repeated = 0
    moved: list[tuple[Move, dict[str, float]]] = []
    for number, move in enumerate(moves):
        try:
            fabric = changed(dict.fromkeys(move.paths, move.to))
            moved.append((move, _again(found, fabric, kinds, ranks, sizes).numbers()))
            repeated += fabric.runs
        except ScenarioError as error:
            refused[f"{move.name}={move.words}"] = str(error)
        progress(0.1 + 0.9 * (number + 1) / len(moves))
    ranges = {path: _range(path, value, moved) for path, value in nominal.items()}
    return ErrorBars(found.name, ranges, bars.moved, refused, bars.runs + repeated)


class Kinds:
    """For each pair and each device of some advice, one like it, which is measured instead.

    The slowest pair is measured itself, because changes are tried on it.
    """

    def __init__(self, machine: Machine, found: Advice) -> None:
        self._machine = machine
        first: dict[object, Pair] = {}
        self.pairs: dict[tuple[str, str], Pair] = {}
        slowest = found.slowest
        for one in found.pairs if slowest is None else (slowest, *found.pairs):
            numbers = (one.bytes_per_second, one.both_bytes_per_second, one.latency_ns)
            key = (*self._way(one.source, one.target), *map(_rounded, numbers))
            self.pairs[one.source, one.target] = first.setdefault(key, one)
        device: dict[object, str] = {}
        self.devices: dict[str, str] = {}
        for peer in found.peers:
            rates = (peer.to_device_bytes_per_second, peer.from_device_bytes_per_second)
            key = (*self._way(peer.name, peer.host), *map(_rounded, rates))
            self.devices[peer.name] = device.setdefault(key, peer.name)

    def _way(self, source: str, target: str) -> tuple[object, ...]:
        """The models of two nodes, and the rates of the links between them."""
        tree = self._machine.present.tree
        models = (tree.nodes[source].model, tree.nodes[target].model)
        wires = tree.wires(source, target)
        return (*models, *((self._machine.present.rate(link), way) for link, way in wires))

    @property
    def measured_pairs(self) -> list[Pair]:
        """The pairs that are measured."""
        found = {(one.source, one.target): one for one in self.pairs.values()}
        return [one for one in found.values() if one.is_connected]

    @property
    def both(self) -> list[tuple[str, str]]:
        """The pairs that are measured in both directions at once."""
        with_both = (one for one in self.measured_pairs if one.both_bytes_per_second)
        ends = {min((one.source, one.target), (one.target, one.source)) for one in with_both}
        return sorted(ends)

    @property
    def measured_devices(self) -> list[str]:
        """The devices that are measured."""
        return list(dict.fromkeys(self.devices.values()))


def _rounded(number: float | None) -> str | None:
    return None if number is None else f"{number:.3g}"


def _short(machine: Machine, found: Advice, kinds: Kinds, ranks: Ranks) -> Scenario:
    """The fabric with each kind of workload of the advice, one after the other."""
    simulated = sorted({one.size for one in found.all_reduces if not one.extrapolated})
    sizes = {*simulated[:1], *[size for size in simulated if size <= _LARGE][-1:]}
    ways = dict.fromkeys(one.algorithm for one in found.all_reduces)
    sums = [ranks.job(way, size).workloads for size in sorted(sizes) for way in ways]
    scenario = machine.scenario.copy()
    for number, tables in enumerate([*_of_pairs(kinds), *_of_hosts(found, kinds), *sums]):
        for place, (section, fields) in enumerate(tables):
            own = {"id": f"{number}-{place}", "start": f"{number * _APART_US} us"}
            scenario.append(section, fields | own)
    return scenario


def _of_pairs(kinds: Kinds) -> Iterator[tuple[Table, ...]]:
    """The workloads of each kind of pair, without numbers that the advice does not have."""
    for one in kinds.measured_pairs:
        ends = (one.source, one.target)
        if one.bytes_per_second:
            yield (("flows", write(*ends, **_TO_DEVICE)),)
        if one.latency_ns:
            yield (exchange(ends),)
    for ends in kinds.both:
        yield tuple(("flows", write(*way, **_TO_DEVICE)) for way in (ends, ends[::-1]))


def _of_hosts(found: Advice, kinds: Kinds) -> Iterator[tuple[Table, ...]]:
    """The workloads of each kind of device and its host."""
    for one in found.peers:
        if one.name in kinds.measured_devices:
            ends = (one.name, one.host)
            if one.from_device_bytes_per_second:
                yield (("flows", write(*ends, **_SHORT)),)
            if one.to_device_bytes_per_second:
                yield (("flows", write(*ends, direction="read", **_SHORT)),)


def _that_matter(bars: ErrorBars, moves: Iterable[Move]) -> Iterator[Move]:
    """The changes of defaults that change some rate or time of the short runs by 1 % or more."""
    known = {
        (cause.name, cause.to)
        for path, bar in bars.bars.items()
        if path.endswith((".bytes_per_second", ".time_ns"))
        for cause in bar.causes
        if abs(cause.number - bar.value) >= LEAST * bar.value
    }
    return (move for move in moves if (move.name, move.words) in known)


def _again(
    found: Advice,
    machine: Machine,
    kinds: Kinds,
    ranks: Ranks,
    sizes: tuple[Sequence[int], int],
) -> Advice:
    """The advice about another fabric, with the same changes."""
    devices, pairs = measured(machine, kinds.measured_devices, kinds.measured_pairs, kinds.both)
    of_device = {one.name: one for one in devices}
    of_pair = {(one.source, one.target): one for one in pairs}
    slowest = found.slowest and of_pair[found.slowest.source, found.slowest.target]
    rows = all_reduces(machine, ranks, *sizes, lambda _: None)[0] if found.all_reduces else []
    before = found.improved
    alike = (one for one in rows if before and one.size == before.size)
    row = next((one for one in alike if before and one.algorithm == before.algorithm), None)
    return replace(
        found,
        pairs=tuple(
            replace(found.pair(*ends), **_numbers(of_pair[one.source, one.target]))
            for ends, one in kinds.pairs.items()
            if one.is_connected
        ),
        peers=tuple(
            replace(one, **_numbers(of_device[kinds.devices[one.name]])) for one in found.peers
        ),
        all_reduces=tuple(rows),
        effects=tuple(again(machine, ranks, found.effects, slowest, row)),
    )


def _numbers(row: Pair | Peer) -> dict[str, Any]:
    """The measured fields of a pair or a device."""
    return {key: getattr(row, key) for key in MEASURED if hasattr(row, key)}


def _range(path: str, value: float, moved: Sequence[tuple[Move, dict[str, float]]]) -> ErrorBar:
    """The error bar of a number; a gain, which may be below 0, has the bar of the factor."""
    shift = 1.0 if path.endswith("_gain") else 0.0
    causes = (
        MovedDefault(move.name, move.value, move.words, numbers[path] + shift)
        for move, numbers in moved
        if path in numbers
    )
    bar = ErrorBar.of(value + shift, causes)
    shifted = tuple(replace(one, number=one.number - shift) for one in bar.causes)
    return ErrorBar(value, bar.low - shift, bar.high - shift, shifted)
