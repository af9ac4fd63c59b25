"""A command that only has subcommands."""

from __future__ import annotations

import typer


def group(help_: str) -> typer.Typer:
    """An application that prints its help when no subcommand is named."""
    application = typer.Typer(help=help_)

    @application.callback(invoke_without_command=True)
    def print_help(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    return application
