"""Synthesizes circuits for Xilinx 7 series and for ECP5, and writes their sizes into the docs.

python gateware/synth.py [MODULE...]   synthesizes, writes sizes.toml and the page's tables
python gateware/synth.py dma_engine --family xc7 --set USER=0    one circuit, for one family
python gateware/synth.py --check       compares the page with sizes.toml; needs no tools
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
import tomllib
from collections import Counter

from lint import ROOM, files, run

BUILT = ROOM.parent / "target" / "gateware" / "synth"
SIZES = ROOM / "sizes.toml"
PAGE = ROOM.parent / "docs" / "reference" / "circuit-sizes.md"
BEGIN, END = "<!-- sizes: written by gateware/synth.py -->\n", "<!-- end of sizes -->\n"

WITHOUT_REGISTERS = "delete t:FD* t:RAMB*"
"""Paths end at registers, which `ltp` does not know of Xilinx; memories read at once stay."""

ATTEMPTS = 3
"""The Yosys of PyPI has ended within ABC, without a word, when other runs were in progress."""

DEVICE = ["--85k", "--package", "CABGA756", "--speed", "6"]
"""An LFE5U-85F-6BG756: the slowest speed grade."""
SEED = 1
"""One placement: others differ by some per cent."""
GOAL = 250
"""MHz that the placer strives for; it is not reached."""

Circuit = tuple[str, dict[str, int]]
Row = dict[str, str | int | float]
CIRCUITS: list[Circuit] = [
    ("dma_engine_leaf", {"USER": 0}),
    ("dma_engine_leaf", {"USER": 1}),
    ("dma_engine_leaf", {"USER": 1, "FETCH": 512}),
]
"""The circuits that the page has sizes of."""
PLACED = CIRCUITS[:1]
"""Those that are placed and routed too."""

PEERS: list[Row] = [
    {"circuit": "verilog-pcie `dma_if_pcie_wr`", "parameters": "256 bits", "lut": 2803, "ff": 908},
    {"circuit": "verilog-pcie `pcie_axi_master`", "parameters": "", "lut": 3399, "ff": 2430},
]
"""Circuits of others, which we counted in the same way."""

COLUMNS: dict[str, list[tuple[str, str]]] = {
    "xc7": [
        ("circuit", "circuit"),
        ("parameters", ""),
        ("lut", "LUT2..6"),
        ("ff", "FF"),
        ("inv", "INV"),
        ("ram", "distributed RAM"),
        ("block", "block RAM"),
        ("depth", "depth"),
    ],
    "ecp5": [
        ("circuit", "circuit"),
        ("parameters", ""),
        ("lut", "LUT4"),
        ("ff", "FF"),
        ("block", "block RAM"),
        ("fmax", "Fmax, MHz"),
    ],
}


def yosys(circuit: Circuit, script: str) -> None:
    """Run Yosys with the circuit read in and a script after it."""
    module, parameters = circuit
    values = "".join(f"chparam -set {key} {value} {module}; " for key, value in parameters.items())
    read = f"read_verilog -sv -Irtl {' '.join(files())}; {values}"
    said = ""
    for _ in range(ATTEMPTS):
        status, said = run("yosys", "-p", read + script)
        if not status:
            return
    sys.exit(f"{module} {parameters}\n{said[-2000:]}")


def named(circuit: Circuit) -> Row:
    """The columns that name a circuit."""
    module, parameters = circuit
    shown = ", ".join(f"{key} = {value}" for key, value in parameters.items())
    return {"circuit": f"`{module}`", "parameters": f"`{shown}`"}


def place(circuit: Circuit, suffix: str) -> str:
    """A file of a circuit's results, as Yosys sees it from the room."""
    BUILT.mkdir(parents=True, exist_ok=True)
    module, parameters = circuit
    values = "-".join(f"{key}{value}" for key, value in parameters.items())
    return os.path.relpath(BUILT / f"{module}-{values}{suffix}", ROOM)


def read(path: str) -> str:
    """The text of such a file."""
    return (ROOM / path).read_text(encoding="utf-8")


def xc7(circuit: Circuit) -> Row:
    """Cells of a circuit by kind, and the longest path in cells."""
    cells_path, path = place(circuit, "-xc7.json"), place(circuit, "-xc7.txt")
    yosys(
        circuit,
        f"synth_xilinx -family xc7 -flatten -noiopad -top {circuit[0]}; "
        f"tee -q -o {cells_path} stat -json; {WITHOUT_REGISTERS}; tee -q -o {path} ltp",
    )
    cells = Counter(json.loads(read(cells_path))["design"]["num_cells_by_type"])

    def count(pattern: str) -> int:
        return sum(number for kind, number in cells.items() if re.fullmatch(pattern, kind))

    longest = re.findall(r"\(length=(\d+)\)", read(path))
    return named(circuit) | {
        "lut": count("LUT[2-6]"),
        "ff": count("FD[RSCP]E"),
        "inv": count("INV"),
        "ram": count(r"RAM(32|64|128|256)\w+"),
        "block": count(r"RAMB\d+E1"),
        "depth": int(longest[-1]),
    }


def ecp5(circuit: Circuit) -> Row:
    """Cells of a circuit, and the highest frequency after placement and routing."""
    netlist, report = place(circuit, "-ecp5.json"), place(circuit, "-ecp5-report.json")
    yosys(circuit, f"synth_ecp5 -noiopad -top {circuit[0]} -json {netlist}")
    status, said = run(
        *("nextpnr-ecp5", *DEVICE, "--out-of-context", "--seed", str(SEED), "--freq", str(GOAL)),
        *("--json", netlist, "--report", report, "--timing-allow-fail", "--quiet"),
    )
    if status:
        sys.exit(f"{circuit[0]} {circuit[1]}\n{said[-2000:]}")
    found = json.loads(read(report))
    used = {kind: number["used"] for kind, number in found["utilization"].items()}
    (clock,) = found["fmax"].values()
    return named(circuit) | {
        "lut": used["TRELLIS_COMB"],
        "ff": used["TRELLIS_FF"],
        "block": used["DP16KD"],
        "fmax": round(clock["achieved"], 1),
    }


def stored() -> dict[str, list[Row]]:
    """The rows of sizes.toml, by family."""
    text = SIZES.read_text(encoding="utf-8") if SIZES.exists() else ""
    return {"xc7": [], "ecp5": []} | tomllib.loads(text)


def store(sizes: dict[str, list[Row]]) -> None:
    """Write sizes.toml."""
    lines = [
        "# Measured and written by gateware/synth.py, which makes the tables of",
        "# docs/reference/circuit-sizes.md of it.",
    ]
    for family, rows in sizes.items():
        for row in rows:
            lines.append(f"\n[[{family}]]")
            lines += [f"{key} = {json.dumps(value)}" for key, value in row.items()]
    SIZES.write_text("\n".join(lines) + "\n", encoding="utf-8")


def table(family: str, rows: list[Row]) -> str:
    """Rows as a table of Markdown."""
    columns = COLUMNS[family]
    lines = ["| " + " | ".join(title for _, title in columns) + " |", "|---" * len(columns) + "|"]
    lines += ["| " + " | ".join(str(row.get(key, "")) for key, _ in columns) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def page(text: str, sizes: dict[str, list[Row]]) -> str:
    """The page with the tables of these sizes."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    tables = "\n".join([table("xc7", sizes["xc7"] + PEERS), table("ecp5", sizes["ecp5"])])
    return f"{before}{BEGIN}\n{tables}\n{END}{after}"


def publish(sizes: dict[str, list[Row]]) -> None:
    """Write sizes.toml and the page's tables."""
    store(sizes)
    text = PAGE.read_text(encoding="utf-8")  # it may have been edited meanwhile
    PAGE.write_text(page(text, sizes), encoding="utf-8")


def main() -> None:
    """Synthesize the modules that are named, or CIRCUITS."""
    parser = argparse.ArgumentParser(description="Synthesize circuits, and write their sizes.")
    parser.add_argument("module", nargs="*", help="modules of the page's tables; all without one")
    parser.add_argument("--family", choices=["xc7", "ecp5"], help="one family alone")
    parser.add_argument(
        "--set", metavar="NAME=VALUE", nargs="+", help="only circuits with these parameters alone"
    )
    parser.add_argument("--check", action="store_true", help="only compare page and sizes.toml")
    chosen = parser.parse_args()
    if chosen.check:
        text = PAGE.read_text(encoding="utf-8")
        if page(text, stored()) != text:
            sys.exit(f"{PAGE.name} does not have the tables of sizes.toml: `make synth`")
        return
    unknown = set(chosen.module) - {name for name, _ in CIRCUITS}
    if unknown:
        sys.exit(
            f"no sizes of {', '.join(unknown)}; there are {', '.join({n for n, _ in CIRCUITS})}"
        )
    values = [value.partition("=")[::2] for value in chosen.set or []]

    def wanted(family: str, circuit: Circuit) -> bool:
        return (
            chosen.family in (None, family)
            and (not chosen.module or circuit[0] in chosen.module)
            and (
                not values or {key: str(value) for key, value in circuit[1].items()} == dict(values)
            )
        )

    families = (("xc7", xc7, CIRCUITS), ("ecp5", ecp5, PLACED))
    if not any(wanted(family, circuit) for family, _, circuits in families for circuit in circuits):
        sys.exit(f"no such circuit; there are {', '.join(f'{m} {p}' for m, p in CIRCUITS)}")
    sizes = stored()
    for family, measure, circuits in families:
        old = {(row["circuit"], row["parameters"]): row for row in sizes[family]}
        order = [(named(one)["circuit"], named(one)["parameters"]) for one in circuits]
        rows = []
        for circuit in circuits:
            began = time.monotonic()
            row = named(circuit)
            key = (row["circuit"], row["parameters"])
            if wanted(family, circuit):
                old[key] = measure(circuit)
                took = time.monotonic() - began
                print(
                    family, *(f"{k}={v}" for k, v in old[key].items()), f"{took:.0f} s", flush=True
                )
                # A run takes long: what it has measured stays if it is ended.
                sizes[family] = [old[one] for one in order if one in old]
                publish(sizes)
            if key in old:
                rows.append(old[key])
        sizes[family] = rows
    publish(sizes)


if __name__ == "__main__":
    main()
