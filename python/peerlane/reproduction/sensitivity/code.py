"""The modules of a system's experiments: their constants, moved ones too, and their digests."""

from __future__ import annotations

import ast
import re
import sys
from contextlib import contextmanager
from hashlib import sha256
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerlane.reproduction.catalogue import folder_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import CodeType, ModuleType

    Change = Callable[[str, object], object]

FEWER = "FEWER"
"""The constant of `experiments.py` with the values of others that make sensitivity quicker."""

NO_INPUTS = {FEWER, "SECONDS"}
"""Constants that are about running experiments, not about what they simulate."""

UNIT = re.compile(r"_?([KMGT]I?B|[NUM]S)")
"""Names of constants that are units."""

_HOOK = "__constant__"


def modules(system: str) -> dict[str, str]:
    """The text of each module of a system, by its name within the system."""
    folder = Path(str(folder_of(system)))
    return {
        ".".join(path.relative_to(folder).with_suffix("").parts): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.py"))
        if path.name != "__init__.py"
    }


def constants(tree: ast.Module) -> dict[str, ast.stmt]:
    """The constants of a module, each with the statement that makes it."""
    found = {}
    for statement in tree.body:
        for name in _targets(statement):
            if name.isupper() and name not in NO_INPUTS and not UNIT.fullmatch(name):
                found[name] = statement
    return found


def constants_of(system: str) -> set[str]:
    """The names of the constants of all modules of a system."""
    return {
        f"{module}.{name}"
        for module, text in modules(system).items()
        for name in constants(ast.parse(text))
    }


def _targets(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        left: Sequence[ast.expr] = [statement.target]
    else:
        left = statement.targets if isinstance(statement, ast.Assign) else []
    for target in left:
        for one in target.elts if isinstance(target, ast.Tuple) else [target]:
            if isinstance(one, ast.Name):
                yield one.id


@contextmanager
def imported(system: str, change: Change) -> Iterator[None]:
    """Imports the modules of a system anew for a while, with constants as `change` makes them.

    `change` is called with the name and the value of each constant.
    """
    package = f"peerlane.systems.{system}"
    before = _taken(package)
    finder = _Finder(f"{package}.", change)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        _taken(package)
        sys.modules.update(before)


def _taken(package: str) -> dict[str, ModuleType]:
    """Takes the modules of a package out of those that are imported."""
    names = [name for name in sys.modules if name == package or name.startswith(f"{package}.")]
    return {name: sys.modules.pop(name) for name in names}


class _Finder:
    """Finds the modules of one package, for `_Loader`."""

    def __init__(self, package: str, change: Change) -> None:
        self._package = package
        self._change = change

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As `importlib` asks."""
        if not name.startswith(self._package):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin is not None:
            within = name.removeprefix(self._package)
            spec.loader = _Loader(name, spec.origin, within, self._change)
        return spec


class _Loader(SourceFileLoader):
    """Loads a module in which each constant goes through a function."""

    def __init__(self, name: str, path: str, within: str, change: Change) -> None:
        super().__init__(name, path)
        self._within = within
        self._change = change

    def get_code(self, fullname: str) -> CodeType:
        """The module's code, from its source."""
        path = self.get_filename(fullname)
        tree = ast.parse(Path(path).read_text(encoding="utf-8"), path)
        for name, statement in constants(tree).items():
            called = f"{name} = {_HOOK}({self._within + '.' + name!r}, {name})"
            (call,) = ast.parse(called).body
            for node in ast.walk(call):
                ast.copy_location(node, statement)
            tree.body.insert(tree.body.index(statement) + 1, call)
        return compile(tree, path, "exec")

    def exec_module(self, module: ModuleType) -> None:
        """Runs the module with the function in it."""
        module.__dict__[_HOOK] = self._change
        super().exec_module(module)


def digests(system: str, figures: Sequence[str]) -> dict[str, str]:
    """SHA-256 of each figure's function and of everything of the system's modules that it uses.

    Comments, docstrings and line breaks are no part of it.
    """
    known: dict[str, list[ast.stmt]] = {}
    for text in modules(system).values():
        for statement in ast.parse(text).body:
            for name in _defined(statement):
                known.setdefault(name, []).append(statement)
    return {figure: _digest(figure, known) for figure in figures}


def used_by(system: str, figure: str) -> set[str]:
    """The names of the system's modules that a figure's function may use."""
    known: dict[str, list[ast.stmt]] = {}
    for text in modules(system).values():
        for statement in ast.parse(text).body:
            for name in _defined(statement):
                known.setdefault(name, []).append(statement)
    return set(_reached(figure, known))


def _defined(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    yield from _targets(statement)


def _digest(figure: str, known: dict[str, list[ast.stmt]]) -> str:
    words = [
        f"{name}: {_canonical(statement)}"
        for name in sorted(_reached(figure, known))
        for statement in known[name]
    ]
    return sha256("\n".join(words).encode()).hexdigest()


def _reached(figure: str, known: dict[str, list[ast.stmt]]) -> dict[str, None]:
    """The definitions that a function uses, and those that these use, by their names."""
    reached: dict[str, None] = {}
    left = [figure, FEWER]
    while left:
        name = left.pop()
        if name in reached or name in NO_INPUTS - {FEWER} or name not in known:
            continue
        reached[name] = None
        for statement in known[name]:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name):
                    left.append(node.id)
                elif isinstance(node, ast.Attribute):
                    left.append(node.attr)
    return reached


def _canonical(node: object) -> str:
    """A text of a syntax tree that is the same in every version of Python."""
    if isinstance(node, list):
        return f"[{' '.join(map(_canonical, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    parts = []
    for name, part in ast.iter_fields(node):
        inner: Any = part
        if name == "body" and isinstance(part, list):
            inner = [one for one in part if not _is_docstring(one)]
        if name not in {"annotation", "returns", "type_comment", "kind", "ctx"} and inner not in (
            None,
            [],
        ):
            parts.append(f"{name}={_canonical(inner)}")
    return f"{type(node).__name__}({' '.join(parts)})"


def _is_docstring(node: object) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
