"""Checks that three tools take every circuit without a remark, and refuse bad parameters.

python gateware/lint.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOM = Path(__file__).parent
PACKAGE = "rtl/peerlane_pkg.sv"
INCLUDES = ["-Irtl", *(f"-Irtl/{path.name}" for path in (ROOM / "rtl").iterdir() if path.is_dir())]
BENIGN = ("constant selects in always_* processes are not currently supported", "timescale")
"""Notes of Icarus 11 that change nothing: all bits of a vector wake a process."""


def run(*command: str) -> tuple[int, str]:
    """Run a tool of this Python's environment, in the room."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    ran = subprocess.run(
        command,
        cwd=ROOM,
        env=os.environ | {"PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout + ran.stderr


def circuits() -> list[tuple[str, dict[str, int]]]:
    """Every module with every set of parameters that has a bench."""
    document = tomllib.loads((ROOM / "tb" / "benches.toml").read_text(encoding="utf-8"))
    found = [(bench["module"], bench.get("parameters", {})) for bench in document["bench"]]
    names = {name for name, _ in found}
    modules = sorted(path.stem for path in (ROOM / "rtl").glob("*/*.sv"))
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


def icarus(module: str, parameters: dict[str, int]) -> tuple[int, str]:
    """The opinion of Icarus, without the notes that change nothing."""
    values = [f"-P{module}.{key}={value}" for key, value in parameters.items()]
    target = ROOM.parent / "target" / "gateware" / f"lint-{module}.vvp"
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


def judge(circuit: tuple[str, dict[str, int]]) -> list[str]:
    """What the three tools say of a circuit, if anything."""
    found = []
    for tool in (verilator, icarus, yosys):
        status, said = tool(*circuit)
        if status or said.strip():
            found.append(f"{circuit[0]} {circuit[1]}: {tool.__name__}\n{said}")
    return found


def refusals() -> list[str]:
    """Bad parameters, of refusals.toml, that a tool takes without the sentence."""
    text = (ROOM / "tb" / "refusals.toml").read_text(encoding="utf-8")
    found = []
    for case in tomllib.loads(text)["refusal"]:
        module, parameters = case["module"], case["parameters"]
        says = [verilator(module, parameters), yosys(module, parameters)]
        status, said = icarus(module, parameters)
        vvp = run("vvp", "-N", str(ROOM.parent / "target" / "gateware" / f"lint-{module}.vvp"))
        says.append((status or vvp[0], said + vvp[1]))
        for tool, (failed, output) in zip(("verilator", "yosys", "icarus"), says, strict=True):
            if not failed or case["says"] not in output:
                found.append(f"{module} {parameters} is not refused by {tool}\n{output}")
    return found


def main() -> None:
    """Judge all circuits."""
    with ThreadPoolExecutor() as pool:
        faults = [fault for found in pool.map(judge, circuits()) for fault in found]
    faults += refusals()
    if faults:
        sys.exit("\n".join(faults))
    print(f"{len(circuits())} circuits: Verilator, Icarus and Yosys have no remarks")


if __name__ == "__main__":
    main()
