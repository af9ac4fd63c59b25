"""Advice about the GPUs of a fabric: rates of pairs, times of an all-reduce, and useful changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from peerlane.dotted import join_path, split_path
from peerlane.results.bottleneck import Change, Value
from peerlane.results.document import Document, encode
from peerlane.results.error_bar import ErrorBar, ErrorBars

if TYPE_CHECKING:
    from collections.abc import Iterator

MEASURED = (
    "bytes_per_second",
    "both_bytes_per_second",
    "latency_ns",
    "to_device_bytes_per_second",
    "from_device_bytes_per_second",
    "time_ns",
    "algorithm_bytes_per_second",
    "bus_bytes_per_second",
    "time_gain",
    "rate_gain",
)
"""The fields that runs measure."""

_MOST_SETTINGS = 2
"""The most changes of one key to one value that are named."""


@dataclass(frozen=True, slots=True)
class Peer(Document):
    """A device of the matrices, with the node above it and its host.

    `to_device_bytes_per_second` is the rate at which the device reads the memory of its host, and
    `from_device_bytes_per_second` the rate at which it writes there. `memory_bytes_per_second` and
    `kernel_ns` are the keys `memory_bandwidth` and `kernel_latency` of a GPU.
    """

    name: str
    model: str
    id: str
    above: str
    host: str
    memory_bytes_per_second: float | None
    kernel_ns: float | None
    to_device_bytes_per_second: float | None
    from_device_bytes_per_second: float | None


@dataclass(frozen=True, slots=True)
class Pair(Document):
    """Writes of the device `source` to the device `target`.

    `reason` says why the target is not reached. `both_bytes_per_second` is the sum of both
    directions while the target writes to the source, too. `latency_ns` is the time of a kernel that
    writes 16 bytes, until a kernel of the target has read the flag behind them.
    """

    source: str
    target: str
    reason: str | None
    bytes_per_second: float | None = None
    both_bytes_per_second: float | None = None
    latency_ns: float | None = None

    @property
    def is_connected(self) -> bool:
        """Whether writes arrive at the target."""
        return self.reason is None


@dataclass(frozen=True, slots=True)
class AllReduce(Document):
    """An all-reduce of all GPUs by one algorithm.

    `size` is the size of the vector of each GPU, in bytes. The rates are as nccl-tests define them.
    If the size is `extrapolated`, the time is a + b * size through the times of the two largest
    simulated sizes, and it is not known whether the bytes are `correct`.
    """

    size: int
    algorithm: str
    time_ns: float
    algorithm_bytes_per_second: float
    bus_bytes_per_second: float
    correct: bool | None
    extrapolated: bool
    fastest: bool


@dataclass(frozen=True, slots=True)
class Fastest(Document):
    """The fastest algorithm for all sizes from `least` to `most`."""

    algorithm: str
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Critical(Document):
    """The main part of the critical path of an all-reduce.

    These are all steps of one kind between `device` and `peer`; `share` is their part of the time,
    and `work_share` the part of the steps of this kind of all devices. `link` and `direction` name
    the busiest wire between both, and `utilisation` is the share of the run in which this wire is
    busy; there is none for steps inside of the device, and for flags.
    """

    size: int
    algorithm: str
    device: str
    work: str
    peer: str | None
    share: float
    work_share: float
    link: str | None = None
    direction: str | None = None
    utilisation: float | None = None


@dataclass(frozen=True, slots=True)
class Effect(Document):
    """A change, and runs with it.

    `settings` are the changed keys; `schedule` is a changed key of the all-reduce, such as
    "by=pull". `time_ns` is the time of the all-reduce, and `bytes_per_second` the rate of the
    slowest pair; either is absent if the change does not concern it. A gain is the relative growth
    of a rate, below 0 if the change costs.
    """

    settings: tuple[Change, ...]
    schedule: str | None
    time_ns: float | None
    time_gain: float | None
    bytes_per_second: float | None
    rate_gain: float | None

    @property
    def gains(self) -> list[float]:
        """The gains that are known."""
        return [gain for gain in (self.time_gain, self.rate_gain) if gain is not None]

    @property
    def words(self) -> str:
        """The changes in the form of `--set`; more than two that are alike are counted."""
        alike: dict[tuple[str, Value], list[Change]] = {}
        for one in self.settings:
            alike.setdefault((split_path(one.key)[-1], one.value), []).append(one)
        told = []
        for (key, value), group in alike.items():
            if len(group) > _MOST_SETTINGS:
                sections = {split_path(one.key)[0] for one in group}
                of = sections.pop() if len(sections) == 1 else "nodes"
                told.append(f"{key}={value} of {len(group)} {of}")
            else:
                told += [one.setting for one in group]
        return ", ".join([*told, *filter(None, [self.schedule])])


@dataclass(frozen=True, slots=True)
class Advice(Document):
    """Advice about the GPUs of a fabric.

    `ranks` are the GPUs of the all-reduce, in their order; each moves its data in parts of at most
    `chunk` bytes. `obstacle` says why there is no
    all-reduce. The `effects` are for the all-reduce of `critical` and for the pair `slowest`.
    `error_bars` has the ranges of `numbers()`, if they were requested.
    """

    name: str
    seed: int
    peers: tuple[Peer, ...]
    pairs: tuple[Pair, ...]
    ranks: tuple[str, ...]
    island: int | None
    chunk: int
    obstacle: str | None
    all_reduces: tuple[AllReduce, ...]
    fastest: tuple[Fastest, ...]
    critical: Critical | None
    slowest: Pair | None
    effects: tuple[Effect, ...]
    failures: tuple[str, ...] = ()
    error_bars: ErrorBars | None = None

    def numbers(self) -> dict[str, float]:
        """All measured numbers, by their paths, such as `pairs.g0.g1.latency_ns`.

        The path of a number of an all-reduce has the algorithm and the size, and the path of a
        number of a change its place in `effects`.
        """
        rows: list[tuple[tuple[str, ...], Document]] = [
            *((("pairs", one.source, one.target), one) for one in self.pairs),
            *((("peers", one.name), one) for one in self.peers),
            *((("all_reduces", one.algorithm, str(one.size)), one) for one in self.all_reduces),
            *((("effects", str(number)), one) for number, one in enumerate(self.effects)),
        ]
        return {
            join_path((*names, key)): value
            for names, row in rows
            for key in MEASURED
            if (value := getattr(row, key, None)) is not None
        }

    def range_of(self, *names: str) -> ErrorBar | None:
        """The error bar of a number, by the parts of its path."""
        return self.error_bars.bars.get(join_path(names)) if self.error_bars else None

    def pair(self, source: str, target: str) -> Pair:
        """The pair of two devices."""
        return next(one for one in self.pairs if (one.source, one.target) == (source, target))

    @property
    def improved(self) -> AllReduce | None:
        """The all-reduce that changes are tried on: of `critical`."""
        known = self.critical and (self.critical.size, self.critical.algorithm)
        return next((one for one in self.all_reduces if (one.size, one.algorithm) == known), None)

    @property
    def line(self) -> list[int]:
        """The sizes through whose times the line of extrapolated sizes goes."""
        return sorted({one.size for one in self.all_reduces if not one.extrapolated})[-2:]

    @property
    def least_line(self) -> int:
        """The least size at which the parts of all GPUs overlap, as they do in larger sizes."""
        return self.chunk * len(self.ranks)

    def reasons(self) -> Iterator[tuple[str, list[Pair]]]:
        """The reasons why pairs are not connected, each with its pairs."""
        found: dict[str, list[Pair]] = {}
        for one in self.pairs:
            if one.reason is not None:
                found.setdefault(one.reason, []).append(one)
        yield from found.items()

    def to_json(self) -> dict[str, Any]:
        """The advice as the command line writes it."""
        return encode(self)
