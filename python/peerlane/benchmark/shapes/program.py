"""Runs of one shape as a program of its own, whose memory is that of the shape.

`python -m peerlane.benchmark.shapes.program NAME DIVISOR RUNS` writes a list with a run each. It
ends without one when its standard input ends, which whoever has started it holds open.
"""

from __future__ import annotations

import json
import select
import sys

from peerlane import _core


def main() -> None:
    """Runs the shape with one part in DIVISOR of its work, and writes what was measured as JSON."""
    name, divisor, runs = sys.argv[1:]
    every = []
    for _ in range(int(runs)):
        if select.select([sys.stdin], [], [], 0)[0]:
            sys.exit("the program that wants to know has ended")
        measured, work = json.loads(_core.bench_shape(name, int(divisor)))
        # In a process that has run no other shape, the growth of memory is that of the shape.
        peak = max(measured["peak_bytes"] - measured["bytes_before"], 0)
        every.append(measured | {"work": work, "peak_bytes": peak})
    sys.stdout.write(json.dumps(every) + "\n")


if __name__ == "__main__":
    main()
