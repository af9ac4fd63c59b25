"""The failure of the user's own code, such as a device model: where it failed, and then why."""

from __future__ import annotations

import re
import traceback

from peerlane.cli.console import complain, say
from peerlane.programs.place import is_own

_FRAME = re.compile(r"\n(?=\s+\d+: )")
"""The beginning of the backtrace in the message of a panic."""


def complain_of_code(error: Exception) -> None:
    """Prints the traceback of an exception, or the backtrace of a panic, and then the message."""
    if error.__cause__ is not None:
        _print_traceback(error.__cause__)
    said, *frames = _FRAME.split(str(error))
    for line in "\n".join(frames).splitlines():
        say(line)
    complain(" ".join(said.splitlines()))


def _print_traceback(error: BaseException) -> None:
    """Prints a traceback without the frames of Peerlane, which are around the user's."""
    told = traceback.TracebackException.from_exception(error)
    own = [frame for frame in told.stack if not is_own(frame.filename)]
    if own:
        told.stack = traceback.StackSummary.from_list(own)
    for text in told.format():
        for line in text.splitlines():
            say(line)
