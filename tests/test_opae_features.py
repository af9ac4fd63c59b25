"""Programs for OPAE that use metrics, user clocks, several slots and all tests of the loopback."""

from __future__ import annotations

import json
import struct
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome, Run, Write

SOURCES = Path(__file__).parent / "opae"

TWO_SLOTS = """
[hosts.h0]
memory = "64 GiB"
memory_address_bits = 64

[links]
generation = 3
lanes = 8

[devices.card]
model = "fpga-card"
upstream = "h0"
slots = 2
afu = "nlb_mode_0"
afu_1 = "nlb_mode_0"
"""

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


@pytest.fixture
def compiled(peerlane: Run, tmp_path: Path) -> Callable[[str], str]:
    """A function that compiles one of the programs."""

    def compile_program(name: str) -> str:
        program = tmp_path / name
        options = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2"]
        flags = peerlane("opae", "flags").out.split()
        source = str(SOURCES / f"{name}.c")
        built = ["gcc", source, *options, *flags, "-lopae-c", "-lpthread", "-o", str(program)]
        subprocess.run(built, check=True, timeout=120)
        return str(program)

    return compile_program


def right(done: Outcome, what: str) -> str:
    """The output of a program that has found all right, and says so at its end."""
    assert done.status == 0, done.err
    assert done.out.splitlines()[-1] == what
    return done.out


def bitstream(peerlane: Run, path: Path, clock: float | None = None) -> str:
    """A bitstream of the native loopback, that is made for a clock in MHz."""
    assert peerlane("opae", "pack", "nlb_mode_0", path).status == 0
    if clock:
        content = path.read_bytes()
        (length,) = struct.unpack_from("<I", content, 16)
        told = json.loads(content[20 : 20 + length])
        told["afu-image"] |= {"clock-frequency-high": clock, "clock-frequency-low": clock / 2}
        text = json.dumps(told).encode()
        rest = content[20 + length :]
        path.write_bytes(content[:16] + struct.pack("<I", len(text)) + text + rest)
    return str(path)


def test_metrics_and_counters_are_those_of_the_traffic(
    peerlane: Run, compiled: Callable[[str], str]
) -> None:
    done = peerlane("opae", "run", "--afu", "nlb_mode_0", compiled("metrics"))
    out = right(done, "metrics are right")
    assert "performance:fabric performance pcie0_read 0" in out


def test_an_accelerator_with_a_metrics_block_has_metrics(
    peerlane: Run, compiled: Callable[[str], str], tmp_path: Path
) -> None:
    model = tmp_path / "counting.py"
    model.write_text(WITH_METRICS)
    done = peerlane("opae", "run", "--afu", model, compiled("metrics"), "afu", "2")
    out = right(done, "metrics are right")
    assert out.splitlines()[:2] == ["AFU:5 5 1 1234 1", "AFU:5 5 2 77 1"]


@pytest.mark.parametrize("offset", [0x20, 0x44, 1 << 20])
def test_a_feature_begins_behind_the_header(peerlane: Run, tmp_path: Path, offset: int) -> None:
    model = tmp_path / "counting.py"
    model.write_text(WITH_METRICS.replace("next_feature = BLOCK", f"next_feature = {offset}"))
    done = peerlane("opae", "run", "--afu", model, "true")
    done.refuses(f"next_feature is {offset:#x}")


def test_the_user_clock_is_the_clock_of_the_unit(
    peerlane: Run, compiled: Callable[[str], str], tmp_path: Path
) -> None:
    image = bitstream(peerlane, tmp_path / "nlb.gbs", 200)
    done = peerlane("opae", "run", "--afu", "nlb_mode_0", compiled("user_clock"), image)
    right(done, "the clock is right")


def test_a_clock_beyond_that_of_the_bitstream_is_told(
    peerlane: Run, compiled: Callable[[str], str], tmp_path: Path
) -> None:
    image = bitstream(peerlane, tmp_path / "nlb.gbs", 200)
    program = compiled("user_clock")
    right(peerlane("opae", "run", "--afu", image, program, image), "the clock is right")
    done = peerlane("opae", "run", "--afu", image, program, image)
    assert "400 MHz" in done.err
    assert "200 MHz" in done.err


def test_slots_are_used_reset_and_configured_each_for_itself(
    peerlane: Run, compiled: Callable[[str], str], scenario: Write, tmp_path: Path
) -> None:
    image = bitstream(peerlane, tmp_path / "nlb.gbs")
    program = compiled("slots")
    done = peerlane("opae", "run", "--scenario", scenario(text=TWO_SLOTS), program, image)
    right(done, "both slots are right")


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
    peerlane: Run, compiled: Callable[[str], str], test: str, image: str
) -> None:
    done = peerlane("opae", "run", "--afu", image, compiled("nlb_modes"), *test.split())
    right(done, "the test is right")
    assert ("does not model this mode" in done.err) == (test == "other")
