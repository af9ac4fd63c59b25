"""The `peerlane` command: every outcome gives an exit status and at most one message."""

import os
import signal
import sys

from peerlane.cli.interrupts import end_at_once, end_interrupted, handled, interrupt

FAILED = 1


def main() -> None:
    """Runs the command line.

    The exit status is 0, 1 (failed), 2 (wrong use), 130 (interrupted) or 143 (terminated).
    """
    _open_standard_streams()
    try:
        # An interrupt during the import of a module could be raised as another error. So handlers
        # that end the process are installed until the imports are done.
        numbers = handled()
        for number in numbers:
            signal.signal(number, end_at_once)
        from peerlane.cli.application import run_command_line  # noqa: PLC0415 - as above

        for number in numbers:
            signal.signal(number, interrupt)
        status = run_command_line(sys.argv[1:])
    except KeyboardInterrupt as error:
        end_interrupted(str(error))
    except BrokenPipeError:
        status = FAILED
    try:
        sys.stdout.flush()
    except OSError:
        # Standard output accepts no more data, and the interpreter must not write to it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = status or FAILED
    sys.exit(status)


def _open_standard_streams() -> None:
    """Opens the null device for each standard stream that the caller has closed.

    Otherwise the next file that is opened would get the number of the closed stream. If standard
    output was closed, writes to it fail, as on a full disk, so that lost output is not ignored.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_RDONLY if name == "stdout" else os.O_RDWR)
            setattr(sys, name, os.fdopen(nothing, mode, encoding="utf-8", closefd=False))


if __name__ == "__main__":
    main()
