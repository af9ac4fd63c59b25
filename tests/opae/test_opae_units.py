"""Accelerators in Python below programs of sessions, and what becomes of their faults."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from importlib import resources
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from conftest import rows_of
from opae_programs import EXAMPLES, UNIT
from peerlane import Simulation, _core
from peerlane.opae import Accelerator, Afu, Shell, UnitError, accelerators, run_program

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome, Run
    from opae_programs import Programs

    Checksum = Callable[..., Outcome]

NOT_AN_AFU = """
from peerlane.opae import Afu

class Broken(Afu):
    uuid = "3a778c9e-5bd1-4d0b-9c64-0a6dcfb1c4f3"

    def store(self, shell, offset, data):
        raise LookupError("no such thing")
"""


@pytest.fixture
def checksum(programs: Programs, peerlane_process: Run, tmp_path: Path) -> Checksum:
    """Runs the program that wants a checksum on a unit with this text, as a process of its own."""

    def run(text: str, name: str = "unit.py") -> Outcome:
        (tmp_path / "unit.py").write_text(text, encoding="utf-8")
        command = [str(programs.program("checksum")), "64"]
        return programs.by(peerlane_process).run(command, str(tmp_path / name))

    return run


def test_an_accelerator_of_ones_own_is_used_from_a_program(checksum: Checksum) -> None:
    done = checksum((EXAMPLES / "checksum_afu.py").read_text(encoding="utf-8"))
    assert (done.status, "right" in done.out) == (0, True), done.err


def test_an_accelerator_that_fails_ends_the_run_with_its_line(
    checksum: Checksum, tmp_path: Path
) -> None:
    done = checksum(NOT_AN_AFU)
    assert done.status == 1
    last = done.err.splitlines()[-1]
    where = f'{tmp_path / "unit.py"}:8 (raise LookupError("no such thing"))'
    assert last == f"error: the accelerator Broken failed: LookupError: no such thing, at {where}"
    assert "Traceback" not in done.err


SPINS = """
import os, signal, socket, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN) if "stays" in sys.argv else None
process = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
process.connect(os.environ["PEERLANE_SESSION"])
os.write(1, f"{os.getpid()}\\n".encode())
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


@pytest.mark.parametrize("method", ["reset", "store", "wake", "read_done", "write_done"])
def test_an_accelerator_that_fails_in_any_call_ends_the_run(
    checksum: Checksum, method: str
) -> None:
    text = (EXAMPLES / "checksum_afu.py").read_text(encoding="utf-8")
    before, _, after = text.partition("async def checksum")
    broken = ["class Broken(Checksum):", "    __init__ = lambda self: Checksum.reset(self)"]
    broken += [f"    def {method}(self, *args):", "        raise LookupError('no such thing')"]
    lines = [before, *broken, f"async def checksum{after}"]
    done = checksum("\n".join(lines), "unit.py:Broken")
    assert done.status == 1
    failed = "error: the accelerator Broken failed: LookupError: no such thing, at "
    assert done.err.splitlines()[-1].startswith(failed)
    assert "Traceback" not in done.err


READS = f"""{UNIT}
    def store(self, shell, offset, data):
        if offset == 0x40:
            shell.read(int.from_bytes(data, "little") * 64, 64, tag=5)
"""
"""A unit that reads a line of the buffer, and lacks what takes it."""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            UNIT + "    def load(self, shell, offset, length): return 1",
            "store, and the host stores 8",
        ),
        (READS, "read_done, and its read of host memory with tag 5 has ended; add def read_done("),
    ],
)
def test_an_access_that_a_unit_has_no_method_for_ends_the_run_with_one_message(
    checksum: Checksum, text: str, why: str
) -> None:
    done = checksum(text)
    (message,) = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert (done.status, "Traceback" in done.err) == (1, False)
    assert f"has no {why}" in message


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


class Sink(Recorder):
    """Leaves what it does not know to the class above."""

    def store(self, shell: Shell, offset: int, data: bytes) -> None:
        self.calls.append("store")
        super().store(shell, offset, data)


class Mute(Recorder):
    """Has no registers to load."""

    load = Afu.load


def test_a_load_ends_the_run_if_the_unit_has_no_method_for_it() -> None:
    unit = Mute()
    accelerator = in_a_card(unit)[1]
    with pytest.raises(
        UnitError, match="Mute has no load, and the host loads 4 bytes at 0x90; add"
    ):
        accelerator.thread.run(accelerator.load(0x90, 4))
    assert "load" not in unit.calls


@pytest.mark.parametrize("value", [-1, 1 << 64, None, "7", 0.5])
def test_a_value_that_no_register_has_ends_the_run_with_what_to_return(value: object) -> None:
    class Wrong(Recorder):
        def load(self, shell: Shell, offset: int, length: int) -> int:
            del shell, offset, length
            return value  # type: ignore[return-value]

    accelerator = in_a_card(Wrong())[1]
    said = f"Wrong gave {value!r} for the load at 0x80; return a whole number from 0 to 2**64 - 1"
    with pytest.raises(UnitError, match=re.escape(said)):
        accelerator.thread.run(accelerator.load(0x80))


@pytest.mark.parametrize("offset", ["64", -8, 0.5])
def test_the_offset_of_a_feature_is_a_number(offset: object) -> None:
    unit = Recorder()
    unit.next_feature = offset  # type: ignore[assignment]
    with pytest.raises(ValueError, match=f"Recorder.next_feature is {offset!r}; write a multiple"):
        in_a_card(unit)


KEEPS = (
    UNIT
    + """
    kept = []

    def load(self, shell, offset, length):
        return int(self.kept[0].can_read)

    def store(self, shell, offset, data):
        self.kept.append(shell)
        if offset == 0x58:
            self.load(shell, 0, 8)
"""
)
"""A unit that keeps its shell, and uses it in a later call."""


def test_a_shell_that_is_kept_ends_the_run_with_one_message(
    checksum: Checksum,
) -> None:
    done = checksum(KEEPS)
    last = "error: the accelerator Unit failed: RuntimeError: a shell is valid only during the call"
    assert done.err.splitlines()[-1].startswith(last)
    assert "unsendable" not in done.err


def test_a_shell_is_refused_in_another_thread() -> None:
    raised: list[BaseException] = []

    class Threads(Recorder):
        def load(self, shell: Shell, offset: int, length: int) -> int:
            def use() -> None:
                try:
                    shell.wake_after(1)
                except BaseException as error:  # noqa: BLE001 - a panic is one
                    raised.append(error)

            thread = Thread(target=use)
            thread.start()
            thread.join()
            return super().load(shell, offset, length)

    accelerator = in_a_card(Threads())[1]
    assert accelerator.thread.run(accelerator.load(0x80)) == 7
    (error,) = raised
    assert isinstance(error, RuntimeError)
    assert "in the thread of this call" in str(error)


def test_a_unit_reads_no_more_of_the_cards_memory_than_there_is_room_for() -> None:
    kept: list[bytes] = []

    class Reads(Recorder):
        def load(self, shell: Shell, offset: int, length: int) -> int:
            del length
            shell.memory_write(64, bytearray(b"kept" * 16))
            shell.write(0x1000, bytearray(64))
            kept.append(shell.memory_read(64, 64)[0])
            shell.memory_read(0, (1 << offset // 8) - 1)
            return 0

    for bits in (32, 64):
        accelerator = in_a_card(Reads())[1]
        message = f"{(1 << bits) - 1} bytes of the card's memory cannot be read at once; read at"
        with pytest.raises(UnitError, match=message):
            accelerator.thread.run(accelerator.load(bits * 8))
    assert kept == [b"kept" * 16] * 2


class PanicError(BaseException):
    """What a panic is in Python: no `Exception`."""


class Panics:
    """A session that fails with a panic, after which it has no fabric."""

    def serve(self) -> object:
        raise PanicError

    def end(self) -> None:
        """Does nothing."""

    def finish(self, _: object) -> object:
        raise RuntimeError("the session has not ended; call end() first")


def test_a_session_that_fails_with_a_panic_ends_its_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_core, "Session", lambda *_: Panics())
    text = resources.files("peerlane.systems").joinpath("pac", "scenario.toml").read_text()
    began = time.monotonic()
    with pytest.raises(PanicError):
        run_program(["sleep", "600"], (text, "pac"))
    assert time.monotonic() - began < 600


def test_a_method_may_leave_accesses_to_that_of_the_base_class() -> None:
    Sink().store(Mock(), 0x80, bytes(8))
    assert Sink().load(Mock(), 0x80, 8) == 7


def in_a_card(unit: Afu) -> tuple[Simulation, Accelerator]:
    """A unit in the published card."""
    text = resources.files("peerlane.systems").joinpath("pac", "scenario.toml").read_text()
    simulation = Simulation(text)
    image = _core.write_bitstream("unit", unit.uuid, "unit.py")
    _core.load_image(simulation.core, "card", image, lambda _: unit)
    (accelerator,) = accelerators(simulation)
    return simulation, accelerator


@pytest.fixture
def recorder() -> tuple[Recorder, Simulation, Accelerator]:
    """A unit that records its calls, in a card."""
    unit = Recorder()
    return unit, *in_a_card(unit)


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


LOAD, STORE = "load(self, shell, offset, length)", "store(self, shell, offset, data)"


@pytest.mark.parametrize(("text", "words"), rows_of(__file__, "wrong_units.toml", "wrong"))
def test_a_wrong_unit_is_refused_with_what_would_be_right(
    peerlane: Run, tmp_path: Path, text: str, words: list[str]
) -> None:
    unit = tmp_path / "unit.py"
    unit.write_text(text.replace("{unit}", UNIT), encoding="utf-8")
    for command in (("run", "--afu", unit, "true"), ("conf", unit), ("pack", unit, "x.gbs")):
        peerlane("opae", *command).refuses(str(unit), *words)


def test_a_unit_may_be_in_a_folder_whose_name_has_a_colon(peerlane: Run, tmp_path: Path) -> None:
    folder = tmp_path / "a:b.py:c"
    folder.mkdir()
    unit = folder / "d:e.py"
    unit.write_text(f"{UNIT}    def {LOAD}: return 1", encoding="utf-8")
    for name in (unit, f"{unit}:Unit"):
        assert peerlane("opae", "run", "--afu", name, "--model", name, "true").status == 0
    peerlane("opae", "run", "--afu", f"{unit}:Other", "true").refuses("has no unit 'Other'")


def test_a_bitstream_with_the_name_of_a_python_file_is_named(peerlane: Run, tmp_path: Path) -> None:
    bits, unit = tmp_path / "unit.gbs", tmp_path / "unit.py"
    assert peerlane("opae", "pack", "dma_afu", bits).status == 0
    bits.rename(unit)
    peerlane("opae", "pack", "he_lb", unit).refuses("the name of a Python file", "FILE.gbs")
    peerlane("opae", "run", "--afu", unit, "true").refuses("unit.py is a bitstream", "FILE.gbs")


def test_a_unit_may_be_imported_from_a_file_beside_it(peerlane: Run, tmp_path: Path) -> None:
    (tmp_path / "common_unit.py").write_text(f"{UNIT}    def {LOAD}: return 1", encoding="utf-8")
    unit = tmp_path / "unit.py"
    unit.write_text("from common_unit import Unit\nAlias = Unit", encoding="utf-8")
    for name in ("Unit", "Alias"):
        assert peerlane("opae", "run", "--afu", f"{unit}:{name}", "true").status == 0
    unnamed = peerlane("opae", "run", "--afu", unit, "true")
    unnamed.refuses("no class derived from", "unit.py:Alias for the one that it imports")
    unknown = peerlane("opae", "run", "--afu", f"{unit}:Units", "true")
    unknown.refuses("unit.py has no unit 'Units'; did you mean \"Unit\"?")
    unit.write_text("from common_unit import Unit\nclass Own(Unit): 0", encoding="utf-8")
    assert peerlane("opae", "run", "--afu", unit, "true").status == 0


STAYS = """
import time
from peerlane.opae import Afu

class Stays(Afu):
    uuid = "3a778c9e-5bd1-4d0b-9c64-0a6dcfb1c4f3"

    def store(self, shell, offset, data):
        print("stays", flush=True)
        {}
"""
"""A unit that does not return from a store."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("code", ["while True: pass", "time.sleep(600)"])
def test_a_signal_ends_a_run_whose_unit_does_not_return(
    programs: Programs, tmp_path: Path, code: str, number: signal.Signals
) -> None:
    model = tmp_path / "stays.py"
    model.write_text(STAYS.format(code))
    command = [sys.executable, "-m", "peerlane", "opae", "run", "--afu", str(model)]
    with subprocess.Popen(
        [*command, str(programs.program("checksum")), "64"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as run:
        assert run.stdout
        assert run.stdout.readline() == "stays\n"
        os.killpg(run.pid, number)
        try:
            _, err = run.communicate(timeout=30)
        finally:
            run.kill()
    why = "error: the accelerator does not return from Stays.store (stays.py, line 10)\n"
    assert (run.returncode, err) == (1, why)


@pytest.mark.parametrize(
    ("offset", "length"), [(0x41, 8), (-8, 8), (0x44, 8), (1 << 18, 4), (0, 5)]
)
def test_an_access_that_is_no_register_of_the_accelerator_is_refused(
    recorder: tuple[Recorder, Simulation, Accelerator], offset: int, length: int
) -> None:
    _, _, accelerator = recorder
    with pytest.raises(ValueError, match=f"{length} bytes at {offset:#x} of card are no register"):
        accelerator.thread.run(accelerator.load(offset, length))
    with pytest.raises(
        ValueError, match="give a multiple of the length, 4 or 8 or 64, below 0x40000"
    ):
        accelerator.thread.run(accelerator.store(offset, 0, length))
