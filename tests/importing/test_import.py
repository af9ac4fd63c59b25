"""A machine's listing becomes a scenario of that machine, or one message that helps."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import cases_of
from peerlane import Simulation
from peerlane.importing import Form, ListingError, machine_of, scenario_of

if TYPE_CHECKING:
    from conftest import Run
    from peerlane import Tree
    from peerlane.fabric.tree import Node as TreeNode
    from peerlane.importing.machine import Machine

DATA = Path(__file__).parents[1] / "data"
DESKTOP = DATA / "lspci-desktop.txt"
SERVER = DATA / "lspci-server.txt"
CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus" / "lspci"
LISTINGS = {path.stem: path.read_bytes() for path in (DESKTOP, SERVER)}


def listed(content: bytes, source: str = "machine.txt") -> Machine:
    return machine_of([(content, source)], Form.LSPCI)


def imported(content: bytes) -> str:
    return scenario_of(listed(content), with_left_out=True)


def tree(content: bytes) -> Tree:
    return Simulation(imported(content)).tree()


def shown(peerlane: Run, tmp_path: Path, listing: Path) -> dict[str, dict[str, Any]]:
    """The nodes of `peerlane show`, by name."""
    written = peerlane("import", "lspci", listing, "-o", tmp_path / "machine.toml")
    assert (written.status, written.out, written.err) == (0, "", "")
    document = json.loads(peerlane("show", tmp_path / "machine.toml", "--json", "-").out)
    return {node["name"]: node for node in document["nodes"]}


def link(node: dict[str, Any]) -> tuple[str, int, int, int]:
    upstream = node["upstream"]
    return upstream["to"], upstream["port"], upstream["generation"], upstream["lanes"]


def edited(listing: Path, *replacements: tuple[str, str]) -> bytes:
    text = listing.read_text(encoding="utf-8")
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return text.encode()


class TestDesktop:
    """Old lspci: no domains, LnkSta with all else on one line."""

    def test_every_link_is_as_it_was_trained(self, peerlane: Run, tmp_path: Path) -> None:
        nodes = shown(peerlane, tmp_path, DESKTOP)
        assert list(nodes) == ["host", "dev-01-00.0", "dev-03-00.0"]
        assert link(nodes["dev-01-00.0"]) == ("host", 0, 3, 16)
        assert link(nodes["dev-03-00.0"]) == ("host", 2, 1, 1)

    def test_every_size_is_as_it_was_set(self, peerlane: Run, tmp_path: Path) -> None:
        nodes = shown(peerlane, tmp_path, DESKTOP)
        sizes = {n: (node["max_payload"], node["max_read_request"]) for n, node in nodes.items()}
        assert sizes["dev-01-00.0"] == (256, 512)
        assert sizes["dev-03-00.0"] == (128, 4096)
        bars = {n: [r["size"] for r in nodes[n]["regions"]] for n in nodes if n.startswith("dev")}
        assert bars == {"dev-01-00.0": [256 << 20], "dev-03-00.0": [16 << 10]}

    def test_a_port_to_the_chipset_that_calls_itself_a_root_port_is_none(self) -> None:
        listing = DESKTOP.read_text(encoding="utf-8")
        express = "\tCapabilities: [88] Express"
        root_port = express + listing.partition(express)[2].partition("\tKernel driver")[0]
        first = "\tCapabilities: [e0] Vendor Specific Information: Len=0c <?>\n"
        text = imported(listing.replace(first, root_port, 1).encode())
        assert "# not here: 00:00.0 Host bridge" in text

    def test_a_64_bit_region_below_4_gib_has_a_bar_there(self) -> None:
        low = edited(DESKTOP, ("Memory at e0000000 (64-bit, ", "Memory at c0000000 (64-bit, "))
        (bar,) = tree(low).nodes["dev-01-00.0"].regions
        assert bar.last < 1 << 32
        high = edited(DESKTOP, ("Memory at e0000000 (64-bit, ", "Memory at 4e0000000 (64-bit, "))
        (bar,) = tree(high).nodes["dev-01-00.0"].regions
        assert bar.base > 1 << 32

    def test_what_is_left_out_is_named_with_its_reason(self) -> None:
        text = imported(DESKTOP.read_bytes())
        for slot, why in {
            "00:00.0": "no PCI Express link",
            "00:14.0": "no PCI Express link",
            "00:1b.0": "integrated, no link",
            "00:1e.0": "conventional PCI",
            "04:01.0": "below 00:1e.0",
            "01:00.1": "another function of 01:00.0",
        }.items():
            assert re.search(rf"^# not here: {slot} .*: {why}$", text, re.MULTILINE), slot
        assert re.search(r"^# port 1 is 00:1c\.0 .*; nothing is below$", text, re.MULTILINE)

    @pytest.mark.parametrize("direction", ["write", "read"])
    def test_it_runs(self, peerlane: Run, tmp_path: Path, direction: str) -> None:
        """Reads too: no completion is larger than the smallest max payload size at any port."""
        text = imported(DESKTOP.read_bytes()).replace('"write"', f'"{direction}"')
        for device in ("dev-01-00.0", "dev-03-00.0"):
            flow = text.replace('from = "dev-01-00.0"', f'from = "{device}"')
            (tmp_path / "machine.toml").write_text(flow, encoding="utf-8")
            ran = peerlane("run", tmp_path / "machine.toml").succeeds()
            assert "intact" in ran.out


class TestServer:
    """New lspci with -D and -nn: a switch, two root buses, two domains."""

    def test_the_tree_is_that_of_the_machine(self, peerlane: Run, tmp_path: Path) -> None:
        nodes = shown(peerlane, tmp_path, SERVER)
        links = {name: link(node) for name, node in nodes.items() if node["upstream"]}
        assert links == {
            "sw-0000-01-00.0": ("host", 0, 4, 16),
            "dev-0000-03-00.0": ("sw-0000-01-00.0", 0, 4, 4),
            "dev-0000-04-00.0": ("sw-0000-01-00.0", 4, 3, 8),
            "dev-0000-21-00.0": ("host", 1, 3, 4),
            "dev-0001-01-00.0": ("host", 2, 3, 8),
        }
        assert [n for n, node in nodes.items() if not node["upstream"]] == ["host"]

    def test_every_size_is_as_it_was_set(self, peerlane: Run, tmp_path: Path) -> None:
        nodes = shown(peerlane, tmp_path, SERVER)
        assert {name: node["max_payload"] for name, node in nodes.items()} == {
            "host": 512,
            "sw-0000-01-00.0": 512,
            "dev-0000-03-00.0": 512,
            "dev-0000-04-00.0": 512,
            "dev-0000-21-00.0": 256,
            "dev-0001-01-00.0": 128,
        }
        requests = {n: node["max_read_request"] for n, node in nodes.items() if n.startswith("dev")}
        assert list(requests.values()) == [512, 1024, 4096, 512]

    def test_regions_of_virtual_functions_are_no_bars(self) -> None:
        nic = tree(SERVER.read_bytes()).nodes["dev-0000-04-00.0"]
        assert [(region.what, region.size) for region in nic.regions] == [("bar0", 32 << 20)]

    def test_tags_and_access_control_are_as_they_are_set(self) -> None:
        text = edited(SERVER, ("AtomicOpsCtl: ReqEn-", "AtomicOpsCtl: ReqEn- EgressBlck-"))
        tags = re.findall(r"^tags = (\d+)", imported(text), re.MULTILINE)
        assert tags == ["256", "256", "256", "32"]
        text = edited(SERVER, ("AtomicOpsCtl: ReqEn-", "AtomicOpsCtl: ReqEn-\n\t\t\t 10BitTagReq+"))
        tags = re.findall(r"^tags = (\d+)", imported(text), re.MULTILINE)
        assert tags == ["768"] * 4
        services = ("source_validation", "redirect", "completion_redirect", "upstream_forwarding")
        for key in (f"acs_{service}" for service in services):
            assert f"{key} = true  # only by port 0, here by all" in imported(SERVER.read_bytes())

    def test_a_link_below_what_its_ends_can_says_so(self) -> None:
        line = next(
            line
            for line in imported(SERVER.read_bytes()).splitlines()
            if "lanes = 4 }" in line and "generation = 3" in line
        )
        assert "LnkCap has more: the port above x16 Gen4, the function below x16 Gen3" in line

    def test_what_is_off_or_unreadable_says_so(self) -> None:
        text = imported(SERVER.read_bytes())
        assert re.search(
            r"^# not here: 0000:20:14\.0 .*: its configuration space cannot be read$",
            text,
            re.MULTILINE,
        )
        assert "memory_enable = false  # Mem-" in text
        assert "# BusMaster-: it makes no requests" in text
        assert re.search(r"^# port 8 is 0000:02:08\.0 .*; nothing is below$", text, re.MULTILINE)

    def test_it_runs(self, peerlane: Run, tmp_path: Path) -> None:
        (tmp_path / "machine.toml").write_text(imported(SERVER.read_bytes()), encoding="utf-8")
        ran = peerlane("run", tmp_path / "machine.toml").succeeds()
        assert "intact" in ran.out


def test_the_scenario_goes_to_standard_output_or_a_file(peerlane: Run, tmp_path: Path) -> None:
    ran = peerlane("import", "lspci", DESKTOP)
    assert (ran.status, ran.err) == (0, "")
    assert peerlane("import", "lspci", DESKTOP, "--output", tmp_path / "machine.toml").out == ""
    assert (tmp_path / "machine.toml").read_text(encoding="utf-8") == ran.out


def test_a_listing_comes_through_a_pipe() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "peerlane", "import", "lspci", "-"],
        input=DESKTOP.read_bytes(),
        capture_output=True,
        check=True,
    )
    assert b'name = "standard input"' in done.stdout
    assert done.stderr == b""


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.replace(b"\n", b"\r\n"),
        lambda content: content.replace(b"\t", b"        "),
        lambda content: b"\xef\xbb\xbf" + content,
        lambda content: content.rstrip(),
        lambda content: content + b"root@machine:~# ",
        lambda content: b"pcilib: sysfs_read_vpd: read failed: No such device\n" + content,
        lambda content: re.sub(rb"(?m)^(\tKernel driver.*)$", rb"\1\n00: 86 80 00 0c", content),
    ],
    ids=["crlf", "spaces", "bom", "stripped", "prompt", "warning", "bytes"],
)
def test_how_a_listing_was_copied_changes_nothing(change: Any) -> None:
    content = DESKTOP.read_bytes()
    assert imported(change(content)) == imported(content)


UNUSUAL = cases_of(__file__, "listings.toml", "unusual")


@pytest.mark.parametrize("case", UNUSUAL.values(), ids=UNUSUAL)
def test_an_unusual_machine(case: dict[str, str]) -> None:
    assert case["line"] in imported(edited(SERVER, (case["old"], case["new"])))


def test_a_bridge_to_conventional_pci_takes_what_is_below_along() -> None:
    content = edited(
        DESKTOP,
        ("secondary=04, subordinate=04", "secondary=05, subordinate=05"),
        ("secondary=03, subordinate=03", "secondary=03, subordinate=04"),
        (
            "prefetchable) [size=4K]",
            "prefetchable) [size=4K]\n\tBus: primary=03, secondary=04, subordinate=04",
        ),
        (
            "Endpoint, MSI 00\n\t\tDevCap:\tMaxPayload 128 bytes, PhantFunc 0, Latency L0s <1us",
            "PCI-Express to PCI/PCI-X Bridge, MSI 00\n\t\tDevCap:\tMaxPayload 128 bytes",
        ),
    )
    scenario = imported(content)
    assert re.search(r"# not here: 03:00\.0 .*: a bridge between PCI Express and", scenario)
    assert re.search(r"# not here: 04:01\.0 .*: below 03:00\.0", scenario)


def test_root_ports_beyond_those_of_a_host_are_left_out_when_nothing_is_below() -> None:
    text = DESKTOP.read_text(encoding="utf-8")
    start = text.index("00:1c.0 ")
    empty = text[start : text.index("\n\n", start) + 2]
    more = "".join(
        empty.replace("00:1c.0", f"{domain:04x}:40:{number >> 3:02x}.{number & 7}").replace(
            "primary=00, secondary=02, subordinate=02",
            f"primary=40, secondary={0x41 + number:02x}, subordinate={0x41 + number:02x}",
        )
        for domain in range(1, 5)
        for number in range(64)
    )
    scenario = imported((text + more).encode())
    assert "\nports = 2\n" in scenario
    assert (
        len(re.findall(r"^# not here: .*:40:.*: nothing is below$", scenario, re.MULTILINE)) == 256
    )


WRONG = cases_of(__file__, "listings.toml", "wrong")


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_a_wrong_listing(peerlane: Run, tmp_path: Path, case: dict[str, Any]) -> None:
    text = DESKTOP.read_text(encoding="utf-8")
    changed = re.sub(case["pattern"], case["new"], text)
    assert changed != text
    (tmp_path / "machine.txt").write_text(changed, encoding="utf-8")
    peerlane("import", "lspci", "machine.txt").refuses("machine.txt:", *case["words"])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["empty", "sudo lspci -vvv"]),
        (b"\n\n", ["empty"]),
        (bytes(range(256)), ["not a text file"]),
        (DESKTOP.read_bytes()[:200] + b"\0", ["not a text file"]),
        (DESKTOP.read_text(encoding="utf-8").encode("utf-16"), ["not a text file", "UTF-8"]),
        (b"[hosts.h0]\n", ["wrong:1:", "not a line of lspci"]),
        (b"-[0000:00]-+-00.0\n           +-01.0-[01]----00.0\n", ["not a line of lspci"]),
        (b'00:00.0 "Host bridge" "Vendor" "Device"\n', ["not a line of lspci"]),
        (b"\tControl: I/O- Mem+\n", ["wrong:1:", "no function begins here"]),
    ],
)
def test_text_of_something_else(peerlane: Run, content: bytes, words: list[str]) -> None:
    Path("wrong").write_bytes(content)
    peerlane("import", "lspci", "wrong").refuses(*words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lspci"], ["FILE"]),
        (["lspci", "missing.txt"], ["missing.txt", "no such file"]),
        (["lspci", "."], ["directory"]),
        (["lspci", "-"], ["standard input", "empty"]),
        (["lspci", str(DESKTOP), "-o", "missing/machine.toml"], ["missing"]),
        (["lspci", str(DESKTOP), "-o", "."], ["folder"]),
        (["dmidecode"], ["dmidecode"]),
    ],
)
def test_wrong_use(peerlane: Run, arguments: list[str], words: list[str]) -> None:
    peerlane("import", *arguments).refuses(*words)


def tree_or_refusal(content: bytes) -> Tree | None:
    """The machine of what is left of a listing, or none where one message refuses it."""
    try:
        text = imported(content)
    except ListingError as error:
        refusal = str(error)
    else:
        return Simulation(text).tree()
    assert re.match(r"machine\.txt:(\d+:)? \S.*; \S", refusal), refusal
    return None


def is_part_of(part: Tree, whole: Tree) -> bool:
    """Whether every switch and device of one is the same in the other, but for sockets."""

    def shown(node: TreeNode) -> tuple[object, ...]:
        upstream = node.upstream and replace(node.upstream, socket=None)
        return upstream, node.max_payload, node.max_read_request

    below = [node for node in part.nodes if node.upstream]
    return all(shown(node) == shown(whole.nodes[node.name]) for node in below)


@pytest.mark.parametrize("name", LISTINGS)
def test_a_listing_that_is_cut_is_refused_or_is_part_of_the_machine(name: str) -> None:
    content = LISTINGS[name]
    whole = tree(content)
    lines = [at for at, byte in enumerate(content, 1) if byte == ord("\n")]
    cuts = [*lines[:-2], *range(0, lines[-3], 13)]
    left = [tree_or_refusal(content[:cut]) for cut in cuts]
    loaded = [part for part in left if part is not None]
    assert all(is_part_of(part, whole) for part in loaded)
    assert len(loaded) < 0.05 * len(cuts)


@pytest.mark.parametrize("name", LISTINGS)
def test_a_cut_within_a_record_is_always_refused(name: str) -> None:
    """But for the drivers' names, with which lspci ends a record."""
    content = LISTINGS[name]
    for record in re.finditer(rb"(?m)^[0-9a-f:.]+ (?s:.*?)\n\n", content):
        for cut in range(record.start() + 1, record.end() - 1, 29):
            if b"\tKernel " not in content[record.start() : cut]:
                assert tree_or_refusal(content[:cut]) is None, content[:cut][-80:]


def test_what_fuzzing_found_is_refused_or_loads() -> None:
    inputs = list(CORPUS.iterdir())
    assert inputs
    for path in inputs:
        tree_or_refusal(path.read_bytes())


LINES = {name: content.splitlines(keepends=True) for name, content in LISTINGS.items()}


@given(st.data())
def test_a_listing_with_a_gap_is_refused_or_loads(data: st.DataObject) -> None:
    lines = LINES[data.draw(st.sampled_from(sorted(LINES)))]
    first = data.draw(st.integers(0, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    again = data.draw(st.sampled_from([b"", b"".join(lines[first:last]) * 2]))
    tree_or_refusal(b"".join(lines[:first]) + again + b"".join(lines[last:]))


@given(st.data())
def test_a_listing_with_wrong_bytes_is_refused_or_loads(data: st.DataObject) -> None:
    content = bytearray(LISTINGS[data.draw(st.sampled_from(sorted(LISTINGS)))])
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    tree_or_refusal(bytes(content))
