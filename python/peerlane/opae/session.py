"""Runs real programs on a simulated host, whose cards they access by Peerlane's library."""

from __future__ import annotations

import errno
import os
import select
import shutil
import signal
import socket as sockets
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from peerlane import _core
from peerlane.fabric.simulation import Simulation
from peerlane.opae import afu
from peerlane.opae.bitstream import model_of
from peerlane.opae.evidence import Evidence, Ledger
from peerlane.opae.stuck import PATIENCE, end_unit
from peerlane.opae.topology import hwloc_xml
from peerlane.results.brief import Brief

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType

    from peerlane.opae.afu import Afu

OPTIONS = {
    "VALGRIND_OPTS": "--vex-iropt-register-updates=allregs-at-mem-access --vex-guest-chase=no",
    "ASAN_OPTIONS": "allocator_release_to_os_interval_ms=-1",
    "TSAN_OPTIONS": f"suppressions='{Path(__file__).parent / 'tsan.supp'}'",
}
"""The options that are set for tools that check programs: for valgrind, because the library handles
accesses to registers as faults; for AddressSanitizer, because its allocator would otherwise read
the clock; for ThreadSanitizer, because it does not detect how the library's threads wait. Options
that the user has set are added after these options."""

_BETWEEN = {"VALGRIND_OPTS": " ", "ASAN_OPTIONS": ":", "TSAN_OPTIONS": ":"}


@dataclass(frozen=True, slots=True)
class Outcome(Brief):
    """The outcome of a program."""

    status: int
    """The exit status; if a signal ended the program, 128 plus the number of the signal."""
    simulated_ns: float
    """The simulated time of the session."""
    wall_seconds: float
    """The real time from the start to the end of the program."""
    evidence: Evidence
    """The causes of the simulated time, the use of links, and the sources of the host's
    constants."""


def library_folder() -> Path:
    """The folder of `libopae-c.so`."""
    return Path(__file__).parent / "lib"


def include_folder() -> Path:
    """The folder that contains the headers `opae/*.h`."""
    return Path(__file__).parent / "include"


def run_program(  # noqa: PLR0913 - each says something else of the run
    command: Sequence[str],
    scenario: tuple[str, str] | Simulation,
    *,
    host: str | None = None,
    images: Mapping[str, bytes] | Mapping[tuple[str, int], bytes] | None = None,
    models: Sequence[str] = (),
    wall: bool = False,
    seed: int | None = None,
) -> Outcome:
    """Runs a program on a host of a fabric until it ends.

    Args:
        command: The program and its arguments.
        scenario: The text of a scenario and its name in messages, or a simulation. The simulation
            may have captures; after the call, its time is the end of the program.
        host: The host that runs the program; if absent, the first host with a card.
        images: Bitstreams to load: by card for slot 0, or by card and slot. All other slots have
            the accelerators of the scenario.
        models: Accelerators in Python, `FILE.py` or `FILE.py:CLASS`, whose bitstreams the program
            may load, besides the bitstreams of `images`.
        wall: Whether the program reads the clock of the machine instead of simulated time.
        seed: The seed, which replaces the scenario's own seed.

    Raises:
        ScenarioError: The scenario cannot be built.
        UnitError: An accelerator in Python raised an exception, which is the cause, and the program
            was ended; or it did not return after a signal had ended the program.
        StuckUnitError: An accelerator in Python does not return even after an exception, and the
            simulation is lost.
        TypeError: A single text is given instead of a list of texts, or instead of a scenario and
            its name.
        ValueError: The scenario does not have the host or a card, an image is no bitstream, or the
            command is empty.
        OSError: The program cannot be started.
    """
    _check_arguments(command, scenario, models)
    _remove_dead_sessions()
    if isinstance(scenario, Simulation):
        simulation = scenario
    else:
        text, source = scenario
        simulation = Simulation(text, source=source, seed=seed)
    given = [afu.place_of(model) for model in models]
    given += [model for bits in (images or {}).values() if (model := model_of(bits))]
    load = _loader(given)
    for place, bits in (images or {}).items():
        card, slot = place if isinstance(place, tuple) else (place, 0)
        _core.load_image(simulation.core, card, bits, load, slot)
    ledger = Ledger(simulation, host)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=_sessions_folder()) as folder:
        socket = str(Path(folder) / "session")
        topology = Path(folder) / "topology.xml"
        if ledger.host in {one.name for one in simulation.tree().nodes if one.kind == "host"}:
            topology.write_bytes(hwloc_xml(simulation, ledger.host))
        clocks = time.time_ns(), time.monotonic_ns()
        session = _core.Session(simulation.core, host, socket, clocks, load, wall)
        program = _Program()
        failures: list[BaseException] = []

        def serve() -> None:
            processes: list[int] = []
            raised: BaseException | None
            try:
                processes, raised = session.serve()
            except BaseException as error:  # noqa: BLE001 - a panic is one, too
                raised = error
            if raised is not None:
                failures.append(raised)
                program.end(processes)

        # The thread of an accelerator that never returns cannot be ended, but it must not prevent
        # the end of the process.
        server = threading.Thread(target=serve, name="peerlane session", daemon=True)
        server.start()
        began = time.monotonic()
        try:
            status = program.run(command, _environment(socket, topology))
        finally:
            took = time.monotonic() - began
            session.end()
            patience = PATIENCE if program.is_signalled else None
            stuck = end_unit(server, serve.__code__, patience)
            times = _finish(simulation, session, failures)
        if stuck:
            raise stuck
        if failures:
            raise failures[0]
        return Outcome(status, times["all"], took, ledger.close(times))


def _finish(
    simulation: Simulation, session: _core.Session, failures: Sequence[BaseException]
) -> dict[str, float]:
    """Returns the fabric from a session to the simulation; returns the times of the session.

    Raises:
        BaseException: The first failure, if it was a panic, because the fabric does not exist after
            a panic.
    """
    try:
        return dict(session.finish(simulation.core))
    except RuntimeError:
        for failure in failures:
            raise failure from None
        raise


def _check_arguments(command: object, scenario: object, models: object) -> None:
    """Refuses a single text in place of a list, a scenario without a name, an empty command."""
    for name, given in (("command", command), ("models", models)):
        if isinstance(given, str | bytes):
            raise TypeError(f"{name} must be a list of texts; write [{given!r}]")
    if isinstance(scenario, str):
        raise TypeError(
            "scenario must be a simulation, or a text and what to call it in messages; "
            'write (Path("FILE").read_text(), "FILE")'
        )
    if not command:
        raise ValueError("the command is empty; write a program and its arguments")


def _loader(given: Sequence[str]) -> Callable[[str], Afu]:
    """Makes a function that loads only the given models: a bitstream must not run other code."""

    def load(place: str) -> Afu:
        if place not in given:
            raise ValueError(
                f"it names the model {place}, which was not given; add --model {place} to opae run"
            )
        return afu.load(place)

    return load


_PREFIX = "peerlane-"

_LONGEST = 107 - len(f"/{_PREFIX}12345678/session")
"""The most bytes in the path of the folder for sessions, because a socket's path has at most 107.
"""


def _sessions_folder() -> str:
    """The folder for sessions: the folder for temporary files, unless its path is too long.

    Raises:
        OSError: No folder is short enough and can be written.
    """
    usual = tempfile.gettempdir()
    others = (f"/run/user/{os.getuid()}", "/dev/shm")  # noqa: S108 - a folder in it is made by mkdtemp
    for folder in (usual, "/tmp", *others):  # noqa: S108 - as above
        if len(os.fsencode(folder)) <= _LONGEST and os.access(folder, os.W_OK | os.X_OK):
            return folder
    raise OSError(
        errno.ENAMETOOLONG,
        f"the path is too long for the socket of a session, which has at most {_LONGEST} bytes; "
        "set TMPDIR to a folder with a shorter path",
        usual,
    )


_YOUNG = 60.0
"""The age, in seconds, up to which a folder without a server may belong to a session that begins.
"""


def _remove_dead_sessions() -> None:
    """Removes the folders of sessions that were killed: their sockets have no server."""
    for socket in Path(_sessions_folder()).glob(f"{_PREFIX}*/session"):
        with suppress(OSError):
            seen = socket.lstat()
            if seen.st_uid != os.getuid() or time.time() - seen.st_mtime < _YOUNG:
                continue
            with sockets.socket(sockets.AF_UNIX, sockets.SOCK_SEQPACKET) as process:
                try:
                    process.connect(str(socket))
                except ConnectionRefusedError:
                    shutil.rmtree(socket.parent)


@contextmanager
def _passed_on(program: _Program) -> Iterator[None]:
    """Forwards signals that would end this process to the program, unless it receives them itself.

    A terminal sends Ctrl-C to this process and to the program; the program decides whether it ends.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def pass_on(number: int, _: FrameType | None) -> None:
        program.is_signalled = True
        if number != signal.SIGINT or not _is_in_foreground():
            program.signal(number)

    known = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    before = {one: signal.signal(one, pass_on) for one in known}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _is_in_foreground() -> bool:
    """Whether Ctrl-C in the terminal reaches this process and, with it, the program."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


_PATIENCE = 2.0
"""The seconds in which the program can end by itself after a failure of the session, before it
receives SIGTERM; and again before it receives SIGKILL."""


class _Program:
    """The program of a session."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self.is_signalled = False

    def run(self, command: Sequence[str], environment: Mapping[str, str]) -> int:
        """Runs the program to its end; returns its exit status."""
        # The handlers are installed before the program begins, so that a signal to both processes
        # cannot end this process first.
        with _passed_on(self), subprocess.Popen(list(command), env=environment) as process:
            self._process = process
            for number in self._early:
                process.send_signal(number)
            status = process.wait()
        return status if status >= 0 else 128 - status

    def signal(self, number: int) -> None:
        """Sends a signal to the program, at once or when the program has begun."""
        if self._process is None:
            self._early.append(number)
        else:
            self._process.send_signal(number)

    def end(self, others: Sequence[int]) -> None:
        """Ends the program and the session's processes `others`, if they do not end themselves."""
        # A program that has not been started is killed at its start; a running program has time to
        # end by itself.
        self._early.append(signal.SIGKILL)
        numbers = {*others} - {os.getpid()}
        if self._process is not None:
            numbers.add(self._process.pid)
        opened = []
        for number in numbers:
            with suppress(OSError):
                opened.append(os.pidfd_open(number))
        alive = list(opened)
        for kind in (signal.SIGTERM, signal.SIGKILL, None):
            until = time.monotonic() + _PATIENCE
            while alive and (left := until - time.monotonic()) > 0:
                ended, _, _ = select.select(alive, [], [], left)
                alive = [file for file in alive if file not in ended]
            if kind is None:
                break
            for file in alive:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(file, kind)
        for file in opened:
            os.close(file)


def _environment(socket: str, topology: Path) -> dict[str, str]:
    own = os.environ
    libraries = [str(library_folder()), *filter(None, [own.get("LD_LIBRARY_PATH")])]
    options = {
        name: _BETWEEN[name].join([ours, *filter(None, [own.get(name)])])
        for name, ours in OPTIONS.items()
    }
    return {
        "HWLOC_XMLFILE": str(topology),
        **own,
        "PEERLANE_SESSION": socket,
        "LD_LIBRARY_PATH": ":".join(libraries),
        **options,
    }
