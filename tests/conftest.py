"""What the tests share: the command line, a small fabric, and figures of published systems."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from opae_programs import Programs, whole
from peerlane.benchmark.peers.cocotbext import bench as cocotbext
from peerlane.cli import console
from peerlane.cli.application import run_command_line
from peerlane.reproduction.reproduce import reproduce

if TYPE_CHECKING:
    from peerlane.reproduction.report import Report

# What a shell runs in the background ignores interrupts, and so does what that starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("default", deadline=None)
settings.register_profile("soak", deadline=None, max_examples=100_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

MISSING = "is a system package: `make test` installs it as root, and otherwise names it"
needs_cocotbext = pytest.mark.skipif(cocotbext.missing() is not None, reason=f"iverilog {MISSING}")
needs_valgrind = pytest.mark.skipif(not shutil.which("valgrind"), reason=f"valgrind {MISSING}")
needs_lspci = pytest.mark.skipif(not shutil.which("lspci"), reason=f"pciutils {MISSING}")


def beside(test: str, name: str) -> str:
    """The text of a file in the folder of a test, which gives its `__file__`."""
    return Path(test).with_name(name).read_text(encoding="utf-8")


ROOT = Path(__file__).parents[1]
SCENARIOS = sorted((ROOT / "scenarios").glob("*.toml"))
SHIPPED = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (
        *SCENARIOS,
        *ROOT.glob("scenarios/incidents/*.toml"),
        *ROOT.glob("python/peerlane/systems/*/scenario.toml"),
    )
)
"""All scenarios of faults and of systems too, by their paths in the repository."""

PAIR = beside(__file__, "pair.toml")
"""A small fabric: two devices below a switch, of which one writes to the other."""

FOUR_GPUS = beside(__file__, "four_gpus.toml")
"""A fabric of four GPUs, two below each of two switches, without workloads."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    status: int
    out: str
    err: str

    def succeeds(self) -> Outcome:
        """Asserts that the command has ended well, and is the outcome."""
        assert self.status == 0, self.err
        return self

    def refuses(self, *words: str, status: int = 2) -> None:
        """Asserts one clear message that has all `words`, and no traceback."""
        assert self.status == status, self.err
        assert self.out == ""
        assert "Traceback" not in self.err
        assert len(self.err.strip().splitlines()) == 1, self.err
        for word in words:
            assert word in self.err


Run = Callable[..., Outcome]
Write = Callable[..., Path]


@pytest.fixture(scope="session", autouse=True)
def _state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps what commands and notebooks remember out of the user's home, which may be read-only."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("XDG_STATE_HOME", "IPYTHONDIR", "MPLCONFIGDIR"):
            patch.setenv(variable, str(tmp_path_factory.mktemp(variable.lower())))
        yield


@pytest.fixture
def peerlane(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Run]:
    """Runs `peerlane` with the given arguments in an empty folder, within this process."""

    def run(*arguments: str | Path) -> Outcome:
        capfd.readouterr()
        status = run_command_line([str(argument) for argument in arguments])
        return Outcome(status, *capfd.readouterr())

    monkeypatch.chdir(tmp_path)
    # A busy machine makes short work long: its progress is no concern of these tests.
    monkeypatch.setattr(console, "LINES", console.LINES._replace(first_s=threading.TIMEOUT_MAX))
    with Path(os.devnull).open(encoding="utf-8") as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        yield run


@pytest.fixture
def peerlane_process(tmp_path: Path) -> Run:
    """Runs `peerlane` as a process of its own, with the given arguments in an empty folder."""

    def run(*arguments: str | Path) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "peerlane", *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=300,
        )
        return Outcome(done.returncode, done.stdout, without_progress(done.stderr))

    return run


def without_progress(err: str) -> str:
    """What a process wrote to standard error but how far it was: a busy machine makes work long."""
    return re.sub(r"^.+: (\d+ %, .+ left|.+ so far)\n", "", err, flags=re.MULTILINE)


def wait_until(
    is_so: Callable[[], object], process: subprocess.Popen[Any] | None = None, limit_s: float = 120
) -> None:
    """Waits until something is so, which the process brings about while it runs."""
    end = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < end
        assert process is None or process.poll() is None
        time.sleep(0.02)


@pytest.fixture
def scenario(tmp_path: Path) -> Write:
    """Writes a scenario file; replaces pieces of the pair scenario, or takes a whole text."""

    def write(*replacements: tuple[str, str], text: str = PAIR) -> Path:
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "fabric.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def cases_of(test: str, name: str, table: str = "case") -> dict[str, dict[str, Any]]:
    """The cases of an array of tables in a TOML file beside a test, by their names."""
    return {case["name"]: case for case in tomllib.loads(beside(test, name))[table]}


def rows_of(test: str, name: str, table: str) -> list[list[Any]]:
    """The rows of a table in a TOML file beside a test."""
    rows: list[list[Any]] = tomllib.loads(beside(test, name))[table]
    return rows


@cache
def figure(system: str, name: str) -> Report:
    """A figure of a published system, simulated once for all tests that run in this process.

    Tests that look at the same figure have the mark `of(system)`, so that they do.
    """
    return reproduce(system, only=name)


def of(system: str) -> pytest.MarkDecorator:
    """The mark of tests that look at figures of `system` which take little time."""
    return pytest.mark.xdist_group(system)


def line_of(path: Path, text: str) -> int:
    """The number of the first line of `path` that has `text`."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begins with the tests that take longest, so that no processor waits for them at the end."""

    def seconds(item: pytest.Item) -> float:
        mark = item.get_closest_marker("seconds")
        return mark.args[0] if mark else 0.0

    items.sort(key=seconds, reverse=True)


@pytest.fixture
def programs(peerlane: Run, tmp_path_factory: pytest.TempPathFactory) -> Programs:
    """The folder of all programs, with a bitstream of the native loopback."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "opae-programs"
    folder.mkdir(exist_ok=True)
    if not (folder / "nlb.gbs").exists():
        with whole(folder / "nlb.gbs") as image:
            assert peerlane("opae", "pack", "nlb_mode_0", image).status == 0
    return Programs(peerlane, folder)
