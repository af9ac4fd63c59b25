"""Wrong input through the command line: exit status, one message that helps, no traceback."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from conftest import line_of

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run, Write

HUGE = "1" + "0" * 30

WRONG_SCENARIOS = {
    "an unknown key is named with the nearest": (
        ("lanes = 4", "lans = 4"),
        "lans",
        ["lans", "lanes"],
    ),
    "an exit latency of L1 beyond the largest is refused": (
        ("[devices.b]\n", '[devices.b]\nl1_exit_latency = "2 ms"\n'),
        "l1_exit_latency",
        ["2 ms", "1 ms"],
    ),
    "a bit error rate above one half is refused": (
        ("lanes = 4", "lanes = 4\nbit_error_rate = 1.0"),
        "bit_error_rate",
        ["0.5"],
    ),
    "a memory that never moves a byte is refused": (
        ('memory = "1 MiB"', 'memory = "1 MiB"\nmemory_bandwidth = "0 GB/s"'),
        "memory_bandwidth",
        ["memory_bandwidth"],
    ),
    "a name with signs that no terminal shows is escaped": (
        ("[devices.a]", r'[devices."a\n\u001b[31m"]'),
        "[devices.",
        [r"a\n\x1b[31m"],
    ),
    "text that is not TOML has a line": (
        ("[devices.a]", "[devices.a"),
        "[devices.a",
        [],
    ),
}
"""Laws of the core have the other wrong scenarios (`bad_input`)."""


@pytest.mark.parametrize("law", WRONG_SCENARIOS)
def test_a_wrong_scenario(peerlane: Run, scenario: Write, law: str) -> None:
    replacement, at, words = WRONG_SCENARIOS[law]
    path = scenario(replacement)
    # The line of the key itself or of the table around it: both lead the reader there.
    ran = peerlane("run", path)
    ran.refuses(*words)
    named = int(ran.err.split(f"{path.name}:")[1].split(":")[0])
    assert abs(named - line_of(path, at)) <= 3, ran.err


def test_show_refuses_the_same_scenario(peerlane: Run, scenario: Write) -> None:
    peerlane("show", scenario(("lanes = 4", "lans = 4"))).refuses("lans", "fabric.toml:")


@pytest.mark.parametrize("section", ["controllers.c", "io_ports.b"])
def test_a_link_that_is_never_in_l1_has_no_exit_latency(
    peerlane: Run, tmp_path: Path, section: str
) -> None:
    path = tmp_path / "fabric.toml"
    path.write_text(f'[hosts.h]\n[{section}]\nl1_exit_latency = "4 us"\n', encoding="utf-8")
    peerlane("run", path).refuses("fabric.toml:3", "l1_exit_latency", "[devices.NAME]")


@pytest.mark.parametrize("command", ["run", "show"])
class TestFiles:
    """Files that are no scenario at all."""

    def test_a_missing_file(self, peerlane: Run, command: str) -> None:
        peerlane(command, "missing.toml").refuses("missing.toml", "no such file")

    def test_an_empty_file(self, peerlane: Run, scenario: Write, command: str) -> None:
        peerlane(command, scenario(text="")).refuses("fabric.toml", "empty")

    def test_a_binary_file(self, peerlane: Run, tmp_path: Path, command: str) -> None:
        (tmp_path / "binary.toml").write_bytes(bytes(range(256)))
        peerlane(command, "binary.toml").refuses("binary.toml", "not a text file")

    def test_a_folder(self, peerlane: Run, tmp_path: Path, command: str) -> None:
        peerlane(command, tmp_path).refuses(str(tmp_path), "directory")

    def test_a_file_name_forgotten(self, peerlane: Run, command: str) -> None:
        peerlane(command).refuses("FILE")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--at", "h0-s1", "--trace", "t"], ['--at "h0-s1"', 'did you mean "h0-s0"']),
        (["--kind", "write", "--trace", "t"], ['--kind "write"', "MWr", "UpdateFC", "SKP"]),
        (["--flow", "none", "--trace", "t"], ['--flow "none"', "no flow"]),
        (["--address", "9-1", "--trace", "t"], ['--address "9-1"', "below the first"]),
        (["--window", "2us..1us", "--trace", "t"], ['--window "2us..1us"', "empty"]),
        (["--window", "1us..2us"], ["--window", "filters a capture", "--trace FILE"]),
        (["--at", "h0-s1", "--kind", "SKP"], ["--at, --kind", "filter a capture"]),
    ],
)
def test_a_wrong_filter(
    peerlane: Run, scenario: Write, tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    peerlane("run", scenario(), *arguments).refuses(*words)
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fly"], ["fly"]),
        (["run", ""], ["the name of the scenario is empty; write a file"]),
        (["run", "x.toml", "--sed", "1"], ["--sed", "(Possible options: --seed)"]),
        (["explain", "x.toml", "--nope"], ["No such option: --nope (peerlane explain --help)"]),
        (["run", "x.toml", "--seed", "-1"], ["-1 is out of range; write one from 0 to 92233720"]),
        (["run", "x.toml", "--seed", f"{1 << 63}"], ["--seed", "write one from 0 to 92233720"]),
        (
            ["run", "x.toml", "--seed", "many"],
            ["'many' is not a whole number; write one from 0 to ", "(peerlane run --help)"],
        ),
        (["opae", "info", "--sed", "1"], ["--sed", "(peerlane opae info --help)"]),
        (["run", "x.toml", "--json"], ["requires an argument", "(peerlane run --help)"]),
        (["run", "x.toml", "--set", "x" * 5000], ["xxx...xxx", "(5,002 characters) sets nothing"]),
        (["run", "x.toml", "--set", f"a.b={'9' * 5000}"], ["a.b: the number 999", "too large"]),
        (["run", "x.toml", "--json", "missing/x.json"], ["missing"]),
        (["run", "x.toml", "--json", "."], ["folder"]),
        (["run", "x.toml", "--trace", "."], ["folder"]),
        (["run", "x.toml", "--trace", "-"], ["--trace", "file"]),
        (["reproduce", "atlantis"], ["atlantis", "rosta"]),
        (["reproduce", "rosta", "--figure", "table9"], ["table9", "did you mean", "table1"]),
        (["list", "wishes"], ["wishes"]),
        (["bench", "fabric", "--endpoints", "none"], ["none"]),
        (["bench", "fabric", "--tlps", "0"], ["--tlps"]),
        (["bench", "fabric", "--endpoints", "5000"], ["4096 endpoints"]),
        (["bench", "fabric", "--tlps", HUGE], ["--tlps"]),
        (["bench", "fabric", "--repeat", HUGE], ["--repeat"]),
        (["bench", "fabric", "--endpoints", "8,64", "--peer", "simpy"], ["--peer", "one endpoint"]),
        (["bench", "network", "--hops", HUGE], ["--hops"]),
        (
            ["bench", "network", "--sides", "2", "--hops", "1", "--repeat", "1"],
            ["2 x 2 routers", "write more, such as --hops"],
        ),
        (["bench", "messages", "--size", HUGE], ["--size"]),
        (["bench", "devices", "--accesses", HUGE], ["--accesses"]),
        (["bench", "circuits", "--tlps", HUGE], ["--tlps"]),
        (["bench", "session", "--accesses", HUGE], ["--accesses"]),
        (["bench", "shapes", "--repeat", HUGE], ["--repeat"]),
        (["run", "x.toml", "--threads", HUGE], ["--threads"]),
        (["run", "x.toml", "--check-coherence", HUGE], ["--check-coherence"]),
        (["bench", "fabric", "--repeat", "0"], ["--repeat"]),
        (["bench", "network", "--sides", "4,x"], ["4,x"]),
        (["bench", "network", "--sides", "500"], ["2 to 128"]),
        (["bench", "fabric", "--peer", "nobody"], ["nobody"]),
        (["bench", "session", "--size", "100 B"], ["--size", "100 B", "multiple of 256 B"]),
        (["bench", "session", "--size", "2 GiB"], ["2 GiB", "up to 1 GiB"]),
        (["bench", "session", "--size", "much"], ["--size", "much"]),
    ],
)
def test_wrong_use(peerlane: Run, arguments: list[str], words: list[str]) -> None:
    peerlane(*arguments).refuses(*words)


REFUSED_IN_THE_FABRIC = {
    ("h0", "unsupported request"): ('to = "b"', 'to = "0xdead00000000"'),
    ("b", "malformed TLP"): (
        "[devices.b]\n",
        '[devices.b]\nmax_payload = "128 B"\nmax_payload_mismatch = true\n',
    ),
}


@pytest.mark.parametrize("told", REFUSED_IN_THE_FABRIC, ids=": ".join)
def test_the_fabric_refuses(peerlane: Run, scenario: Write, told: tuple[str, str]) -> None:
    path = scenario(REFUSED_IN_THE_FABRIC[told])
    ran = peerlane("run", path, "--json", "-")
    document = json.loads(ran.out)
    assert told in [(error["where"], error["what"]) for error in document["errors"]]
    (flow,) = document["flows"]
    assert flow["completed"]
    assert not flow["intact"]
    assert ran.status == 1
    (line,) = ran.err.splitlines()
    assert ": ".join(told) in line
    assert "a-to-b" in peerlane("run", path).out
