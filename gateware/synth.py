"""Synthesizes circuits with Yosys for Xilinx 7 series and prints their sizes as a table.

python gateware/synth.py [MODULE...]
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from lint import ROOM, circuits, files, run

Row = tuple[str, str, int, int, int, int, int, str]
WITHOUT_REGISTERS = "delete t:FD* t:RAMB*"
"""Paths end at registers, which `ltp` does not know of Xilinx; memories read at once stay."""

ATTEMPTS = 3
"""The Yosys of PyPI has ended within ABC, without a word, when other runs were in progress."""

CIRCUITS: list[tuple[str, dict[str, int]]] = [
    ("dma_write_path", {"W": 64}),
    ("dma_write_path", {"W": 128}),
    ("dma_write_path", {"W": 256}),
    ("dma_engine", {"USER": 0}),
    ("dma_engine", {"USER": 1}),
    ("dma_engine", {"USER": 1, "FETCH": 512}),
]
"""The circuits that the README has tables of."""


def size(circuit: tuple[str, dict[str, int]]) -> Row:
    """Cells of a circuit by kind, and the longest path in cells."""
    module, parameters = circuit
    values = "".join(f"chparam -set {key} {value} {module}; " for key, value in parameters.items())
    target = (
        ROOM.parent
        / "target"
        / "gateware"
        / f"synth-{module}-{'-'.join(map(str, parameters.values()))}.json"
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    path = target.with_suffix(".txt")
    script = (
        f"read_verilog -sv -Irtl {' '.join(files())}; {values}"
        f"synth_xilinx -family xc7 -flatten -noiopad -top {module}; "
        f"tee -q -o {os.path.relpath(target, ROOM)} stat -json; "
        f"{WITHOUT_REGISTERS}; tee -q -o {os.path.relpath(path, ROOM)} ltp"
    )
    for _ in range(ATTEMPTS):
        status, said = run("yosys", "-p", script)
        if not status:
            break
    else:
        sys.exit(f"{module} {parameters}\n{said[-2000:]}")
    cells = Counter(json.loads(target.read_text(encoding="utf-8"))["design"]["num_cells_by_type"])

    def count(pattern: str) -> int:
        return sum(number for kind, number in cells.items() if re.fullmatch(pattern, kind))

    longest = re.findall(r"\(length=(\d+)\)", path.read_text(encoding="utf-8"))
    shown = ", ".join(f"{key} {value}" for key, value in parameters.items())
    others = (count("INV"), count(r"RAM(32|64|128|256)\w+"), count(r"RAMB\d+E1"))
    return (
        module,
        shown,
        count("LUT[2-6]"),
        count("FD[RSCP]E"),
        *others,
        longest[-1] if longest else "",
    )


def main() -> None:
    """Synthesize the modules that are named, or CIRCUITS."""
    wanted = [one for one in CIRCUITS if not sys.argv[1:] or one[0] in sys.argv[1:]]
    others = set(sys.argv[1:]) - {name for name, _ in wanted}
    wanted += [one for one in circuits() if one[0] in others]
    print("| circuit | parameters | LUT2..6 | FF | INV | distributed RAM | block RAM | depth |")
    print("|---|---|---|---|---|---|---|---|")
    with ThreadPoolExecutor(1) as pool:  # parallel runs of this Yosys have failed in ABC
        for row in pool.map(size, wanted):
            print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
