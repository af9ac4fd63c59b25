"""The command line in a terminal, and where there is none: progress, the pager, `peerlane top`."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from conftest import PAIR, wait_until
from peerlane.cli import console
from peerlane.cli.console import progress
from peerlane.progress import Progress

if TYPE_CHECKING:
    from conftest import Run, Write


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that progress goes by, which stands still; it is told every 20 ms."""
    now = [1000.0]
    monkeypatch.setattr(console, "_clock", lambda: now[0])
    monkeypatch.setattr(console, "LINES", console.LINES._replace(first_s=0.02, every_s=0.02))
    return now


def wait_for_line(capsys: pytest.CaptureFixture[str], line: str) -> None:
    """Waits until standard error has a line."""
    wait_until(lambda: line in capsys.readouterr().err.splitlines())


def test_progress_is_a_line_every_few_seconds_where_nobody_sees_a_bar(
    capsys: pytest.CaptureFixture[str], clock: list[float]
) -> None:
    with progress("running pair") as bar:
        wait_for_line(capsys, "running pair: 0 s so far")
        bar(Progress(0.4, "running pair", 75))
        wait_for_line(capsys, "running pair: 40 %, 1 min 15 s left")
        clock[0] += 5.0
        time.sleep(0.1)
        assert capsys.readouterr().err == "", "nothing has changed but the time"
        bar(Progress(0.41, "running pair", 70))
        wait_for_line(capsys, "running pair: 41 %, 1 min 10 s left")


def test_the_time_left_follows_from_the_pace(
    capsys: pytest.CaptureFixture[str], clock: list[float]
) -> None:
    with progress("work") as bar:
        clock[0] += 8.0
        bar(0.02)
        wait_for_line(capsys, "work: 2 %, 8 s so far")
        bar(0.4)
        clock[0] += 2.0
        wait_for_line(capsys, "work: 40 %, 10 s left")


def test_short_work_shows_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("work") as bar:
        bar(0.4)
    assert capsys.readouterr().err == ""


def test_a_shipped_scenario_has_a_name(peerlane: Run, tmp_path: Path) -> None:
    ran = peerlane("run", "pair", "--json", "-")
    assert json.loads(ran.out)["name"] == "pair"
    assert peerlane("show", "torus").status == 0
    assert peerlane("opae", "info", "--scenario", "pac").status == 0
    (tmp_path / "pair").write_text(PAIR.replace('"pair"', '"mine"'), encoding="utf-8")
    assert json.loads(peerlane("run", "pair", "--json", "-").out)["name"] == "mine"


def test_a_name_that_no_scenario_has_is_offered_the_nearest(peerlane: Run) -> None:
    for command in ("run", "show", "sweep"):
        peerlane(command, "tours").refuses("tours", 'did you mean "torus"?')
    peerlane("run", "scenarios/pairs.toml").refuses("scenarios/pairs.toml", '"pair"')


def test_a_first_scenario_runs_and_overwrites_nothing(peerlane: Run, tmp_path: Path) -> None:
    assert peerlane("new").status == 0
    text = (tmp_path / "fabric.toml").read_text(encoding="utf-8")
    assert sum(line.lstrip().startswith("#") or " # " in line for line in text.splitlines()) > 10
    ran = peerlane("run", "fabric.toml", "--json", "-").succeeds()
    assert json.loads(ran.out)["name"] == "fabric"
    peerlane("new", "fabric.toml").refuses("fabric.toml", "nothing is overwritten")
    assert (tmp_path / "fabric.toml").read_text(encoding="utf-8") == text
    assert peerlane("new", 'odd "name"').status == 0
    assert peerlane("show", 'odd "name".toml').status == 0
    peerlane("new", "absent/fabric").refuses("absent/fabric.toml", "no such file")
    peerlane("new", "folder/").refuses("folder/ is a folder", "such as folder/fabric.toml")
    peerlane("new", "sub/.toml").refuses("sub/.toml would be a hidden file")
    peerlane("new", "two\nlines").refuses("control characters")


@pytest.mark.parametrize("name", ["my net", 'odd "name" isn\'t', "-x", "a;b", "plain"])
def test_the_commands_of_a_first_scenario_can_be_pasted(peerlane: Run, name: str) -> None:
    outcome = peerlane("new", "--", name).succeeds()
    text = Path(f"{name}.toml").read_text(encoding="utf-8")
    comments = re.findall(r"^#   (peerlane (?:show|run) .*?)  +\w.*$", text, re.MULTILINE)
    assert len(comments) == 2
    said = re.findall(r"written; (\S+ show .+) draws it, (\S+ run .+) simulates it", outcome.err)
    for command in (*comments, *said[0]):
        _, *arguments = shlex.split(command)
        assert peerlane(*arguments).status == 0, command


def test_a_file_whose_ending_is_left_out_is_offered(peerlane: Run, tmp_path: Path) -> None:
    assert peerlane("new", "first").status == 0
    for command in ("run", "show", "explain"):
        peerlane(command, "first").refuses("first: no such file; did you mean first.toml?")
    file = tmp_path / "first"
    peerlane("run", file).refuses(f"did you mean {file}.toml?")


def test_a_scenario_may_begin_as_a_shipped_one(peerlane: Run, tmp_path: Path) -> None:
    assert peerlane("new", "mine", "--like", "torus").status == 0
    shipped = Path(__file__).parents[2] / "scenarios" / "torus.toml"
    assert (tmp_path / "mine.toml").read_bytes() == shipped.read_bytes()
    peerlane("new", "other", "--like", "tours").refuses("--like", "torus")
    assert not (tmp_path / "other.toml").exists()


def listed(peerlane: Run, *words: str) -> dict[str, list[dict[str, str]]]:
    """What `peerlane list` finds."""
    found: dict[str, list[dict[str, str]]] = json.loads(peerlane("list", *words, "--json", "-").out)
    return found


def test_list_finds_words_in_names_and_help(peerlane: Run) -> None:
    parameters = listed(peerlane, "tags")["parameters"]
    assert parameters[0]["key"] == "tags"
    assert {"devices, model dma", "devices, model nic"} <= {one["where"] for one in parameters}
    for one in parameters:
        assert "tags" in json.dumps(one).lower()
    assert listed(peerlane, "parameters", "ACK", "delay").keys() == {"parameters"}
    for path, where in (("upstream.to", "upstream"), ("devices.a.upstream.to", "upstream")):
        assert [one["where"] for one in listed(peerlane, path)["parameters"]] == [where]
    for word in ("unplug", "remove", "removal"):
        names = [one["name"] for one in listed(peerlane, "scenarios", word)["scenarios"]]
        assert names == ["incidents/surprise-removal"]
    peerlane("list", "tgas").refuses("tgas", "did you mean", "tags")


def test_list_of_a_model_has_the_parameters_of_its_devices(peerlane: Run) -> None:
    found = listed(peerlane, "--model", "nic")
    assert [model["name"] for model in found["models"]] == ["nic"]
    places = [one["where"] for one in found["parameters"]]
    assert places[0] == "devices, model nic"
    assert not any("model" in place and "nic" not in place for place in places)
    keys = {one["key"] for one in found["parameters"]}
    assert {"datapath", "bar", "max_payload", "upstream", "model"} <= keys
    peerlane("list", "--model", "nicc").refuses("--model", "nic")


@pytest.mark.parametrize(
    ("line", "among"),
    [
        ("peerlane ", {"run", "show", "top", "new", "list", "sweep", "reproduce"}),
        ("peerlane run p", {"pac", "pair", "private.toml", "public/"}),
        ("peerlane run public/", {"public/inner.toml"}),
        ("peerlane reproduce r", {"rosta"}),
        ("peerlane reproduce rosta --figure table", {"table1", "table3"}),
        ("peerlane list --model n", {"nic", "nvme"}),
        ("peerlane list ta", {"tags"}),
        ("peerlane bench ", {"fabric", "network", "messages", "session", "shapes"}),
    ],
)
def test_the_shell_completes(tmp_path: Path, line: str, among: set[str]) -> None:
    (tmp_path / "private.toml").touch()
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "inner.toml").touch()
    asked = {
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
        "_PEERLANE_COMPLETE": "complete_bash",
    }
    done = subprocess.run(
        [sys.executable, "-m", "peerlane"],
        cwd=tmp_path,
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=True,
    )
    assert among <= set(done.stdout.split())
    assert done.stderr == ""


def in_terminal(
    *arguments: str,
    rows: int = 24,
    interrupt_at: str | None = None,
    terminate: bool = False,
    **variables: str,
) -> tuple[int, str]:
    """The status and the output of a command in a terminal of 80 columns.

    Ctrl-C, or a SIGTERM, ends it when it has shown `interrupt_at`.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        environment = os.environ | {"TERM": "xterm", "COLUMNS": "80", "LINES": str(rows)}
        command = [sys.executable, "-m", "peerlane", *arguments]
        os.execvpe(sys.executable, command, environment | variables)  # noqa: S606
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
    shown = b""
    while select.select([terminal], [], [], 60.0)[0]:
        try:
            read = os.read(terminal, 1 << 16)
        except OSError:  # Linux: the other end is closed
            break
        if not read:
            break
        shown += read
        if interrupt_at is not None and re.search(interrupt_at, shown.decode(errors="ignore")):
            if terminate:
                os.kill(pid, signal.SIGTERM)
            else:
                os.write(terminal, b"\x03")
            interrupt_at = None
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), shown.decode()


def test_a_long_list_is_paged_in_a_terminal_alone(peerlane: Run) -> None:
    status, shown = in_terminal("list", PAGER="tail -n 3 | sed 's/^/paged: /'")
    assert status == 0
    assert shown.count("paged: ") == 3
    assert "peerlane bundle figure.json" in shown
    status, shown = in_terminal("list", "systems", PAGER="sed 's/^/paged: /'")
    assert (status, "paged: " in shown) == (0, False)
    assert len(peerlane("list").out.splitlines()) > 400


def test_a_sigterm_ends_a_command_in_its_pager() -> None:
    pager = "head -n 1; exec sleep 60"
    ended = in_terminal("list", PAGER=pager, interrupt_at="models", terminate=True)
    assert ended[0] == 143


def test_a_terminal_of_80_columns_has_the_names_of_links() -> None:
    status, shown = in_terminal("run", "pair")
    assert status == 0
    for name in ("a-to-b", "h0-s0", "s0-a", "s0-b"):
        assert re.search(rf"^{name} ", shown, re.MULTILINE), shown


LONG = ('size = "16 KiB"', 'duration = "100 s"\nwindow = "16 KiB"')


DONE = r"\d %? ?done"
"""How `peerlane top` says how much of a run is done."""


def test_top_shows_what_moves_and_leaves_its_last_frame() -> None:
    status, shown = in_terminal("top", "torus", rows=40)
    assert status == 0
    last = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown).split("ended; rates of the whole run")[-1]
    assert re.search(r"^uniform +t +1\.9", last, re.MULTILINE)
    assert re.search(r"^t-2-0-host-t-2-0 +up +\S+ +31\.", last, re.MULTILINE)
    assert re.search(r"^t-\d-\d-t-\d-\d +t-", last, re.MULTILINE)
    assert max(map(len, last.splitlines())) <= 80


@pytest.mark.parametrize(("terminate", "expected"), [(False, 130), (True, 143)])
def test_an_interrupt_ends_top_and_keeps_what_it_showed(
    scenario: Write, *, terminate: bool, expected: int
) -> None:
    file = str(scenario(LONG))
    status, shown = in_terminal("top", file, interrupt_at=DONE, terminate=terminate)
    assert status == expected
    assert "a-to-b" in shown
    assert re.search(DONE, shown)
    assert shown.rstrip().endswith("interrupted")
    assert "\x1b[?25h" in shown
    assert "Traceback" not in shown


def test_top_needs_a_terminal(peerlane: Run, scenario: Write) -> None:
    peerlane("top", scenario()).refuses("terminal", "peerlane run")


def test_an_interrupt_takes_the_bar_away(scenario: Write) -> None:
    status, shown = in_terminal("run", str(scenario(LONG)), interrupt_at="running fabric")
    assert status == 130
    assert "running fabric" in shown
    assert shown.rstrip().endswith("interrupted")
    assert "\x1b[?25h" in shown


@pytest.mark.parametrize(
    "command",
    [
        "explain pair",
        "run pair --repeat 2",
        "sweep pair --vary links.s0-a.lanes=4,8 --vary flows.a-to-b.direction=write,both",
        "sweep torus --steps 2",
        "bench fabric --tlps 2000 --repeat 1",
        "bench network --sides 2 --hops 2000 --repeat 1",
        "bench messages --hosts 2 --size 5000 --repeat 1",
        "bench shapes endpoint --quick --repeat 1",
        "bench session --size 64KiB --accesses 20 --repeat 1",
        "plan video pair",
        "opae info",
        "opae diag --lines 1024",
        "reproduce rosta --figure table1 --all",
    ],
)
def test_no_command_writes_more_than_80_columns(command: str, tmp_path: Path) -> None:
    status, shown = in_terminal(*command.split(), XDG_STATE_HOME=str(tmp_path))
    assert status == 0, shown
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown).split("\r\n")
    # What a carriage return has written over is not there any more.
    assert max(cell_len(line.rpartition("\r")[2]) for line in lines) <= 80
    assert not any("…" in line for line in lines)


def test_top_shows_work_of_every_kind() -> None:
    status, shown = in_terminal("top", "locks")
    assert status == 0
    assert re.search(r"^cores +h0 +locks +1000 ", shown, re.MULTILINE)
    assert re.search(r"^near-data +card +transactions +500 ", shown, re.MULTILINE)
