"""Advises about the GPUs of a scenario."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from peerlane._core import ScenarioError
from peerlane.advising.changes import effects
from peerlane.advising.collectives import CHUNK, Ranks, all_reduces, fastest
from peerlane.advising.machine import GPU, Machine
from peerlane.advising.peers import peers
from peerlane.advising.ranges import ranges_of
from peerlane.results.advice import Advice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Executor

    from peerlane.fabric.settings import Setting
    from peerlane.results.advice import AllReduce

SIZES = tuple(1024 * 4**power for power in range(11))
"""The sizes of the all-reduce: 1 KiB to 1 GiB."""

SIMULATED = 16 << 20
"""The largest size that is simulated by default."""


def advise(  # noqa: PLR0913 - each is an option
    text: str,
    *,
    source: str = "<text>",
    settings: Mapping[str, Setting] | None = None,
    seed: int | None = None,
    devices: Sequence[str] | None = None,
    sizes: Iterable[int] = SIZES,
    simulate_to: int = SIMULATED,
    error_bars: bool = False,
    executor: Executor | None = None,
    progress: Callable[[float], object] = lambda _: None,
) -> Advice:
    """Measures all pairs of GPUs and an all-reduce of all GPUs, and tries changes of the fabric.

    Args:
        text: The scenario, as TOML; its own workloads do not run.
        source: The name of the scenario in messages.
        settings: New values of keys, by their paths.
        seed: The seed, which replaces the scenario's own.
        devices: The devices to compare, in the order of their ranks; all GPUs, if absent.
        sizes: The bytes of the vector of each GPU.
        simulate_to: The largest size that is simulated; larger sizes are extrapolated.
        error_bars: Whether to determine the ranges of all numbers, which repeats most runs for each
            default without a document that matters.
        executor: The workers; the processors of this machine, if absent.
        progress: A function that is called with the fraction done, 0 to 1.

    Raises:
        ScenarioError: The scenario cannot be built, or there are fewer than two devices to compare.
    """
    whole = 0.2 if error_bars else 1.0

    def part(begin: float, end: float) -> Callable[[float], object]:
        return lambda done: progress(begin + (end - begin) * done)

    wanted = list(sizes)
    machine = Machine(text, source, settings or {}, seed, executor)
    if devices:
        machine.check(devices)
    names = list(devices or machine.gpus())
    places, pairs = peers(machine, names, part(0.0, 0.2 * whole))
    ranks = Ranks.of(machine, [one.name for one in places if one.model == GPU])
    rows: list[AllReduce] = []
    failures: list[str] = []
    critical = obstacle = None
    try:
        ranks.check(source)
        later = part(0.2 * whole, 0.7 * whole)
        rows, critical, failures = all_reduces(machine, ranks, wanted, simulate_to, later)
    except ScenarioError as error:
        obstacle = str(error)
    measured = [one for one in pairs if one.bytes_per_second]
    slowest = min(measured, key=lambda one: one.bytes_per_second or 0.0, default=None)
    best = critical and (critical.size, critical.algorithm)
    row = next((one for one in rows if (one.size, one.algorithm) == best), None)
    found = effects(machine, ranks, slowest, row, part(0.7 * whole, whole))
    advice = Advice(
        name=str(machine.scenario.get("name") or "fabric"),
        seed=machine.seed,
        peers=tuple(places),
        pairs=tuple(pairs),
        ranks=ranks.names,
        island=ranks.island,
        chunk=CHUNK,
        obstacle=obstacle,
        all_reduces=tuple(rows),
        fastest=tuple(fastest(rows)),
        critical=critical,
        slowest=slowest,
        effects=tuple(found),
        failures=tuple(failures),
    )
    if not error_bars:
        return advice

    def changed(keys: Mapping[str, Setting]) -> Machine:
        return Machine(text, source, {**(settings or {}), **keys}, seed, executor)

    ranges = ranges_of(advice, changed, ranks, (wanted, simulate_to), part(whole, 1.0))
    return replace(advice, error_bars=ranges)
