"""Checks that three tools take every circuit without a remark, and refuse bad parameters.

python gateware/lint.py [--tool icarus]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOM = Path(__file__).parent
PACKAGE = "rtl/peerlane_pkg.sv"
INCLUDES = ["-Irtl", *(f"-Irtl/{path.name}" for path in (ROOM / "rtl").iterdir() if path.is_dir())]
BENIGN = ("constant selects in always_* processes are not currently supported", "timescale")
"""Notes of Icarus 11 that change nothing: all bits of a vector wake a process."""


PATHS = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


def run(*command: str) -> tuple[int, str]:
    """Run a tool of this Python's environment, in the room."""
    ran = subprocess.run(
        command,
        cwd=ROOM,
        env=os.environ | {"PATH": PATHS},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout + ran.stderr


def circuits() -> list[tuple[str, dict[str, int]]]:
    """Every module with every set of parameters that has a bench."""
    document = tomllib.loads((ROOM / "tb" / "benches.toml").read_text(encoding="utf-8"))
    modules = sorted(path.stem for path in (ROOM / "rtl").glob("*/*.sv"))
    benches = [bench for bench in document["bench"] if bench["module"] in modules]
    found = [(bench["module"], bench.get("parameters", {})) for bench in benches]
    names = {name for name, _ in found}
    return found + [(name, {}) for name in modules if name not in names]


def files() -> list[str]:
    """All circuits, behind their package."""
    return [PACKAGE, *sorted(str(path.relative_to(ROOM)) for path in (ROOM / "rtl").glob("*/*.sv"))]


def verilator(module: str, parameters: dict[str, int]) -> tuple[int, str]:
    """Verilator's opinion of a module."""
    values = [f"-G{key}={value}" for key, value in parameters.items()]
    source = next(str(path.relative_to(ROOM)) for path in (ROOM / "rtl").glob(f"*/{module}.sv"))
    command = ["verilator", "--lint-only", "--quiet", "-Wall", *values, *INCLUDES, PACKAGE, source]
    return run(*command, "--top-module", module)


def compiled(module: str) -> Path:
    """The program that Icarus makes from a module."""
    return ROOM.parent / "target" / "gateware" / f"lint-{module}.vvp"


def icarus(module: str, parameters: dict[str, int]) -> tuple[int, str]:
    """The opinion of Icarus, without the notes that change nothing."""
    values = [f"-P{module}.{key}={value}" for key, value in parameters.items()]
    target = compiled(module)
    target.parent.mkdir(parents=True, exist_ok=True)
    command = ["iverilog", "-g2012", "-Wall", *values, *INCLUDES, "-s", module, "-o", str(target)]
    status, said = run(*command, *files())
    lines = [line for line in said.splitlines() if not any(note in line for note in BENIGN)]
    return status or len(lines), "\n".join(lines)


def yosys(module: str, parameters: dict[str, int]) -> tuple[int, str]:
    """The opinion of Yosys' own reader."""
    values = "".join(f"chparam -set {key} {value} {module}; " for key, value in parameters.items())
    read = f"read_verilog -sv -Irtl {' '.join(files())}; {values}"
    return run(
        "yosys",
        "-q",
        "-e",
        ".",
        "-p",
        f"{read} hierarchy -check -top {module}; proc; check -assert",
    )


TOOLS = {"verilator": verilator, "icarus": icarus, "yosys": yosys}
COMMANDS = {"verilator": "verilator", "icarus": "iverilog", "yosys": "yosys"}


def judge(circuit: tuple[str, dict[str, int]], tools: list[str]) -> list[str]:
    """The remarks of the tools about a circuit."""
    found = []
    for tool in tools:
        status, said = TOOLS[tool](*circuit)
        if status or said.strip():
            found.append(f"{circuit[0]} {circuit[1]}: {tool}\n{said}")
    return found


def refusal(case: dict[str, Any], tools: list[str]) -> list[str]:
    """The tools that accept the bad parameters of a case of refusals.toml, or do not say why."""
    module, parameters = case["module"], case["parameters"]
    found = []
    for tool in tools:
        status, said = TOOLS[tool](module, parameters)
        if tool == "icarus":
            vvp = run("vvp", "-N", str(compiled(module)))
            status, said = status or vvp[0], said + vvp[1]
        if not status or case["says"] not in said:
            found.append(f"{module} {parameters} is not refused by {tool}\n{said}")
    return found


def main() -> None:
    """Judge all circuits."""
    parser = argparse.ArgumentParser(description="Check the circuits, and what they refuse.")
    parser.add_argument("--tool", choices=list(TOOLS), action="append", help="all without it")
    tools = parser.parse_args().tool or list(TOOLS)
    missing = [COMMANDS[tool] for tool in tools if not shutil.which(COMMANDS[tool], path=PATHS)]
    if missing:
        sys.exit(f"not found: {', '.join(missing)}; `make gateware` and `make system` install them")
    text = (ROOM / "tb" / "refusals.toml").read_text(encoding="utf-8")
    refusals = tomllib.loads(text)["refusal"]
    faults = []
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for found in pool.map(lambda circuit: judge(circuit, tools), circuits()):
            faults += found
    for case in refusals:
        faults += refusal(case, tools)
    if faults:
        sys.exit("\n".join(faults))
    print(f"{len(circuits())} circuits: no remarks of {', '.join(tools)}")


if __name__ == "__main__":
    main()
