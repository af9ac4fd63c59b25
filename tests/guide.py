"""The guide and the reference, whose examples are run and print what the pages show.

A `console` block has commands and their output, in which a line or a part of a line that is `...`
stands for anything. A `toml` block is a scenario; a first line such as `# card.toml` names the file
that later commands of the page read. The `python` blocks of a page run one after the other.

`make generate` writes the output of commands anew where no `...` stands for any of it.
"""

from __future__ import annotations

import doctest
import io
import re
import shlex
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

from peerlane import Simulation
from peerlane.cli.application import run_command_line

ROOT = Path(__file__).parent.parent
PAGES = sorted([*(ROOT / "docs/guide").glob("*.md"), *(ROOT / "docs/reference").glob("*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


def output(command: str) -> str:
    """What a command of Peerlane prints to standard output, in this process."""
    program, *arguments = shlex.split(command)
    assert program == "peerlane", f"{command}: the guide runs peerlane alone"
    out = io.StringIO()
    with redirect_stdout(out):
        status = run_command_line(arguments)
    assert status == 0, f"{command}: status {status}"
    return out.getvalue()


def same(shown: str, printed: str) -> bool:
    """Whether the output is the one that is shown, empty lines and what `...` stands for apart."""
    shown, printed = (
        re.sub(r"\n\s*\n", "\n", text).strip("\n") + "\n" for text in (shown, printed)
    )
    return doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS)


def run_scenario(text: str) -> None:
    """Runs a scenario, and leaves it as a file if its first line is a name."""
    assert Simulation(text).run().failures == []
    if named := re.match(r"# ([\w-]+\.toml)\n", text):
        Path(named[1]).write_text(text, encoding="utf-8")


def is_built(commands: str) -> None:
    """Checks commands that build and install: what they name is there, and CI builds it."""
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    for line in commands.splitlines():
        program, *names = shlex.split(line, comments=True)
        if program == "make":
            assert all(re.search(rf"^{name}:", rules, re.MULTILINE) for name in names), line
        else:
            assert [program, *names] == ["pip", "install", "."], line


def anew(page: Path) -> str:
    """The text of the page with the output that its commands print now, apart from any `...`."""
    names: dict[str, Any] = {}

    def command(found: re.Match[str]) -> str:
        printed = output(found[1]).strip("\n")
        if "..." in found[2]:
            assert same(found[2], printed), f"$ {found[1]}\n{printed}"
            return found[0]
        shown = f"{printed}\n" if printed else ""
        return f"$ {found[1]}\n{shown}"

    def block(found: re.Match[str]) -> str:
        match found[1]:
            case "console":
                return f"```console\n{COMMAND.sub(command, found[2])}```"
            case "python":
                exec(found[2], names)  # noqa: S102
            case "toml":
                run_scenario(found[2])
            case "sh":
                is_built(found[2])
            case language:
                assert language in {"", "text"}, f"no test runs a block of {language}"
        return found[0]

    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        return BLOCK.sub(block, page.read_text(encoding="utf-8"))
