"""What lspci itself prints of a machine's configuration space is imported as that machine."""

from __future__ import annotations

import json
import struct
import subprocess
from typing import TYPE_CHECKING

import pytest

from conftest import needs_lspci

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run

pytestmark = needs_lspci

ENDPOINT, ROOT_PORT, UPSTREAM_PORT, DOWNSTREAM_PORT, INTEGRATED = 0, 4, 5, 6, 9
CAPABILITY = 0x40


class Space(bytearray):
    """The first 256 bytes of a function's configuration space (PCIe Base 7.5)."""

    def __init__(self, class_code: int, buses: tuple[int, int, int] | None = None) -> None:
        super().__init__(256)
        struct.pack_into("<4H", self, 0, 0x1234, 0x5678, 6, 1 << 4)
        struct.pack_into("<H", self, 0x0A, class_code)
        self[0x34] = CAPABILITY
        if buses:
            self[0x0E] = 1
            self[0x18:0x1B] = bytes(buses)

    def express(
        self,
        kind: int,
        *,
        payload: tuple[int, int],
        read_request: int = 512,
        link: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0)),
        extended_tags: bool = False,
    ) -> Space:
        """Adds the Express capability: payload supported and set, link able and trained."""
        supported, chosen = (size.bit_length() - 8 for size in payload)
        control = chosen << 5 | (read_request.bit_length() - 8) << 12 | extended_tags << 8
        (able, lanes), (speed, width) = link
        registers = (
            (0, 0x0010 | (2 | kind << 4) << 16),
            (4, supported),
            (8, control),
            (12, able | lanes << 4),
            (16, (speed | width << 4) << 16),
        )
        for offset, value in registers:
            struct.pack_into("<I", self, CAPABILITY + offset, value)
        return self

    def dump(self, slot: str) -> str:
        rows = (self[at : at + 16].hex(" ") for at in range(0, len(self), 16))
        return f"{slot} \n" + "".join(f"{16 * n:02x}: {row}\n" for n, row in enumerate(rows)) + "\n"


BRIDGE = 0x0604
MACHINE = {
    "00:01.0": Space(BRIDGE, (0, 1, 4)).express(
        ROOT_PORT, payload=(512, 256), link=((4, 16), (3, 8))
    ),
    "00:1c.0": Space(BRIDGE, (0, 5, 5)).express(
        ROOT_PORT, payload=(256, 128), link=((3, 4), (1, 0))
    ),
    "00:1f.3": Space(0x0403).express(INTEGRATED, payload=(128, 128)),
    "01:00.0": Space(BRIDGE, (1, 2, 4)).express(
        UPSTREAM_PORT, payload=(2048, 256), link=((3, 8), (3, 8))
    ),
    "02:01.0": Space(BRIDGE, (2, 3, 3)).express(
        DOWNSTREAM_PORT, payload=(2048, 256), link=((3, 8), (3, 4))
    ),
    "02:09.0": Space(BRIDGE, (2, 4, 4)).express(
        DOWNSTREAM_PORT, payload=(2048, 256), link=((3, 8), (1, 1))
    ),
    "03:00.0": Space(0x0200).express(
        ENDPOINT,
        payload=(512, 256),
        read_request=4096,
        link=((5, 16), (3, 4)),
        extended_tags=True,
    ),
    "04:00.0": Space(0x0108).express(ENDPOINT, payload=(256, 256), link=((1, 1), (1, 1))),
}


@pytest.mark.parametrize("options", ["-vv", "-vvv", "-vvvnn", "-vvvn", "-vvvD", "-vvvxxx"])
def test_a_machine_is_what_its_registers_say(peerlane: Run, tmp_path: Path, options: str) -> None:
    dump = tmp_path / "machine.hex"
    dump.write_text("".join(space.dump(slot) for slot, space in MACHINE.items()), encoding="utf-8")
    listed = subprocess.run(["lspci", "-F", dump, options], capture_output=True, check=True)
    (tmp_path / "machine.txt").write_bytes(listed.stdout)
    assert peerlane("import", "lspci", "machine.txt", "-o", "machine.toml").err == ""
    document = json.loads(peerlane("show", "machine.toml", "--json", "-").out)
    nodes = {node["name"].replace("0000-", ""): node for node in document["nodes"]}
    links = {
        name: tuple(node["upstream"][key] for key in ("port", "generation", "lanes"))
        for name, node in nodes.items()
        if node["upstream"]
    }
    assert links == {
        "sw-01-00.0": (0, 3, 8),
        "dev-03-00.0": (1, 3, 4),
        "dev-04-00.0": (9, 1, 1),
    }
    assert {node["max_payload"] for node in nodes.values()} == {256}
    assert nodes["dev-03-00.0"]["max_read_request"] == 4096
    assert nodes["dev-04-00.0"]["max_read_request"] == 512
    scenario = (tmp_path / "machine.toml").read_text(encoding="utf-8")
    assert [line[:10] for line in scenario.splitlines() if line[:4] == "tags"] == [
        "tags = 256",
        "tags = 32 ",
    ]


def test_the_short_listing_is_refused(peerlane: Run, tmp_path: Path) -> None:
    dump = tmp_path / "machine.hex"
    dump.write_text("".join(space.dump(slot) for slot, space in MACHINE.items()), encoding="utf-8")
    for options in ([], ["-v"], ["-t"], ["-mm"], ["-vmm"]):
        listed = subprocess.run(["lspci", "-F", dump, *options], capture_output=True, check=True)
        (tmp_path / "machine.txt").write_bytes(listed.stdout)
        peerlane("import", "lspci", "machine.txt").refuses("machine.txt:", "sudo lspci -vvv")
