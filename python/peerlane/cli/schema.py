"""`peerlane schema`: the JSON Schema of scenarios."""

from __future__ import annotations

import typer

from peerlane.cli.options import Models


def schema(_models: Models = None) -> None:
    """Print the JSON Schema of scenarios, by which editors complete and check them.

    `peerlane schema > scenario.schema.json` writes the schema. An editor that supports schemas of
    TOML, such as VS Code with Even Better TOML, uses it for a file that begins with `#:schema
    ./scenario.schema.json`. `--model` adds the keys of a model that you wrote.
    """
    from peerlane import _core
    from peerlane.models.registry import all_models

    typer.echo(_core.schema(all_models()))
