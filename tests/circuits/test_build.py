"""Circuits of a user's own: libraries that `peerlane circuit build` makes."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from peerlane import Fabric, ScenarioError
from peerlane.circuits import CircuitError, Source, build, load, ports

if TYPE_CHECKING:
    from conftest import Run

RTL = Path(__file__).parents[2] / "gateware" / "rtl"
LOOPBACK = (RTL / "loopback" / "loopback.sv").read_text(encoding="utf-8")
SINK = re.sub(r"assign tx_valid_o .*;", "assign tx_valid_o = 1'b0;", LOOPBACK)
"""Takes what it receives, and sends nothing."""
REQUIRED = set(ports.documented(64)) - {name for group in ports.OPTIONAL for name in group}


def header(**changed: str | None) -> str:
    """A header of Verilator with the ports of a leaf at 64 bits; a port may have another line."""
    lines = {
        name: f"    VL_{'IN' if port.direction == 'input' else 'OUT'}8(&{name},{port.bits - 1},0);"
        for name, port in ports.documented(64).items()
    }
    return "\n".join(line for line in (lines | changed).values() if line is not None)


def fault(**changed: str | None) -> str | None:
    return ports.fault(ports.declared(header(**changed)), 64)


def test_a_module_with_the_documented_ports_is_a_leaf() -> None:
    assert fault() is None


@pytest.mark.parametrize("group", ports.OPTIONAL, ids=min)
def test_a_group_of_ports_is_left_out_as_a_whole(group: set[str]) -> None:
    assert fault(**dict.fromkeys(group)) is None
    if len(group) > 1:
        assert fault(**{min(group): None}) == f"it has no port {min(group)} ({port(min(group))})"


def port(name: str) -> ports.Port:
    return ports.documented(64)[name]


def test_only_the_groups_may_be_left_out() -> None:
    for name in REQUIRED:
        assert fault(**{name: None}) == f"it has no port {name} ({port(name)})"


@pytest.mark.parametrize(
    ("name", "line", "says"),
    [
        (
            "rx_bytes_i",
            "VL_IN8(&rx_bytes_i,4,0);",
            "its port rx_bytes_i is an input of 5 bits; it must be an input of 4 bits",
        ),
        (
            "tx_ready_i",
            "VL_OUT8(&tx_ready_i,0,0);",
            "its port tx_ready_i is an output of 1 bit; it must be an input of 1 bit",
        ),
        (
            "enable_i",
            "VL_IN8(&enable_i,0,0);",
            "it has a port enable_i, which a leaf does not have",
        ),
    ],
)
def test_the_first_wrong_port_is_named(name: str, line: str, says: str) -> None:
    assert fault(**{name: line}) == says


def pair(**keys: str) -> Fabric:
    """A device that writes to a circuit."""
    fabric = Fabric("pair").host("h0", memory="16 MiB").switch("s0", "h0")
    fabric.device("a", "s0").device("b", "s0", bar="1 MiB").set("b", **keys)
    return fabric.flow("a", "b", size="4 KiB")


def test_a_module_becomes_a_device_of_a_scenario(
    tmp_path: Path, peerlane: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    # The package is found by -I, the module's name and width by options.
    Path("two.sv").write_text('`include "one.svh"\n' + SINK, encoding="utf-8")
    Path("inc").mkdir()
    Path("inc/one.svh").write_text("// one\n", encoding="utf-8")
    options = ("--top", "loopback", "-I", "inc", "-G", "WIDTH=128", "-O", "0")
    built = peerlane("circuit", "build", "two.sv", *options).succeeds()
    assert "libloopback.so is written" in built.err
    scenario = Path("pair.toml")
    scenario.write_text(pair(datapath="16 B", circuit="mine").to_toml(), encoding="utf-8")
    library = ("--circuit", "mine=libloopback.so")
    peerlane("check", scenario, *library).succeeds()
    waves = ("--set", "devices.b.waves=1 us..2 us")
    peerlane("run", scenario, *library, *waves).succeeds()
    assert "$timescale 1ps $end" in Path("b.vcd").read_text(encoding="utf-8")
    (flow,) = Fabric.from_toml(scenario.read_text(encoding="utf-8")).run().flows
    assert flow.intact
    # A name that the circuit has in this process alone, and a width that it has not.
    Path("libloopback.so").rename("libwide.so")
    assert load("libwide.so") == "wide"
    with pytest.raises(ScenarioError, match=r"datapath: .*'wide' has no beats of 64 bits.*128"):
        pair(datapath="8 B", circuit="wide").simulation()


def test_a_circuit_without_waves_says_so(tmp_path: Path) -> None:
    (tmp_path / "sink.sv").write_text(SINK, encoding="utf-8")
    source = Source([tmp_path / "sink.sv"], "loopback")
    build(source, tmp_path / "still.so", waves=False, optimise=0)
    load(tmp_path / "still.so")
    assert pair(datapath="8 B", circuit="still").run().flows[0].intact
    with pytest.raises(ScenarioError, match=r"b\.waves: the circuit 'still' was built without"):
        pair(datapath="8 B", circuit="still", waves="1 us..2 us").simulation()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (LOOPBACK.replace("active_o", "busy_o"), "it has no port active_o (output of 1 bit)"),
        (LOOPBACK.replace("WIDTH = 64", "WIDTH = 96"), "its beats have 96 bits"),
        (LOOPBACK.replace("module loopback", "module other"), "loopback"),
        (LOOPBACK.replace("valid_q <= 1'b0", "valid_q <= nowhere"), "wrong.sv:87"),
        ("module loopback(", "wrong.sv:1"),
    ],
    ids=range(5),
)
def test_a_module_that_cannot_be_a_leaf_is_refused_in_a_sentence(
    text: str, says: str, tmp_path: Path, peerlane: Run
) -> None:
    file = tmp_path / "wrong.sv"
    file.write_text(text, encoding="utf-8")
    library = tmp_path / "libwrong.so"
    library.write_text("as it was", encoding="utf-8")
    told = peerlane("circuit", "build", file, "--top", "loopback", "-o", library)
    told.refuses(says)
    assert library.read_text(encoding="utf-8") == "as it was"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("none.sv",), "none.sv does not exist"),
        (("a-b.sv",), "'a-b' is no name of a module; write --top MODULE"),
        (("mine.sv", "-G", "WIDTH"), "-G WIDTH: write NAME=VALUE"),
        (("mine.sv", "-o", "mine.sv"), "mine.sv is a file of the circuit"),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: tuple[str, ...],
    says: str,
    tmp_path: Path,
    peerlane: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.sv").write_text(LOOPBACK, encoding="utf-8")
    peerlane("circuit", "build", *arguments).refuses(says)
    assert Path("mine.sv").read_text(encoding="utf-8") == LOOPBACK


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("VERILATOR", "no-such-command", "Verilator is missing (no-such-command"),
        ("VERILATOR", "echo", "echo is no Verilator"),
        ("CXX", "no-such-compiler", "no-such-compiler is missing: install a C++20 compiler"),
    ],
)
def test_a_program_that_is_missing_is_named(
    variable: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(variable, value)
    source = Source([RTL / "loopback" / "loopback.sv"], "loopback")
    with pytest.raises(CircuitError) as refused:
        build(source, tmp_path / "mine.so")
    assert says in str(refused.value)


def test_an_old_verilator_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "verilator"
    command.write_text("#!/bin/sh\necho Verilator 5.006 2023-01-22\n", encoding="utf-8")
    command.chmod(0o755)
    monkeypatch.setenv("VERILATOR", str(command))
    with pytest.raises(CircuitError, match=r"is Verilator 5\.006, and circuits need 5\.036"):
        build(Source([RTL / "loopback" / "loopback.sv"], "loopback"), tmp_path / "mine.so")


def library(tmp_path: Path, text: str) -> Path:
    """A library of this text in C."""
    path = tmp_path / "libwrong.so"
    (tmp_path / "wrong.c").write_text(text, encoding="utf-8")
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-shared", "-o", path, tmp_path / "wrong.c"], check=True)
    return path


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("int other;", "the library has no circuit"),
        ("unsigned peerlane_circuits[6] = {9, 0};", "for version 9 of the interface"),
        ("unsigned peerlane_circuits[6] = {1, 8};", "a circuit has 8 bytes in its table"),
    ],
)
def test_a_library_that_is_no_circuit_of_this_version_is_refused(
    text: str, says: str, tmp_path: Path, peerlane: Run
) -> None:
    path = library(tmp_path, text)
    ctypes.CDLL(str(path))  # it is a library
    peerlane("run", "pair", "--circuit", f"mine={path}").refuses(str(path), says)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["mine"], "'mine' is no circuit; write NAME=FILE"),
        (["mine=none.so"], "there is no such file"),
        (["a=x.so", "a=y.so"], "x.so"),
    ],
)
def test_a_wrong_option_is_refused(given: list[str], says: str, peerlane: Run) -> None:
    options = [word for one in given for word in ("--circuit", one)]
    peerlane("run", "pair", *options).refuses(says)


def test_a_first_circuit_is_written_with_tests_that_pass(
    tmp_path: Path, peerlane: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    peerlane("new", "circuit", "my-sum").succeeds()
    peerlane("new", "circuit", "my-sum").refuses("my-sum/", "nothing is overwritten")
    peerlane("new", "circuit", "My").refuses("'My' is no name of a circuit")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command, says in (("-m pytest -q", "2 passed"), ("bench_my_sum.py", "PASS=2 FAIL=0")):
        ran = subprocess.run(
            [sys.executable, *command.split()],
            cwd=tmp_path / "my-sum",
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert says in ran.stdout + ran.stderr, ran.stdout + ran.stderr
