"""The `peerlane` command: turns every outcome into an exit status and at most one message."""

import os
import signal
import sys
from contextlib import suppress

FAILED = 1
INTERRUPTED = 128 + signal.SIGINT
"""As shells have it."""


def main() -> None:
    """Runs the command line; its status is 0, 1 (failed), 2 (wrong use) or 130 (interrupted)."""
    _open_standard_streams()
    try:
        # An interrupt that is raised while modules are imported can end up as another error.
        is_handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if is_handled:
            signal.signal(signal.SIGINT, lambda _number, _frame: _end_interrupted())
        from peerlane.cli.application import run_command_line  # noqa: PLC0415 - as above

        if is_handled:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        status = run_command_line(sys.argv[1:])
    except KeyboardInterrupt as error:
        _end_interrupted(str(error))
    except BrokenPipeError:
        status = FAILED
    try:
        sys.stdout.flush()
    except OSError:
        # What standard output does not take is lost: the interpreter must not try again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = status or FAILED
    sys.exit(status)


def _end_interrupted(message: str = "") -> None:
    with suppress(OSError):  # nobody may read it
        print(message or "interrupted", file=sys.stderr, flush=True)
    # A second interrupt while the interpreter winds down would be a traceback.
    os._exit(INTERRUPTED)


def _open_standard_streams() -> None:
    """Puts the null device where the caller has closed a stream, before a file takes its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(nothing, mode, encoding="utf-8", closefd=False))


if __name__ == "__main__":
    main()
