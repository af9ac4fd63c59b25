"""Makes the message for a wrong use of a command, with the command that prints the help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from peerlane._core import nearest
from peerlane.cli.head import command

if TYPE_CHECKING:
    import typer


def usage_message(error: typer.TyperException) -> str:
    """The message for a wrong use, with the command that prints the help."""
    at: Any = error
    if possible := getattr(at, "possibilities", None):
        near = nearest(at.option_name, list(possible))
        at.possibilities = [near] if near else []
    number = _wrong_number(at)
    if number is not None:
        at.message = number
    context = getattr(at, "ctx", None)
    whose = " ".join(_named()) if context is None else context.command_path
    return f"{' '.join(error.format_message().split())} ({whose} --help)"


def _named() -> list[str]:
    """The command that the first argument names, for an error before the command began."""
    return [word for word in command()[:2] if not word.startswith("-")]


def _wrong_number(error: Any) -> str | None:  # noqa: ANN401 - the classes of errors are private to typer
    """The message for a value that is no number or out of range; `None` for another error."""
    reasons: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    option = getattr(error, "param", None)
    for reason in reasons:
        kind, given = reason["type"], str(reason["input"])
        noun = "number" if kind.startswith("float") else "whole number"
        bounds = [getattr(option, key, None) for key in ("min", "max")]
        match bounds:
            case [None, None]:
                right = "write one without a unit"
            case [least, None]:
                right = f"write one of {least} or more"
            case [least, most]:
                right = f"write one from {least or 0} to {most}"
        if kind.startswith(("int", "float")):
            return f"{given!r} is not a {noun}; {right}"
        if kind.endswith("_equal"):
            return f"{given} is out of range; {right}"
    return None
