"""Crates depend on each other in one direction only, and so do the modules of the package."""

from __future__ import annotations

import ast
import json
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest

from conftest import beside
from house.test_rust_modules import circles, is_part

ALLOWED: dict[str, list[str]] = tomllib.loads(beside(__file__, "crates.toml"))


@cache
def dependencies() -> dict[str, set[str]]:
    """The workspace crates that each crate depends on."""
    metadata = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--locked", "--format-version", "1"],
        cwd=Path(__file__).parents[2],
        check=True,
        capture_output=True,
    )
    packages = json.loads(metadata.stdout)["packages"]
    ours = {package["name"] for package in packages}
    return {
        package["name"]: {one["name"] for one in package["dependencies"]} & ours
        for package in packages
    }


def test_every_crate_has_its_place() -> None:
    assert dependencies().keys() == ALLOWED.keys()


@pytest.mark.parametrize("crate", ALLOWED)
def test_a_crate_depends_only_on_those_below_it(crate: str) -> None:
    assert dependencies()[crate] <= set(ALLOWED[crate])


PACKAGE = Path(__file__).parents[2] / "python" / "peerlane"


class Module:
    """A Python file: where each of its names comes from, with what only type checkers import."""

    def __init__(self, name: str, tree: ast.Module) -> None:
        self.name = name
        self.imports: list[tuple[str, str | None]] = []
        self.names: dict[str, tuple[str, str | None]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{name} has a relative import"
                for alias in node.names:
                    self.imports.append((node.module or "", alias.name))
                    self.names[alias.asname or alias.name] = self.imports[-1]
            elif isinstance(node, ast.Import):
                self.imports += [(alias.name, None) for alias in node.names]


def modules(package: Path) -> dict[str, Module]:
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        stub = path.with_suffix(".pyi")
        text = (stub if stub.exists() else path).read_text(encoding="utf-8")
        found[name] = Module(name, ast.parse(text))
    return found


def source(known: dict[str, Module], module: str, name: str | None) -> str:
    """The module that a name comes from: a package may only pass it on."""
    if name is None or module not in known:
        return module
    if f"{module}.{name}" in known:
        return f"{module}.{name}"
    if name in known[module].names:
        return source(known, *known[module].names[name])
    return module


def module_dependencies(package: Path) -> dict[str, set[str]]:
    """The modules that each module imports from; a part may use what its own package defines."""
    known = modules(package)
    graph = {}
    for one in known.values():
        sources = {source(known, module, name) for module, name in one.imports}
        graph[one.name] = {m for m in sources & known.keys() if not one.name.startswith(f"{m}.")}
    return graph


def test_modules_and_folders_of_the_package_do_not_import_each_other_in_a_circle() -> None:
    assert folder_circles(module_dependencies(PACKAGE)) == set()


def folder_circles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Modules and folders that import each other in circles; a package may import its own parts."""

    def inside(name: str) -> tuple[str, ...]:
        return tuple(name.split("."))[1:]

    edges = {
        inside(name): {inside(to) for to in needs if not is_part(inside(name), inside(to))}
        for name, needs in graph.items()
    }
    return circles(edges)


def test_only_the_entry_point_needs_the_command_line() -> None:
    graph = module_dependencies(PACKAGE)
    others = {name: needs for name, needs in graph.items() if not name.startswith("peerlane.cli")}
    users = {name for name, needs in others.items() if any("peerlane.cli" in one for one in needs)}
    assert users == {"peerlane.__main__"}


def test_a_circle_of_imports_is_found(tmp_path: Path) -> None:
    package = tmp_path / "p"
    (package / "room").mkdir(parents=True)
    (package / "__init__.py").write_text("from p.room.a import A\n")
    (package / "room" / "__init__.py").write_text("from p.room.a import A\n")
    (package / "room" / "a.py").write_text("from p import b\nA = 1\n")
    (package / "b.py").write_text("if TYPE_CHECKING:\n    from p.room import A\n")
    graph = module_dependencies(package)
    assert graph == {
        "p": {"p.room.a"},
        "p.room": {"p.room.a"},
        "p.room.a": {"p.b"},
        "p.b": {"p.room.a"},
    }
    assert folder_circles(graph) == {frozenset({"room", "b"})}
