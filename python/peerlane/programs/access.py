"""Accesses that have begun, and whose results are available later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Self

Result = TypeVar("Result")


class Waitable(Protocol):
    """An access or a time for which a program waits; it ends while simulated time passes."""

    @property
    def is_done(self) -> bool:
        """Whether the access or time has ended."""

    @property
    def until_ns(self) -> float | None:
        """The simulated time at which the wait ends, in nanoseconds, if it is known."""

    @property
    def simulation(self) -> object | None:
        """The simulation in which the wait ends, if there is one."""


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
        """Sets the outcomes of accesses that have ended."""


class Access(Generic[Result]):
    """A read, a write or an atomic operation in flight.

    `SimulatedNode.begin_read` and similar methods begin it. Simulated time passes in
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
        """The simulation in which the access began; `None` for a device on a bench."""
        return self._source

    @property
    def is_done(self) -> bool:
        """Whether the last byte has arrived, or the access has failed."""
        if self._ended_ns is None and self._source is not None:
            self._source.collect()
        return self._ended_ns is not None

    @property
    def ended_ns(self) -> float | None:
        """The simulated time of the last byte or the failure, in nanoseconds; `None` before."""
        return self._ended_ns if self.is_done else None

    def has_outcome(self) -> bool:
        """Whether the access has its outcome, without a look at the simulation as in `is_done`."""
        return self._ended_ns is not None

    def result(self) -> Result:
        """The bytes of a read, no bytes for a write, the old value for an atomic operation.

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
    """The part of a simulation that has the time."""

    @property
    def now_ns(self) -> float:
        """Simulated time, in nanoseconds."""


class Sleep:
    """A time for which a program waits: `Simulation.sleep` creates it."""

    def __init__(self, clock: Clock, until_ns: float) -> None:
        self._clock = clock
        self.until_ns = until_ns

    @property
    def simulation(self) -> object:
        """The simulation whose time counts."""
        return self._clock

    def __repr__(self) -> str:
        return f"<the time {self.until_ns} ns>"

    @property
    def is_done(self) -> bool:
        """Whether the time has come."""
        # Times are whole femtoseconds.
        return round(self._clock.now_ns * 1e6) >= round(self.until_ns * 1e6)

    def __await__(self) -> Generator[Self, None, None]:
        while not self.is_done:
            yield self
