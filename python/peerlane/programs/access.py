"""Defines accesses in flight, whose results are available later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Self

Result = TypeVar("Result")


class Waitable(Protocol):
    """What a program can await: an access or a time, which ends while simulated time passes."""

    @property
    def is_done(self) -> bool:
        """Whether the access or time has ended."""

    @property
    def until_ns(self) -> float | None:
        """The simulated time at which the wait ends, in nanoseconds; `None` if it is not known."""

    @property
    def simulation(self) -> object | None:
        """The simulation to which the access or time belongs, if there is one."""


def refuse_foreign(waited: Waitable, simulation: object) -> None:
    """Refuses to wait in `simulation` for an access or time of another simulation.

    Raises:
        ValueError: The access or time belongs to another simulation.
    """
    if waited.simulation is not None and waited.simulation is not simulation:
        right = "wait for it by that one"
        raise ValueError(f"{waited!r} belongs to another simulation; {right}")


class Source(Protocol):
    """The simulation that provides the outcomes of accesses."""

    def collect(self) -> None:
        """Stores the outcome of each access that has ended."""


class Access(Generic[Result]):
    """A read, a write or an atomic operation in flight.

    `SimulatedNode.begin_read` and similar methods begin an access. Simulated time passes in
    `Simulation.wait`, `run_until` and similar methods, or while a program awaits the access.
    `await` returns the value of `result`.
    """

    until_ns: None = None

    def __init__(self, source: Source | None, what: str) -> None:
        self._source = source
        self._what = what
        self._value: Result | None = None
        self._error: Exception | None = None
        self._ended_ns: float | None = None

    @property
    def simulation(self) -> object | None:
        """The simulation in which the access began; `None` if the device is on a test bench."""
        return self._source

    @property
    def is_done(self) -> bool:
        """Whether the last byte has arrived, or the access has failed."""
        if self._ended_ns is None and self._source is not None:
            self._source.collect()
        return self._ended_ns is not None

    @property
    def ended_ns(self) -> float | None:
        """The simulated time of the last byte or the failure, in nanoseconds; `None` in flight."""
        return self._ended_ns if self.is_done else None

    def has_outcome(self) -> bool:
        """Whether the outcome is stored; unlike `is_done`, this does not read the simulation."""
        return self._ended_ns is not None

    def result(self) -> Result:
        """The result: bytes of a read, old value of an atomic operation, no bytes for a write.

        Raises:
            RequestError: The access has failed; the message has the reason.
            RuntimeError: The access has not ended.
        """
        if not self.is_done:
            right = "let time pass, for example by Simulation.wait"
            raise RuntimeError(f"{self._what} has not ended; {right}")
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]

    def __await__(self) -> Generator[Self, None, Result]:
        while not self.is_done:
            yield self
        return self.result()

    def __repr__(self) -> str:
        return f"<{self._what}, {'ended' if self.is_done else 'in flight'}>"

    def end(self, time_ns: float, value: Result | None, error: Exception | None = None) -> None:
        """Stores the outcome; the simulation calls this method."""
        self._ended_ns, self._value, self._error = time_ns, value, error


class Clock(Protocol):
    """The part of a `Simulation` that a `Sleep` uses."""

    @property
    def now_ns(self) -> float:
        """The current simulated time, in nanoseconds."""


class Sleep:
    """A wait of a program for a time; `Simulation.sleep` creates it."""

    def __init__(self, clock: Clock, until_ns: float) -> None:
        self._clock = clock
        self.until_ns = until_ns

    @property
    def simulation(self) -> object:
        """The simulation in which the time passes."""
        return self._clock

    def __repr__(self) -> str:
        return f"<the time {self.until_ns} ns>"

    @property
    def is_done(self) -> bool:
        """Whether the simulation has reached the time."""
        # Times are whole femtoseconds.
        return round(self._clock.now_ns * 1e6) >= round(self.until_ns * 1e6)

    def __await__(self) -> Generator[Self, None, None]:
        while not self.is_done:
            yield self
