r"""The time of a shape of `peerlane bench shapes` on one thread and on several, in turn.

    cargo build -p bench --bins --profile fast
    python crates/bench/threads.py target/fast/shape nics-16-cables [THREADS] [RUNS] [DIVISOR]

Each of RUNS (9) rounds runs one part in DIVISOR (1) of the work on one thread and on THREADS
(2). The ratio is the ratio of the medians; the range contains the ratios of all rounds. The result
is useful only if nothing else runs on the machine.
"""

from __future__ import annotations

import re
import subprocess
import sys
from statistics import median


def main() -> None:
    """Runs the rounds and writes the ratio."""
    if not sys.argv[2:]:
        sys.exit(__doc__)
    program, shape, *rest = sys.argv[1:]
    threads, rounds, divisor = (rest + ["2", "9", "1"][len(rest) :])[:3]
    times: dict[str, list[float]] = {"1": [], threads: []}
    told = ""
    for _ in range(int(rounds)):
        for count, seconds in times.items():
            command = [program, shape, divisor, count]
            told = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True).stdout
            found = re.search(r"^([\d.]+) s on", told, re.MULTILINE)
            if not found:
                sys.exit(f"{' '.join(command)} did not say how long it took:\n{told}")
            seconds.append(float(found[1]))
    one, several = times["1"], times[threads]
    ratios = sorted(before / after for before, after in zip(one, several, strict=True))
    print(told, end="")
    print(
        f"{shape}: {median(one):.3f} s on one thread, {median(several):.3f} s on {threads}:"
        f" {median(one) / median(several):.2f} times ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    )


if __name__ == "__main__":
    main()
