"""The options of checkpoints, and the checkpoints of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from peerlane import CheckpointError, _core
from peerlane.cli.options import writable
from peerlane.cli.tables.cells import duration
from peerlane.fabric.checkpoint import check_replaceable
from peerlane.fabric.simulation import LONGEST_NS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from peerlane import Simulation


def _file(path: str | None) -> str | None:
    """A file that can be written and read again."""
    if path == "-":
        raise typer.BadParameter("a checkpoint is read again; name a file")
    return writable(path)


CheckpointTo = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="FILE",
        callback=_file,
        help="Write a checkpoint to FILE, from which `peerlane resume FILE` goes on with the same "
        "results: when --checkpoint-at or --checkpoint-every says so, and at an interrupt "
        "(Ctrl-C) or a SIGTERM. Not for hosts that run programs, such as drivers. "
        "docs/reference/checkpoints.md has more.",
    ),
]

CheckpointAt = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help='Write the checkpoint at this simulated time, such as "5ms"; the run goes on.',
    ),
]

CheckpointEvery = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Write a checkpoint each TIME of simulated time, over the one before.",
    ),
]


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The file of the checkpoints of a run, and their times in nanoseconds."""

    path: str
    at_ns: float | None = None
    every_ns: float | None = None

    def times(self, now_ns: float) -> Iterator[float]:
        """The times of checkpoints after `now_ns`."""
        if self.at_ns is not None and self.at_ns > now_ns:
            yield self.at_ns
        number = 0 if self.every_ns is None else int(now_ns // self.every_ns)
        while self.every_ns is not None and (number + 1) * self.every_ns <= LONGEST_NS:
            number += 1
            yield number * self.every_ns

    def missing(self, end_ns: float) -> Iterator[str]:
        """Says that a run that ended by itself at `end_ns` has no checkpoint at the wanted time."""
        if self.at_ns is not None:
            end, wanted = duration(end_ns), duration(self.at_ns)
            yield f"the run ended at {end}, before {wanted}: there is no checkpoint"


def read_checkpoints(path: str | None, at: str | None, every: str | None) -> Checkpoints | None:
    """The checkpoints that are asked for; none without options.

    Raises:
        typer.BadParameter: The options do not go together, or one is not a time.
    """
    times = {"--checkpoint-at": at, "--checkpoint-every": every}
    given = [option for option, time in times.items() if time is not None]
    if path is None:
        for option in given:
            raise typer.BadParameter("write --checkpoint FILE, too", param_hint=option)
        return None
    if at is not None and every is not None:
        raise typer.BadParameter(
            "write it alone, or --checkpoint-every alone", param_hint="--checkpoint-at"
        )
    return Checkpoints(path, _time_ns("--checkpoint-at", at), _time_ns("--checkpoint-every", every))


def _time_ns(option: str, text: str | None) -> float | None:
    if text is None:
        return None
    try:
        time_ns = float(_core.parameter_value("time", option, text))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None
    if not 0 < time_ns <= LONGEST_NS:
        right = "write a time above 0 and up to 10000 s"
        raise typer.BadParameter(f"{text} is out of range; {right}", param_hint=option)
    return time_ns


def check(simulation: Simulation, checkpoints: Checkpoints | None) -> None:
    """Refuses checkpoints of a fabric that has none, and files of something else.

    Raises:
        CheckpointError: There will be no checkpoint.
        OSError: The file cannot be read.
    """
    if checkpoints is not None:
        if checkpoints.at_ns is not None and checkpoints.at_ns <= simulation.now_ns:
            raise typer.BadParameter(
                f"the run is at {duration(simulation.now_ns)} already; write a later time",
                param_hint="--checkpoint-at",
            )
        check_replaceable(checkpoints.path, simulation.text)
        simulation.check_checkpoint()


@dataclass(slots=True)
class Unwritten:
    """What a run could not write on its way: captures, and the checkpoints since the last one."""

    captures: list[OSError] = field(default_factory=list)
    checkpoints: list[tuple[float, str]] = field(default_factory=list)

    def told(self) -> Iterator[str]:
        """Says which checkpoints are missing, and why."""
        if not self.checkpoints:
            return
        (first_ns, why), *later = self.checkpoints
        times = f"{len(later)} later times" if len(later) > 1 else "one later time"
        more = f" and {times}" if later else ""
        yield f"there is no checkpoint at {duration(first_ns)}{more}: {why}"


def save(
    simulation: Simulation,
    checkpoints: Checkpoints | None,
    progress: Callable[[float], object],
    unwritten: Unwritten,
) -> bool:
    """Runs to the last checkpoint, and writes them all; false if the run has ended before it.

    A run of hours goes on when a disk is full: `unwritten` gets the captures and checkpoints that
    were not written.

    Raises:
        CheckpointError: The fabric has none at the first of these times.
    """
    if checkpoints is None:
        return True
    has_one = False
    for time_ns in checkpoints.times(simulation.now_ns):
        if not _run_to(simulation, time_ns, progress, unwritten):
            return False
        try:
            simulation.checkpoint_to(checkpoints.path)
        except CheckpointError as error:
            if not has_one:
                raise
            unwritten.checkpoints.append((time_ns, str(error)))
        except OSError as error:
            why = f"{checkpoints.path}: {(error.strerror or str(error)).lower()}"
            unwritten.checkpoints.append((time_ns, why))
        else:
            has_one = True
            unwritten.checkpoints.clear()
    return True


def _run_to(
    simulation: Simulation,
    time_ns: float,
    progress: Callable[[float], object],
    unwritten: Unwritten,
) -> bool:
    while True:
        try:
            return simulation.run_to(time_ns, progress)
        except OSError as error:
            if error.filename is None:
                raise
            unwritten.captures.append(error)  # told once
