r"""Instructions and cache misses of a shape of `peerlane bench shapes`, by component.

    CARGO_PROFILE_FAST_DEBUG=line-tables-only \
      cargo build -p bench --bins --profile fast --target-dir target/profile
    python crates/bench/by_component.py target/profile/fast/shape endpoints-512 [DIVISOR]

cachegrind runs the shape with one part in DIVISOR (16) of its work, and with twice this amount.
The difference is the cost of the work alone, and is given for each unit of work. Inlined code is
counted for the file in which it is written; inlined code of the standard library is counted for
the function that contains it. The caches have the sizes of a server's core: 32 KiB for
instructions, 32 KiB for data, and 1 MiB for both.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

CACHES = ("--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64")
COMPONENTS = {
    "kernel/src/queue": "queue",
    "kernel/src/agenda": "queue",
    "kernel": "kernel: world, effects, time",
    "packet": "packet store and frames",
    "link/src/optical": "link: optical",
    "link": "link",
    "transaction/src/requester": "requester",
    "transaction/src/pattern": "payload pattern",
    "transaction/src/memory": "memory",
    "transaction": "transaction: the rest",
    "fabric/src/switch": "switch",
    "fabric/src/output_queues": "switch",
    "fabric/src/root_complex": "root complex",
    "fabric/src/crossbar": "controller",
    "fabric": "fabric: the rest",
    "device/src/router": "router",
    "device/src/nic": "nic",
    "device": "device and endpoint",
    "host": "host software",
    "protocol": "protocol: TLPs, checksums",
    "sim/src/observe": "meters",
    "sim/src/workload": "workloads",
    "sim": "run loop",
}
"""The names of components. A key is the beginning of a path below `crates`, or of a crate."""

_LEAST_SHARE, _LEAST_MISSES = 0.001, 0.05
"""The smallest share of instructions and the fewest misses in L1d of a component with a row."""

_COLUMNS = ("Ir", "I1mr", "D1mr", "D1mw", "DLmr", "DLmw")


def main() -> None:
    """Prints the profile."""
    binary, shape, *rest = sys.argv[1:]
    divisor = int(rest[0]) if rest else 16
    if divisor % 2:
        sys.exit("the divisor is even: the second run does twice the work")
    (less, few), (more, many) = (profile(binary, shape, part) for part in (divisor, divisor // 2))
    units = more - less
    rows = {
        component: {
            column: (many[component, column] - few[component, column]) / units
            for column in _COLUMNS
        }
        for component in dict.fromkeys(component for component, _ in many)
    }
    total = {column: sum(row[column] for row in rows.values()) for column in _COLUMNS}
    print(f"{shape}, {units} units of work")
    print(f"{'of a unit':32}{'instructions':>13}{'share':>7}{'L1i':>8}{'L1d':>8}{'L2d':>8}")
    ordered = sorted(rows.items(), key=lambda row: -row[1]["Ir"])
    for component, row in [("all", total), *ordered]:
        share = row["Ir"] / total["Ir"]
        misses = row["D1mr"] + row["D1mw"], row["DLmr"] + row["DLmw"]
        if share >= _LEAST_SHARE or misses[0] >= _LEAST_MISSES:
            print(
                f"{component:32}{row['Ir']:13.1f}{share:7.1%}{row['I1mr']:8.2f}"
                f"{misses[0]:8.2f}{misses[1]:8.2f}"
            )


def profile(binary: str, shape: str, divisor: int) -> tuple[int, Counter[tuple[str, str]]]:
    """The work of a run, and the counts of cachegrind for each component."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", *CACHES]
        command += [f"--cachegrind-out-file={out}", binary, shape, str(divisor)]
        ran = subprocess.run(command, check=True, capture_output=True, text=True)
        return int(ran.stdout.split()[0]), counts(out.read_text(encoding="utf-8"))


def counts(text: str) -> Counter[tuple[str, str]]:
    """The counts of a file of cachegrind, by component and column."""
    found: Counter[tuple[str, str]] = Counter()
    file = function = ""
    columns: list[str] = []
    for line in text.splitlines():
        key, _, rest = line.partition("=")
        if line.startswith("events:"):
            columns = line.split()[1:]
        elif key == "fl":
            file = rest
        elif key == "fn":
            function = rest
        elif line[:1].isdigit():
            component = component_of(file, function)
            for column, value in zip(columns, line.split()[1:], strict=True):
                if column in _COLUMNS:
                    found[component, column] += int(value)
    return found


def component_of(file: str, function: str) -> str:
    """The component to which a line of a file belongs, if it is inlined in a function."""
    ours = re.search(r"crates/([a-z-]+/src/.*)$", file)
    if ours:
        path = ours[1]
    else:
        # The first crate of the project in a name such as <link::end::LinkEnd as ...>::receive.
        crates = {path.partition("/")[0] for path in COMPONENTS}
        names = re.findall(r"\b([a-z_]+)::((?:[a-z_0-9]+::)*)", function)
        own = [(crate, modules) for crate, modules in names if crate in crates]
        if not own:
            return "allocator and other libraries"
        path = f"{own[0][0]}/src/{own[0][1].replace('::', '/')}"
    for beginning, component in COMPONENTS.items():
        if path.startswith(beginning):
            return component
    return path.partition("/")[0]


if __name__ == "__main__":
    main()
