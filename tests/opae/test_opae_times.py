"""The simulated time that programs of sessions see: the same in every run, and no real time."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

from opae_programs import SOURCES, told

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Run
    from opae_programs import Programs


def test_times_of_events_are_the_same_in_every_run(programs: Programs) -> None:
    afu, arguments = told(programs, "events")
    command = [str(programs.program("events")), *arguments]
    first, second = (programs.run(command, afu).out for _ in range(2))
    assert first == second
    assert re.search(r"\d+ (ns|bytes)", first)


def test_the_thread_of_the_library_rests_while_a_program_waits(programs: Programs) -> None:
    done = programs.run([str(programs.program("resting"))], "nlb_mode_0").succeeds()
    assert "the thread rests" in done.out


BUSY = "while True: pass"
"""A program that takes all of a processor."""


@contextmanager
def busy_processors() -> Iterator[None]:
    """Twice as many busy processes as there are processors."""
    with ExitStack() as stack:
        for _ in range(2 * (os.cpu_count() or 1)):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", BUSY]))
            stack.callback(process.kill)
        yield


# Of 200 pauses, one ends while an idle link would repeat its credit.
ALONE = {
    "hello_nlb": ("nlb_mode_0", ("spin", "256"), 10),
    "pauses": ("dma_afu", ("200",), 4),
}
"""Programs with one thread, what is loaded for them, what they are told, and how often they run."""


@pytest.mark.parametrize("name", ALONE)
def test_neither_a_trace_nor_a_loaded_machine_changes_simulated_times(
    programs: Programs, tmp_path: Path, name: str
) -> None:
    afu, arguments, runs = ALONE[name]
    command = [str(programs.program(name)), *arguments]
    times = tmp_path / "times.json"
    found = set()
    with busy_processors():
        for run in range(runs):
            traced = ("--trace", str(tmp_path / "trace.jsonl")) if run % 2 else ()
            done = programs.run(command, afu, "--json", str(times), *traced).succeeds()
            evidence = json.loads(times.read_text(encoding="utf-8"))
            found.add((done.out, evidence["simulated_ns"], str(evidence["times"])))
    assert len(found) == 1


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


def test_who_waits_for_what_another_thread_begins_waits_no_longer(programs: Programs) -> None:
    done = programs.run([str(programs.program("threads"))], "dma_afu")
    took = [int(number) for number in re.findall(r"(\d+) us", done.out)]
    assert len(took) == 3, done.err
    for delay, us in zip((0, 500, 5000), took, strict=True):
        assert delay <= us < delay + 400


def test_a_wait_for_what_never_comes_takes_no_real_time(programs: Programs, tmp_path: Path) -> None:
    times = tmp_path / "times.json"
    program = str(programs.program("events"))
    done = programs.run([program, "600000"], "dma_afu", "--json", str(times))
    found = re.search(r"waited for nothing: (\d+) ns", done.out)
    assert found
    assert 600e9 <= int(found[1]) <= 600e9 + 2000
    assert json.loads(times.read_text())["wall_seconds"] < 600


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
    assert time.monotonic() - began < 600
