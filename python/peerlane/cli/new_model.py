"""The writing of a first device model from the templates, with a name of the user's."""

from __future__ import annotations

import keyword
import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from peerlane.models.registry import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

_TEMPLATES = files("peerlane.models") / "templates"

_CRATE = Path(__file__).parents[3] / "crates" / "peerlane-device"
"""The crate in the sources of Peerlane, where the package is used from them."""


def write_model(name: str, language: Literal["python", "rust"]) -> str:
    """Writes a model and its test to the current folder; returns what to do next.

    Raises:
        OSError: A file cannot be written.
        typer.BadParameter: The name cannot be that of a model, or a file exists.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*", name):
        message = f"{name!r} is no name of a model; write small letters, digits, - and _"
        raise typer.BadParameter(message)
    if why := _clash(name, language):
        raise typer.BadParameter(f"{name!r} is {why}; write another name, such as my-{name}")
    texts = dict(_python(name) if language == "python" else _rust(name))
    for path in texts:
        if path.exists():
            message = f"{path} exists, and nothing is overwritten; write another name"
            raise typer.BadParameter(message)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    module = name.replace("-", "_")
    if language == "python":
        run = f"peerlane run FILE --model {name}={module}.py"
        return f"{module}.py is written; python -m pytest test_{module}.py tests it, {run} uses it"
    library = f"{name}/target/release/lib{module}.so"
    run = f"peerlane run FILE --model {name}={library}"
    return f"{name} is written; cargo test and cargo build --release there, then {run} uses it"


def _clash(name: str, language: Literal["python", "rust"]) -> str:
    """The thing that has this name already, so that the model could not be built or loaded."""
    module = name.replace("-", "_")
    if any(one["name"] == name for one in catalogue()["models"]):
        return "the name of a built-in model"
    is_word = keyword.iskeyword if language == "python" else _RUST_WORDS.fullmatch
    if is_word(module):
        return f"a word of {language.capitalize()}"
    if language == "python" and (module in sys.stdlib_module_names | {"peerlane", "pytest"}):
        return "the name of a module that a program imports"
    texts = (
        ("copier.py.template", "test_copier.py.template")
        if language == "python"
        else ("copier/src/lib.rs", "copier/tests/bench.rs")
    )
    written = "".join((_TEMPLATES / text).read_text("utf-8") for text in texts)
    if re.search(rf"\b{_class(name)}\b", written.replace("Copier", "")):
        return "the name of a part of Peerlane"
    return ""


_RUST_WORDS = re.compile(
    "abstract|alloc|async|await|become|box|break|const|continue|core|crate|do|dyn|else|enum|extern|"
    "final|fn|for|gen|if|impl|in|let|loop|macro|match|mod|move|mut|override|priv|pub|ref|return|"
    "self|static|std|struct|super|test|trait|try|type|typeof|union|unsafe|unsized|use|virtual|"
    "where|while|yield"
)
"""The keywords of Rust, and the crates that each crate sees."""


def _class(name: str) -> str:
    """The name of the class or the type of a model."""
    return "".join(part.capitalize() for part in re.split(r"[-_]", name))


def _python(name: str) -> Iterator[tuple[Path, str]]:
    module = name.replace("-", "_")
    for file, path in (("copier.py", f"{module}.py"), ("test_copier.py", f"test_{module}.py")):
        yield Path(path), _named((_TEMPLATES / f"{file}.template").read_text("utf-8"), name)


def _rust(name: str) -> Iterator[tuple[Path, str]]:
    template = _TEMPLATES / "copier"
    for file in ("src/lib.rs", "tests/bench.rs"):
        yield Path(name, file), _named((template / file).read_text("utf-8"), name)
    # What stands before the package is about the example.
    _, begin, manifest = (template / "Cargo.toml").read_text("utf-8").partition("[package]")
    from_sources = f'{{ path = "{_CRATE.as_posix()}" }}'
    crate = from_sources if _CRATE.is_dir() else '"0.1"'
    manifest = re.sub(r"peerlane-device = .*", lambda _: f"peerlane-device = {crate}", manifest)
    yield Path(name, "Cargo.toml"), begin + manifest.replace('"copier"', f'"{name}"')


def _named(text: str, name: str) -> str:
    """A template with the name of the model instead of its own."""
    module = name.replace("-", "_")
    text = text.replace('model = "copier"', f'model = "{name}"')
    text = text.replace("--model copier=", f"--model {name}=")
    return text.replace("copier", module).replace("Copier", _class(name))
