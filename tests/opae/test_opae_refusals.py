"""Wrong use of sessions, and programs that mean harm: one message each, and others go on."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

import pytest

from opae_programs import EXAMPLES
from peerlane.opae import library_folder, run_program

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run, Write
    from opae_programs import Programs

ALONE = """
[hosts.h0]
[devices.a]
upstream = "h0"
"""


def test_wrong_use_is_told_in_one_line(peerlane: Run, scenario: Write, tmp_path: Path) -> None:
    text = tmp_path / "text.gbs"
    text.write_text("no bitstream at all")
    for image in ("nothing", str(text)):
        peerlane("opae", "conf", image).refuses(image)
        peerlane("opae", "run", "--afu", image, "true").refuses(image)
    missing = peerlane("opae", "run", "/no/such/program")
    missing.refuses("there is no program", "/no/such/program", status=127)
    peerlane("opae", "run", str(text)).refuses("cannot be run", status=126)
    peerlane("opae", "run", "--card", "b", "--afu", "dma_afu", "true").refuses("b")
    for place in (("--card", "card"), ("--slot", "1")):
        peerlane("opae", "run", *place, "true").refuses("write --afu")
    peerlane("opae", "dma-test", "--size", "9999 GiB").refuses("do not fit")
    peerlane("opae", "dma-test", "--size", "much").refuses("much")
    peerlane("opae", "diag", "--multi-cl", "3").refuses("1, 2 or 4")
    # A test ends when its last write has left the card: 280 bytes on the wire in 35.5 ns.
    few = json.loads(peerlane("opae", "diag", "write", "--lines", "4", "--json", "-").out)
    assert (few[0]["cycles"], few[0]["write_bytes_per_second"]) == (8, 256 / 40e-9)
    without = scenario(text=ALONE)
    peerlane("opae", "run", "--scenario", without, "true").refuses("no FPGA card", "fpga-card")
    peerlane("opae", "dma-test", "--scenario", without).refuses("no card", "fpga-card")


def test_a_stray_file_beside_the_loaded_images_is_named(
    peerlane: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    peerlane("opae", "conf", "nlb_mode_3")
    (loaded,) = tmp_path.rglob("*.gbs")
    stray = loaded.with_name("a@b.gbs")
    stray.write_bytes(loaded.read_bytes())
    for command in (("run", "true"), ("info",), ("diag",)):
        peerlane("opae", *command).refuses(str(stray), "such as card@0.gbs")
    stray.unlink()
    assert "nlb_mode_3" in peerlane("opae", "info").out


CROWD = """
import os, resource, socket, sys
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
held = []
for _ in range(400):
    process = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process.connect(os.environ["PEERLANE_SESSION"])
    held.append(process)
held[-1].settimeout(20)
sys.exit(0 if held[-1].recv(1) == b"" else 3)
"""
"""Connects more often than a session has descriptors: the last connection is closed at once."""


def test_a_program_that_connects_too_often_ends_itself_alone(
    programs: Programs, peerlane_process: Run, tmp_path: Path
) -> None:
    crowd = tmp_path / "crowd.py"
    crowd.write_text(CROWD)
    script = f"{sys.executable} {crowd} && {programs.program('two')} copy"
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        done = programs.by(peerlane_process).run(["sh", "-c", script], "nlb_mode_0")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (done.status, done.out) == (0, "copied\n"), done.err


def test_a_bitstream_that_names_a_model_runs_it_only_if_it_was_given(
    programs: Programs, peerlane_process: Run, tmp_path: Path
) -> None:
    model, image = tmp_path / "model.py", tmp_path / "model.gbs"
    source = (EXAMPLES / "checksum_afu.py").read_text(encoding="utf-8")
    model.write_text(f"{source}\nprint('run')\n", encoding="utf-8")
    run = programs.by(peerlane_process)
    assert peerlane_process("opae", "pack", str(model), str(image)).status == 0
    conf = [sys.executable, "-m", "peerlane", "opae", "conf", str(image)]
    refused = run.run(conf, "dma_afu")
    assert refused.status != 0
    assert "peerlane: the bitstream for slot 0 of card is refused: it names the mod" in refused.err
    assert f"add --model {model} to opae run" in refused.err
    assert "run\n" not in refused.out
    assert run.run(conf, "dma_afu", "--model", str(model)).status == 0
    peerlane_process("opae", "run", "--afu", str(image), "true").refuses(f"names the model {model}")


def test_a_bitstream_that_is_truncated_or_for_another_card_is_refused(
    programs: Programs, tmp_path: Path
) -> None:
    good = (programs.folder / "nlb.gbs").read_bytes()
    interface = good.index(b"interface-uuid") + len(b'interface-uuid":"')
    unknown = good.index(b"accelerator-type-uuid") + len(b'accelerator-type-uuid":"')
    wrong = {
        "empty": (b"", "does not begin with"),
        "short": (good[:18], "does not begin with"),
        "truncated": (good[:100], "more than the rest of the file"),
        "other": (good[:interface] + b"0000" + good[interface + 4 :], "is for the interface 0000"),
        "unknown": (good[:unknown] + b"0000" + good[unknown + 4 :], "is not built in"),
    }
    for name, (content, message) in wrong.items():
        image = tmp_path / f"{name}.gbs"
        image.write_bytes(content)
        for command in (("run", "--afu", image, "true"), ("conf", image)):
            programs.peerlane("opae", *command).refuses(message)


def test_a_scenario_without_a_card_or_host_is_refused(peerlane: Run, scenario: Write) -> None:
    without = scenario(text=ALONE)
    for command in (("run", "true"), ("run", "--afu", "dma_afu", "true"), ("info",), ("diag",)):
        where, *rest = command
        peerlane("opae", where, "--scenario", without, *rest).refuses("card", "fpga-card")
    peerlane("opae", "conf", "--scenario", without, "dma_afu").refuses("no card", "fpga-card")
    for name in ("x", "card"):
        wrong = peerlane("opae", "run", "--host", name, "true")
        wrong.refuses(f'there is no host "{name}" with an FPGA card; write "server"')
    peerlane("opae", "run", "--scenario", without, "--host", "x", "true").refuses("no FPGA card")


def test_a_program_that_cannot_begin_is_refused_with_the_reason(
    peerlane: Run, tmp_path: Path
) -> None:
    wrong = {
        "plain": ("text", 0o600, "chmod +x"),
        "script": ("echo text", 0o700, "nor a script that begins with #!"),
        "nobody": ("#!/no/such/interpreter\n", 0o700, "there is no interpreter"),
    }
    for name, (content, mode, message) in wrong.items():
        program = tmp_path / name
        program.write_text(content, encoding="utf-8")
        program.chmod(mode)
        refused = peerlane("opae", "run", program)
        refused.refuses(str(program), "cannot be run", message, status=126)
    peerlane("opae", "run", tmp_path).refuses(str(tmp_path), "is a folder", status=126)
    peerlane("opae", "run", "").refuses("there is no program ''", status=127)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_command_alone_reaches_its_program(number: signal.Signals) -> None:
    program = f"""
import signal, sys, time
signal.signal({int(number)}, lambda *_: sys.exit(7))
print("begun", flush=True)
time.sleep(60)
"""
    command = [sys.executable, "-m", "peerlane", "opae", "run", sys.executable, "-c", program]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as run:
        assert run.stdout
        assert run.stdout.readline() == "begun\n"
        run.send_signal(number)
        assert run.wait(timeout=60) == 7


def test_an_image_or_a_model_that_is_no_file_is_refused(peerlane: Run, tmp_path: Path) -> None:
    for command in (("run", "--afu", tmp_path, "true"), ("conf", tmp_path)):
        peerlane("opae", *command).refuses(str(tmp_path), "is a folder")
    missing, text = tmp_path / "missing.py", tmp_path / "text"
    text.write_text("")
    for option in ("--afu", "--model"):
        peerlane("opae", "run", option, missing, "true").refuses("there is no file", str(missing))
    peerlane("opae", "run", "--model", text, "true").refuses(str(text), "is not a Python file")


def test_an_interrupted_run_ends_its_program_and_says_so(tmp_path: Path) -> None:
    times = tmp_path / "times.json"
    # A shell would lose a signal that comes just as it starts a command.
    program = "signal.signal(signal.SIGINT, signal.SIG_DFL); print('begun', flush=True)"
    sleeps = [sys.executable, "-c", f"import signal, time; {program}; time.sleep(60)"]
    command = [sys.executable, "-m", "peerlane", "opae", "run", "--json", str(times), *sleeps]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as run:
        assert run.stdout
        assert run.stdout.readline() == "begun\n"
        os.killpg(run.pid, signal.SIGINT)
        _, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (130, "interrupted\n")
    assert json.loads(times.read_text(encoding="utf-8"))["exit_status"] == 130


def test_memory_with_code_is_not_pinned(programs: Programs) -> None:
    assert programs.run([str(programs.program("code"))], "dma_afu").status == 0


def test_folders_of_sessions_that_were_killed_are_removed(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    old = time.time() - 3600
    sockets = {name: tmp_path / f"peerlane-{name}" / "session" for name in ("dead", "alive")}
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        for path in sockets.values():
            path.parent.mkdir()
        server.bind(str(sockets["alive"]))
        server.listen()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as dead:
            dead.bind(str(sockets["dead"]))
        for path in sockets.values():
            os.utime(path, (old, old))
        assert programs.run(["true"], "dma_afu").status == 0
    assert not sockets["dead"].parent.exists()
    assert sockets["alive"].exists()


def test_without_a_session_a_program_is_told_how_to_get_one(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library_folder()))
    monkeypatch.delenv("PEERLANE_SESSION", raising=False)
    two = [str(programs.program("two")), "copy"]
    alone = subprocess.run(two, capture_output=True, text=True, check=False, timeout=60)
    assert alone.returncode != 0
    hint = f"peerlane opae run {two[0]}"
    assert len([line for line in alone.stderr.splitlines() if hint in line]) == 1
    monkeypatch.setenv("PEERLANE_SESSION", "/nowhere")
    alone = subprocess.run(two, capture_output=True, text=True, check=False, timeout=60)
    assert "/nowhere" in alone.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("true", ("", "")), "command must be a list of texts; write ['true']"),
        (([], ("", "")), "the command is empty"),
        ((["true"], "pac.toml"), "a text and what to call it"),
    ],
)
def test_wrong_arguments_of_a_run_from_python_are_refused(
    arguments: tuple[Any, Any], message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        run_program(*arguments)
    with pytest.raises(TypeError, match="models must be a list"):
        run_program(["true"], ("", ""), models="unit.py")
