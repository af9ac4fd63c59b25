"""Programs that were written for OPAE, on a simulated card: compiled, linked and run as ever."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import MISSING
from peerlane import Simulation, _core
from peerlane.opae import Accelerator, Afu, Shell, UnitError, accelerators, library_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Outcome, Run, Write

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "tests" / "opae"
EXAMPLES = ROOT / "examples"

needs_valgrind = pytest.mark.skipif(not shutil.which("valgrind"), reason=f"valgrind {MISSING}")

RUNS = {
    "hello_nlb": ("nlb_mode_0", ("sleep", "64")),
    "dma_sweep": ("dma_afu", ("2",)),
    "streaming": ("streaming_dma_afu", ("256",)),
    "events": ("dma_afu", ()),
    "errors": ("dma_afu", ("{nlb}", "small")),
    "threads": ("dma_afu", ()),
    "prefetcher": ("streaming_dma_afu", ("512",)),
    "exerciser": ("he_mem", ("mem", "copy")),
    "alerts": ("dma_afu", ()),
}
"""Each program, what is loaded for it, and what it is told: short runs."""

NOT_AN_AFU = """
from peerlane.opae import Afu

class Broken(Afu):
    uuid = "3a778c9e-5bd1-4d0b-9c64-0a6dcfb1c4f3"

    def store(self, shell, offset, data):
        raise LookupError("no such thing")
"""

ALONE = """
[hosts.h0]
[devices.a]
upstream = "h0"
"""


@dataclass(frozen=True)
class Programs:
    """Compiled programs, and the command that runs them."""

    peerlane: Run
    folder: Path
    """Where they are compiled; all processes of a test run share it."""

    def program(self, name: str, *flags: str) -> Path:
        """The program of that name, compiled with these flags."""
        source = (EXAMPLES if name == "checksum" else SOURCES) / f"{name}.c"
        program = self.folder / "-".join((name, *flags)).replace("=", "")
        if not program.exists():
            found = self.peerlane("opae", "flags").out.split()
            options = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-g", *flags, *found]
            with _whole(program) as binary:
                built = ["gcc", str(source), *options, "-lopae-c", "-lpthread", "-o", str(binary)]
                subprocess.run(built, check=True, timeout=120)
        return program

    def by(self, peerlane: Run) -> Programs:
        """These programs, run by another command."""
        return replace(self, peerlane=peerlane)

    def run(self, command: list[str], afu: str, *options: str) -> Outcome:
        """Runs a command on the published card with this accelerator."""
        return self.peerlane("opae", "run", "--afu", afu, *options, *command)


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A path to write to instead of `path`, where other processes see the file when it is whole."""
    own = path.with_name(f"{path.name}.{os.getpid()}")
    yield own
    own.replace(path)


@pytest.fixture
def programs(peerlane: Run, tmp_path_factory: pytest.TempPathFactory) -> Programs:
    """The folder of all programs, with a bitstream of the native loopback."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "opae-programs"
    folder.mkdir(exist_ok=True)
    if not (folder / "nlb.gbs").exists():
        with _whole(folder / "nlb.gbs") as image:
            assert peerlane("opae", "pack", "nlb_mode_0", image).status == 0
    return Programs(peerlane, folder)


def told(programs: Programs, name: str) -> tuple[str, list[str]]:
    """What is loaded for a program, and what it is told."""
    afu, arguments = RUNS[name]
    return afu, [one.format(nlb=programs.folder / "nlb.gbs") for one in arguments]


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("clock", [(), ("--wall",)], ids=["simulated", "wall"])
def test_a_program_runs_by_either_clock(
    programs: Programs, name: str, clock: tuple[str, ...]
) -> None:
    afu, arguments = told(programs, name)
    done = programs.run([str(programs.program(name)), *arguments], afu, *clock)
    assert done.status == 0, done.err


@pytest.mark.parametrize("name", RUNS)
def test_a_program_runs_with_addresses_checked(programs: Programs, name: str) -> None:
    afu, arguments = told(programs, name)
    checked = programs.program(name, "-fsanitize=address")
    done = programs.run([str(checked), *arguments], afu)
    assert done.status == 0, done.err
    assert "AddressSanitizer" not in done.err


@needs_valgrind
@pytest.mark.parametrize("name", RUNS)
def test_a_program_runs_under_valgrind(programs: Programs, name: str) -> None:
    afu, arguments = told(programs, name)
    valgrind = ["valgrind", "-q", "--error-exitcode=9"]
    done = programs.run([*valgrind, str(programs.program(name)), *arguments], afu)
    assert done.status == 0, done.err
    assert "==" not in done.err


@pytest.mark.parametrize("name", ["hello_nlb", "dma_sweep", "events"])
def test_simulated_times_are_the_same_in_every_run(programs: Programs, name: str) -> None:
    afu, arguments = told(programs, name)
    command = [str(programs.program(name)), *arguments]
    first, second = (programs.run(command, afu).out for _ in range(2))
    assert first == second
    assert re.search(r"\d+ (ns|bytes)", first)


def test_a_program_that_spins_sees_the_end_before_one_that_sleeps(programs: Programs) -> None:
    program = str(programs.program("hello_nlb"))

    def took(how: str) -> int:
        done = programs.run([program, how, "256"], "nlb_mode_0")
        found = re.search(r"in (\d+) ns", done.out)
        assert found, done.err
        return int(found[1])

    spinning, sleeping = took("spin"), took("sleep")
    # 256 KiB each way at the link's rate; a sleep is 100 us long.
    assert 256 * 1024 / 7.2 < spinning < sleeping < spinning + 110_000


@pytest.mark.parametrize("test", ["copy", "read", "write", "both", "copy interrupt"])
@pytest.mark.parametrize("memory", ["lb", "mem"])
def test_the_exercisers_of_later_cards_have_all_types_of_tests(
    programs: Programs, memory: str, test: str
) -> None:
    program = str(programs.program("exerciser"))
    done = programs.run([program, memory, *test.split()], f"he_{memory}")
    rates = [float(rate) for rate in re.findall(r"([\d.]+) GB/s", done.out)]
    assert len(rates) == 5, done.err
    # The link to the host or a bank of DDR4 limits the rate; 25.6 GB/s are the clock's.
    assert max(rates) < (17.1 if memory == "mem" and test in ("read", "write") else 15)


def test_who_waits_for_what_another_thread_begins_waits_no_longer(programs: Programs) -> None:
    done = programs.run([str(programs.program("threads"))], "dma_afu")
    took = [int(number) for number in re.findall(r"(\d+) us", done.out)]
    assert len(took) == 3, done.err
    for delay, us in zip((0, 500, 5000), took, strict=True):
        assert delay <= us < delay + 400


def test_a_thread_injects_an_error_of_which_another_is_told(programs: Programs) -> None:
    done = programs.run([str(programs.program("alerts"))], "dma_afu")
    assert "an error after 5 s" in done.out, done.err


def test_a_program_and_the_command_measure_the_same_sweep(programs: Programs) -> None:
    done = programs.run([str(programs.program("dma_sweep")), "16"], "dma_afu")
    printed = [float(rate) * 1e6 for rate in re.findall(r": ([\d.]+) MB/s", done.out)]
    swept = json.loads(
        programs.peerlane("opae", "dma-test", "--size", "16 MiB", "--json", "-").out
    )[0]
    assert swept["intact"]
    measured = [swept[f"{way}_bytes_per_second"] for way in ("host_to_card", "card_to_host")]
    assert printed == pytest.approx(measured, rel=0.015)


def test_two_processes_do_not_have_one_card(programs: Programs) -> None:
    two = programs.program("two")
    script = f"""
        mkfifo {programs.folder}/in {programs.folder}/out
        {two} hold < {programs.folder}/in > {programs.folder}/out &
        exec 3> {programs.folder}/in 4< {programs.folder}/out
        read word <&4 && [ "$word" = open ] && {two} busy && kill -9 $! || exit 3
        wait
        {two} copy
    """
    done = programs.run(["sh", "-c", script], "nlb_mode_0")
    assert done.status == 0, done.err


def test_the_exit_status_of_a_program_is_passed_on(programs: Programs) -> None:
    assert programs.run(["sh", "-c", "exit 7"], "dma_afu").status == 7
    assert programs.run(["sh", "-c", "kill -9 $$"], "dma_afu").status == 137


def test_an_accelerator_of_ones_own_is_used_from_a_program(
    programs: Programs, peerlane_process: Run
) -> None:
    checksum = str(programs.program("checksum"))
    done = programs.by(peerlane_process).run([checksum, "64"], str(EXAMPLES / "checksum_afu.py"))
    assert (done.status, "right" in done.out) == (0, True), done.err


def test_an_accelerator_that_fails_ends_the_run_with_its_traceback(
    programs: Programs, peerlane_process: Run, tmp_path: Path
) -> None:
    model = tmp_path / "broken.py"
    model.write_text(NOT_AN_AFU)
    done = programs.by(peerlane_process).run([str(programs.program("checksum")), "64"], str(model))
    assert done.status == 1
    assert done.err.count("Traceback (most recent call last)") == 1
    assert f'File "{model}", line 8, in store' in done.err
    last = done.err.splitlines()[-1]
    assert last == "error: the accelerator Broken failed: LookupError: no such thing"


SPINS = """
import os, signal, socket, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN) if "stays" in sys.argv else None
process = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
process.connect(os.environ["PEERLANE_SESSION"])
print(os.getpid(), flush=True)
while True:
    time.sleep(1)
"""
"""A program that is connected, and never ends by itself."""


def test_a_failed_accelerator_leaves_no_process_behind(
    programs: Programs, peerlane_process: Run, tmp_path: Path
) -> None:
    model, spins = tmp_path / "broken.py", tmp_path / "spins.py"
    model.write_text(NOT_AN_AFU)
    spins.write_text(SPINS)
    script = f"""
        {sys.executable} {spins} & {sys.executable} {spins} stays &
        sleep 1; {programs.program("checksum")} 64; echo status $? >&2; wait; exit 0
    """
    done = programs.by(peerlane_process).run(["sh", "-c", script], str(model))
    assert done.status == 1
    # The program that used the card is told that the session has gone, and ends by itself.
    assert re.search(r"status [1-9]", done.err)
    assert "LookupError: no such thing" in done.err
    processes = done.out.split()
    assert len(processes) == 2
    assert not any(runs(process) for process in processes)


def runs(process: str) -> bool:
    """Whether a process is there and has not ended."""
    try:
        stat = (Path("/proc") / process / "stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_what_is_configured_stays(peerlane: Run, tmp_path: Path, monkeypatch: object) -> None:
    assert isinstance(monkeypatch, pytest.MonkeyPatch)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def loaded() -> str:
        (card,) = json.loads(peerlane("opae", "info", "--json", "-").out)
        return str(card["accelerator"])

    assert loaded() == "dma_afu"
    assert peerlane("opae", "conf", "nlb_mode_3").status == 0
    assert loaded() == "nlb_mode_3"
    assert peerlane("opae", "conf", "default").status == 0
    assert loaded() == "dma_afu"


def test_a_program_of_a_session_configures_its_card(programs: Programs) -> None:
    copy = f"{programs.program('two')} copy"
    conf = f"{sys.executable} -m peerlane opae conf nlb_mode_0"
    done = programs.run(["sh", "-c", f"{copy} && exit 3; {conf} && {copy}"], "dma_afu")
    assert done.status == 0, done.err


def test_diagnostics_count_lines_and_measure_the_link(peerlane: Run) -> None:
    found = json.loads(peerlane("opae", "diag", "--lines", "65536", "--json", "-").out)
    read, write, both, copy, exchange = found
    assert [one["mode"] for one in found] == ["read", "write", "trput", "lpbk1", "sw"]
    assert (read["reads"], read["writes"], write["reads"], write["writes"]) == (65536, 0, 0, 65536)
    assert 7.0e9 < read["read_bytes_per_second"] < 7.25e9
    assert both["reads"] == both["writes"] == copy["writes"] == exchange["writes"] - 1 == 65536
    # Requests of four lines; a test of reads alone writes its status line.
    assert (read["link_reads"], read["link_writes"]) == (65536 // 4, 1)
    assert (write["link_reads"], write["link_writes"]) == (0, 65536 // 4 + 1)


def test_wrong_use_is_told_in_one_line(peerlane: Run, scenario: Write, tmp_path: Path) -> None:
    text = tmp_path / "text.gbs"
    text.write_text("no bitstream at all")
    for image in ("nothing", str(text)):
        peerlane("opae", "conf", image).refuses(image)
        peerlane("opae", "run", "--afu", image, "true").refuses(image)
    peerlane("opae", "run", "/no/such/program").refuses("there is no program", "/no/such/program")
    peerlane("opae", "run", str(text)).refuses("cannot be run")
    peerlane("opae", "run", "--card", "b", "--afu", "dma_afu", "true").refuses("b")
    peerlane("opae", "dma-test", "--size", "9999 GiB").refuses("do not fit")
    peerlane("opae", "dma-test", "--size", "much").refuses("much")
    peerlane("opae", "diag", "--multi-cl", "3").refuses("1, 2 or 4")
    # The unit moves a line a cycle at most.
    few = json.loads(peerlane("opae", "diag", "write", "--lines", "4", "--json", "-").out)
    assert (few[0]["cycles"], few[0]["write_bytes_per_second"]) == (4, 25.6e9)
    without = scenario(text=ALONE)
    peerlane("opae", "run", "--scenario", without, "true").refuses("no FPGA card", "fpga-card")
    peerlane("opae", "dma-test", "--scenario", without).refuses("no card", "fpga-card")


@pytest.mark.parametrize("name", ["hello_nlb", "dma_sweep", "streaming"])
def test_the_address_sanitizer_takes_no_simulated_time(programs: Programs, name: str) -> None:
    afu, arguments = told(programs, name)
    plain, checked = (
        programs.run([str(programs.program(name, *flags)), *arguments], afu).out
        for flags in ((), ("-fsanitize=address",))
    )
    assert plain == checked


@pytest.mark.parametrize("name", ["hello_nlb", "dma_sweep", "streaming", "errors"])
def test_a_session_takes_the_same_simulated_time_in_every_process(
    programs: Programs, peerlane_process: Run, tmp_path: Path, name: str
) -> None:
    afu, arguments = told(programs, name)
    command = [str(programs.program(name)), *arguments]
    times = tmp_path / "times.json"
    runs = []
    for run in (programs.run, programs.by(peerlane_process).run):
        done = run(command, afu, "--json", str(times))
        runs.append((done.out, json.loads(times.read_text())["simulated_ns"]))
    assert runs[0] == runs[1]


def test_what_a_program_prints_is_all_that_run_prints(programs: Programs, tmp_path: Path) -> None:
    echo = ["sh", "-c", 'echo "$@"; echo no >&2', "sh", "--wall", "-x", "a b"]
    for options in ((), ("--json", str(tmp_path / "times.json"))):
        done = programs.run(echo, "dma_afu", *options)
        assert (done.out, done.err) == ("--wall -x a b\n", "no\n")


def test_a_wait_for_what_never_comes_takes_no_real_time(programs: Programs, tmp_path: Path) -> None:
    times = tmp_path / "times.json"
    program = str(programs.program("events"))
    done = programs.run([program, "600000"], "dma_afu", "--json", str(times))
    found = re.search(r"waited for nothing: (\d+) ns", done.out)
    assert found
    assert 600e9 <= int(found[1]) <= 600e9 + 2000
    assert json.loads(times.read_text())["wall_seconds"] < 60


def test_a_card_is_shared_by_those_who_all_share_it(programs: Programs, tmp_path: Path) -> None:
    two = programs.program("two")
    script = f"""
        cd {tmp_path} && mkfifo in out && exec 3<>in 4<>out
        {two} share <in >&4 & one=$!
        {two} share <in >&4 & other=$!
        read word <&4 && read word <&4 && {two} busy || exit 3
        printf xx >&3
        wait $one && wait $other && {two} copy
    """
    done = programs.run(["sh", "-c", script], "nlb_mode_0")
    assert (done.status, done.out) == (0, "busy\ncopied\n"), done.err


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
    assert f"names the model {model}" in refused.err
    assert "--model" in refused.err
    assert "run\n" not in refused.out
    assert run.run(conf, "dma_afu", "--model", str(model)).status == 0
    peerlane_process("opae", "run", "--afu", str(image), "true").refuses(f"names the model {model}")


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


@pytest.mark.parametrize("method", ["reset", "store", "wake", "read_done", "write_done"])
def test_an_accelerator_that_fails_in_any_call_ends_the_run(
    programs: Programs, peerlane_process: Run, tmp_path: Path, method: str
) -> None:
    model = tmp_path / "broken.py"
    text = (EXAMPLES / "checksum_afu.py").read_text(encoding="utf-8")
    before, _, after = text.partition("async def checksum")
    broken = ["class Broken(Checksum):", "    __init__ = lambda self: Checksum.reset(self)"]
    broken += [f"    def {method}(self, *args):", "        raise LookupError('no such thing')"]
    lines = [before, *broken, f"async def checksum{after}"]
    model.write_text("\n".join(lines), encoding="utf-8")
    checksum = str(programs.program("checksum"))
    done = programs.by(peerlane_process).run([checksum, "64"], f"{model}:Broken")
    assert done.status == 1
    assert done.err.count("\nLookupError: no such thing") == 1
    assert done.err.endswith("the accelerator Broken failed: LookupError: no such thing\n")


class Recorder(Afu):
    """Keeps the names of the calls that it gets."""

    uuid = "3a778c9e-5bd1-4d0b-9c64-0a6dcfb1c4f3"

    def __init__(self) -> None:
        self.calls: list[str] = []

    def reset(self) -> None:
        self.calls.append("reset")

    def load(self, shell: Shell, offset: int, length: int) -> int:
        del shell, length
        self.calls.append("load")
        if offset == 0x88:
            raise LookupError("no such register")
        return 7

    def wake(self, shell: Shell) -> None:
        del shell
        self.calls.append("wake")


@pytest.fixture
def recorder() -> tuple[Recorder, Simulation, Accelerator]:
    """A unit that records its calls, in a card."""
    unit = Recorder()
    text = resources.files("peerlane.systems").joinpath("pac", "scenario.toml").read_text()
    simulation = Simulation(text)
    image = _core.write_bitstream("recorder", unit.uuid, "recorder.py")
    simulation.load_image("card", image, lambda _: unit)
    (accelerator,) = accelerators(simulation)
    return unit, simulation, accelerator


def test_a_reset_comes_before_the_first_access(
    recorder: tuple[Recorder, Simulation, Accelerator],
) -> None:
    unit, _, accelerator = recorder
    assert accelerator.thread.run(accelerator.load(0x80)) == 7
    assert unit.calls[0] == "reset"
    assert unit.calls.index("reset") < unit.calls.index("load")


def test_an_exception_of_a_unit_ends_a_run_in_python(
    recorder: tuple[Recorder, Simulation, Accelerator],
) -> None:
    unit, simulation, accelerator = recorder
    with pytest.raises(UnitError, match="Recorder failed: LookupError") as raised:
        accelerator.thread.run(accelerator.load(0x88))
    assert isinstance(raised.value.__cause__, LookupError)
    assert unit.calls[-1] == "load"
    simulation.run_until(simulation.now_ns + 1000)
    assert unit.calls[-1] == "load"


LATE = """
import ctypes, time
library = ctypes.CDLL("libopae-c.so.2")
begin = time.monotonic(), time.time(), time.perf_counter_ns()
time.sleep(600)
print(time.monotonic() - begin[0], time.time() - begin[1], time.perf_counter_ns() - begin[2])
"""


def test_a_library_that_is_loaded_late_reads_simulated_time(
    programs: Programs, tmp_path: Path
) -> None:
    late = tmp_path / "late"
    began = time.monotonic()
    for how in ("-Wl,-z,now", "-Wl,-z,lazy"):
        flags = ["-O2", "-Wall", "-Werror", how, str(SOURCES / "late.c"), "-o", str(late)]
        subprocess.run(["gcc", *flags], check=True, timeout=60)
        done = programs.run([str(late)], "dma_afu")
        assert re.fullmatch(r"600\.00000\d s\n", done.out), done.err
    done = programs.run([sys.executable, "-c", LATE], "dma_afu")
    slept, of_day, nanoseconds = map(float, done.out.split())
    assert 600 <= slept < 600.001, done.err
    assert 600 <= of_day < 600.001
    assert 600e9 <= nanoseconds < 600.001e9
    assert time.monotonic() - began < 60


def test_without_a_session_a_program_is_told_how_to_get_one(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library_folder()))
    monkeypatch.delenv("PEERLANE_SESSION", raising=False)
    two = [str(programs.program("two")), "copy"]
    alone = subprocess.run(two, capture_output=True, text=True, check=False, timeout=60)
    assert alone.returncode != 0
    (line,) = [line for line in alone.stderr.splitlines() if "peerlane" in line]
    assert f"peerlane opae run {two[0]}" in line
    monkeypatch.setenv("PEERLANE_SESSION", "/nowhere")
    alone = subprocess.run(two, capture_output=True, text=True, check=False, timeout=60)
    assert "/nowhere" in alone.stderr


def evidence(programs: Programs, path: Path, *options: str) -> dict[str, Any]:
    """What `opae run --json` says of a sweep of 2 MiB each way."""
    afu, arguments = told(programs, "dma_sweep")
    command = [str(programs.program("dma_sweep")), *arguments]
    done = programs.run(command, afu, "--json", str(path), *options)
    assert done.status == 0, done.err
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_the_times_of_a_session_are_of_links_copies_system_calls_and_the_program(
    programs: Programs, tmp_path: Path
) -> None:
    found = evidence(programs, tmp_path / "times.json")
    times = found["times"]
    assert sum(times.values()) == pytest.approx(found["simulated_ns"], abs=1)
    assert all(value >= 0 for value in times.values())
    # 2 MiB each way at the rates of the host, and the short transfers after them.
    copies = 2**21 / 6.96 + 2**21 / 6.26
    assert copies < times["copies_ns"] < 1.5 * copies
    assert 0 < times["link_ns"] < found["simulated_ns"] - times["copies_ns"]
    assert times["configuration_ns"] == 0
    for link in found["links"]:
        assert link["payload_bytes"] > 2**21
        assert link["used"] == pytest.approx(link["busy_ns"] / found["simulated_ns"])
    constants = {one["name"]: one for one in found["constants"]}
    assert constants["buffer_write_rate"]["origin"] == "calibrated"
    assert "sweep/host-to-fpga" in constants["buffer_write_rate"]["source"]
    assert (constants["poll"]["value"], constants["poll"]["origin"]) == ("80 ns", "default")


def test_captures_of_a_session_are_those_of_a_run(programs: Programs, tmp_path: Path) -> None:
    trace, pcap = tmp_path / "t.jsonl", tmp_path / "t.pcap"
    captures = ["--trace", str(trace), "--pcap", str(pcap)]
    found = evidence(programs, tmp_path / "a.json", *captures)
    plain = evidence(programs, tmp_path / "b.json")
    del found["wall_seconds"], plain["wall_seconds"]
    assert found == plain
    lines = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
    for direction in ("down", "up"):
        sent = [one for one in lines if one.get("direction") == direction and "tlp" in one]
        payload = sum(one.get("bytes", 0) for one in sent if "arrival" not in one)
        (link,) = (one for one in found["links"] if one["direction"] == direction)
        assert payload >= link["payload_bytes"] > 2**21
    assert pcap.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"


def test_outputs_of_a_session_are_refused_before_the_program_runs(
    programs: Programs, tmp_path: Path
) -> None:
    program, run = programs.program("two"), programs.peerlane
    words, folder = tmp_path / "words", tmp_path / "folder"
    words.write_text("")
    folder.mkdir()
    for option in ("--json", "--trace", "--pcap"):
        run("opae", "run", option, program, program).refuses(option, "reads")
        run("opae", "run", option, words, "cat", words).refuses(option, "reads")
        run("opae", "run", option, tmp_path / "no" / "x", "true").refuses("there is no folder")
        run("opae", "run", option, folder, "true").refuses("is a folder")
        run("opae", "run", option, "-", "true").refuses("goes to a file")
    run("opae", "run", "--json", "x", "--trace", "x", "true").refuses("the file of --json")
    run("opae", "run", "--kind", "MWr", "true").refuses("--trace FILE")
    run("opae", "run", "--trace", "x", "--at", "no", "true").refuses("no", "server-card")
    assert not any(tmp_path.glob("x"))


UNIT = """
from peerlane.opae import Afu

class Unit(Afu):
    uuid = "3a778c9e-5bd1-4d0b-9c64-0a6dcfb1c4f3"
"""

WRONG_UNITS = {
    "no-uuid": (UNIT.replace("3a77", "none"), "Unit.uuid is 'none8c9e", "write uuid ="),
    "number": (f"{UNIT}    uuid = 17", "Unit.uuid is 17", "no UUID"),
    "no-method": (f"{UNIT}    load = 5", "Unit.load is no method", "(self, shell, offset, length)"),
    "arguments": (f"{UNIT}    def store(self, at): 0", "Unit.store", "(self, shell, offset, data)"),
    "no-class": ("class Unit: uuid = 1", "no class derived from peerlane.opae.Afu", "write one"),
    "two": (f"{UNIT}class Other(Unit): 0", "several classes", ":CLASS"),
    "needs": (f"{UNIT}    def __init__(self, x): 0", "Unit() cannot be made", "TypeError"),
    "raises": (f"{UNIT}    def __init__(self): 1 / 0", "cannot be made", "ZeroDivisionError"),
    "syntax": ("def (", "cannot be loaded", "SyntaxError"),
}
"""Files of units that are wrong, with parts of the one message."""


@pytest.mark.parametrize("name", WRONG_UNITS)
def test_a_wrong_unit_is_refused_with_what_would_be_right(
    peerlane: Run, tmp_path: Path, name: str
) -> None:
    text, *words = WRONG_UNITS[name]
    unit = tmp_path / "unit.py"
    unit.write_text(text, encoding="utf-8")
    for command in (("run", "--afu", unit, "true"), ("conf", unit), ("pack", unit, "x.gbs")):
        peerlane("opae", *command).refuses(str(unit), *words)


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
    peerlane("opae", "run", "--host", "x", "true").refuses("x")
