"""The pages whose examples are run and print what the pages show.

A `console` block has commands and their output, in which a line or a part of a line that is `...`
stands for anything. A `toml` block is a scenario, and the `python` blocks of a page run one after
the other. A first line such as `# card.toml` or `# card.py` names the file that later commands of
the page read; a named file of Python runs by its command alone. The files beside a page can be
read, too. A picture of a page is the file of its name that the examples write.

`make generate` writes pictures anew, and the output of commands where it has no `...`.
"""

from __future__ import annotations

import doctest
import io
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import peerlane
from peerlane import Simulation
from peerlane.cli.application import run_command_line

ROOT = Path(__file__).parents[2]
FOLDERS = [ROOT / "docs" / name for name in ("guide", "recipes", "reference")]
PAGES = [ROOT / "README.md", *sorted(page for folder in FOLDERS for page in folder.glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CIRCUITS = re.compile(r"^\$ peerlane run .* --rtl ", re.MULTILINE)
NO_EXAMPLE = {"rosta.svg"}
"""Pictures that no example makes: `test_generated.py` draws them."""
PICTURE = re.compile(r"^!\[[^]]*\]\((\S+\.svg)\)$", re.MULTILINE)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


def output(command: str) -> str:
    """What a command prints to standard output: of Peerlane, in this process, or of a program."""
    program, *arguments = shlex.split(command)
    if program == "python":
        words, _, name = command.removeprefix("python ").partition(" > ")
        run = [sys.executable, *shlex.split(words)]
        printed = subprocess.run(run, check=True, capture_output=True, text=True).stdout
        if name:
            Path(name).write_text(printed, encoding="utf-8")
        return printed if not name else ""
    assert program == "peerlane", f"{command}: the guide runs peerlane and python alone"
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
    keep(text)


def keep(text: str) -> bool:
    """Leaves a text as a file if its first line is a name; whether it is one."""
    named = re.match(r"# ([\w-]+\.\w+)\n", text)
    if named:
        Path(named[1]).write_text(text, encoding="utf-8")
    return named is not None


def pictures(page: Path) -> list[Path]:
    """The pictures of a page that its examples write."""
    found = [page.parent / name for name in PICTURE.findall(page.read_text(encoding="utf-8"))]
    return [file for file in found if file.name not in NO_EXAMPLE]


def is_built(commands: str) -> None:
    """Checks commands that build and install: what they name is there, and CI builds it."""
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    for line in commands.splitlines():
        program, *names = shlex.split(line, comments=True)
        if program == "make":
            assert all(re.search(rf"^{name}:", rules, re.MULTILINE) for name in names), line
        else:
            wheel = f"peerlane-{peerlane.__version__}-*_x86_64.whl"
            assert [program, *names] in (["pip", "install", "."], ["pip", "install", wheel]), line


def drawn(name: str) -> str:
    """The text of a picture that an example has written."""
    found = next(Path().rglob(name), None)
    assert found is not None, f"no example writes {name}"
    return found.read_text(encoding="utf-8")


def has_circuits() -> bool:
    """Whether the circuits that examples run are built: `make test` builds them."""
    return (ROOT / "gateware" / "built").is_dir()


def command_anew(found: re.Match[str]) -> str:
    """A command of a page and what it prints now."""
    printed = output(found[1]).strip("\n")
    if "..." in found[2]:
        assert same(found[2], printed), f"$ {found[1]}\n{printed}"
        return found[0]
    shown = f"{printed}\n" if printed else ""
    return f"$ {found[1]}\n{shown}"


def run_block(language: str, text: str, names: dict[str, Any]) -> None:
    """Runs a block of a page that has no output: what Python defines is in `names`."""
    match language:
        case "python":
            if not keep(text):
                with redirect_stdout(io.StringIO()):
                    exec(text, names)  # noqa: S102
        case "toml":
            run_scenario(text)
        case "sh":
            is_built(text)
        case _:
            assert language in {"", "text"}, f"no test runs a block of {language}"


@cache
def anew(page: Path) -> dict[Path, str]:
    """The page with the output that its commands print now, apart from any `...`; its pictures."""
    written = page.read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    if CIRCUITS.search(written) and not has_circuits():
        return {file: file.read_text(encoding="utf-8") for file in (page, *pictures(page))}

    def block(found: re.Match[str]) -> str:
        if found[1] == "console":
            return f"```console\n{COMMAND.sub(command_anew, found[2])}```"
        run_block(found[1], found[2], names)
        return found[0]

    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for file in page.parent.iterdir() if page.parent in FOLDERS else ():
            shutil.copy(file, folder)
        text = BLOCK.sub(block, written)
        return {page: text} | {file: drawn(file.name) for file in pictures(page)}
