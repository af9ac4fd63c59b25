"""Proves properties, reaches covers, shows that mutants fail.

python gateware/prove.py [MODULE...]          the proofs, covers and mutants of formal/proofs.toml
python gateware/prove.py --soak               the long ones alone
python gateware/prove.py --check              whether each mutant's text is still in its file
"""

from __future__ import annotations

import argparse
import json
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

STEP = FLAT.replace("setundef -init -zero", "setattr -unset init w:* w:later_q %d")
"""A step of an induction: registers begin as anything, but for that which knows the first cycle."""

CLOCKED = FLAT + "; clk2fflogic"
"""Clocks are signals like all others: they change at any step, together or apart."""

GATES = """\
read_verilog -formal -sv -I. {names}
{parameters}
prep -top {module}
{cuts}
{flat}
async2sync
chformal -lower
delete */t:$print
formalff -setundef -clk2ff -ff2anyinit
setundef -undriven -anyseq
delete -output
opt -full
techmap
opt -fast
simplemap
dffunmap
setundef -anyseq
aigmap
opt_clean
rename -witness
write_aiger -I -B -zinit -no-startoffset -ywmap {whole}.json {whole}.aig
"""
"""A circuit as gates and registers, with all its properties."""

WHOLE = "whole"

SEARCH = """\
read_aiger {label}.aig
fold
strash
scleanup
bmc3 -F {depth} -L {label}.txt
"""
"""ABC unrolls from reset, and so knows most of the first cycles: an SMT solver does not.

PyPI has ABC as a part of Yosys alone, whose command `abc` runs any script of it beside a circuit
(GATE) and then fails, as the result is no such circuit. It leaves the answer in a file.
"""
GATE = "module gate(input a, b, output y); assign y = a & b; endmodule\n"

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
    With `alone` each property and each cover is a problem of its own, which ABC solves; `less` has
    the depth of those that take too long to the whole depth.
    With `step` the problem is a step of an induction, which the circuit's file states: a depth of 2
    proves all cycles.
    `needs` are the modules below, or patterns of their names. With `clocks` its clocks are free,
    and a step is any time.
    """

    module: str
    depth: int = 4
    cover: int = 20
    induction: bool = True
    flat: bool = False
    alone: bool = False
    clocks: bool = False
    soak: bool = False
    step: bool = False
    parameters: dict[str, int] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    less: dict[str, int] = field(default_factory=dict)
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

    def sources(self, folder: Path, change: Mutant | None) -> list[Path]:
        """Makes a folder with the files of the circuit, with a change of it or without."""
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
                text = text.replace(change.search, change.replace)
            if source.suffix == ".sv" and source in self.below():
                text = f"`undef FORMAL\n{text}\n`define FORMAL\n"
            (folder / source.name).write_text(text, encoding="utf-8")
        return sources

    def misfits(self) -> list[str]:
        """The mutants whose text is not once in their file."""
        found = []
        for mutant in self.mutants:
            (path,) = (ROOM / "rtl").glob(f"*/{mutant.file or self.module}.sv")
            if path.read_text(encoding="utf-8").count(mutant.search) != 1:
                found.append(f"{self.name}: {path.name} has not once {mutant.search!r}")
        return found

    def chosen(self) -> str:
        """The commands that set the parameters."""
        values = self.parameters.items()
        return "\n".join(f"chparam -set {key} {value} {self.module}" for key, value in values)

    def run(self, mode: str, change: Mutant | None = None, number: int = 0) -> str:
        """The verdict of sby on the circuit, with a change of it or without."""
        folder = BUILT / f"{self.name}-{mode}{number if change else ''}"
        sources = self.sources(folder, change)
        job = SBY.format(
            mode=mode,
            depth=self.cover if change or mode == "cover" else self.depth,
            options="--nopresat " if self.flat or self.clocks else "",
            clocks="multiclock on\n" if self.clocks else "",
            flat=CLOCKED if self.clocks else FLAT if self.flat else "",
            module=self.module,
            names=" ".join(source.name for source in sources if source.suffix == ".sv"),
            parameters=self.chosen(),
            cuts="\n".join(f"cutpoint {cell}" for cell in self.cut),
            alone=ALONE.format(module=self.module, label=change.fails) if change else "",
            files="\n".join(str(folder / source.name) for source in sources),
        )
        (folder / "job.sby").write_text(job, encoding="utf-8")
        return call(folder, "sby", "-f", "-d", "out", "job.sby")

    def model(self, change: Mutant | None = None, number: int = 0) -> Path:
        """A folder with a file of each property, of a circuit with a change or without.

        A cover is reached where its contrary fails, which is what its file has.
        """
        folder = BUILT / f"{self.name}-bmc{number if change else ''}"
        sources = self.sources(folder, change)
        for path in folder.glob(f"{self.module}.sv*"):
            text = path.read_text(encoding="utf-8")
            text = re.sub(r": cover \((.*)\);", r": assert (!(\1));", text)
            path.write_text(text, encoding="utf-8")
        script = GATES.format(
            whole=WHOLE,
            names=" ".join(source.name for source in sources if source.suffix == ".sv"),
            parameters=self.chosen(),
            module=self.module,
            cuts="\n".join(f"cutpoint {cell}" for cell in self.cut),
            flat=STEP if self.step else FLAT,
        )
        (folder / "model.ys").write_text(script, encoding="utf-8")
        (folder / "gate.v").write_text(GATE, encoding="utf-8")
        said = call(folder, "yosys", "-q", "model.ys")
        if not (folder / f"{WHOLE}.json").exists():
            sys.exit(f"{self.name}: there is no model\n{said}")
        split(folder)
        return folder

    def labels(self, kind: str) -> list[str]:
        """The names of the properties, or of the covers."""
        paths = sorted(ROOM.glob(f"formal/*/{self.module}.sv*"))
        text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
        return re.findall(rf"(\w+):\s+{kind} \(", text)

    def judge_each(self) -> list[str]:
        """The fault that judging each property alone finds; none if all hold."""
        faults = []

        def judged(label: str, folder: Path, depth: int, said: str) -> None:
            began = time.monotonic()
            found = fails_in(folder, label, depth)
            right = found is None if said == "holds" else isinstance(found, int)
            took = f"{time.monotonic() - began:.0f} s"
            shown = said + ("" if found is None else f", {found}")
            print(
                f"{self.name:40} {label:40} {'ok' if right else 'FAILED'} {shown} {took}",
                flush=True,
            )
            if not right:
                faults.append(f"{self.name}: {label} should be: {said}; found: {found}")

        folder = self.model()
        asserts, covers = (
            [label for label in self.labels(kind) if (folder / f"{label}.aig").exists()]
            for kind in ("assert", "cover")
        )
        for label in asserts:
            judged(label, folder, self.less.get(label, self.depth), "holds")
        for label in covers:
            judged(label, folder, self.cover, "is reached")
        models: dict[tuple[str, str, str], Path] = {}
        for number, mutant in enumerate(self.mutants):
            change = (mutant.file, mutant.search, mutant.replace)
            if change not in models:
                models[change] = self.model(mutant, number)
            judged(mutant.fails, models[change], self.cover, "falls")
        return faults

    def judge(self) -> list[str]:
        """What is wrong, if anything."""
        if self.alone:
            return self.judge_each()
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


def call(folder: Path, *command: str) -> str:
    """The output of a tool beside Python, run in a folder."""
    beside = Path(sys.executable).parent
    path = os.pathsep.join([str(beside), os.environ["PATH"]])
    ran = subprocess.run(
        [beside / command[0], *command[1:]],
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.stdout + ran.stderr


def split(folder: Path) -> None:
    """Writes a file for each property of a circuit: alone, each is much easier than all at once."""
    names = json.loads((folder / f"{WHOLE}.json").read_text(encoding="utf-8"))["asserts"]
    head, _, rest = (folder / f"{WHOLE}.aig").read_bytes().partition(b"\n")
    _, *numbers = head.split()
    _, _, latches, outputs, _, bad, *_ = map(int, numbers)
    lines = rest.split(b"\n", latches + outputs + bad)
    begin = latches + outputs
    for (name,), property_ in zip(names, lines[begin : begin + bad], strict=True):
        numbers[5] = b"1"
        parts = [b" ".join([b"aig", *numbers]), *lines[:begin], property_, lines[-1]]
        (folder / f"{name.removeprefix(chr(92))}.aig").write_bytes(b"\n".join(parts))


def fails_in(folder: Path, label: str, depth: int) -> int | str | None:
    """The cycle in which a property fails; nothing where it holds, or what went wrong."""
    script, answer = folder / f"{label}.abc", folder / f"{label}.txt"
    script.write_text(SEARCH.format(label=label, depth=depth), encoding="utf-8")
    answer.unlink(missing_ok=True)
    said = call(
        folder,
        *("yosys", "-q", "-l", f"{label}.log"),
        *("-p", f"read_verilog gate.v; simplemap; abc -script {script.name}"),
    )
    text = answer.read_text(encoding="utf-8") if answer.exists() else said
    found = re.match(r"snl_(UNK|SAT) (\d+) ", text)
    if found is None:
        return text.strip() or "ABC has ended without an answer"
    status, cycle = found[1], int(found[2])
    if status == "SAT":
        return cycle
    return None if cycle == depth - 1 else f"ABC has ended in cycle {cycle}"


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
    parser.add_argument(
        "--check", action="store_true", help="only look for the text of mutants; needs no tools"
    )
    chosen = parser.parse_args()
    if misfits := [misfit for one in proofs() for misfit in one.misfits()]:
        sys.exit("\n".join(misfits))
    if chosen.check:
        return
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
