"""Proves properties, reaches covers, shows that mutants fail.

python gateware/prove.py [MODULE...]          the proofs, covers and mutants of formal/proofs.toml
python gateware/prove.py --soak               the long ones alone
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOM = Path(__file__).parent
BUILT = ROOM.parent / "target" / "gateware" / "formal"
SBY = """\
[options]
mode {mode}
depth {depth}
{clocks}
[engines]
smtbmc {options}yices

[script]
read_verilog -formal -sv -I. {names}
{parameters}
prep -top {module}
{cuts}
{flat}
{alone}

[files]
{files}
"""

FLAT = "flatten; memory_map; opt -full; setundef -undriven -anyseq; setundef -init -zero"
"""No hierarchy, no memories, and registers that begin as 0, as an FPGA configures them."""

CLOCKED = FLAT + "; clk2fflogic"
"""Clocks are signals like all others: they change at any step, together or apart."""

ALONE = "chformal -assert -remove *{module}*/* *{module}*/c:{label} %d"
"""A mutant is judged by its own property alone."""


@dataclass(frozen=True)
class Mutant:
    """A change of a circuit, or of another file of it, and the property that fails with it."""

    search: str
    replace: str
    fails: str
    file: str = ""


@dataclass(frozen=True)
class Proof:
    """A circuit with its parameters, the depth of the proof and that of covers and mutants.

    Cells of `cut` have any output. Without induction the proof is from reset on, up to its depth.
    `needs` are the modules below, or patterns of their names. With `clocks` its clocks are free,
    and a step is any time.
    """

    module: str
    depth: int = 4
    cover: int = 20
    induction: bool = True
    flat: bool = False
    clocks: bool = False
    soak: bool = False
    parameters: dict[str, int] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    mutants: tuple[Mutant, ...] = ()

    @property
    def name(self) -> str:
        """The name of the proof: the module and its parameters."""
        values = [f"{key}={value}" for key, value in self.parameters.items()]
        return "-".join([self.module, *values])

    def below(self) -> list[Path]:
        """The files of the modules below."""
        found = {path for name in self.needs for path in (ROOM / "rtl").glob(f"*/{name}.sv")}
        return sorted(path for path in found if path.stem != self.module)

    def run(self, mode: str, change: Mutant | None = None, number: int = 0) -> str:
        """What sby says of the circuit, with a change of it or without."""
        folder = BUILT / f"{self.name}-{mode}{number if change else ''}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        sources = [ROOM / "rtl" / "peerlane_pkg.sv", ROOM / "rtl" / "require.svh"]
        sources += self.below()
        sources += [
            *ROOM.glob(f"rtl/*/{self.module}.sv"),
            *ROOM.glob(f"formal/*/{self.module}.sv*"),
        ]
        changed = f"{change.file or self.module}.sv" if change else ""
        for source in sources:
            text = source.read_text(encoding="utf-8")
            if change and source.name == changed:
                if text.count(change.search) != 1:
                    sys.exit(f"{source}: not once in it: {change.search!r}")
                text = text.replace(change.search, change.replace)
            if source.suffix == ".sv" and source in self.below():
                text = f"`undef FORMAL\n{text}\n`define FORMAL\n"
            (folder / source.name).write_text(text, encoding="utf-8")
        chosen = [
            f"chparam -set {key} {value} {self.module}" for key, value in self.parameters.items()
        ]
        job = SBY.format(
            mode=mode,
            depth=self.cover if change or mode == "cover" else self.depth,
            options="--nopresat " if self.flat or self.clocks else "",
            clocks="multiclock on\n" if self.clocks else "",
            flat=CLOCKED if self.clocks else FLAT if self.flat else "",
            module=self.module,
            names=" ".join(source.name for source in sources if source.suffix == ".sv"),
            parameters="\n".join(chosen),
            cuts="\n".join(f"cutpoint {cell}" for cell in self.cut),
            alone=ALONE.format(module=self.module, label=change.fails) if change else "",
            files="\n".join(str(folder / source.name) for source in sources),
        )
        (folder / "job.sby").write_text(job, encoding="utf-8")
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        ran = subprocess.run(
            [Path(sys.executable).parent / "sby", "-f", "-d", "out", "job.sby"],
            cwd=folder,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        return ran.stdout + ran.stderr

    def judge(self) -> list[str]:
        """What is wrong, if anything."""
        faults = []
        for mode in ("prove" if self.induction else "bmc", "cover"):
            began = time.monotonic()
            said = self.run(mode)
            passed = "DONE (PASS" in said
            took = time.monotonic() - began
            print(
                f"{self.name:40} {mode:40} {'ok' if passed else 'FAILED'} {took:.0f} s", flush=True
            )
            if not passed:
                faults.append(f"{self.name}: {mode}\n{said}")
        for number, mutant in enumerate(self.mutants):
            said = self.run("bmc", mutant, number)
            failed = set(re.findall(r"Assert failed in \S+ (\w+)", said))
            fell = failed == {mutant.fails}
            print(f"{self.name:40} {mutant.fails:40} {'ok' if fell else 'NOT SHOWN'}", flush=True)
            if not fell:
                faults.append(f"{self.name}: {mutant} fails {sorted(failed)}\n{said}")
        return faults


def proofs() -> list[Proof]:
    """The proofs of formal/proofs.toml."""
    document = tomllib.loads((ROOM / "formal" / "proofs.toml").read_text(encoding="utf-8"))
    found = []
    for table in document["proof"]:
        changes = tuple(Mutant(**mutant) for mutant in table.pop("mutant", []))
        lists = {name: tuple(table.pop(name, [])) for name in ("needs", "cut")}
        found.append(Proof(**table | lists, mutants=changes))
    return found


def main() -> None:
    """Run the proofs whose modules are named, or all."""
    parser = argparse.ArgumentParser(description="Prove the properties of circuits.")
    parser.add_argument("module", nargs="*", help="modules; all without one")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="proofs at a time")
    parser.add_argument(
        "--soak", action="store_true", help="the long proofs in place of the others"
    )
    chosen = parser.parse_args()
    wanted = [
        one
        for one in proofs()
        if (one.module in chosen.module if chosen.module else one.soak == chosen.soak)
    ]
    if not wanted:
        sys.exit(f"no proof of {', '.join(chosen.module)}; formal/proofs.toml has those there are")
    with ThreadPoolExecutor(chosen.jobs) as pool:
        faults = [fault for found in pool.map(Proof.judge, wanted) for fault in found]
    if faults:
        sys.exit("\n\n".join(faults))


if __name__ == "__main__":
    main()
