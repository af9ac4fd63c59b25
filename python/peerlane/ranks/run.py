"""Runs a parallel program on the hosts of a fabric: a coroutine for each rank."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from inspect import iscoroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from peerlane import _core
from peerlane.building.builder import Fabric
from peerlane.errors import PeerlaneError
from peerlane.fabric.simulation import Simulation
from peerlane.ranks.rank import Ended, Mail, Operation, Rank
from peerlane.results.brief import Brief

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike
    from types import CoroutineType

    from peerlane.fabric.settings import Setting
    from peerlane.results.run import RunResult

T = TypeVar("T")

_OWN_WAITS = (
    "a rank program may await only calls of its rank; to let time pass, use rank.compute(...)"
)
_NO_LOOP = "no running event loop"
"""The message of asyncio if one of its functions is awaited outside of an event loop."""
_SHOWN = 16
"""The most ranks, or lines of programs, that one message names."""


class Deadlock(PeerlaneError, RuntimeError):  # noqa: N818 - what it is called
    """Ranks wait for each other, or for a rank that has ended, and no event can end their wait."""


@dataclass(frozen=True, slots=True)
class RankRun(Brief, Generic[T]):
    """The outcome of a parallel program.

    Attributes:
        values: The value that the program of each rank returned.
        nics: The name of the `nic` device of each rank.
        began_ns: The time at which all ranks began, in nanoseconds of simulated time.
        ended_ns: The time at which each rank returned.
        result: The measurements of the fabric: links, errors, and the workloads of its scenario.
        unreceived: The number of messages that were sent and never received, by source, target
            and tag.
    """

    values: tuple[T, ...]
    nics: tuple[str, ...]
    began_ns: float
    ended_ns: tuple[float, ...]
    result: RunResult
    unreceived: dict[tuple[int, int, int], int]

    @property
    def elapsed_ns(self) -> float:
        """The time from the beginning of the ranks to the return of the last rank."""
        return max(self.ended_ns) - self.began_ns


def run_ranks(
    fabric: Fabric | Simulation | str | PathLike[str],
    program: Callable[[Rank], Coroutine[Any, Any, T]]
    | Sequence[Callable[[Rank], Coroutine[Any, Any, T]]],
    *,
    nics: Sequence[str] | None = None,
    seed: int | None = None,
    **parameters: Setting,
) -> RankRun[T]:
    """Runs a parallel program on the hosts of a fabric, to the end of all ranks.

        >>> from peerlane import Fabric, run_ranks
        >>> fabric = Fabric().links(generation=3, lanes=8).controller("c")
        >>> for host in ("a", "b"):
        ...     fabric = fabric.host(host).device(f"nic-{host}", host, model="nic")
        >>> async def program(rank):
        ...     if rank.number == 0:
        ...         await rank.send(1, b"ping", tag=7)
        ...         return (await rank.receive(1)).data
        ...     message = await rank.receive(0)
        ...     await rank.send(message.source, message.data.upper())
        >>> run_ranks(fabric, program, eager_limit="1 KiB").values
        (b'PING', None)

    Args:
        fabric: A fabric with `nic` devices, or its scenario file. Workloads of the fabric run at
            the same time as the program, on functions of the nics that ranks do not use.
        program: An `async` function, whose argument is a `Rank`, or a list with a function for each
            rank.
        nics: The nic of each rank, in order; by default each nic has one rank. A nic that is named
            several times has several ranks, each with a function of its own (`virtual_functions`).
        seed: The seed of the run, instead of the scenario's seed.
        parameters: Parameters of the message layer, such as `eager_limit="1 KiB"`,
            `rendezvous="get"`; `peerlane list parameters` has all of them.

    Raises:
        ScenarioError: The fabric cannot be built, or a parameter does not exist.
        ValueError: A nic does not exist, or has fewer functions than ranks.
        Deadlock: Ranks wait for ever; the message names the calls in which they wait.
        RuntimeError: A program awaits a wrong object, or does not await a call.

    Exceptions of programs are raised unchanged, with a note that names the rank. After an
    exception, a given `Simulation` can be read, but not continued.
    """
    simulation = _simulation(fabric, seed)
    if isinstance(nics, str):
        raise TypeError(f"nics are a list of names; write [{nics!r}]")
    places = tuple(_core.nics(simulation.core) if nics is None else nics)
    if not places:
        raise ValueError('there is no nic; add devices with model = "nic", and a controller')
    programs = _programs(program, len(places))
    given = [(key, value) for key, value in parameters.items() if value is not None]
    job = _core.Job(simulation.core, list(places), given)
    began_ns = simulation.now_ns
    threads: list[_Thread[T]] = []
    mail: Mail = Counter()
    try:
        for number, one in enumerate(programs):
            threads.append(_Thread(Rank(number, len(places), job, simulation, mail), one))
        going = sum(thread.resume(None) for thread in threads)
        while going:
            done = job.advance()
            if not done:
                raise Deadlock(_deadlock(threads, +mail, job.faults()))
            going -= sum(not threads[ended[0]].resume(ended) for ended in done)
    finally:
        for thread in threads:
            thread.close()
    if faults := job.faults():
        raise RuntimeError(f"controllers have stopped messages: {_counted(faults)}")
    values = tuple(value for thread in threads for value in thread.values)
    ended_ns = tuple(thread.ended_ns for thread in threads)
    return RankRun(values, places, began_ns, ended_ns, simulation.result(), dict(+mail))


class _Thread(Generic[T]):
    """The running program of one rank."""

    def __init__(self, rank: Rank, program: Callable[[Rank], Coroutine[Any, Any, T]]) -> None:
        self.rank = rank
        self.waits: Operation[Any] | None = None
        self.values: list[T] = []
        self.ended_ns = 0.0
        coroutine = program(rank)
        if not iscoroutine(coroutine):
            what = f"the program of rank {rank.number} has returned {coroutine!r} at once"
            raise TypeError(f"{what}; write it as an `async def` without `yield`")
        self._coroutine: CoroutineType[Any, Any, T] = coroutine

    def resume(self, ended: Ended | None) -> bool:
        """Runs the program to its next operation; returns false if it runs to its end."""
        self.waits, self.rank.is_running = None, True
        try:
            self.waits = self._next(ended)
        except BaseException as error:
            error.add_note(f"This is from the program of rank {self.rank.number}.")
            if isinstance(error, RuntimeError) and str(error) == _NO_LOOP:
                error.add_note(_OWN_WAITS)
            raise
        finally:
            self.rank.is_running = False
        return self.waits is not None

    def where(self) -> str:
        """The call in which the rank waits, with its file and line."""
        if self.waits is None:
            return "ended"
        frame = self._coroutine.cr_frame
        line = f" ({Path(frame.f_code.co_filename).name}:{frame.f_lineno})" if frame else ""
        return f"in {self.waits.text}{line}"

    def close(self) -> None:
        """Closes the coroutine of the program."""
        with suppress(Exception):
            self._coroutine.close()

    def _next(self, ended: Ended | None) -> Operation[Any] | None:
        step: Callable[[], object] = partial(self._coroutine.send, ended)
        while True:
            try:
                asked = step()
            except StopIteration as end:
                self.values.append(end.value)
                self.rank.leave()
                self.ended_ns = self.rank.now_ns
                return None
            if isinstance(asked, Operation) and asked.rank is self.rank:
                return asked
            step = partial(self._coroutine.throw, TypeError(_OWN_WAITS))


def _simulation(fabric: Fabric | Simulation | str | PathLike[str], seed: int | None) -> Simulation:
    if isinstance(fabric, Fabric):
        return fabric.simulation(seed=seed)
    if not isinstance(fabric, Simulation):
        return Simulation.open(fabric, seed=seed)
    if seed is not None:
        raise ValueError("a simulation has its seed already; give it when you make one")
    return fabric


def _programs(
    program: Callable[[Rank], Coroutine[Any, Any, T]]
    | Sequence[Callable[[Rank], Coroutine[Any, Any, T]]],
    size: int,
) -> Sequence[Callable[[Rank], Coroutine[Any, Any, T]]]:
    if not isinstance(program, Sequence):
        return [program] * size
    if len(program) != size:
        raise ValueError(f"there are {len(program)} programs for {size} ranks; write one for each")
    return program


def _deadlock(threads: Sequence[_Thread[Any]], mail: Mail, faults: list[tuple[str, int]]) -> str:
    places: defaultdict[str, list[int]] = defaultdict(list)
    for thread in threads:
        places[thread.where()].append(thread.rank.number)
    waits = [f"{_numbers(ranks)} {place}" for place, ranks in places.items()]
    rest = [f"and {len(waits) - _SHOWN} other places"] if len(waits) > _SHOWN else []
    stopped = [f"controllers have stopped messages: {_counted(faults)}"] if faults else []
    unreceived = [
        f"{count} of rank {source} to rank {target} with tag {tag}"
        for (source, target, tag), count in sorted(mail.items())[:_SHOWN]
    ]
    left = [f"messages that were not received: {', '.join(unreceived)}"] if unreceived else []
    return "ranks wait for ever: " + "; ".join(waits[:_SHOWN] + rest + left + stopped)


def _numbers(ranks: list[int]) -> str:
    rest = f" and {len(ranks) - _SHOWN} more" if len(ranks) > _SHOWN else ""
    return f"rank{'s'[: len(ranks) - 1]} {', '.join(map(str, ranks[:_SHOWN]))}{rest}"


def _counted(faults: list[tuple[str, int]]) -> str:
    return ", ".join(f"{what} ({count} times)" for what, count in faults)
