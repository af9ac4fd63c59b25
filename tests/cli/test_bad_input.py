"""Wrong input through the command line: exit status, one message that helps, no traceback."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import cases_of, line_of, rows_of

if TYPE_CHECKING:
    from conftest import Run, Write

WRONG_SCENARIOS = cases_of(__file__, "bad_input.toml", "scenario")


@pytest.mark.parametrize("case", WRONG_SCENARIOS.values(), ids=WRONG_SCENARIOS)
def test_a_wrong_scenario(peerlane: Run, scenario: Write, case: dict[str, Any]) -> None:
    path = scenario((case["old"], case["new"]))
    # The line of the key itself or of the table around it: both lead the reader there.
    ran = peerlane("run", path)
    ran.refuses(*case["words"])
    named = int(ran.err.split(f"{path.name}:")[1].split(":")[0])
    assert abs(named - line_of(path, case["at"])) <= 3, ran.err


@pytest.mark.parametrize("section", ["controllers.c", "io_ports.b"])
def test_a_link_that_is_never_in_l1_has_no_exit_latency(peerlane: Run, section: str) -> None:
    path = Path("fabric.toml")
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


@pytest.mark.parametrize(("command", "words"), rows_of(__file__, "bad_input.toml", "wrong_use"))
def test_wrong_use(peerlane: Run, command: str, words: list[str]) -> None:
    peerlane(*shlex.split(command)).refuses(*words)


def test_a_long_value_is_shortened(peerlane: Run) -> None:
    setting = peerlane("run", "x.toml", "--set", "x" * 5000)
    setting.refuses("xxx...xxx", "(5,002 characters) sets nothing")
    peerlane("run", "x.toml", "--set", f"a.b={'9' * 5000}").refuses(
        "a.b: the number 999", "too large"
    )


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
