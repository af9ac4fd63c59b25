"""Makes the first fields of every JSON document: form, version, scenario and command."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import peerlane

if TYPE_CHECKING:
    from collections.abc import Sequence

_command: ContextVar[tuple[str, ...]] = ContextVar("command", default=("peerlane",))


def set_command(arguments: Sequence[str]) -> None:
    """Stores the arguments of the command line, without the name of the program."""
    _command.set(("peerlane", *arguments))


def command() -> tuple[str, ...]:
    """The command line, beginning with the name of the program."""
    return _command.get()


def head(kind: str, *, scenario_digest: str | None = None) -> dict[str, Any]:
    """The first fields: the form of the document, the version of Peerlane, scenario and command.

    Args:
        kind: The kind of the document: `peerlane-KIND/1` is its form.
        scenario_digest: The value of `Simulation.scenario_digest`, if the command reads one
            scenario.
    """
    scenario = {} if scenario_digest is None else {"scenario_digest": scenario_digest}
    return {
        "schema": f"peerlane-{kind}/1",
        "version": peerlane.__version__,
        **scenario,
        "command": _command.get(),
    }
