"""Checkpoints on the command line and in Python: the same results, or one clear message."""

from __future__ import annotations

import json
import os
import signal
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import PAIR
from peerlane import CheckpointError, Simulation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Run, Write

NOISY = PAIR.replace("lanes = 4", "lanes = 4\nbit_error_rate = 1e-5")
AT = ("--checkpoint", "c.ckpt", "--checkpoint-at", "4us")


def document(text: str) -> dict[str, Any]:
    """A result without the command, which is another one."""
    read: dict[str, Any] = json.loads(text)
    del read["command"]
    return read


def test_a_resumed_run_prints_and_traces_what_the_whole_run_does(
    peerlane: Run, scenario: Write
) -> None:
    file = scenario(text=NOISY)
    run = ("run", file, "--interval", "300ns", "--json")
    whole = peerlane(*run, "-", "--trace", "whole")
    assert whole.status == 0
    interrupted = peerlane(*run, "-", *AT)
    assert document(interrupted.out) == document(whole.out)
    resumed = peerlane("resume", "c.ckpt", "--json", "-", "--trace", "rest")
    assert (resumed.status, resumed.err) == (0, "")
    assert document(resumed.out) == document(whole.out)
    rest = Path("rest").read_bytes()
    assert len(rest) > 1000
    assert Path("whole").read_bytes().endswith(rest)
    tables = peerlane("run", file).out.split("\n\n")
    assert peerlane("resume", "c.ckpt").out.split("\n\n")[:-1] == tables[:-1]


def test_a_run_whose_waits_nobody_watched_goes_on_without_them(
    peerlane: Run, scenario: Write
) -> None:
    whole = peerlane("run", scenario(), "--no-explain", *AT)
    resumed = peerlane("resume", "c.ckpt")
    assert (resumed.status, resumed.out, resumed.err) == (0, whole.out, "")


@pytest.mark.parametrize(
    ("name", "at"),
    [("pair", "20us"), ("torus", "30us"), ("halo", "5us"), ("nic", "100us"), ("shared", "20us")],
)
def test_shipped_scenarios_go_on(peerlane: Run, name: str, at: str) -> None:
    whole = peerlane("run", name, "--json", "-")
    before = ("--checkpoint", "c.ckpt", "--checkpoint-at", at)
    assert document(peerlane("run", name, "--json", "-", *before).out) == document(whole.out)
    resumed = peerlane("resume", "c.ckpt", "--json", "-")
    assert document(resumed.out) == document(whole.out)
    assert resumed.status == whole.status


def test_each_checkpoint_replaces_the_one_before(peerlane: Run, scenario: Write) -> None:
    every = ("--checkpoint", "c.ckpt", "--checkpoint-every", "2us")
    assert peerlane("run", scenario(), *every).status == 0
    simulation = Simulation.resume("c.ckpt")
    end_ns = Simulation(PAIR).run().simulated_ns
    assert end_ns - 2000 < simulation.now_ns < end_ns
    assert list(Path().glob(".c.ckpt*")) == []


def test_a_run_that_ends_before_its_checkpoint_says_so(peerlane: Run, scenario: Write) -> None:
    outcome = peerlane("run", scenario(), "--checkpoint", "c.ckpt", "--checkpoint-at", "1s")
    assert outcome.status == 1
    assert outcome.err.startswith("error: the run ended at ")
    assert "there is no checkpoint" in outcome.err
    assert outcome.out == peerlane("run", scenario()).out
    assert not Path("c.ckpt").exists()


def test_a_file_that_is_something_else_is_kept(peerlane: Run, scenario: Write) -> None:
    file = scenario()
    Path("c.ckpt").write_text("a letter", encoding="utf-8")
    peerlane("run", file, *AT).refuses("c.ckpt", "not a checkpoint", "name another file")
    assert Path("c.ckpt").read_text(encoding="utf-8") == "a letter"
    Path("c.ckpt").unlink()
    assert peerlane("run", file, *AT).status == 0
    other = Path("other.toml")
    other.write_text(NOISY, encoding="utf-8")
    before = Path("c.ckpt").read_bytes()
    peerlane("run", other, *AT).refuses("c.ckpt is a checkpoint of another scenario")
    assert Path("c.ckpt").read_bytes() == before
    assert peerlane("run", file, *AT).status == 0
    peerlane("run", file, "--checkpoint", file).refuses("is the file that the command reads")


def test_files_that_are_no_checkpoint_of_this_version_are_refused(
    peerlane: Run, scenario: Write
) -> None:
    file = scenario()
    assert peerlane("run", file, *AT).status == 0
    whole = Path("c.ckpt").read_bytes()

    def refuses(content: bytes, *words: str) -> None:
        Path("c.ckpt").write_bytes(content)
        peerlane("resume", "c.ckpt").refuses("c.ckpt: ", *words)

    refuses(b"", "not a checkpoint")
    refuses(PAIR.encode(), "not a checkpoint")
    refuses(whole[:-9], "its end is missing")
    middle = len(whole) // 2
    refuses(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :], "damaged")
    refuses(whole + b"\n", "damaged")
    version = whole.index(b"\n") + 1
    refuses(whole[:version] + b"\xff" + whole[version + 1 :], "format 255", "this is")
    peerlane("resume", "nothing.ckpt").refuses("nothing.ckpt: no such file or directory")
    peerlane("resume", ".").refuses("is a directory")


def test_a_scenario_that_has_changed_is_refused_if_it_is_named(
    peerlane: Run, scenario: Write
) -> None:
    file = scenario()
    tags = ("--set", "devices.a.tags=8")
    assert peerlane("run", file, *tags, *AT).status == 0
    resume = ("resume", "c.ckpt", "--scenario", file)
    assert peerlane(*resume, *tags).status == 0
    peerlane(*resume).refuses("c.ckpt is a checkpoint of another scenario than")
    scenario(("16 KiB", "32 KiB"))
    peerlane(*resume, *tags).refuses("another scenario")
    assert peerlane("resume", "c.ckpt").status == 0
    peerlane("resume", "c.ckpt", *tags).refuses("--scenario")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--checkpoint-at", "4us"], ["--checkpoint-at", "write --checkpoint FILE"]),
        (["--checkpoint", "c", "--checkpoint-at", "4"], ["--checkpoint-at", "no unit"]),
        (["--checkpoint", "c", "--checkpoint-every", "0 ns"], ["--checkpoint-every", "above 0"]),
        ([*AT, "--checkpoint-every", "1us"], ["--checkpoint-every alone"]),
        (["--checkpoint", "-"], ["name a file"]),
        (["--checkpoint", "no/c"], ["there is no folder no"]),
        (["--checkpoint", "c", "--threads", "2"], ["--threads", "one thread"]),
        (["--checkpoint", "c", "--repeat", "2"], ["--checkpoint is for a single run"]),
        (["--checkpoint", "c", "--trace", "c"], ["is the file of --checkpoint"]),
    ],
)
def test_wrong_options_are_refused(
    peerlane: Run, scenario: Write, options: list[str], words: list[str]
) -> None:
    peerlane("run", scenario(), *options).refuses(*words)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("driver", ['"server" (a host)', "a program runs on it"]),
        ("pac", ["(fpga-card)", "accelerator functional unit"]),
        ("rack", ['"h0" (a host)', "a program runs on it"]),
        ("locks", ["the measurements of [[locks]] cannot be in it"]),
    ],
)
def test_a_fabric_that_has_no_checkpoint_is_refused_by_name(
    peerlane: Run, name: str, words: list[str]
) -> None:
    outcome = peerlane("run", name, "--checkpoint", "c.ckpt", "--checkpoint-at", "1us")
    outcome.refuses("a checkpoint", "is not possible", *words)
    assert not Path("c.ckpt").exists()


def test_a_file_that_cannot_be_written_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulation = Simulation(PAIR)
    assert simulation.run_to(3000)
    simulation.checkpoint_to(tmp_path / "c.ckpt")
    before = (tmp_path / "c.ckpt").read_bytes()
    assert simulation.run_to(4000)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match=r"c\.ckpt"):
        simulation.checkpoint_to(tmp_path / "c.ckpt")
    assert [path.name for path in tmp_path.iterdir()] == ["c.ckpt"]
    assert (tmp_path / "c.ckpt").read_bytes() == before


def test_a_run_goes_on_when_the_disk_of_its_checkpoints_is_full(
    peerlane: Run, scenario: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = scenario()
    whole = peerlane("run", file)
    written = count()
    sync = os.fsync

    def full(handle: int) -> None:
        if next(written) in {1, 2}:
            raise OSError(28, "No space left on device")
        sync(handle)

    every = ("--checkpoint", "c.ckpt", "--checkpoint-every")
    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        outcome = peerlane("run", file, *every, "2500ns")
    assert (outcome.status, outcome.out) == (1, whole.out)
    assert "there is no checkpoint at 5 us and one later time: c.ckpt: no space" in outcome.err
    assert Simulation.resume("c.ckpt").now_ns <= 2500

    written = count()
    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        outcome = peerlane("run", file, *every, "1200ns")
    assert (outcome.status, outcome.err) == (0, "")
    assert Simulation.resume("c.ckpt").now_ns > 4000


def test_a_run_with_checkpoints_goes_on_when_the_disk_of_its_trace_is_full(
    peerlane: Run, scenario: Write
) -> None:
    file = scenario(('"16 KiB"', '"4 MiB"\nwindow = "16 KiB"'))
    whole = peerlane("run", file)
    every = ("--checkpoint", "c.ckpt", "--checkpoint-every", "300us")
    outcome = peerlane("run", file, *every, "--trace", "/dev/full")
    assert (outcome.status, outcome.out) == (1, whole.out)
    assert outcome.err.count("/dev/full: no space left on device; the file is incomplete") == 1
    assert Simulation.resume("c.ckpt").now_ns > 500_000


def test_an_access_under_way_keeps_a_simulation_here(tmp_path: Path) -> None:
    simulation = Simulation(PAIR)
    bar = next(node for node in simulation.tree().nodes if node.name == "b").regions[0].base
    access = simulation.begin_read("h0", bar, 64)
    with pytest.raises(CheckpointError, match="an access from outside is under way"):
        simulation.checkpoint_to(tmp_path / "c.ckpt")
    simulation.run()
    simulation.checkpoint_to(tmp_path / "c.ckpt")
    resumed = Simulation.resume(tmp_path / "c.ckpt")
    assert resumed.result() == simulation.result()
    other = resumed.begin_read("h0", bar, 64)
    assert resumed.wait(other)
    assert other.result() == access.result()


def test_a_host_whose_threads_have_no_program_can_be_written(tmp_path: Path) -> None:
    simulation = Simulation(PAIR.split("[[flows]]")[0])
    bar = next(node for node in simulation.tree().nodes if node.name == "b").regions[0].base
    thread = simulation.host_thread("h0")
    simulation.checkpoint_to(tmp_path / "c.ckpt")
    thread.run(thread.store(bar, 7))
    with pytest.raises(RuntimeError, match="nothing is left to happen"):
        thread.run(thread.interrupt(7))
    simulation.checkpoint_to(tmp_path / "c.ckpt")
    resumed = Simulation.resume(tmp_path / "c.ckpt")
    again = resumed.host_thread("h0")
    assert again.run(again.load(bar)) == thread.run(thread.load(bar)) == 7
    assert resumed.now_ns == simulation.now_ns


@pytest.mark.parametrize(
    ("number", "ended"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_a_run_that_was_told_to_end_goes_on_from_its_checkpoint(
    peerlane: Run,
    scenario: Write,
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
    ended: type[BaseException],
) -> None:
    file = scenario(('"16 KiB"', '"4 MiB"\nwindow = "16 KiB"'))
    whole = peerlane("run", file, "--json", "-")

    @contextmanager
    def impatient(_: str) -> Iterator[Callable[..., None]]:
        yield lambda *_: signal.raise_signal(number)

    with monkeypatch.context() as patched:
        patched.setattr("peerlane.cli.outcome.progress", impatient)
        with pytest.raises(ended):
            peerlane("run", file, "--checkpoint", "c.ckpt")
    assert 1000 < Simulation.resume("c.ckpt").now_ns < 0.9 * document(whole.out)["simulated_ns"]
    assert document(peerlane("resume", "c.ckpt", "--json", "-").out) == document(whole.out)
