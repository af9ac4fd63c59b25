"""The files and folders of a crate import each other in one direction, but for a module's parts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*ROOT.glob("crates/*/src"), *ROOT.glob("integrations/*/src")])
Module = tuple[str, ...]
"""The path of a module in its crate; the crate itself is ()."""


@dataclass
class Imports:
    """What one file imports, and what it passes on under a name."""

    paths: list[Module] = field(default_factory=list)
    passed_on: dict[str, Module] = field(default_factory=dict)


def module_of(file: Path, source: Path) -> Module:
    parts = file.relative_to(source).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("lib", "mod") else parts


def without_tests(text: str) -> str:
    text = re.sub(r'//[^\n]*|"(?:\\.|[^"\\])*"', "", text)
    return text.split("#[cfg(test)]\nmod tests", maxsplit=1)[0]


def leaves(tree: str, prefix: Module = ()) -> list[tuple[Module, str]]:
    """The paths of a `use` tree, each with the name that it gets."""
    tree = tree.strip()
    if group := re.fullmatch(r"([^{]*)\{(.*)\}", tree, re.DOTALL):
        own = prefix + tuple(part for part in group[1].strip().split("::") if part)
        branches = re.findall(r"(?:[^,{]|\{(?:[^{}]|\{[^{}]*\})*\})+", group[2])
        return [leaf for branch in branches if branch.strip() for leaf in leaves(branch, own)]
    path, _, name = tree.partition(" as ")
    parts = prefix + tuple(path.strip().split("::"))
    parts = parts[:-1] if parts[-1] == "self" else parts
    return [(parts, name.strip() or parts[-1])]


def imports_of(text: str) -> Imports:
    found = Imports()
    statement = re.compile(r"^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.MULTILINE)
    for public, tree in statement.findall(text):
        for path, name in leaves(tree):
            found.paths.append(path)
            if public:
                found.passed_on[name] = path
    inline = re.findall(r"\b(?:crate|super)(?:::\w+)+", statement.sub("", text))
    found.paths += [tuple(path.split("::")) for path in inline]
    return found


def target(modules: dict[Module, Imports], origin: Module, path: Module) -> Module | None:
    """The module that defines what `path` names in `origin`; none if that is another crate."""
    base, rest = origin, list(path)
    if rest[0] == "crate":
        base, rest = (), rest[1:]
    elif rest[0] in ("self", "super"):
        while rest and rest[0] in ("self", "super"):
            base = base[:-1] if rest.pop(0) == "super" else base
    elif (*origin, rest[0]) not in modules:
        return None
    while rest and (*base, rest[0]) in modules:
        base = (*base, rest.pop(0))
    if rest and (further := modules[base].passed_on.get(rest[0])) and further != path:
        return target(modules, base, further) or base
    return base


def is_part(one: Module, other: Module) -> bool:
    """Whether one of the modules contains the other."""
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def circles(edges: dict[Module, set[Module]]) -> set[frozenset[str]]:
    """The children of each folder that import each other in circles, with all that is in them."""
    siblings: dict[Module, dict[str, set[str]]] = {}
    for module, targets in edges.items():
        for to in targets:
            depth = next(
                n for n, (one, other) in enumerate(zip(module, to, strict=False)) if one != other
            )
            folder = siblings.setdefault(module[:depth], {})
            folder.setdefault(module[depth], set()).add(to[depth])
    return {
        frozenset("::".join((*folder, name)) for name in found)
        for folder, graph in siblings.items()
        for found in nx.strongly_connected_components(nx.DiGraph(graph))
        if len(found) > 1
    }


def edges_of(source: Path) -> dict[Module, set[Module]]:
    files = [file for file in source.rglob("*.rs") if "tests" not in module_of(file, source)]
    modules = {
        module_of(file, source): imports_of(without_tests(file.read_text(encoding="utf-8")))
        for file in files
    }
    edges: dict[Module, set[Module]] = {}
    for module, imports in modules.items():
        targets = {target(modules, module, path) for path in imports.paths}
        edges[module] = {to for to in targets if to is not None and not is_part(module, to)}
    return edges


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.parent.name)
def test_no_files_or_folders_import_each_other_in_a_circle(source: Path) -> None:
    assert circles(edges_of(source)) == set()


def test_a_circle_is_found(tmp_path: Path) -> None:
    texts = {
        "lib.rs": "mod a; mod b; mod c; pub use b::B;",
        "a.rs": "use crate::{B, c::{self, C}};",
        "b.rs": "use super::c::D;",
        "c/mod.rs": "mod part; mod other;",
        "c/part.rs": "use super::other::O;",
        "c/other.rs": "",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert circles(edges_of(tmp_path)) == set()
    (tmp_path / "c" / "other.rs").write_text("use super::part::P;", encoding="utf-8")
    assert circles(edges_of(tmp_path)) == {frozenset({"c::part", "c::other"})}
    (tmp_path / "c" / "other.rs").write_text("fn one() -> crate::a::A {}", encoding="utf-8")
    assert circles(edges_of(tmp_path)) == {frozenset({"a", "c"})}
