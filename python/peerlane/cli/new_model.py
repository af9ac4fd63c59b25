"""Writes a first device model or circuit from templates, with a name that the user chooses."""

from __future__ import annotations

import keyword
import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from peerlane.cli.beside import program
from peerlane.models.registry import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TEMPLATES = files("peerlane.models") / "templates"

_CRATE = files("peerlane.models") / "crate"
"""The source of the crate `peerlane-device`, which the build puts into the package."""


def write_model(name: str, language: Literal["python", "rust"]) -> str:
    """Writes a model and its test to the current folder; returns the next steps for the user.

    Raises:
        OSError: A file cannot be written.
        typer.BadParameter: The name cannot be a name of a model, or a file exists.
    """
    _check_name(name, "model")
    texts = dict(_python(name) if language == "python" else _rust(name))
    if taken := _taken(name, language, texts):
        message = f"{name!r} would stand for {taken}; write another name, such as my-{name}"
        raise typer.BadParameter(message)
    _write(texts)
    module = name.replace("-", "_")
    if language == "python":
        run = f"{program('peerlane')} run FILE --model {name}={module}.py"
        test = f"{program('python')} test_{module}.py"
        return f"{module}.py is written; {test} tests it, {run} uses it"
    library = f"{name}/target/release/lib{module}.so"
    run = f"{program('peerlane')} run FILE --model {name}={library}"
    return f"{name} is written; cargo test and cargo build --release there, then {run} uses it"


def write_circuit(name: str) -> str:
    """Writes a circuit with its scenario, tests and bench to a folder; returns the next steps.

    Raises:
        OSError: A file cannot be written.
        typer.BadParameter: The name cannot be a name of a circuit, or the folder exists.
    """
    _check_name(name, "circuit")
    module = name.replace("-", "_")
    texts = {}
    for template in (files("peerlane.circuits") / "templates").iterdir():
        file = template.name.removesuffix(".template").replace("adder.md", "README.md")
        text = template.read_text("utf-8").replace("adder", module)
        texts[Path(name, file.replace("adder", module))] = text
    _write(texts)
    command = program("peerlane")
    run = f"{command} run {module}.toml --circuit {module}=lib{module}.so"
    return f"{name} is written; {command} circuit build {module}.sv there, then {run} uses it"


def _check_name(name: str, what: str) -> None:
    """Raises a `BadParameter` if this cannot be the name of a model or a circuit."""
    if not re.fullmatch(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*", name):
        message = f"{name!r} is no name of a {what}; write small letters, digits, - and _"
        raise typer.BadParameter(message)


def _write(texts: Mapping[Path, str]) -> None:
    """Writes new files.

    Raises:
        OSError: A file cannot be written.
        typer.BadParameter: A file exists; then none is written.
    """
    for path in texts:
        if path.exists():
            message = f"{path} exists, and nothing is overwritten; write another name"
            raise typer.BadParameter(message)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _taken(name: str, language: str, texts: Mapping[Path, str]) -> str | None:
    """The model, module or keyword that conflicts with the new name; `None` if there is none."""
    module, own = name.replace("-", "_"), _class(name)
    if any(one["name"] == name for one in catalogue()["models"]):
        return f"the built-in model {name}"
    if language == "python":
        others = {"peerlane", "pytest", *sys.stdlib_module_names}
        if keyword.iskeyword(module):
            return "a keyword of Python"
    else:
        others = {"core", "peerlane_device", "std", "test"}
        if module in _RUST_KEYWORDS.split():
            return "a keyword of Rust"
    if module in others:
        return f"the module {module}"
    imported = re.compile(
        rf"^from peerlane[^\n]*\b{own}\b|^use peerlane_device[^;]*\b{own}\b", re.MULTILINE
    )
    return f"{own} of Peerlane" if any(imported.search(text) for text in texts.values()) else None


_RUST_KEYWORDS = """
abstract as async await become box break const continue crate do dyn else enum extern false final fn
for gen if impl in let loop macro match mod move mut override priv pub ref return self static struct
super trait true try type typeof unsafe unsized use virtual where while yield
"""
"""The strict and the reserved keywords (Rust Reference, Keywords)."""


def _class(name: str) -> str:
    return "".join(part.capitalize() for part in re.split(r"[-_]", name))


def _python(name: str) -> Iterator[tuple[Path, str]]:
    module = name.replace("-", "_")
    for file, path in (("copier.py", f"{module}.py"), ("test_copier.py", f"test_{module}.py")):
        yield Path(path), _named((_TEMPLATES / f"{file}.template").read_text("utf-8"), name)


def _rust(name: str) -> Iterator[tuple[Path, str]]:
    template = _TEMPLATES / "copier"
    for file in ("src/lib.rs", "tests/bench.rs"):
        yield Path(name, file), _named((template / file).read_text("utf-8"), name)
    # The part before the package section describes the example, so it is left out.
    _, begin, manifest = (template / "Cargo.toml").read_text("utf-8").partition("[package]")
    # The folder has a copy of the crate. So the model can be built without a crate registry, and
    # has the version of the interface that this Peerlane can load.
    crate = 'peerlane-device = { path = "peerlane-device" }'
    manifest = re.sub(r"peerlane-device = .*", crate, manifest)
    yield Path(name, "Cargo.toml"), begin + manifest.replace('"copier"', f'"{name}"')
    copy = Path(name, "peerlane-device")
    yield copy / "Cargo.toml", (_CRATE / "Cargo.toml").read_text("utf-8")
    for source in (_CRATE / "src").iterdir():
        yield copy / "src" / source.name, source.read_text("utf-8")


def _named(text: str, name: str) -> str:
    """A template in which the name of the example is replaced by the name of the model."""
    module = name.replace("-", "_")
    text = text.replace('model = "copier"', f'model = "{name}"')
    text = text.replace("--model copier=", f"--model {name}=")
    return text.replace("copier", module).replace("Copier", _class(name))
