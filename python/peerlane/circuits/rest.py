"""Copies of a circuit's evaluation for cycles in which some of its units are at rest.

Verilator evaluates all units in each cycle. A copy keeps the signals of units at rest in local
variables that begin with constants, so that the compiler removes the code whose results are
constant. The copy is exact in each cycle that begins with these values, for every input of the
circuit. The copy returns whether the next cycle also begins with these values.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from peerlane.circuits.toolchain import CircuitError

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD = re.compile(r"\w+", re.ASCII)
_SCALAR = re.compile(r"^\s*(?:\w+\()?(CData|SData|IData|QData)/\*[^*]*:0\*/ (\w+);", re.MULTILINE)
_TOP = "circuit_leaf__DOT__"
"""The prefix of the names of all signals in the wrapper."""
_CIRCUIT = _TOP + "circuit__DOT__"
"""The prefix of the names of all signals in the circuit."""
_TRIGGERS = "vlSelfRef.__VnbaTriggered[0U]"
"""The variable of the generated code that contains the clock edges of an evaluation."""

Signal = tuple[str, int]
"""A signal, as "instance.name", with the value that it has at rest."""


@dataclass(frozen=True)
class Rest:
    """A file `rest.toml` beside a circuit."""

    path: Path
    copies: list[list[str]]
    """The copies, each with the units that are at rest in it."""
    units: dict[str, dict[str, list[str]]]
    """The signals of each unit, by instance: "name" for a signal that is 0 at rest, otherwise
    "name=value"."""

    @classmethod
    def read(cls, path: Path) -> Rest:
        """Reads the file.

        Raises:
            CircuitError: The file names a unit that has no section, or a value that is no number.
        """
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise CircuitError(f"{path}: {error}") from None
        rest = cls(path, table.get("copies", []), table.get("units", {}))
        for unit in (unit for copy in rest.copies for unit in copy):
            if unit not in rest.units:
                raise CircuitError(
                    f"{path}: 'copies' names the unit '{unit}', which has no section; "
                    f"write [units.{unit}]"
                )
        for instance, signal in rest._all():
            name, _, value = signal.partition("=")
            if value and not value.isdecimal():
                raise CircuitError(
                    f"{path}: '{signal}' of '{instance}' needs a whole number as value, "
                    f"such as '{name}=1'"
                )
        return rest

    def _all(self) -> Iterator[tuple[str, str]]:
        """Each instance with each of its signals."""
        for instances in self.units.values():
            for instance, names in instances.items():
                yield from ((instance, name) for name in names)

    def _signals(self, copy: list[str]) -> Iterator[Signal]:
        """The signals of a copy."""
        for unit in copy:
            for instance, names in self.units[unit].items():
                for signal in names:
                    name, _, value = signal.partition("=")
                    yield f"{instance}.{name}", int(value or 0)

    def write(self, model: str, folder: Path, edges: int) -> bool:
        """Writes the copies for the translated circuit in `folder`.

        `edges` has the bits of the edges of both clocks. Returns `False` if the form of the
        generated code is not known; then the circuit has no copies, and is slower.

        Raises:
            CircuitError: No module has a signal that the file names.
        """
        self._check_names(folder / f"V{model}__ver.d")
        code = _Code.of(model, folder)
        if code is None:
            return False
        text = f'#include "V{model}__pch.h"\n#include "copy.h"\n{code.constants}'
        table = ""
        for number, units in enumerate(self.copies):
            copy = code.copy(self._signals(units), edges)
            if copy is None:
                return False
            text += f"\nnamespace copy_{number} {{\n{copy}}}\n"
            table += f"{{copy_{number}::fits, copy_{number}::evaluate}}, "
        text += f"\nextern const CircuitCopy<{code.root}> {model}_copies[] = "
        text += f"{{{table}{{nullptr, nullptr}}}};\n"
        (folder / f"V{model}__copies.cpp").write_text(text, encoding="utf-8")
        return True

    def _check_names(self, dependencies: Path) -> None:
        """Checks that the modules that Verilator has read have the signals."""
        read = dependencies.read_text(encoding="utf-8").split()
        modules = (Path(name) for name in read if name.endswith((".sv", ".v")))
        written = {
            word
            for path in modules
            if path.is_file()
            for word in _WORD.findall(path.read_text(encoding="utf-8"))
        }
        for instance, signal in self._all():
            name = signal.partition("=")[0]
            if name.partition("[")[0] not in written:
                raise CircuitError(
                    f"{self.path}: no module has the signal '{name}' of '{instance}'"
                )


@dataclass
class _Code:
    """The generated code of a circuit."""

    root: str
    signals: dict[str, str]
    """Scalar signals with their types."""
    functions: dict[str, str]
    """The functions that one evaluation calls; each is behind the functions that it calls."""
    constants: str
    """Declarations of constants."""

    @classmethod
    def of(cls, model: str, folder: Path) -> _Code | None:
        root = f"V{model}___024root"
        header = (folder / f"{root}.h").read_text(encoding="utf-8")
        signals = {name: kind for kind, name in _SCALAR.findall(header)} | {"rst_i": "CData"}
        sources = [
            path for path in sorted(folder.glob(f"{root}__*.cpp")) if "Slow" not in path.name
        ]
        text = "".join(path.read_text(encoding="utf-8") for path in sources)
        constants = {line for line in text.splitlines() if line.startswith("extern const ")}
        code = cls(root, signals, {}, "\n".join(sorted(constants)) + "\n")
        return code if code._add(f"{root}___eval_nba", text) else None

    def _add(self, name: str, text: str) -> bool:
        """Adds a function behind the functions that it calls; `False` if its form is not known."""
        if name in self.functions:
            return True
        head = f"void {name}({self.root}* vlSelf) {{\n"
        begin = text.find(head)
        if begin < 0:
            return False
        body = text[begin + len(head) : text.index("\n}\n", begin) + 1]
        called = re.findall(r"\b(\w+)\(vlSelf[,)]", body)
        if not all(self._add(function, text) for function in called):
            return False
        # Any other form of access to the signals would bypass the local variables.
        pointers = len(re.findall(r"\bvlSelf\b", body))
        references = len(re.findall(r"\bvlSelfRef\b", body))
        if (
            pointers != len(called) + body.count("vlSelf->") + 1
            or references != body.count("vlSelfRef.") + 1
            or "vlSymsp->TOP" in body
        ):
            return False
        self.functions[name] = body
        return True

    def copy(self, signals: Iterator[Signal], edges: int) -> str | None:
        """The text of a copy in which these signals begin with their values at rest."""
        resting = {"rst_i": 0, f"{_TOP}rst_i_q": 0}
        for path, value in signals:
            if (member := self._member(path)) is not None:
                resting.setdefault(member, value)
        if not resting.keys() <= self.signals.keys():
            return None
        root, evaluation = self.root, list(self.functions)[-1]
        kept = "".join(f"  {self.signals[name]} {name};\n" for name in resting)
        inline = "".join(
            f"__attribute__((always_inline)) inline void {name}({root}* vlSelf, Rest& rest) {{\n"
            f"{self._with_rest(body.replace(_TRIGGERS, f'{edges}ULL'), resting)}}}\n"
            for name, body in self.functions.items()
        )
        compared = "\n      && ".join(
            f"vlSelf->{name} == {value}" for name, value in resting.items()
        )
        stored = "".join(
            f"  if (rest.{name} != {value}) {{ vlSelf->{name} = rest.{name}; fits = false; }}\n"
            for name, value in resting.items()
        )
        return (
            f"struct Rest {{\n{kept}}};\n{inline}"
            f"bool fits(const {root}* vlSelf) {{\n  return {compared};\n}}\n"
            f"bool evaluate({root}* vlSelf) {{\n"
            f"  Rest rest{{{', '.join(map(str, resting.values()))}}};\n"
            f"  {evaluation}(vlSelf, rest);\n  bool fits = true;\n{stored}  return fits;\n}}\n"
        )

    def _with_rest(self, body: str, resting: dict[str, int]) -> str:
        """The text of a function, in which local variables replace the signals at rest."""

        def signal(found: re.Match[str]) -> str:
            return f"rest.{found[1]}" if found[1] in resting else found[0]

        def call(found: re.Match[str]) -> str:
            return f"{found[1]}(vlSelf, rest)" if found[1] in self.functions else found[0]

        body = re.sub(r"(?:vlSelfRef\.|vlSelf->)(\w+)", signal, body)
        return re.sub(r"\b(\w+)\(vlSelf\)", call, body)

    def _member(self, path: str) -> str | None:
        """The name of a signal in the generated code; `None` if Verilator has removed the signal.

        The wire at a port may have a name that is made from the port:
        "parent____Vcellinp__child__port".
        """
        parts = path.replace("[", "__BRA__").replace("]", "__KET__").split(".")
        *instances, port = parts
        names = ["__DOT__".join(parts)]
        for cut in range(len(instances)):
            parents = "".join(f"{part}__DOT__" for part in instances[:cut])
            child = "__DOT__".join(instances[cut:])
            names += [f"{parents}__Vcell{kind}__{child}__{port}" for kind in ("inp", "out")]
        return next((_CIRCUIT + name for name in names if _CIRCUIT + name in self.signals), None)
