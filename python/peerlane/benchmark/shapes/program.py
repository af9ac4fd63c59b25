"""Runs one shape in a program of its own, so that the program's memory is the memory of the shape.

`python -m peerlane.benchmark.shapes.program NAME DIVISOR RUNS` writes a list with an entry for each
run. The process that started this program holds its standard input open; if the input is closed,
the program ends without a list.
"""

from __future__ import annotations

import json
import select
import sys

from peerlane import _core


def main() -> None:
    """Runs the shape with one part in DIVISOR of its work, and writes the measurements as JSON."""
    name, divisor, runs = sys.argv[1:]
    every = []
    for _ in range(int(runs)):
        if select.select([sys.stdin], [], [], 0)[0]:
            sys.exit("the program that wants to know has ended")
        measured, work = json.loads(_core.bench_shape(name, int(divisor)))
        # The process has run no other shape, so its memory has grown by the memory of this shape.
        peak = max(measured["peak_bytes"] - measured["bytes_before"], 0)
        every.append(measured | {"work": work, "peak_bytes": peak})
    sys.stdout.write(json.dumps(every) + "\n")


if __name__ == "__main__":
    main()
