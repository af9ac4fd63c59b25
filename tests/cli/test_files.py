"""The files of the command line: outputs never overwrite what is read, nor each other."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import PAIR, wait_until

if TYPE_CHECKING:
    from conftest import Run, Write

LISTING = Path(__file__).parents[1] / "data" / "lspci-desktop.txt"


@pytest.fixture
def names(scenario: Write, tmp_path: Path) -> dict[str, str]:
    """Names of a scenario's file: its own, another path to it, a symbolic and a hard link."""
    path = scenario()
    (tmp_path / "symbolic.toml").symlink_to(path)
    (tmp_path / "hard.toml").hardlink_to(path)
    return {
        "itself": "fabric.toml",
        "another path": f"{tmp_path}/../{tmp_path.name}/fabric.toml",
        "a symbolic link": "symbolic.toml",
        "a hard link": "hard.toml",
    }


@pytest.mark.parametrize("name", ["itself", "another path", "a symbolic link", "a hard link"])
@pytest.mark.parametrize(
    "wanted", [("run", "--json"), ("run", "--trace"), ("show", "--json"), ("sweep", "--json")]
)
def test_an_output_is_not_the_scenario(
    peerlane: Run, names: dict[str, str], tmp_path: Path, wanted: tuple[str, str], name: str
) -> None:
    command, option = wanted
    refused = peerlane(command, "fabric.toml", option, names[name])
    refused.refuses(option, names[name], "reads")
    assert (tmp_path / "fabric.toml").read_text(encoding="utf-8") == PAIR


def test_an_import_is_not_its_listing(peerlane: Run, tmp_path: Path) -> None:
    shutil.copy(LISTING, tmp_path / "machine.txt")
    peerlane("import", "lspci", "machine.txt", "-o", "machine.txt").refuses("--output", "reads")
    assert (tmp_path / "machine.txt").read_bytes() == LISTING.read_bytes()


@pytest.mark.parametrize("exists", [True, False])
def test_two_outputs_are_not_one_file(
    peerlane: Run, scenario: Write, tmp_path: Path, *, exists: bool
) -> None:
    if exists:
        (tmp_path / "out").write_text("kept", encoding="utf-8")
    scenario()
    refused = peerlane("run", "fabric.toml", "--json", "out", "--trace", "./out")
    refused.refuses("--trace", "--json", "another file")
    assert (tmp_path / "out").exists() == exists
    (tmp_path / "symbolic").symlink_to("out")
    peerlane("run", "fabric.toml", "--json", "symbolic", "--trace", "out").refuses("--trace")


def test_a_device_may_be_two_outputs(peerlane: Run, scenario: Write) -> None:
    scenario()
    peerlane("run", "fabric.toml", "--json", os.devnull, "--trace", os.devnull).succeeds()


@pytest.mark.parametrize("to", ["-", "/dev/stdout"])
def test_json_alone_is_in_a_file_that_standard_output_is(
    scenario: Write, tmp_path: Path, to: str
) -> None:
    scenario()
    with (tmp_path / "out").open("wb") as out:
        command = [sys.executable, "-m", "peerlane", "run", "fabric.toml", "--json", to]
        subprocess.run(command, cwd=tmp_path, stdout=out, check=True)
    assert json.loads((tmp_path / "out").read_text(encoding="utf-8"))["name"] == "pair"


def test_a_trace_goes_to_a_pipe_and_not_to_the_file_of_the_result(
    peerlane_process: Run, scenario: Write, tmp_path: Path
) -> None:
    scenario()
    piped = peerlane_process("run", "fabric.toml", "--trace", "/dev/stdout")
    assert json.loads(piped.out.splitlines()[0])["link"] == "h0-s0"
    assert "a-to-b" in piped.out
    both = peerlane_process("run", "fabric.toml", "--trace", "/dev/stdout", "--json", "-")
    both.refuses("--trace", "--json")
    with (tmp_path / "out").open("wb") as out:
        command = [sys.executable, "-m", "peerlane", "run", "fabric.toml", "--trace", "/dev/stdout"]
        done = subprocess.run(
            command, cwd=tmp_path, stdout=out, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert "standard output has the result" in done.stderr


@pytest.mark.parametrize("option", ["--trace", "--perfetto", "--vcd", "--pcap"])
def test_a_capture_whose_reader_goes_away_is_incomplete(
    peerlane: Run, scenario: Write, tmp_path: Path, option: str
) -> None:
    """The run goes on, and its result is printed, as where a disk is full."""
    os.mkfifo(tmp_path / "pipe")
    # A pipe has no room for so much, so that the reader goes away before the end.
    path = scenario(('"16 KiB"', '"512 KiB"\nwindow = "16 KiB"'))
    with subprocess.Popen(["head", "-c", "1", "pipe"], cwd=tmp_path, stdout=subprocess.DEVNULL):
        ran = peerlane("run", path, option, "pipe")
    assert ran.status == 1
    assert "pipe: broken pipe; the file is incomplete" in ran.err
    assert "intact" in ran.out


@pytest.mark.parametrize("options", [(), ("--trace", "/dev/stdout")])
def test_a_command_whose_reader_goes_away_says_nothing(
    scenario: Write, tmp_path: Path, options: tuple[str, ...]
) -> None:
    command = [sys.executable, "-m", "peerlane", "run", str(scenario()), *options]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        process.stdout.close()
        assert process.stderr
        assert (process.stderr.read(), process.wait()) == (b"", 1)


def test_an_interrupt_ends_the_wait_for_the_reader_of_a_pipe(
    scenario: Write, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    command = [sys.executable, "-m", "peerlane", "run", str(scenario()), "--trace", "pipe"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE) as process:
        threads = Path(f"/proc/{process.pid}/task")
        wait_until(lambda: any("open\n" in one.read_text() for one in threads.glob("*/comm")))
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30)[1] == b"interrupted\n"
    assert process.returncode == 130


@pytest.mark.parametrize("command", ["run", "show"])
def test_a_scenario_may_come_from_standard_input(
    scenario: Write, tmp_path: Path, command: str
) -> None:
    path = scenario()

    def ran(file: str, text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "peerlane", command, file, "--json", "-"],
            cwd=tmp_path,
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )

    results = [json.loads(ran(*one).stdout) for one in [("-", PAIR), (path.name, "")]]
    commands = [result.pop("command") for result in results]
    assert [command[2] for command in commands] == ["-", path.name]
    assert results[0] == results[1]
    wrong = ran("-", PAIR.replace("lanes = 4", "lans = 4"))
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("error: standard input:5: unknown key")


def test_a_scenario_without_an_end_is_refused(peerlane: Run) -> None:
    peerlane("run", "/dev/zero").refuses("/dev/zero", "more than 64 MiB")
