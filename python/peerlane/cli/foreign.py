"""Prints a failure of the user's own code, such as a device model: its place and its reason."""

from __future__ import annotations

import re
import traceback

from peerlane.cli.console import complain, say
from peerlane.programs.place import is_own, raised_at

_FRAME = re.compile(r"\n(?=\s+\d+: )")
"""The beginning of a stack frame in the backtrace of a panic's message."""


def complain_of_code(error: Exception) -> None:
    """Prints the callers of the failed line, or the backtrace of a panic; then the message.

    The message of an exception ends with the failed line itself.
    """
    if error.__cause__ is not None:
        _print_callers(error.__cause__)
    said, *frames = _FRAME.split(str(error))
    for line in "\n".join(frames).splitlines():
        say(line)
    complain(" ".join(said.splitlines()))


def _print_callers(error: BaseException) -> None:
    """Prints the traceback above the failed line, without the frames of Peerlane."""
    told = traceback.TracebackException.from_exception(error)
    own = [frame for frame in told.stack if not is_own(frame.filename)]
    failed = raised_at(error.__traceback__) or ""
    places = [failed.startswith(f"{one.filename}:{one.lineno} ") for one in own]
    callers = own[: len(own) - 1 - places[::-1].index(True)] if any(places) else own
    if not callers and error.__cause__ is None and error.__context__ is None:
        return
    told.stack = traceback.StackSummary.from_list(callers)
    texts = [*told.format()]
    for text in texts[: -len([*told.format_exception_only()])]:
        for line in text.splitlines():
            say(line)
