"""Standard streams that are closed or full, and interrupts at any time: one line, no traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import peerlane as package

if TYPE_CHECKING:
    from conftest import Write

PEERLANE = f"{sys.executable} -m peerlane"
LISTING = Path(__file__).parents[1] / "data" / "lspci-desktop.txt"
FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


def shell(command: str, folder: Path) -> tuple[int, str]:
    """Runs a command of the shell; returns its exit status and what standard error has."""
    done = subprocess.run(  # noqa: S602 - the redirections are the point
        command,
        shell=True,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stderr


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize(
    ("streams", "outcome"),
    [
        (">&-", (1, "error: standard output: it is closed\n")),
        ("<&-", (0, "")),
        ("<&- >&- 2>&-", (1, "")),
    ],
)
def test_a_closed_standard_output_is_a_failure_as_a_full_disk_is(
    scenario: Write, tmp_path: Path, streams: str, outcome: tuple[int, str]
) -> None:
    scenario()
    command = f"{PEERLANE} run fabric.toml --json result --trace trace {streams}"
    assert shell(command, tmp_path) == outcome
    assert (tmp_path / "result").read_text(encoding="utf-8").endswith("}\n")
    assert (tmp_path / "trace").read_text(encoding="utf-8").endswith("}\n")


@pytest.mark.parametrize("command", ["list", "run fabric.toml", "run fabric.toml --json -"])
def test_a_pipe_that_nobody_reads_is_quiet(scenario: Write, tmp_path: Path, command: str) -> None:
    scenario()
    _, error = shell(f"{PEERLANE} {command} | true", tmp_path)
    assert not error
    _, error = shell(f"{PEERLANE} {command} | head -n 1", tmp_path)
    assert not error


def test_a_warning_that_nobody_reads_does_not_end_the_run(scenario: Write, tmp_path: Path) -> None:
    scenario(('upstream = { to = "s0" }', 'upstream = { to = "s0", lanes = 2 }'))
    command = [*PEERLANE.split(), "run", "fabric.toml", "--set", "links.lanes=8", "--json", "-"]
    nobody, end = os.pipe()
    os.close(nobody)
    done = subprocess.run(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=end, check=False, timeout=60
    )
    os.close(end)
    assert (done.returncode, json.loads(done.stdout)["name"]) == (0, "pair")


@needs_full
@pytest.mark.parametrize(
    ("command", "where"),
    [
        ("run fabric.toml > /dev/full", "standard output"),
        ("run fabric.toml --json - > /dev/full", "standard output"),
        ("--version > /dev/full", "standard output"),
        (f"import lspci {LISTING} > /dev/full", "standard output"),
        ("run fabric.toml --json /dev/full", "/dev/full"),
        (f"import lspci {LISTING} -o /dev/full", "/dev/full"),
    ],
)
def test_a_full_disk_is_named(scenario: Write, tmp_path: Path, command: str, where: str) -> None:
    scenario()
    wanted = f"error: {where}: no space left on device\n"
    assert shell(f"{PEERLANE} {command}", tmp_path) == (1, wanted)


def test_a_capture_that_finds_the_disk_full_does_not_end_the_run(
    scenario: Write, tmp_path: Path
) -> None:
    scenario()
    plain = shell(f"{PEERLANE} run fabric.toml --json whole", tmp_path)
    # The shell limits files to 20 blocks; a file takes what fits, and the error is that of a disk.
    limited = f"ulimit -f 20; {PEERLANE} run fabric.toml"
    status, error = shell(f"{limited} --json result --trace trace", tmp_path)
    assert (plain, status) == ((0, ""), 1)
    assert error.startswith("error: trace: file too large; the file is incomplete")
    whole, result = (read(tmp_path / name) for name in ("whole", "result"))
    assert result["flows"] == whole["flows"]
    lines = (tmp_path / "trace").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 10
    assert all(json.loads(line) for line in lines), "every line is whole"


@pytest.mark.parametrize("module", ["typer", "pydantic", "rich"])
@pytest.mark.parametrize(
    "begin", ["-m peerlane", "-c 'from peerlane.__main__ import main; main()'"]
)
def test_an_interrupt_while_modules_are_imported_is_one_line(
    tmp_path: Path, module: str, begin: str
) -> None:
    """A module that is imported early stands for the time when the user interrupts."""
    interrupt = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nraise ImportError\n"
    (tmp_path / f"{module}.py").write_text(interrupt, encoding="utf-8")
    first = f"PYTHONPATH={tmp_path}:$PYTHONPATH"
    assert shell(f"{first} {sys.executable} {begin} list", tmp_path) == (130, "interrupted\n")


def test_every_name_of_the_package_is_there() -> None:
    public = vars(package)["__all__"]
    for name in public:
        assert getattr(package, name) is not None
    assert set(public) <= set(dir(package))
    with pytest.raises(AttributeError, match="has no attribute 'Fabrik'"):
        package.Fabrik  # type: ignore[attr-defined]  # noqa: B018
