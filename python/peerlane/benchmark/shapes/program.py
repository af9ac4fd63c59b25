"""Runs of one shape as a program of its own, whose memory is that of the shape.

`python -m peerlane.benchmark.shapes.program NAME DIVISOR RUNS` writes a list with a run each.
"""

from __future__ import annotations

import json
import sys

from peerlane import _core


def main() -> None:
    """Runs the shape with one part in DIVISOR of its work, and writes what was measured as JSON."""
    name, divisor, runs = sys.argv[1:]
    every = [json.loads(_core.bench_shape(name, int(divisor))) for _ in range(int(runs))]
    sys.stdout.write(json.dumps(every) + "\n")


if __name__ == "__main__":
    main()
