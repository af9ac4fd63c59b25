"""The scenarios that come with Peerlane: a command accepts a name if no file has this name."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.abc import Traversable


def names() -> list[str]:
    """The names of all shipped scenarios."""
    return sorted(_names(resources.files("peerlane") / "scenarios", ""))


def _names(folder: Traversable, prefix: str) -> Iterator[str]:
    for file in folder.iterdir():
        if file.is_dir():
            yield from _names(file, f"{prefix}{file.name}/")
        elif file.name.endswith(".toml"):
            yield prefix + file.name.removesuffix(".toml")


def is_shipped(file: str) -> bool:
    """Whether an argument names a shipped scenario; a file of the same name has priority."""
    return file in names() and not Path(file).exists()


def text_of(name: str) -> str:
    """The text of a shipped scenario."""
    file = resources.files("peerlane") / "scenarios" / f"{name}.toml"
    return file.read_text(encoding="utf-8")


def title_of(name: str) -> str:
    """The title of a shipped scenario: the first sentence of its first comment."""
    comment: list[str] = []
    for line in text_of(name).splitlines():
        if not line.startswith("#"):
            break
        comment.append(line.removeprefix("#").strip())
    return " ".join(comment).partition(". ")[0].removesuffix(".")


def advice(file: str) -> str:
    """Advice for a file that does not exist: names that the user may have meant."""
    from peerlane import _core

    if Path(f"{file}.toml").is_file():
        return f"no such file; did you mean {file}.toml?"
    known = names()
    if Path(file).name == file and not Path(file).suffix:
        return f"no such file, and no shipped scenario of this name; {_core.advice(file, known)}"
    near = _core.nearest(Path(file).stem, known)
    meant = f'; did you mean the shipped scenario "{near}"?' if near else ""
    return f"no such file{meant}"
