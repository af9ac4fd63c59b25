"""Programs that were written for OPAE, on a simulated card: compiled, linked and run as ever."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from conftest import needs_valgrind
from opae_programs import RUNS, SOURCES, told

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run, Write
    from opae_programs import Programs


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("clock", [(), ("--wall",)], ids=["simulated", "wall"])
def test_a_program_runs_by_either_clock(
    programs: Programs, name: str, clock: tuple[str, ...]
) -> None:
    afu, arguments = told(programs, name)
    programs.run([str(programs.program(name)), *arguments], afu, *clock).succeeds()


@pytest.mark.parametrize("name", RUNS)
def test_a_program_runs_with_addresses_checked(programs: Programs, name: str) -> None:
    afu, arguments = told(programs, name)
    checked = programs.program(name, "-fsanitize=address")
    done = programs.run([str(checked), *arguments], afu).succeeds()
    assert "AddressSanitizer" not in done.err
    if name in ("hello_nlb", "dma_sweep", "streaming"):  # These print times.
        assert re.search(r"\d+ (ns|bytes)", done.out)
        assert done.out == programs.run([str(programs.program(name)), *arguments], afu).out


def test_a_program_with_threads_runs_with_its_threads_checked(programs: Programs) -> None:
    checked = programs.program("alerts", "-fsanitize=thread")
    done = programs.run([str(checked)], "dma_afu").succeeds()
    assert "ThreadSanitizer" not in done.err


@needs_valgrind
@pytest.mark.parametrize("name", RUNS)
def test_a_program_runs_under_valgrind(programs: Programs, name: str) -> None:
    afu, arguments = told(programs, name)
    valgrind = ["valgrind", "-q", "--error-exitcode=9"]
    done = programs.run([*valgrind, str(programs.program(name)), *arguments], afu).succeeds()
    assert "==" not in done.err


@pytest.mark.parametrize("test", ["copy", "read", "write", "both", "copy interrupt"])
@pytest.mark.parametrize("memory", ["lb", "mem"])
def test_the_exercisers_of_later_cards_have_all_types_of_tests(
    programs: Programs, memory: str, test: str
) -> None:
    program = str(programs.program("exerciser"))
    done = programs.run([program, memory, *test.split()], f"he_{memory}")
    rates = [float(rate) for rate in re.findall(r"([\d.]+) GB/s", done.out)]
    assert len(rates) == 5, done.err
    # The link to the host or the clock limits the rate: 12.8 GB/s each way.
    assert max(rates) < 12.82


def test_a_program_finds_the_card_and_the_library_of_the_published_server(
    programs: Programs, scenario: Write
) -> None:
    program = str(programs.program("hello_nlb"))
    done = programs.run([program, "sleep", "4"], "nlb_mode_0").succeeds()
    assert done.out.startswith("library 1.1.2 (1, 1, 2) of peerlane\nbus 0xd8\n")
    text = '[hosts.h]\n[devices.card]\nmodel = "fpga-card"\nupstream = "h"\n'
    own = programs.peerlane("opae", "run", "--scenario", str(scenario(text=text)), program)
    assert own.out.startswith("library 2.14.0 (2, 14, 0) of peerlane\nbus 0x01\n"), own.err


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
    programs.run(["sh", "-c", script], "nlb_mode_0").succeeds()


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


@pytest.mark.parametrize("end", ["close", "leave", "kill"])
def test_a_program_finds_nothing_of_the_one_before(programs: Programs, end: str) -> None:
    ends = programs.program("ends")
    done = programs.run(["sh", "-c", f"{ends} {end}; {ends} look"], "nlb_mode_0").succeeds()
    assert "warning" not in done.err


@pytest.mark.parametrize("what", ["twice", "share"])
def test_a_program_ends_what_it_uses_in_any_order(programs: Programs, what: str) -> None:
    done = programs.run([str(programs.program("ends")), what], "nlb_mode_0")
    assert (done.status, done.err) == (0, "")


def test_a_buffer_that_is_released_in_use_is_an_incident(
    programs: Programs, tmp_path: Path
) -> None:
    times = tmp_path / "times.json"
    command = [str(programs.program("ends")), "release"]
    done = programs.run(command, "nlb_mode_0", "--json", str(times)).succeeds()
    (line,) = done.err.splitlines()
    said = r"warning: card at (.+): (\d+) bytes were written to a buffer that had been"
    found = re.match(said, line)
    assert found, line
    assert 3 << 20 < int(found[2]) < 4 << 20
    (incident,) = json.loads(times.read_text(encoding="utf-8"))["incidents"]
    assert f"{found[2]} bytes" in incident["what"]


def test_a_program_may_include_the_headers_of_other_drivers(programs: Programs) -> None:
    programs.run([str(programs.program("handed_over"))], "nlb_mode_0").succeeds()


def test_a_folder_for_temporary_files_may_have_a_long_path(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 100)
    folder.mkdir()
    command = [sys.executable, "-m", "peerlane", "opae", "run", "--", "true"]
    ran = subprocess.run(
        command, env={**os.environ, "TMPDIR": str(folder)}, capture_output=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_the_exit_status_of_a_program_is_passed_on(programs: Programs) -> None:
    assert programs.run(["sh", "-c", "exit 7"], "dma_afu").status == 7
    assert programs.run(["sh", "-c", "kill -9 $$"], "dma_afu").status == 137


def test_what_a_program_prints_is_all_that_run_prints(programs: Programs, tmp_path: Path) -> None:
    echo = ["sh", "-c", 'echo "$@"; echo no >&2', "sh", "--wall", "-x", "a b"]
    for options in ((), ("--json", str(tmp_path / "times.json"))):
        done = programs.run(echo, "dma_afu", *options)
        assert (done.out, done.err) == ("--wall -x a b\n", "no\n")


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
    programs.run(["sh", "-c", f"{copy} && exit 3; {conf} && {copy}"], "dma_afu").succeeds()


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


def test_a_program_uses_the_classes_of_the_cxx_interface(
    programs: Programs, tmp_path: Path
) -> None:
    """It runs as C++11, and compiles as C++20 too."""
    program = tmp_path / "cxx"
    flags = ["-Wall", "-Wextra", "-Werror", *programs.peerlane("opae", "flags").out.split()]
    build = ["g++", *flags, str(SOURCES / "cxx.cpp")]
    subprocess.run([*build, "-std=c++20", "-fsyntax-only"], check=True, timeout=120)
    build += ["-std=c++11", "-lopae-cxx-core", "-lopae-c", "-o", str(program)]
    subprocess.run(build, check=True, timeout=120)
    done = programs.run([str(program)], "nlb_mode_0")
    assert (done.status, done.out) == (0, "copied\n"), done.err
