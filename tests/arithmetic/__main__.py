"""Random configurations of a seed, each by arithmetic and by the simulator.

The worst are listed: verdict, then for each flow MB/s by arithmetic, MB/s simulated, and the error.
The exit status is 1 if a rate is missed, or if more than a tenth of them is only bounded.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from arithmetic.judge import TOLERANCE, Judgement, judged, window_ns
from arithmetic.scenarios import scenario

MOST_BOUNDED = 0.1


def main() -> int:
    """Runs what the command line asks for."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m arithmetic", description=__doc__, formatter_class=form
    )
    parser.add_argument("--seed", type=int, default=1, help="draws other configurations")
    parser.add_argument("--count", type=int, default=200, help="number of configurations")
    parser.add_argument("--jobs", type=int, help="processes; one for each core if absent")
    parser.add_argument("--worst", type=int, default=10, help="number of them that are listed")
    parser.add_argument(
        "--show", type=int, metavar="N", help="configuration N as a scenario, and its rates"
    )
    wanted = parser.parse_args()
    if wanted.show is not None:
        one = judged(wanted.seed, wanted.show)
        print(scenario(one.configuration, *window_ns(one.configuration, one.walked)))
        print("#", one)
        return 0
    with ProcessPoolExecutor(wanted.jobs, get_context("spawn")) as pool:
        of_seed = partial(judged, wanted.seed)
        found = list(pool.map(of_seed, range(wanted.count), chunksize=4))
    return report(found, wanted.worst)


def report(found: list[Judgement], worst: int) -> int:
    """Prints the worst and a summary; the exit status."""
    found = sorted(found, key=lambda one: -max(map(abs, one.errors)))
    missed = [one for one in found if one.verdict == "MISSED"]
    for one in missed + [one for one in found if one not in missed][:worst]:
        print(one)
    verdicts = Counter(one.verdict for one in found)
    kinds = Counter(one.configuration.kind for one in found)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    print(
        f"of {len(found)}: {verdicts['by formula']} within {TOLERANCE:.1%} of a formula and "
        f"{verdicts['by packet']} of their packets one by one, {verdicts['bounded']} within the "
        f"bounds that phases of clocks give, {len(missed)} missed"
    )
    return 1 if missed or verdicts["bounded"] > MOST_BOUNDED * len(found) else 0


if __name__ == "__main__":
    sys.exit(main())
