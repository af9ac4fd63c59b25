"""Makes a library of a circuit: Verilator translates the module, and a C++ compiler compiles it."""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from peerlane.circuits import ports
from peerlane.circuits.evaluation import Edges
from peerlane.circuits.leaf import Leaf, PortSet, leaf
from peerlane.circuits.rest import Rest
from peerlane.circuits.toolchain import CPP, CircuitError, Compiler, Verilator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["CircuitError", "Source", "build"]

Parameters = dict[str, "int | str"]


@dataclass(frozen=True)
class Source:
    """A circuit in SystemVerilog."""

    files: Sequence[Path]
    """Its files. Packages come before their users."""
    top: str
    """The module with the ports of a leaf."""
    options: Sequence[str] = ()
    """Options of Verilator, such as "-Irtl", "-DNAME=1" or "-y", "common"."""
    port_set: PortSet = field(default_factory=Leaf)
    """The ports of the module: of a leaf, or of the user side of a hard block."""
    rest: Path | None = None
    """A file with the signals of units at rest, from which faster copies are made."""


def build(  # noqa: PLR0913 - a circuit is built with these
    source: Source,
    library: Path,
    *,
    parameters: Sequence[Mapping[str, int | str]] = ({},),
    waves: bool = True,
    optimise: int = 2,
    objects: Path | None = None,
) -> Path:
    """Makes a library with a circuit. Warnings of Verilator are logged.

    Args:
        source: The circuit.
        library: The file to write. An existing file is replaced.
        parameters: Values of the top module's parameters. A circuit with beats of several widths
            has values for each width.
        waves: Whether the library also has a copy of the circuit that can write waveforms.
        optimise: Level of the compiler's optimisation, 0 to 3.
        objects: Folder for the compiled library of Verilator, which all circuits share; by default
            in the user's folder for caches.

    Returns:
        `library`.

    Raises:
        CircuitError: A program is missing, or the circuit cannot be a leaf; the message has the
            reason.
    """
    for path in source.files:
        if not path.is_file():
            what = "is no file" if path.exists() else "does not exist"
            raise CircuitError(f"{path} {what}; write the files of the circuit")
    verilator = Verilator.find()
    compiler = Compiler.find(verilator)
    with tempfile.TemporaryDirectory(prefix="peerlane-circuit-") as folder:
        work = _Work(source, verilator, Path(folder), optimise)
        for values in parameters:
            work.add(dict(values), waves=waves)
        work.write_table()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            compiled = list(pool.map(lambda unit: unit.compile(compiler), work.units))
            shared = list(pool.map(lambda file: _shared(compiler, file, objects), _SHARED))
        library.parent.mkdir(parents=True, exist_ok=True)
        compiler.link([*compiled, *shared], library)
    return library


@dataclass(frozen=True)
class _Unit:
    """A file in C++ to compile, with options."""

    source: Path
    options: Sequence[str]

    def compile(self, compiler: Compiler) -> Path:
        """Compiles the file, and returns its object."""
        target = self.source.with_suffix(".o")
        compiler.compile(self.source, target, *self.options)
        return target


_LOG = logging.getLogger(__name__)
_TRANSLATION = ("--cc", "--assert", "--no-timing", "-Wno-fatal")
_FAST = ("-O3", "--x-assign", "fast", "--x-initial", "fast")


@dataclass
class _Work:
    """The translated copies of a circuit in a folder."""

    source: Source
    verilator: Verilator
    folder: Path
    optimise: int
    models: list[str] = field(default_factory=list)
    units: list[_Unit] = field(default_factory=list)

    def add(self, parameters: Parameters, *, waves: bool) -> None:
        """Translates the circuit with these parameters."""
        top = self.source.top
        bare = self.folder / f"ports{len(self.models)}"
        values = [f"-G{name}={value}" for name, value in parameters.items()]
        if printed := self._translate(bare, f"V{top}", top, values):
            _LOG.warning("%s", printed)
        has = ports.declared((bare / f"V{top}.h").read_text(encoding="utf-8"))
        port_set = self.source.port_set
        width = port_set.width(has)
        if width not in ports.WIDTHS:
            widths = ", ".join(map(str, ports.WIDTHS))
            raise CircuitError(
                f"{top} cannot be a circuit: its beats have {width} bits; they can have {widths}"
            )
        if found := port_set.fault(has, width):
            raise CircuitError(
                f"{top} with beats of {width} bits cannot be a circuit: {found}; "
                f"{port_set.page} has the ports"
            )
        for is_traced in (False, True) if waves else (False,):
            self._add_copy(has, parameters, is_traced=is_traced)

    def _add_copy(self, has: ports.Ports, parameters: Parameters, *, is_traced: bool) -> None:
        port_set = self.source.port_set
        width = port_set.width(has)
        model = f"circuit_{width}{'_traced' if is_traced else ''}"
        if model in self.models:
            raise CircuitError(f"two variants of the circuit have beats of {width} bits; give one")
        folder = self.folder / model
        folder.mkdir()
        wrapper = folder / "circuit_leaf.sv"
        wrapper.write_text(leaf(port_set, self.source.top, has, parameters), encoding="utf-8")
        options = [*_FAST, *(["--trace"] if is_traced else [])]
        modules = map(str, (*port_set.files, wrapper))
        self._translate(folder, f"V{model}", "circuit_leaf", [*options, *modules])
        self.models.append(model)
        defines = {
            "CIRCUIT_CLASS": f"V{model}",
            "CIRCUIT_HEADER": f'"V{model}.h"',
            "CIRCUIT_NAME": f'"{self.source.top}"',
            "CIRCUIT_MODEL": model,
        }
        if "flr_i" in has:
            defines["CIRCUIT_FLR"] = "1"
        if is_traced:
            defines["CIRCUIT_TRACED"] = "1"
        elif edges := Edges.of(model, folder):
            defines |= edges.defines(model)
            if self.source.rest and Rest.read(self.source.rest).write(model, folder, edges.all):
                defines["CIRCUIT_COPIES"] = f"{model}_copies"
        # Code that runs once, or for waveforms, is compiled in a short time. One unit for all files
        # of a kind reads the headers of the library once.
        files = sorted(folder.glob("*.cpp"))
        rare = [path for path in files if "__Slow" in path.name or "__Trace" in path.name]
        often = [path for path in files if path not in rare]
        level = min(self.optimise, 1) if is_traced else self.optimise
        options = [f"-D{name}={value}" for name, value in defines.items()]
        self._compile(folder / "rare.cpp", rare, "-O0")
        self._compile(folder / "often.cpp", [*often, CPP / "circuit.cpp"], f"-O{level}", *options)

    def _translate(self, folder: Path, prefix: str, top: str, options: list[str]) -> str:
        """Translates a module; returns the warnings of Verilator."""
        files = [str(path) for path in self.source.files]
        into = ["--Mdir", str(folder), "--top-module", top, "--prefix", prefix]
        own = [*options, *self.source.options, *files]
        return self.verilator.translate([*_TRANSLATION, *into, *own])

    def _compile(self, unit: Path, files: Sequence[Path], *options: str) -> None:
        """Adds a unit that includes `files`."""
        unit.write_text("".join(f'#include "{path}"\n' for path in files), encoding="utf-8")
        self.units.append(_Unit(unit, [*options, "-I", str(unit.parent)]))

    def write_table(self) -> None:
        """Writes the table of all copies, which the library exports."""
        text = "".join(
            [
                *(f'extern "C" const circuit_model {model};\n' for model in self.models),
                f"static const circuit_model* const models[] = {{&{', &'.join(self.models)}}};\n",
                'extern "C" __attribute__((visibility("default"))) ',
                "const circuit_table peerlane_circuits = {",
                f"CIRCUIT_VERSION, sizeof(circuit_model), {len(self.models)}, models}};\n",
            ]
        )
        table = self.folder / "models.h"
        table.write_text(text, encoding="utf-8")
        self._compile(self.folder / "table.cpp", [CPP / "circuit.h", table])


_SHARED = ("verilated.cpp", "verilated_threads.cpp", "verilated_vcd_c.cpp", "print.cpp")
"""What all circuits share: the library of Verilator, and the text that a circuit prints."""


def _shared(compiler: Compiler, name: str, objects: Path | None) -> Path:
    """The object of a file that all circuits share, which is compiled once."""
    source = CPP / name if name == "print.cpp" else compiler.verilator.root / "include" / name
    folder = objects or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    folder = folder / "peerlane" / "circuits"
    what = [*compiler.command, *compiler.options, str(source.stat().st_mtime_ns)]
    key = hashlib.sha256("\0".join(what).encode()).hexdigest()[:16]
    target = folder / f"{source.stem}-{key}.o"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        new = target.with_suffix(f".{os.getpid()}")
        compiler.compile(source, new, "-O1")
        new.replace(target)
    return target
