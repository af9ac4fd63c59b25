"""Captures as tshark reads them, with the dissector of `integrations/wireshark`."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

DISSECTOR = Path(__file__).parents[2] / "integrations" / "wireshark" / "peerlane.lua"

needs_tshark = pytest.mark.skipif(not shutil.which("tshark"), reason=f"tshark {MISSING}")

SEPARATOR = "\t"
"""Between fields."""
AGGREGATOR = "\x1f"
"""Between the occurrences of a field in a packet."""

Frame = dict[str, str]
"""The fields of a packet, without those that it does not have."""


def tshark(capture: Path, *arguments: str, program: str = "tshark") -> str:
    """What tshark prints of a capture with the dissector; its complaints are errors.

    It sees nothing of the user's own settings and plugins.
    """
    home = capture.parent / "home"
    home.mkdir(exist_ok=True)
    environment = os.environ | {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "LC_ALL": "C.UTF-8",
    }
    command = [program, *arguments]
    if program == "tshark":
        command += ["-X", f"lua_script:{DISSECTOR}", "-r", str(capture)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    complaints = [line for line in done.stderr.splitlines() if "as user" not in line]
    assert complaints == []
    return done.stdout


def frames(capture: Path, fields: Sequence[str], *more: str) -> list[Frame]:
    """The fields of each packet of a capture, each `peerlane.` and one of `fields`."""
    names = [f"peerlane.{field}" for field in fields]
    options = [word for name in names for word in ("-e", name)]
    separators = ["-E", f"separator={SEPARATOR}", "-E", f"aggregator={AGGREGATOR}"]
    text = tshark(capture, "-T", "fields", *separators, *options, *more)
    rows = (line.split(SEPARATOR) for line in text.splitlines())
    return [{key: value for key, value in zip(fields, row, strict=True) if value} for row in rows]


def write(path: Path, records: Iterable[tuple[int, bytes]], name: str = "s0-a up") -> None:
    """Writes a capture of records, each a kind and its bytes on the wire, one femtosecond apart."""
    out = _block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    options = _option(2, name.encode()) + _option(9, b"\x09") + _option(0, b"")
    out += _block(1, struct.pack("<HHI", 147, 0, 0) + options)
    for time, (kind, data) in enumerate(records):
        # Version, kind, length, flags, wrong bits, time, length, arrival, verdict, flow.
        head = struct.pack(">BBHHHQQQBBH", 1, kind, 36, 0, 0, time, 1, 0, 0, 0, 0)
        whole = head + data
        out += _block(6, struct.pack("<5I", 0, 0, 0, len(whole), len(whole)) + whole)
    path.write_bytes(out)


def _block(number: int, content: bytes) -> bytes:
    content += bytes(-len(content) % 4)
    length = len(content) + 12
    return struct.pack("<II", number, length) + content + struct.pack("<I", length)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)
