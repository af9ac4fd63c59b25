"""Groups of commands, which import a command only when it is called, listed or completed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from peerlane.cli.brief import Brief
from peerlane.cli.spread import spread


class Command(NamedTuple):
    """A command or a group of commands, and the module that implements it."""

    module: str
    attribute: str
    settings: dict[str, Any] | None = None
    """The settings of the command's context in the library click."""
    is_brief: bool = False
    """Whether the command has so many options that its help shows only the beginning of each
    text."""


class _Commands(Mapping[str, Any]):
    """The commands of a group by their names; each is created when it is first looked up."""

    def __init__(self, places: Mapping[str, Command]) -> None:
        self._places = places
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - the classes of commands are private to typer
        if name not in self._made:
            module, attribute, settings, is_brief = self._places[name]
            found = getattr(import_module(module), attribute)
            if not isinstance(found, typer.Typer):
                application = typer.Typer(add_completion=False, rich_markup_mode="markdown")
                kind = Brief if is_brief else TyperCommand
                application.command(name, cls=kind, context_settings=settings)(spread(found))
                found = application
            self._made[name] = get_command(found)
            self._made[name].name = name
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def group(help_: str, places: Mapping[str, Command], **options: Any) -> typer.Typer:  # noqa: ANN401 - as `Typer` has them
    """Creates an application of these commands, which prints its help if no command is named.

    Args:
        help_: The help of the application.
        places: The commands by their names.
        options: Further options of `typer.Typer`.
    """

    class Group(TyperGroup):
        def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - as `TyperGroup` has them
            super().__init__(**attributes)
            self.commands = cast("Any", _Commands(places))

        def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - as `TyperGroup` has it
            return list(places)

    settings = {"add_completion": False, "rich_markup_mode": "markdown", **options}
    application = typer.Typer(help=help_, cls=Group, **settings)

    @application.callback(invoke_without_command=True)
    def print_help(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    return application
