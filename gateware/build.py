"""Builds the libraries of the circuits in circuits.toml into gateware/built.

python gateware/build.py [--test]
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from pathlib import Path
from typing import Any

from peerlane.circuits import PORT_SETS, CircuitError, Source, build

ROOM = Path(__file__).parent
BUILT = ROOM / "built"
OBJECTS = ROOM.parent / "target" / "gateware" / "objects"
COMMON = ROOM / "rtl" / "common"
PACKAGE = ROOM / "rtl" / "peerlane_pkg.sv"


def one(name: str, circuit: dict[str, Any], *, for_speed: bool) -> None:
    """Builds the library of one section of circuits.toml."""
    folder = ROOM / str(circuit["folder"])
    top = circuit.get("top", name)
    options = [f"-I{ROOM / 'rtl'}", "-y", str(COMMON), "-y", str(folder)]
    rest = folder / "rest.toml"
    source = Source(
        [PACKAGE, folder / f"{top}.sv"],
        top,
        options,
        PORT_SETS[circuit.get("ports", "native")],
        rest if rest.exists() else None,
    )
    fixed = circuit.get("parameters", {})
    width = circuit.get("width")
    variants = [fixed | ({width: bits} if width else {}) for bits in circuit["widths"]]
    level = 2 if for_speed else 0
    build(source, BUILT / f"{name}.so", parameters=variants, optimise=level, objects=OBJECTS)


def main() -> None:
    """Builds all circuits, or the circuits of tests."""
    parser = argparse.ArgumentParser(description="Build the circuits of circuits.toml.")
    parser.add_argument(
        "--test", action="store_true", help="those that tests use, without optimisation for speed"
    )
    for_test = parser.parse_args().test
    circuits = tomllib.loads((ROOM / "circuits.toml").read_text(encoding="utf-8"))
    for name, circuit in circuits.items():
        if circuit.get("test") or not for_test:
            try:
                one(name, circuit, for_speed=not for_test)
            except CircuitError as error:
                sys.exit(f"the circuit {name}: {error}")


if __name__ == "__main__":
    main()
