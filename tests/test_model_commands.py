"""Device models of one's own on the command line: `--model` and `peerlane new model`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from model_files import said, written

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

    def on_write(self, bar: int, offset: int, data: bytes) -> None:
        if self.depth == 9:
            raise LookupError("nine is too many")
'''


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    return written(tmp_path, SCENARIO, MODEL)


def test_a_scenario_names_a_model_and_the_command_line_loads_it(
    files: tuple[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    scenario, model = files
    status, text = said(["run", scenario], capfd)
    assert status == 2
    assert 'unknown model "ssd"' in text
    assert "--model ssd=FILE" in text
    for command in ("run", "show", "explain"):
        status, text = said([command, scenario, "--model", f"ssd={model}:Ssd"], capfd)
        assert status == 0, text
    changed = ["--set", "devices.ssd.depth=9"]
    status, text = said(["run", scenario, "--model", f"ssd={model}", *changed], capfd)
    assert status == 1
    assert "Traceback (most recent call last)" in text
    assert "the model ssd of device ssd failed at" in text
    assert "LookupError: nine is too many" in text
    vary = ["--vary", "devices.ssd.depth=1..8*2"]
    status, text = said(["sweep", scenario, "--model", f"ssd={model}", *vary], capfd)
    assert status == 0, text
    status, text = said(["list", "--model", f"ssd={model}"], capfd)
    assert status == 0
    assert "Commands at once." in text
    # Nothing is left behind for the next command.
    assert said(["run", scenario], capfd)[0] == 2


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("ssd", "'ssd' is no model; write NAME=FILE.py"),
        ("ssd=nowhere.py", "there is no file nowhere.py"),
        ("ssd=nowhere.so", "there is no such file"),
        ("dma={model}", '"dma" is the name of a built-in model; write another one'),
        ("ssd={model}:Sdd", "has no class 'Sdd'; did you mean"),
        ("ssd={model}:Device", "Device is not a model of this file; write class Device(peerlane."),
        ("ssd=.", ". is a folder; write the path of a Python file or a library"),
        ("ssd={stem}", "; write {model}"),
        ("ssd={scenario}", "cannot be loaded as a shared library"),
    ],
)
def test_what_is_no_model_is_one_clear_message(
    files: tuple[str, str], option: str, why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    scenario, model = files
    names = {"model": model, "scenario": scenario, "stem": model.removesuffix(".py")}
    option, why = option.format(**names), why.format(**names)
    status, text = said(["run", scenario, "--model", option], capfd)
    assert status == 2
    assert why in text
    assert "Traceback" not in text


def test_a_model_file_that_ends_the_program_is_refused(
    files: tuple[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    scenario, model = files
    Path(model).write_text("import sys\nsys.exit(3)\n", encoding="utf-8")
    status, text = said(["run", scenario, "--model", f"ssd={model}"], capfd)
    assert status == 2
    assert "ssd.py cannot be loaded: line 2: SystemExit: 3" in text


def test_a_new_model_in_python_passes_its_tests_and_runs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, text = said(["new", "model", "--python", "my-drive"], capfd)
    assert status == 0
    assert "my_drive.py is written" in text
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    assert "3 passed" in ran.stdout
    Path("own.toml").write_text(
        '[hosts.h0]\n[devices.d]\nupstream = "h0"\nmodel = "my-drive"\nlatency = "2 us"\n',
        encoding="utf-8",
    )
    assert said(["show", "own.toml", "--model", "my-drive=my_drive.py:MyDrive"], capfd)[0] == 0
    status, text = said(["new", "model", "--python", "my-drive"], capfd)
    assert status == 2
    assert "my_drive.py exists, and nothing is overwritten" in text
    for wrong in (["My Drive", "--python"], ["x"], ["x", "--python", "--rust"]):
        assert said(["new", "model", *wrong], capfd)[0] == 2


@pytest.mark.parametrize(
    ("command", "taken"),
    [
        ("--python queue", "the module queue"),
        ("--python async", "a keyword of Python"),
        ("--python device", "Device of Peerlane"),
        ("--python nvme", "the built-in model nvme"),
        ("--rust move", "a keyword of Rust"),
        ("--rust peerlane-device", "the module peerlane_device"),
        ("--rust model", "Model of Peerlane"),
    ],
)
def test_a_new_model_has_no_name_that_stands_for_another_thing(
    command: str,
    taken: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    language, name = command.split()
    status, text = said(["new", "model", language, name], capfd)
    assert status == 2
    assert f"'{name}' would stand for {taken}; write another name, such as my-{name}" in text
    assert list(tmp_path.iterdir()) == []
    assert said(["new", "model", language, f"my-{name}"], capfd)[0] == 0


def test_lspci_shows_what_a_model_declares(
    files: tuple[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    scenario, model = files
    Path(model).write_text(MODEL.replace("bars =", "class_code = 0x010802\n    bars ="), "utf-8")
    status, text = said(["lspci", scenario, "--model", f"ssd={model}", "--", "-n"], capfd)
    assert status == 0
    assert "0108: fff0:0001" in text
