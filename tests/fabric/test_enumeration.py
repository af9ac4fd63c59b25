"""What enumeration leaves in configuration spaces, as the real lspci reads them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import PAIR, ROOT, SCENARIOS, beside, needs_lspci
from peerlane import Fabric, Simulation

if TYPE_CHECKING:
    from conftest import Run, Write


DEEP = beside(__file__, "deep.toml")

COMPLAINTS = re.compile(r"<\?>|!!!|unknown|malformed|chain loop|access denied", re.IGNORECASE)
# The Link Status of a virtual function is reserved and zero (PCIe Base 9.3.5); lspci shows it.
OF_VIRTUAL_FUNCTIONS = re.compile(r"\tLnkSta:\tSpeed unknown \(.*\), Width x0 \(.*\)\n")
# Versions of lspci differ: 3.9 knows the name of this capability and none of its fields.
NAMED_ONLY = re.compile(r"(Capabilities: \[1c0 v1\] Data Link Feature) <\?>")


def without_modules(err: str) -> list[str]:
    """Standard error, but for a machine on which lspci finds no kernel modules."""
    return [line for line in err.splitlines() if "libkmod" not in line]


@needs_lspci
def test_lspci_decodes_every_capability_without_a_complaint(peerlane: Run, scenario: Write) -> None:
    rosta = ROOT / "python/peerlane/systems/rosta/scenario.toml"
    for path in (scenario(text=DEEP), *SCENARIOS, rosta):
        done = peerlane("lspci", path, "--", "-vvv").succeeds()
        assert not without_modules(done.err)
        tree = Simulation.open(path).tree()
        virtual = sum(len(node.virtual_functions) for node in tree.nodes)
        shown, unlinked = OF_VIRTUAL_FUNCTIONS.subn("", NAMED_ONLY.sub(r"\1", done.out))
        assert unlinked == virtual
        assert not COMPLAINTS.findall(shown), path
        ports = sum(node.upstream is not None for node in tree.nodes)
        assert done.out.count("\tControl: ") == len(tree.nodes) + ports + virtual
        assert done.out.count("Express (v2)") == 2 * ports + virtual


@needs_lspci
def test_the_tree_has_every_device(peerlane: Run, scenario: Write) -> None:
    path = scenario(text=DEEP)
    done = peerlane("lspci", path).succeeds()
    for name in ("Xilinx", "Mellanox"):
        devices = 1 if name == "Mellanox" else 5
        assert done.out.count(name) == devices, done.out
    for node in Simulation.open(path).tree().nodes:
        if node.kind == "device":
            assert re.search(rf"\[{node.id[:2]}\]----00\.0", done.out), node


@needs_lspci
def test_a_chosen_function_shows_what_was_set(peerlane: Run, scenario: Write) -> None:
    done = peerlane("lspci", scenario(text=DEEP), "--", "-vv", "-s", "0000:03:00.0")
    text = " ".join(done.out.split())
    assert "MaxPayload 128 bytes, MaxReadReq 4096 bytes" in text
    assert "MSI: Enable+ Count=8/8" in text
    switch = peerlane("lspci", scenario(text=DEEP), "--", "-vv", "-s", "0000:02:08.0")
    assert "ACSCtl:\tSrcValid- TransBlk- ReqRedir+" in switch.out


VIRTUAL = """\
[devices.b]
virtual_functions = 3
virtual_bar = "8 KiB"
msi_vectors = 2
"""


@needs_lspci
def test_lspci_decodes_a_physical_function_and_its_virtual_ones(
    peerlane: Run, scenario: Write
) -> None:
    path = scenario(("[devices.b]\n", VIRTUAL))
    done = peerlane("lspci", path, "--", "-vvv", "-s", "04:")
    assert not without_modules(done.err)
    # Speed and width of the link are in the physical function only.
    assert not COMPLAINTS.findall(done.out.replace("Speed unknown", ""))
    physical, *virtual = done.out.strip().split("\n\n")
    for words in (
        "Single Root I/O Virtualization (SR-IOV)",
        "IOVCtl:\tEnable+ Migration- Interrupt- MSE+",
        "Initial VFs: 3, Total VFs: 3, Number of VFs: 3",
        "VF offset: 1, stride: 1, Device ID: 9039",
        "Supported Page Size: 00000553, System Page Size: 00000001",
    ):
        assert words in physical
    assert [text[:7] for text in virtual] == ["04:00.1", "04:00.2", "04:00.3"]
    for text in virtual:
        assert "Mem- BusMaster+" in text
        assert "MSI: Enable+ Count=2/2" in text
        assert "Express (v2) Endpoint" in text
        assert "Advanced Error Reporting" in text
        assert "Region" not in text
    vectors = re.findall(r"Data: ([0-9a-f]{4})", done.out)
    assert len(set(vectors)) == 4
    tree = peerlane("lspci", path)
    assert re.search(r"\[04\]--\+-00\.0.*\n.*-00\.1.*\n.*-00\.2.*\n.*-00\.3", tree.out)


@needs_lspci
@pytest.mark.parametrize("ari", [True, False])
def test_lspci_decodes_virtual_functions_beyond_the_seventh(
    peerlane: Run, scenario: Write, *, ari: bool
) -> None:
    above = f"[switches.s0]\nari_forwarding = {str(ari).lower()}\n"
    many = VIRTUAL.replace("functions = 3", "functions = 20")
    path = scenario(("[devices.b]\n", many), ("[switches.s0]\n", above))
    done = peerlane("lspci", path, "--", "-vvv")
    assert not without_modules(done.err)
    assert not COMPLAINTS.findall(done.out.replace("Speed unknown", ""))
    first, last, offset = ("04:00.1", "04:02.4", 1) if ari else ("05:00.0", "05:02.3", 256)
    assert f"\n{first} " in done.out
    assert f"\n{last} " in done.out
    assert f"VF offset: {offset}, stride: 1" in done.out
    assert done.out.count("Alternative Routing-ID Interpretation (ARI)") == 21
    assert done.out.count("ARIHierarchy+") == ari
    # The root port supports it, too, but has a switch below.
    assert len(re.findall(r"DevCtl2: .*ARIFwd\+", done.out)) == ari
    shown = peerlane("show", path).out
    assert f"VFs {first} to {last} (20)" in shown


def test_virtual_functions_stand_in_the_tree(peerlane: Run, scenario: Write) -> None:
    path = scenario(("[devices.b]\n", VIRTUAL))
    simulation = Simulation.open(path)
    node = simulation.tree().nodes["b"]
    assert node.virtual_functions == ("04:00.1", "04:00.2", "04:00.3")
    region = next(region for region in node.regions if region.what == "vf-bar0")
    assert region.size == 3 * 8192
    simulation.node("h0").write(region.base + 8192, b"second")
    assert simulation.node("h0").read(region.base + 8192, 6) == b"second"
    assert simulation.node("h0").read(region.base, 6) == bytes(6)
    shown = peerlane("show", path).out
    assert "VFs 04:00.1 04:00.2 04:00.3" in shown
    assert f"vf-bar0 {region.base:#x}..{region.last:#x} (24 KiB)" in shown


@needs_lspci
def test_errors_show_after_a_run(peerlane: Run, scenario: Write) -> None:
    path = scenario(('to = "b"', 'to = "0xc0018000"'), ('"16 KiB"\n', '"128 B"\n'))
    before = peerlane("lspci", path, "--", "-vvv")
    after = peerlane("lspci", path, "--after-run", "--", "-vvv")
    assert "UnsupReq+" not in before.out
    assert after.out.count("MalfTLP- ECRC- UnsupReq+") == 1
    assert "First Error Pointer: 14" in after.out


@needs_lspci
def test_the_exit_status_is_that_of_lspci(peerlane: Run, scenario: Write) -> None:
    assert peerlane("lspci", scenario(), "--", "-s", "nonsense").status == 1


def test_a_missing_lspci_is_named_with_its_package(
    peerlane: Run, scenario: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    peerlane("lspci", scenario()).refuses("lspci is missing; install the package pciutils")


@needs_lspci
def test_a_listing_of_a_fabric_is_imported_as_that_fabric(peerlane: Run, scenario: Write) -> None:
    path = scenario()
    listing = Path("listing.txt")
    listing.write_text(peerlane("lspci", path, "--", "-vvv").out)
    again = peerlane("import", "lspci", listing).succeeds()

    def shape(text: str) -> list[tuple[object, ...]]:
        nodes = Simulation(text).tree().nodes
        return sorted(
            (n.kind, n.id, n.upstream.port, n.upstream.generation, n.upstream.lanes, n.max_payload)
            for n in nodes
            if n.upstream
        )

    assert shape(again.out) == shape(path.read_text())


def test_the_dump_is_what_configuration_requests_read() -> None:
    simulation = Simulation(PAIR)
    dump = simulation.lspci()
    (line,) = re.findall(r"0000:03:00\.0 a\n00: (.*)\n", dump)
    read = simulation.node("h0").config_read("03:00.0", 0)
    assert bytes.fromhex(line)[:4] == read.to_bytes(4, "little")
    assert dump.count("\n\n") == 7


def test_a_device_whose_memory_is_disabled_answers_no_more() -> None:
    simulation = Simulation(PAIR.split("[[flows]]")[0])
    bar = next(r.base for r in simulation.tree().nodes["b"].regions if r.what == "bar0")
    command = simulation.node("h0").config_read("04:00.0", 4, size=2)
    assert command & 0b110 == 0b110
    simulation.node("h0").config_write("04:00.0", 4, command & ~0b010, size=2)
    with pytest.raises(RuntimeError, match=r"(?i)unsupported request"):
        simulation.node("h0").read(bar, 4)
    simulation.node("h0").config_write("04:00.0", 4, command, size=2)
    assert simulation.node("h0").read(bar, 4) == bytes(4)


def test_nobody_answers_with_all_ones_and_what_is_no_register_is_refused() -> None:
    simulation = Simulation(PAIR)
    assert simulation.node("h0").config_read("1f:00.0", 0) == 0xFFFFFFFF
    for function, offset, size in (("03:00", 0, 4), ("03:00.0", 2, 4), ("03:00.0", 4096, 1)):
        with pytest.raises(ValueError, match=r"03:00|register"):
            simulation.node("h0").config_read(function, offset, size=size)
    with pytest.raises(ValueError, match="host"):
        simulation.node("a").config_read("03:00.0", 0)


@pytest.mark.parametrize("speed", [20, 25])
def test_an_extended_speed_carries_more_and_registers_say_generation_4(speed: int) -> None:
    fabric = Fabric("fast").links(generation=f"{speed} GT/s", lanes=8).host("h0")
    fabric.device("d0", "h0").flow("d0", "h0", size="1 MiB", request_size="128 B")
    plain = fabric.copy().links(generation=4)
    (device,) = (node for node in fabric.tree().nodes if node.name == "d0")
    assert device.upstream is not None
    assert (device.upstream.generation, device.upstream.gigatransfers) == (4, speed)
    fast, slow = (one.run().flows[0].bytes_per_second for one in (fabric, plain))
    assert fast is not None
    assert slow is not None
    assert fast / slow == pytest.approx(speed / 16, rel=0.02)
