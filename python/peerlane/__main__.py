"""The `peerlane` command: turns every outcome into an exit status and at most one message."""

import os
import sys

FAILED = 1


def main() -> None:
    """Runs the command line; the exit status is 0, 1 (failed, interrupted) or 2 (wrong use)."""
    try:
        from peerlane.cli.application import run_command_line  # noqa: PLC0415 - an interrupt may come here too

        status = run_command_line(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr, flush=True)
        # A second interrupt while the interpreter winds down would be a traceback.
        os._exit(FAILED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = FAILED
    sys.exit(status)


if __name__ == "__main__":
    main()
