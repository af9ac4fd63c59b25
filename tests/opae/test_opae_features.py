"""Programs for OPAE that use metrics, user clocks, several slots and all tests of the loopback."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import beside
from opae_programs import EXAMPLES
from peerlane import Simulation
from peerlane.opae import accelerators, configure, sweep
from peerlane.opae.diag import Mode, fault

if TYPE_CHECKING:
    from conftest import Outcome, Run, Write
    from opae_programs import Programs

TWO_SLOTS = beside(__file__, "two_slots.toml")

WITH_METRICS = """
from peerlane.opae import Afu

BLOCK = 0x100
HIGH, LOW = 0x87816958C1484CD0, 0x9D73E8F258E9E3D7

class Counting(Afu):
    uuid = "3a778c9e-5bd1-4d0b-9c64-0a6dcfb1c4f3"
    next_feature = BLOCK

    def load(self, shell, offset, length):
        registers = {
            BLOCK: 2 << 60 | 1 << 40,
            BLOCK + 8: LOW,
            BLOCK + 16: HIGH,
            # A group with units 1 and ID 5, the last one, with two counters, of IDs 1 and 2.
            BLOCK + 0x20: 1 << 44 | 5 << 36 | 1 << 28,
            BLOCK + 0x28: 1234 << 16 | 1 << 8,
            BLOCK + 0x30: 77 << 16 | 2 << 8 | 1 << 7,
        }
        return registers.get(offset, 0)
"""


def right(done: Outcome, what: str) -> str:
    """The output of a program that has found all right, and says so at its end."""
    assert done.status == 0, done.err
    assert done.out.splitlines()[-1] == what
    return done.out


def made_for(bitstream: Path, megahertz: float, to: Path) -> str:
    """A copy of a bitstream that says which clock it is made for."""
    content = bitstream.read_bytes()
    (length,) = struct.unpack_from("<I", content, 16)
    metadata = json.loads(content[20 : 20 + length])
    clocks = {"clock-frequency-high": megahertz, "clock-frequency-low": megahertz / 2}
    metadata["afu-image"] |= clocks
    text = json.dumps(metadata).encode()
    to.write_bytes(content[:16] + struct.pack("<I", len(text)) + text + content[20 + length :])
    return str(to)


def test_metrics_and_counters_are_those_of_the_traffic(programs: Programs) -> None:
    done = programs.run([str(programs.program("metrics"))], "nlb_mode_0")
    assert "performance:fabric performance pcie0_read 0" in right(done, "metrics are right")


def test_large_pages_of_a_program_have_aligned_addresses(programs: Programs) -> None:
    right(programs.run([str(programs.program("pages"))], "nlb_mode_0"), "the pages are right")


def test_an_accelerator_with_a_metrics_block_has_metrics(
    programs: Programs, tmp_path: Path
) -> None:
    model = tmp_path / "counting.py"
    model.write_text(WITH_METRICS)
    done = programs.run([str(programs.program("metrics")), "afu", "2"], str(model))
    out = right(done, "metrics are right")
    assert out.splitlines()[:2] == ["AFU:5 5 1 1234 1", "AFU:5 5 2 77 1"]


@pytest.mark.parametrize("offset", [0x20, 0x44, 1 << 20])
def test_a_feature_begins_behind_the_header(peerlane: Run, tmp_path: Path, offset: int) -> None:
    model = tmp_path / "counting.py"
    model.write_text(WITH_METRICS.replace("next_feature = BLOCK", f"next_feature = {offset}"))
    done = peerlane("opae", "run", "--afu", model, "true")
    done.refuses(f"next_feature is {offset:#x}")


def test_the_user_clock_is_the_clock_of_the_unit(programs: Programs, tmp_path: Path) -> None:
    image = made_for(programs.folder / "nlb.gbs", 200, tmp_path / "clock.gbs")
    command = [str(programs.program("user_clock")), image]
    right(programs.run(command, "nlb_mode_0"), "the clock is right")
    # The program sets a clock beyond that of the image, which is said.
    done = programs.run(command, image)
    right(done, "the clock is right")
    assert "400 MHz" in done.err
    assert "200 MHz" in done.err


def test_slots_are_used_reset_and_configured_each_for_itself(
    programs: Programs, scenario: Write
) -> None:
    command = [str(programs.program("slots")), str(programs.folder / "nlb.gbs")]
    done = programs.peerlane("opae", "run", "--scenario", scenario(text=TWO_SLOTS), *command)
    right(done, "both slots are right")


def test_diagnostics_use_the_slot_that_is_named(peerlane: Run, scenario: Write) -> None:
    two = scenario(text=TWO_SLOTS)
    command = ("opae", "diag", "read", "--lines", "64", "--scenario", two)
    first, second = (
        json.loads(peerlane(*command, "--slot", slot, "--json", "-").out)[0] for slot in ("0", "1")
    )
    assert first["reads"] == second["reads"] == second["link_reads"] * 4 == 64
    peerlane(*command, "--slot", "2").refuses("slot")


def test_diagnostics_say_what_has_failed() -> None:
    assert fault(Mode.READ, 0, differs=False) is None
    assert "accesses that failed" in str(fault(Mode.READ, 8, differs=False))
    assert "other lines" in str(fault(Mode.EXCHANGE, 8, differs=False))
    assert "accesses that failed" in str(fault(Mode.EXCHANGE, 1, differs=False))
    assert "copied bytes differ" in str(fault(Mode.LOOPBACK, 0, differs=True))


@pytest.mark.parametrize(
    ("test", "image"),
    [
        ("copy", "nlb_mode_0"),
        ("read", "nlb_mode_3"),
        ("write", "nlb_mode_3"),
        ("both", "nlb_mode_3"),
        ("read 3", "nlb_mode_3"),
        ("both 1", "nlb_mode_3"),
        ("exchange", "nlb_mode_7"),
        ("other", "nlb_mode_3"),
    ],
)
def test_the_loopback_has_the_tests_of_the_published_diagnostics(
    programs: Programs, test: str, image: str
) -> None:
    done = programs.run([str(programs.program("nlb_modes")), *test.split()], image)
    right(done, "the test is right")
    assert ("does not model this mode" in done.err) == (test == "other")


def test_a_slot_is_configured_from_one_command_to_the_next(peerlane: Run, scenario: Write) -> None:
    path = scenario(text=TWO_SLOTS)

    def loaded() -> list[tuple[int, str]]:
        found = json.loads(peerlane("opae", "info", "--scenario", path, "--json", "-").out)
        return [(one["slot"], one["accelerator"]) for one in found]

    conf = ("opae", "conf", "--scenario", path, "--slot", "1")
    assert loaded() == [(0, "nlb_mode_0"), (1, "nlb_mode_0")]
    assert "slot 1 of card" in peerlane(*conf, "dma_afu").err
    assert loaded() == [(0, "nlb_mode_0"), (1, "dma_afu")]
    assert peerlane("opae", "conf", "--scenario", path, "he_lb").status == 0
    assert loaded() == [(0, "he_lb"), (1, "dma_afu")]
    assert peerlane(*conf, "default").status == 0
    assert loaded() == [(0, "he_lb"), (1, "nlb_mode_0")]
    peerlane("opae", "conf", "--scenario", path, "--slot", "2", "dma_afu").refuses("slot")


def test_what_was_configured_and_is_of_no_use_any_more_says_how_it_is_forgotten(
    peerlane: Run, scenario: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    unit = tmp_path / "unit.py"
    unit.write_text((EXAMPLES / "checksum_afu.py").read_text(encoding="utf-8"), encoding="utf-8")
    path = scenario(text=TWO_SLOTS)
    for image, slot in ((str(unit), "0"), ("he_lb", "1")):
        conf = ("opae", "conf", "--scenario", path, "--slot", slot)
        assert peerlane(*conf, image).status == 0
    unit.unlink()
    run = ("opae", "run", "--scenario", path)
    stale = peerlane(*run, "true")
    forget = f"peerlane opae conf default --scenario {path} --card card --slot 0"
    stale.refuses(f"there is no file {unit}", f"to forget it: {forget}")
    # Another image takes its place.
    assert peerlane(*run, "--afu", "he_lb", "true").status == 0
    assert peerlane("opae", "diag", "lpbk1", "--lines", "64", "--scenario", path).status == 0
    assert peerlane(*forget.split()[1:]).status == 0
    assert peerlane(*run, "true").status == 0
    # A slot and a card that the scenario does not have any more.
    for text in (
        TWO_SLOTS.replace("slots = 2", "").replace("afu_1", "#"),
        TWO_SLOTS.replace("devices.card]", "devices.other]"),
    ):
        Path(path).write_text(text, encoding="utf-8")
        gone = peerlane(*run, "true")
        gone.refuses("opae conf default", "--card card --slot 1")
    assert peerlane(*forget.split()[1:-1], "1").status == 0
    assert peerlane(*run, "true").status == 0
    peerlane(*forget.split()[1:-1], "1").refuses("has no card 'card'; write \"other\"")


INCIDENT = """
[[incidents]]
at = "{at}"
what = "{what}"
node = "card"
"""


@pytest.mark.parametrize("what", ["surprise-removal", "function-level-reset"])
def test_a_card_that_fails_ends_diagnostics_with_what_has_happened(
    peerlane: Run, scenario: Write, what: str
) -> None:
    for command, at, why in (
        (("diag", "read"), "20 us", "read: the test has not ended after"),
        (("diag", "sw", "--lines", "1000"), "20 us", "sw: the test has not ended after"),
        (("dma-test", "--size", "1 MiB"), "5 us", "its registers read as ones"),
    ):
        path = scenario(text=TWO_SLOTS + INCIDENT.format(at=at, what=what))
        done = peerlane("opae", *command, "--scenario", path)
        *warnings, error = done.err.splitlines()
        assert done.status == 1
        assert error.startswith("error: card")
        assert why in error
        assert all(line.startswith("warning: ") for line in warnings)
        assert what.replace("-", " ") in warnings[0].lower()


def test_a_sweep_ends_if_an_interrupt_never_comes(scenario: Write) -> None:
    text = TWO_SLOTS + INCIDENT.format(at="400 us", what="function-level-reset")
    simulation = Simulation(scenario(text=text).read_text(encoding="utf-8"))
    configure(simulation, "card", "dma_afu")
    (card, _) = accelerators(simulation)
    with pytest.raises(RuntimeError, match="no card has moved any data for 1 s"):
        sweep(simulation, [card], 1 << 20)
