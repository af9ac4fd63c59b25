"""The guide and the reference: every example is run, and prints what the page shows.

A `console` block has commands and their output, in which a line or a part of a line that is `...`
stands for anything. A `toml` block is a scenario; a first line such as `# card.toml` names the file
that later commands of the page read. The `python` blocks of a page run one after the other.

`python tests/test_guide.py` writes the output of commands anew where no `...` stands for any of it.
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

import pytest

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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_the_page_run(page: Path, tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    with chdir(tmp_path):
        for language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
            match language:
                case "console":
                    for command, shown in COMMAND.findall(text):
                        printed = output(command)
                        assert same(shown, printed), f"$ {command}\n{printed}"
                case "python":
                    exec(text, names)  # noqa: S102
                case "toml":
                    run_scenario(text)
                case "sh":
                    is_built(text)
                case _:
                    assert language in {"", "text"}, f"no test runs a block of {language}"


def anew(page: Path) -> str:
    """The text of the page with the output that its commands print now."""
    names: dict[str, Any] = {}

    def command(found: re.Match[str]) -> str:
        printed = output(found[1]).strip("\n")
        shown = f"{printed}\n" if printed else ""
        return found[0] if "..." in found[2] else f"$ {found[1]}\n{shown}"

    def block(found: re.Match[str]) -> str:
        if found[1] == "toml":
            run_scenario(found[2])
        if found[1] == "python":
            exec(found[2], names)  # noqa: S102
        if found[1] != "console":
            return found[0]
        return f"```console\n{COMMAND.sub(command, found[2])}```"

    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        return BLOCK.sub(block, page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    for each in PAGES:
        each.write_text(anew(each), encoding="utf-8")
