"""A simulation, which runs to its end, or which a program controls access by access."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256
from operator import index
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, SupportsIndex, get_args

from peerlane import _core
from peerlane.fabric.accesses import Accesses
from peerlane.fabric.expecting import expected, judged
from peerlane.fabric.filter import EVERYTHING, Filter
from peerlane.fabric.moved import moved
from peerlane.fabric.scenario_warning import ScenarioWarning
from peerlane.fabric.silence import silence
from peerlane.fabric.simulated_node import SimulatedNode
from peerlane.fabric.tree import Tree
from peerlane.figures.quantities import nanoseconds
from peerlane.formats import duration
from peerlane.models.loading import devices_made
from peerlane.models.outside import OutsideDevice
from peerlane.models.registry import all_models
from peerlane.programs.access import Access, Sleep, refuse_foreign
from peerlane.results import markup
from peerlane.results.run import RunResult
from peerlane.results.wires import Wires

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from os import PathLike

    from peerlane.models.loading import Source
    from peerlane.results.expectations import Expectation


Capture = Literal["trace", "perfetto", "vcd", "pcap"]

LONGEST_NS = 1e13
"""The longest sleep of a program, in nanoseconds."""


_known: ContextVar[str | None] = ContextVar("known", default=None)


@contextmanager
def already_warned(about: str = "") -> Iterator[None]:
    """Suppresses the warnings of all simulations that are created in this context.

    Args:
        about: Only warnings that contain this text; without it, all.
    """
    token = _known.set(about)
    try:
        yield
    finally:
        _known.reset(token)


class Simulation:
    """One fabric, its workload, and the current simulated time.

    Args:
        text: The scenario: a text in TOML, or a parsed scenario, in which keys may have been
            changed.
        source: The name of a TOML text in messages, usually its file name.
        seed: The seed, which replaces the scenario's own seed.
        settings: The keys whose values differ from the text, as words for messages.
        models: Device models that the scenario names, by their names. A model is a class derived
            from `Device`, an object of such a class, which is then the only device of the model, a
            `Library`, or a file.

    Raises:
        ScenarioError: The scenario cannot be built.
        ModelError: A device of a model cannot be made.
        ValueError: One of `models` is not a model.

    Warns:
        ScenarioWarning: The scenario can be simulated, but has a risk, such as a deadlock.
    """

    def __init__(
        self,
        text: str | _core.Scenario,
        *,
        source: str = "<text>",
        seed: int | None = None,
        settings: str = "",
        models: Mapping[str, Source] | None = None,
    ) -> None:
        _refuse_file(text)
        with devices_made() as self._devices:
            if isinstance(text, str):
                self._core = _core.Simulation(text, source, seed, all_models(models))
            else:
                self._core = _core.Simulation.of(text, settings or None, seed, all_models(models))
        self._written = text
        self._source = source if isinstance(text, str) else text.source
        self._accesses = Accesses(self._core)
        self._attach(models or {})
        self._expectations: tuple[Expectation, ...] = ()
        if rows := self._core.expectations():
            with_ = f" with {settings}" if settings else ""
            self._expectations = tuple(
                expected(
                    rows, self.result(), lambda line: self._source + f":{line}" * (line > 0) + with_
                )
            )
        known = _known.get()
        for warning in self._core.warnings():
            if known is None or known not in warning:
                warnings.warn(ScenarioWarning(warning), stacklevel=2)

    def _attach(self, models: Mapping[str, Source]) -> None:
        """Connects each `OutsideDevice`, which a program outside the simulation controls."""
        outside = {name: one for name, one in models.items() if isinstance(one, OutsideDevice)}
        for one in models.values():
            if isinstance(one, type) and issubclass(one, OutsideDevice):
                right = f"give an object that it has, model={one.__name__}()"
                raise ValueError(f"{one.__name__} is a device that is a program; {right}")  # noqa: TRY004
        for node in self.tree().nodes if outside else ():
            if node.model in outside:
                outside[node.model].attach(self, node.name)

    def __repr__(self) -> str:
        try:
            when = f"at {duration(self.now_ns)}"
        except RuntimeError:  # in a callback, or from another thread
            when = "that is running"
        return f"<Simulation of {self._source} {when}>"

    def _repr_html_(self) -> str:
        """The nodes, the links and the simulated time as HTML for a notebook."""
        return markup.page(markup.line(repr(self))) + self.tree()._repr_html_()

    @classmethod
    def open(
        cls,
        path: str | PathLike[str],
        *,
        seed: int | None = None,
        models: Mapping[str, Source] | None = None,
    ) -> Simulation:
        """Opens the scenario file at `path`; `seed` and `models` are as for `Simulation`.

        Raises:
            OSError: The file cannot be read.
            ScenarioError: The file is not a scenario.
        """
        return cls(read_scenario(path), source=str(path), seed=seed, models=models)

    @property
    def core(self) -> _core.Simulation:
        """The simulation in the core, for modules of Peerlane that use it directly."""
        return self._core

    @property
    def scenario_digest(self) -> str:
        """The SHA-256 of the scenario's text, in hexadecimal digits after the word sha256."""
        return digest_of(self.text)

    @property
    def text(self) -> str:
        """The text of the scenario."""
        return self._written if isinstance(self._written, str) else self._written.to_toml()

    @property
    def now_ns(self) -> float:
        """The current simulated time, in nanoseconds."""
        return self._core.now_ns

    @property
    def measure_ns(self) -> tuple[float, float] | None:
        """The window in which rates are measured, in nanoseconds from when every link is up."""
        return self._core.measure_ns()

    @property
    def is_random(self) -> bool:
        """Whether the run draws random numbers, for example for bit errors, jitter or workloads."""
        return self._core.is_random()

    def warnings(self) -> list[str]:
        """The texts of the warnings about the scenario when the simulation was created."""
        return self._core.warnings()

    def tree(self) -> Tree:
        """The fabric as enumeration left it."""
        return Tree.from_json(self._core.tree())

    def capture(
        self, form: Capture, path: str | PathLike[str], *, only: Filter = EVERYTHING
    ) -> None:
        """Begins to capture the packets on wires that match `only`, to the file at `path`.

        The capture continues over several runs; after each run the file has all captured packets.

        Args:
            form: The form of the file. "trace" has a line with a JSON object for every TLP, DLLP,
                ordered set and arrival: `docs/reference/trace.md`. "perfetto" is a timeline that
                https://ui.perfetto.dev shows, with queues and credit, and "vcd" a value change dump
                for GTKWave: `docs/reference/timeline.md`. "pcap" is pcapng for Wireshark with the
                dissector of `integrations/wireshark`: `docs/reference/capture.md`.
            path: The file.
            only: A filter for the packets that are captured.

        Raises:
            OSError: The file cannot be written.
            ValueError: The form does not exist, or a link, kind, flow, range or window of the
                filter is wrong.
        """
        if form not in get_args(Capture):
            right = f"write {', '.join(get_args(Capture))}"
            raise ValueError(f"{form!r} is no form of captures; {right}")
        self._core.capture(form, fspath(path), only.parts())

    def sample(self, *, every: str | float) -> float:
        """Begins to sample rates and queue lengths; returns the interval in nanoseconds.

        The interval is a text such as "10 us", or a number of nanoseconds.

        The `series` of the result has the samples. If the samples need more than 6 MiB, every
        second sample is dropped and the interval is doubled; `interval_ns` of the series is the
        final interval. Samples do not change the simulation.

        Raises:
            ValueError: `every` is not a time, or shorter than 1 ps.
        """
        return self._core.sample(every if isinstance(every, str) else f"{every} ns")

    def watch_coherence(self, *, every: int = 1000) -> None:
        """Begins to check the coherence of all caches, once in every `every` events.

        If a cache may write a line, no other cache may have the line. All caches that may read a
        line must have the same bytes, and if no cache has written the line, the bytes of memory.
        The `failures` of the result name each violation. A check reads every line of every cache,
        and is slow.

        Raises:
            ValueError: No host of the scenario is coherent.
        """
        self._core.watch_coherence(every)

    def watch_waits(self) -> None:
        """Begins to record what flows wait for, for `RunResult.waits` and `RunResult.explain`."""
        self._core.watch_waits()

    def run(
        self,
        progress: Callable[[float], object] | None = None,
        *,
        threads: int | Literal["auto"] | None = None,
    ) -> RunResult:
        """Runs until the simulation has no event left.

        With user-written device models the run continues after the end of the workloads until no
        event is left, or until no packet was created for 1 ms.

        Args:
            progress: A function that is called from time to time with the share of the run that is
                done, 0 to 1.
            threads: The number of threads; the default is one. With "auto", the run has as many
                threads as there are processors, at most eight, if the simulator expects that
                threads save time in this fabric. The results do not depend on the number. A run
                that cannot be divided into this number of regions, or is very short, has fewer
                threads: `fewer_threads` has the reason. After a run on several threads, accesses
                and programs are simulated on one thread.

        Raises:
            ModelError: A user-written device model has failed, which ends the run.
            TypeError: `threads` is not a whole number, or "auto".
            ValueError: `threads` is less than 1.
        """
        ran = self._core.run(progress, _number_of_threads(threads))
        return judged(RunResult.from_json(ran), self._expectations)

    @property
    def fewer_threads(self) -> str | None:
        """If the run had fewer threads than requested: their number and the reason, as a text."""
        count, why, shared = self._core.threads()
        if why is None and count > 1 and not shared:
            count, why = 1, "it was too short, or its workloads do not show how long they go on"
        return why and f"the run had {count} thread{'s' if count > 1 else ''}: {why}"

    def run_while(self, goes_on: Callable[[float], object]) -> bool:
        """Runs as `run` does, as long as `goes_on` returns true; its argument is the share done.

        The next call continues from the time at which this call ended. Returns whether no event is
        left.
        """
        return self._core.run_while(goes_on)

    def run_until(self, time: float | str) -> bool:
        """Runs to a time, in nanoseconds or as a text; returns false if no event is left."""
        return self._core.run_until(nanoseconds(time))

    def step(self) -> bool:
        """Runs one event; returns false if there is none."""
        return self._core.step()

    def node(self, name: str) -> SimulatedNode:
        """Returns a host or device, whose methods make accesses, and create threads of hosts."""
        return SimulatedNode(name, self, self._accesses)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Returns the method of nodes that has replaced a method of this class."""
            return moved(self, name)

    def collect(self) -> None:
        """Sets the outcomes of accesses that have ended."""
        self._accesses.collect()

    def wait(self, *accesses: Access[Any], until: float | str | None = None) -> bool:
        """Lets simulated time pass until all `accesses` have ended; returns whether all have ended.

        Time passes at most until the time `until`, a number of nanoseconds or a text such as "10
        us".

        Raises:
            RuntimeError: No event is left, and an access has not ended.
            ModelError: A user-written device model has failed.
            ValueError: An access belongs to another simulation.
        """
        self._refuse_foreign(accesses)
        for access in accesses:
            while not access.is_done:
                if not self._pass(access, until):
                    return all(one.is_done for one in accesses)
        return True

    def wait_first(
        self, *accesses: Access[Any], until: float | str | None = None
    ) -> list[Access[Any]]:
        """Lets time pass until one of `accesses` has ended; returns all that have ended.

        Arguments and errors are as for `wait`. The list is empty if the time `until` is reached
        before an access ends.

        Raises:
            ValueError: No access is given, or an access belongs to another simulation.
        """
        if not accesses:
            raise ValueError("there is nothing to wait for; give at least one access in flight")
        self._refuse_foreign(accesses)
        while True:
            self.collect()
            ended = [one for one in accesses if one.has_outcome()]
            if ended or not self._pass(accesses[0], until):
                return ended

    def _refuse_foreign(self, accesses: Sequence[object]) -> None:
        for access in accesses:
            if not isinstance(access, Access):
                right = "give what begin_read, begin_write and others return"
                raise TypeError(f"{access!r} is no access in flight; {right}")
            refuse_foreign(access, self)

    def _pass(self, access: Access[Any], until: float | str | None) -> bool:
        """Lets time pass until an access ends; returns false if the time `until` comes first."""
        until_ns = None if until is None else nanoseconds(until)
        if until_ns is not None and self.now_ns >= until_ns:
            return False
        if not _core.advance_to(self._core, [], until_ns):
            raise RuntimeError(f"{access!r} has not ended, and nothing is left to happen")
        return True

    def sleep(self, time: float | str) -> Sleep:
        """Creates a wait of a given time, for `await` in a program of `peerlane.run_programs`.

        Args:
            time: A number of nanoseconds, or a text such as "10 us".

        Raises:
            ValueError: The time is negative or too long.
        """
        ns = nanoseconds(time)
        if not 0.0 <= ns <= LONGEST_NS:
            raise ValueError(f"{ns} ns is not a possible time to sleep; give 0 to 1e13 ns")
        return Sleep(self, self.now_ns + ns)

    def silence(self, host: str, message: int | None) -> Iterator[str]:
        """Lines about devices that do not cause the event for which a program of `host` waits.

        The event is the interrupt with `message`, or a write to memory if `message` is `None`.
        """
        return silence(self, self._devices, host, message)

    def lspci(self) -> str:
        """The configuration spaces at the current time, for `lspci -F`; a host is a PCI domain."""
        return self._core.lspci()

    def wires(self) -> Wires:
        """The counters of all links and fibres since the run began, and their waiting packets."""
        return Wires.from_json(self._core.wires())

    def result(self) -> RunResult:
        """The measurements up to now."""
        return judged(RunResult.from_json(self._core.result()), self._expectations)


def _refuse_file(text: object) -> None:
    """Refuses the path of a scenario as the argument that must be the scenario's text.

    Raises:
        TypeError: The argument is neither a text nor a parsed scenario.
        ValueError: The text is the name of a file.
    """
    right = "give its text, or read the file by Simulation.open"
    if not isinstance(text, str | _core.Scenario):
        raise TypeError(f"{text!r} is no scenario; {right}")
    if isinstance(text, str) and text.endswith(".toml") and "\n" not in text:
        raise ValueError(f"{text!r} is the name of a file; {right}")


_MOST_THREADS = 1 << 20


def _number_of_threads(given: SupportsIndex | Literal["auto"] | None) -> int | None:
    """The number of threads that is requested for a run; `None` if the simulator chooses it."""
    if given is None:
        return 1
    if given == "auto":
        return None
    try:
        threads = index(given)
    except TypeError:
        msg = f'threads is {given!r}; write a whole number of 1 or more, or "auto"'
        raise TypeError(msg) from None
    if threads < 1:
        msg = f'{threads} threads cannot run anything; write 1 or more, or "auto"'
        raise ValueError(msg)
    return min(threads, _MOST_THREADS)


def digest_of(text: str) -> str:
    """The SHA-256 of the text of a scenario, in the form in which results have it."""
    return f"sha256:{sha256(text.encode()).hexdigest()}"


def read_scenario(path: str | PathLike[str]) -> str:
    """Reads the text of a scenario file.

    Raises:
        OSError: The file cannot be read.
        ScenarioError: The file is empty, too long, or is not text.
    """
    with Path(path).open("rb") as file:
        return scenario_of(file, str(path))


MOST_BYTES = 64 << 20
"""The most bytes of a scenario, so that a read of a device such as /dev/zero ends. A larger
scenario could not be simulated."""


def scenario_of(file: BinaryIO, path: str) -> str:
    """Reads the text of a scenario from an open file; `path` is its name in messages.

    Raises:
        OSError: The file cannot be read.
        ScenarioError: The file is empty, longer than `MOST_BYTES`, or is not text.
    """
    content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise _core.ScenarioError(
            f"{path}: more than {MOST_BYTES >> 20} MiB; a scenario is a TOML file of less"
        )
    try:
        text = content.decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise _core.ScenarioError(
            f"{path}: not a text file (byte {error.start}); a scenario is TOML in UTF-8"
        ) from None
    if not text.strip():
        raise _core.ScenarioError(f"{path}: the file is empty; a scenario needs at least one host")
    return text
