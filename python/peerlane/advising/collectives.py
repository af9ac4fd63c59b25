"""An all-reduce of GPUs by each algorithm and for many sizes, as nccl-tests measure it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any

from peerlane import formats
from peerlane._core import ScenarioError
from peerlane.advising.machine import Job
from peerlane.figures.quantities import Quantity
from peerlane.results.advice import AllReduce, Critical, Fastest
from peerlane.varying.axes import Axis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from peerlane.advising.machine import Machine
    from peerlane.results.run import RunResult

ALGORITHMS = ("ring", "one-shot", "two-shot", "islands")
LARGEST = 1 << 34
"""The largest vector of a schedule."""

MOST_SIMULATED = 64 << 20
"""The largest size that may be simulated: a one-shot all-reduce of eight GPUs takes minutes."""

CHUNK = 512 << 10
"""The largest part of a vector that is moved on its own (NCCL: a buffer of 4 MiB in 8 steps)."""

_WORD = 4
"""The bytes of an element: a sum is one of 32-bit words."""
_ENTRY = re.compile(r'^.*?schedule "[^"]*", \w+: ')
"""The beginning of a message about a key of a schedule."""

_LEAST = 2
"""The least number of GPUs that have something to exchange."""

_LINE = 2
"""The points that a line goes through."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """The GPUs of an all-reduce in their order; `island` is their number below each switch.

    There is no `island` if the switches do not make two or more islands of the same size.
    """

    names: tuple[str, ...]
    grouped: tuple[str, ...]
    island: int | None

    @classmethod
    def of(cls, machine: Machine, names: Sequence[str]) -> Ranks:
        """The ranks of GPUs in this order."""
        grouped = machine.by_switch(names)
        islands = [len(list(group)) for _, group in groupby(grouped, machine.present.upstream_of)]
        is_equal = len(set(islands)) == 1 and 1 < islands[0] < len(names)
        return cls(tuple(names), tuple(grouped), islands[0] if is_equal else None)

    def check(self, source: str) -> None:
        """Refuses fewer than two GPUs.

        Raises:
            ScenarioError: There are fewer; the message begins with `source`.
        """
        if len(self.names) < _LEAST:
            raise ScenarioError(f"{source}: an all-reduce needs two GPUs; name two by --devices")

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithms that these GPUs can have."""
        return ALGORITHMS if self.island else ALGORITHMS[:-1]

    def job(self, algorithm: str, size: int, **changed: Any) -> Job:  # noqa: ANN401 - any key
        """An all-reduce; `changed` are further keys of the schedule."""
        fields = {"operation": "all-reduce", "algorithm": algorithm, "size": f"{size} B"}
        fields["chunk"] = f"{CHUNK} B"
        if algorithm == "islands":
            own = {"devices": list(self.grouped), "island": self.island}
        else:
            own = {"devices": list(self.names)}
        moved = size * len(self.names) ** (2 if algorithm == "one-shot" else 1)
        return Job((("schedules", fields | own | changed),), weight=moved)

    def whole(self, size: int) -> int:
        """The size without the bytes that do not make whole segments, at least one segment each."""
        unit = _WORD * len(self.names)
        return max(size - size % unit, unit)


def read_sizes(text: str) -> list[int]:
    """The sizes of a text such as "1 KiB..1 GiB*4" or "64 KiB,1 MiB", in bytes.

    Raises:
        ValueError: The text does not have this form, or a size is no size of a vector.
    """
    return [read_size(str(value)) for value in Axis.of("sizes", text).grid()]


def read_size(text: str, most: int = LARGEST) -> int:
    """A size in bytes.

    Raises:
        ValueError: The text is no size from one word to `most`.
    """
    found, byte = Quantity.read(text), Quantity(Fraction(1), "B", is_whole=True)
    size = found.amount if found and (not found.unit or found.is_like(byte)) else 0
    if not _WORD <= size <= most or size != int(size):
        right = f"write a size from 4 B to {formats.size(most)}, such as 1 MiB"
        raise ValueError(f"{text!r} is not the size of a vector; {right}")
    return int(size)


def read_simulated(text: str) -> int:
    """The largest size that is simulated, in bytes.

    Raises:
        ValueError: The text is no size up to 64 MiB.
    """
    return read_size(text, MOST_SIMULATED)


def simulated_sizes(ranks: Ranks, wanted: Iterable[int], most: int) -> list[int]:
    """The sizes that are simulated: all up to `most`, and two at least if others are larger."""
    wanted = list(wanted)
    found = {size for size in wanted if size <= most}
    if len(found) < _LINE and max(wanted) > most:
        last, least = ranks.whole(most), ranks.whole(0)
        found |= {last, ranks.whole(last // 4) if last > least else 4 * least}
    return sorted(found)


def all_reduces(
    machine: Machine,
    ranks: Ranks,
    sizes: Iterable[int],
    most: int,
    progress: Callable[[float], object],
) -> tuple[list[AllReduce], Critical | None, list[str]]:
    """The all-reduce of each size by each algorithm.

    Args:
        machine: The fabric.
        ranks: The GPUs.
        sizes: The bytes of the vector of each GPU.
        most: The largest size that is simulated; larger sizes are extrapolated.
        progress: A function that is called with the fraction done, 0 to 1.

    Returns:
        The rows by size, the critical path of the fastest algorithm for the largest simulated size,
        and the failures of the runs.

    Raises:
        ScenarioError: There is no all-reduce of these GPUs; the message has the reason.
    """
    wanted = sorted({ranks.whole(size) for size in sizes})
    simulated = simulated_sizes(ranks, wanted, most)
    cases = [(size, algorithm) for size in simulated for algorithm in ranks.algorithms]
    results = dict(
        zip(
            cases, machine.run([ranks.job(way, size) for size, way in cases], progress), strict=True
        )
    )
    runs: dict[tuple[int, str], RunResult] = {}
    for case, result in results.items():
        if isinstance(result, str):
            raise ScenarioError(_ENTRY.sub("", result))
        runs[case] = result
    times = {case: run.schedules[0].time_ns for case, run in runs.items()}
    failures = [
        f"{way}, {size} B: {why}" for (size, way), run in runs.items() for why in run.failures
    ]
    rows = [
        row
        for size in sorted({*wanted, *simulated})
        for row in _rows(size, simulated, ranks, times, runs)
    ]
    best = next((row for row in rows if row.fastest and row.size == simulated[-1]), None)
    if best is None:
        return rows, None, failures
    return rows, _critical(machine, best, runs[best.size, best.algorithm]), failures


def _rows(
    size: int,
    simulated: Sequence[int],
    ranks: Ranks,
    times: Mapping[tuple[int, str], float | None],
    runs: Mapping[tuple[int, str], RunResult],
) -> list[AllReduce]:
    """The rows of a size; an algorithm that does not complete has none."""
    share = 2 * (len(ranks.names) - 1) / len(ranks.names)
    rows = []
    for way in ranks.algorithms:
        is_simulated = size in simulated
        if is_simulated:
            time, correct = times[size, way], runs[size, way].schedules[0].correct
        else:
            line = {one: times[one, way] for one in simulated[-_LINE:]}
            time, correct = extrapolated(line, size), None
        if time:
            rate = size / time * 1e9
            known = (rate, rate * share, correct, not is_simulated)
            rows.append(AllReduce(size, way, time, *known, fastest=False))
    least = min((row.time_ns for row in rows), default=0.0)
    return [replace(row, fastest=row.time_ns == least) for row in rows]


def extrapolated(times: Mapping[int, float | None], size: int) -> float | None:
    """The time of a size on the line through two times, by their sizes."""
    (low, first), (high, last) = times.items()
    if first is None or last is None:
        return None
    return first + (last - first) / (high - low) * (size - low)


def fastest(rows: Iterable[AllReduce]) -> list[Fastest]:
    """The fastest algorithms by size; of two that are equally fast, the first."""
    best = {row.size: row for row in reversed(list(rows)) if row.fastest}
    found = []
    for algorithm, group in groupby(sorted(best), lambda size: best[size].algorithm):
        least, *others = group
        found.append(Fastest(algorithm, least, others[-1] if others else least))
    return found


def _critical(machine: Machine, row: AllReduce, result: RunResult) -> Critical:
    """The main part of the critical path of a run."""
    shares: dict[tuple[str, str, str | None], float] = {}
    for step in result.schedules[0].critical_path:
        key = (step.device, step.work, step.peer)
        shares[key] = shares.get(key, 0.0) + step.time_ns
    (device, work, peer), time = max(shares.items(), key=lambda one: one[1])
    alike = sum(share for (_, kind, _), share in shares.items() if kind == work)
    parts = (time / row.time_ns, alike / row.time_ns)
    found = Critical(row.size, row.algorithm, device, work, peer, *parts)
    if peer is None or work == "flag":
        return found
    ends = (peer, device) if work == "pull" else (device, peer)
    wires = set(machine.present.tree.wires(*ends))
    busy = [one for one in result.links if (one.id, one.direction) in wires]
    busiest = max(busy, key=lambda one: one.utilisation)
    return replace(
        found, link=busiest.id, direction=busiest.direction, utilisation=busiest.utilisation
    )
