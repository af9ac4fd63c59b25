"""What a session says besides the output of its program: times, links, captures."""

from __future__ import annotations

import json
import re
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest

from opae_programs import UNIT, told

if TYPE_CHECKING:
    from pathlib import Path

    from opae_programs import Programs


def evidence(programs: Programs, path: Path, *options: str) -> dict[str, Any]:
    """What `opae run --json` says of a sweep of 2 MiB each way."""
    afu, arguments = told(programs, "dma_sweep")
    command = [str(programs.program("dma_sweep")), *arguments]
    programs.run(command, afu, "--json", str(path), *options).succeeds()
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
    copies = 2**21 / 12.9 + 2**21 / 6.45
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


STRAYS = f"""{UNIT}
    def store(self, shell, offset, data):
        if offset == 0x40:
            shell.write(0xDEAD_0000_0000, bytes(64))
"""
"""A unit that writes to an address at which the host has no memory."""


def test_what_the_fabric_refuses_is_told_on_standard_error_and_in_the_json(
    programs: Programs, tmp_path: Path
) -> None:
    unit, path = tmp_path / "strays.py", tmp_path / "out.json"
    unit.write_text(STRAYS, encoding="utf-8")
    command = [str(programs.program("checksum")), "64"]
    done = programs.run(command, str(unit), "--json", str(path))
    (warning,) = (line for line in done.err.splitlines() if line.startswith("warning: "))
    (incident,) = json.loads(path.read_text(encoding="utf-8"))["incidents"]
    assert (incident["what"], incident["severity"]) == ("Unsupported Request", "non-fatal")
    assert warning.startswith("warning: server to card at ")
    assert "Unsupported Request (non-fatal)" in warning


SLOPPY = f"""from contextlib import suppress
{UNIT}
    def store(self, shell, offset, data):
        if offset == 0x40:
            for _ in range(2):
                with suppress(ValueError):
                    shell.write(0x1020, bytes(64))
"""
"""A unit that writes to half a line, and takes no notice of the error."""


def test_what_a_card_rejects_is_told_with_its_slot(programs: Programs, tmp_path: Path) -> None:
    unit = tmp_path / "sloppy.py"
    unit.write_text(SLOPPY, encoding="utf-8")
    done = programs.run([str(programs.program("checksum")), "64"], str(unit))
    (warning,) = (line for line in done.err.splitlines() if line.startswith("warning: "))
    assert warning.startswith("warning: card at ")
    rule = "slot 0: the address of a request must be a multiple of 64 below 2^48, 2 times until "
    assert rule in warning


def test_the_removal_of_a_card_is_told_and_errors_that_a_link_repairs_are_not(
    programs: Programs, tmp_path: Path
) -> None:
    text = resources.files("peerlane.systems").joinpath("pac", "scenario.toml").read_text()
    assert "[links]" in text
    text = text.replace("[links]", "[links]\nbit_error_rate = 1e-5")
    removal = '[[incidents]]\nat = "100 us"\nwhat = "surprise-removal"\nnode = "card"\n'
    scenario = tmp_path / "removal.toml"
    scenario.write_text(f"{text}\n{removal}", encoding="utf-8")
    path = tmp_path / "out.json"
    command = [str(programs.program("exerciser")), "mem", "copy"]
    options = ("--afu", "he_mem", "--scenario", str(scenario), "--json", str(path))
    done = programs.peerlane("opae", "run", *options, *command)
    assert re.search(r"^warning: card at 100[.\d]* us: surprise removal$", done.err, re.MULTILINE)
    assert "Bad TLP" not in done.err
    assert done.status == 1
    found = json.loads(path.read_text(encoding="utf-8"))
    kinds = {one["what"] for one in found["incidents"]}
    assert kinds >= {"Bad TLP", "surprise removal", "Surprise Down"}
