"""Device models of one's own on the command line: `--model` and `peerlane new model`."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from conftest import rows_of
from peerlane import RunResult, Simulation

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run

SCENARIO = """\
[hosts.h0]
[devices.ssd]
upstream = "h0"
model = "ssd"
depth = 8
[[flows]]
from = "h0"
to = "ssd"
size = "64 B"
"""

MODEL = '''\
"""A drive."""
from peerlane import Device, Parameter


class Ssd(Device):
    """Takes what is written."""

    bars = {0: "64 KiB"}
    depth = Parameter(4, help="Commands at once.")

    def on_write(self, bar, offset, data):
        return self.work()

    async def work(self):
        await self.sleep(10)
        if self.depth == 9:
            raise LookupError("nine is too many")
'''

RUN = ("run", "own.toml", "--model", "ssd=ssd.py")


@pytest.fixture(autouse=True)
def model(tmp_path: Path) -> Path:
    """The file of the model; that of the scenario is beside it."""
    (tmp_path / "own.toml").write_text(SCENARIO, encoding="utf-8")
    path = tmp_path / "ssd.py"
    path.write_text(MODEL, encoding="utf-8")
    return path


def test_a_scenario_names_a_model_and_the_command_line_loads_it(peerlane: Run) -> None:
    peerlane("run", "own.toml").refuses('unknown model "ssd"', "--model ssd=FILE")
    for command in ("run", "show", "explain"):
        peerlane(command, "own.toml", "--model", "ssd=ssd.py:Ssd").succeeds()
    vary = ("--vary", "devices.ssd.depth=1..8*2")
    assert peerlane("sweep", *RUN[1:], *vary).status == 0
    assert "Commands at once." in peerlane("list", "--model", "ssd=ssd.py").out
    # Nothing is left behind for the next command.
    peerlane("run", "own.toml").refuses('unknown model "ssd"')
    assert Simulation.open("own.toml", models={"ssd": "ssd.py"}).run().failures == []


def test_an_exception_ends_with_the_line_of_the_model_after_what_was_measured(
    peerlane: Run, model: Path, tmp_path: Path
) -> None:
    deep = "def refuse(number):\n    raise LookupError(number)\n"
    body = MODEL.replace('raise LookupError("nine is too many")', "refuse(self.depth)")
    model.write_text(deep + body, encoding="utf-8")
    kept = tmp_path / "kept.json"
    files = ("--json", str(kept), "--pcap", str(tmp_path / "kept.pcap"))
    failed = peerlane(*RUN, "--set", "devices.ssd.depth=9", *files)
    assert failed.status == 1
    head, caller, line, error = failed.err.splitlines()
    assert head == "Traceback (most recent call last):"
    assert f'  File "{model}", line ' in caller
    assert line == "    refuse(self.depth)"
    assert error.startswith("error: the model ssd of device ssd failed at ")
    assert error.endswith(f": LookupError: 9, at {model}:2 (raise LookupError(number))")
    result = RunResult.from_json(kept.read_text(encoding="utf-8"))
    assert result.simulated_ns > 300
    assert "own: " in failed.out
    assert (tmp_path / "kept.pcap").stat().st_size > 0


def test_repeated_runs_that_all_fail_have_no_table(peerlane: Run) -> None:
    ran = peerlane(*RUN, "--set", "devices.ssd.depth=9", "--repeat", "2")
    assert (ran.status, ran.out) == (1, "own: 2 runs, seeds 1 to 2; no run gave numbers\n")


def test_a_model_that_no_device_has_is_a_warning(peerlane: Run) -> None:
    ran = peerlane(*RUN, "--model", "sdd=ssd.py").succeeds()
    right = 'write model = "sdd" in the section of a device'
    assert f"--model sdd: no device of the scenario has this model; {right}" in ran.err


@pytest.mark.parametrize(("option", "why"), rows_of(__file__, "wrong.toml", "options"))
def test_what_is_no_model_is_one_clear_message(peerlane: Run, option: str, why: str) -> None:
    peerlane("run", "own.toml", "--model", option).refuses(why)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import sys\nsys.exit(3)\n", "ssd.py cannot be loaded: line 2: SystemExit: 3"),
        ("\n\nx = nothing\n", "line 3: NameError: name 'nothing' is not defined"),
        ("class Ssd: ...\n", "no class derived from peerlane.Device; write class MyDevice(peer"),
    ],
)
def test_a_model_file_that_fails_is_refused_with_the_line(
    peerlane: Run, model: Path, text: str, why: str
) -> None:
    model.write_text(text, encoding="utf-8")
    peerlane(*RUN).refuses("ssd.py", why)


def test_a_model_file_imports_a_module_beside_it(peerlane: Run, model: Path) -> None:
    model.with_name("beside_the_model.py").write_text("NUMBER = 1\n", encoding="utf-8")
    model.write_text(f"from beside_the_model import NUMBER\n{MODEL}", encoding="utf-8")
    assert peerlane(*RUN).status == 0


def test_a_model_is_given_once(peerlane: Run) -> None:
    peerlane(*RUN, "--model", "ssd=ssd.py").refuses("'ssd' is given twice; write ssd once")


def test_an_engine_that_waits_for_something_else_is_told_at_its_line(
    peerlane: Run, model: Path
) -> None:
    body = MODEL.replace("await self.sleep(10)", "await asyncio.sleep(0)")
    model.write_text(f"import asyncio\n{body}", encoding="utf-8")
    ran = peerlane(*RUN)
    assert ran.status == 1
    assert f"{model}:16 (await asyncio.sleep(0))" in ran.err
    assert "an engine waits for None; await calls of the device alone" in " ".join(ran.err.split())


def test_a_new_model_in_python_passes_its_tests_and_runs(peerlane: Run, model: Path) -> None:
    told = peerlane("new", "model", "--python", "my-drive").err
    found = re.search(r"my_drive.py is written; (\S+) test_my_drive.py tests it", told)
    assert found is not None, told
    ran = subprocess.run(
        [found[1], "test_my_drive.py"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("passed: test_") == 3
    model.with_name("own.toml").write_text(
        '[hosts.h0]\n[devices.d]\nupstream = "h0"\nmodel = "my-drive"\nlatency = "2 us"\n',
        encoding="utf-8",
    )
    own = ("--model", "my-drive=my_drive.py:MyDrive")
    assert peerlane("show", "own.toml", *own).status == 0
    again = peerlane("new", "model", "--python", "my-drive")
    again.refuses("my_drive.py exists, and nothing is overwritten")
    for wrong in (["My Drive", "--python"], ["x"], ["x", "--python", "--rust"]):
        assert peerlane("new", "model", *wrong).status == 2


@pytest.mark.parametrize(("command", "taken"), rows_of(__file__, "wrong.toml", "names"))
def test_a_new_model_has_no_name_that_stands_for_another_thing(
    peerlane: Run, tmp_path: Path, command: str, taken: str
) -> None:
    language, name = command.split()
    there = sorted(tmp_path.iterdir())
    wrong = peerlane("new", "model", language, name)
    wrong.refuses(f"'{name}' would stand for {taken}; write another name, such as my-{name}")
    assert sorted(tmp_path.iterdir()) == there
    assert peerlane("new", "model", language, f"my-{name}").status == 0


def test_lspci_shows_what_a_model_declares(peerlane: Run, model: Path) -> None:
    model.write_text(MODEL.replace("bars =", "class_code = 0x010802\n    bars ="), "utf-8")
    assert "0108: fff0:0001" in peerlane("lspci", *RUN[1:], "--", "-n").out
