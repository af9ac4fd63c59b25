"""Prints a short help, about two screens, for a command with many options.

`--help-all` and docs/guide/commands.md have the full texts of the command and its options.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

if TYPE_CHECKING:
    from collections.abc import Iterator

FULL = "--help-all"
WIDTH = 80
_NAMES = 27
"""The width of the column with the names of options, in characters; a longer name has a line of its
own."""
_PARAGRAPHS = 2
_SENTENCE = re.compile(r"(?<=[^.])[.:;](?:\s|$)")
"""The end of the first part of a text; a dot inside a name such as FILE.py is not an end."""


class Brief(TyperCommand):
    """A command with a short help: its first paragraphs, and the first sentence of each option."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer's own click
        """Writes the help."""
        formatter.width = WIDTH
        self.format_usage(ctx, formatter)
        for paragraph in (self.help or "").split("\n\n")[:_PARAGRAPHS]:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(_plain(paragraph))
        with formatter.section("Options"):
            formatter.write_dl(list(self._rows(ctx)), col_max=_NAMES)
        formatter.write_paragraph()
        formatter.write_text(
            f"Each option in full, and what is printed: peerlane {self.name} {FULL}, or"
            " docs/guide/commands.md"
        )

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - as above
        """Prints the full help if it is requested."""
        if FULL in args:
            super().format_help(ctx, ctx.make_formatter())
            ctx.exit()
        return list(super().parse_args(ctx, args))

    def _rows(self, ctx: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - as above
        for one in self.get_params(ctx):
            text = _SENTENCE.split(getattr(one, "help", None) or "", maxsplit=1)[0]
            yield f"{_name(one)}{' ...' * getattr(one, 'multiple', False)}", _plain(text)


def _name(one: Any) -> str:  # noqa: ANN401 - a parameter of typer's own click
    if one.param_type_name == "argument":
        return str(one.metavar)
    name = " / ".join((", ".join(one.opts), *one.secondary_opts))
    return f"{name} {one.metavar}" if one.metavar and not one.is_flag else name


def _plain(text: str) -> str:
    return text.replace("`", "")
