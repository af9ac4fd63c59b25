"""A scenario contains the parts of the listed machine, for each kind of machine."""

from __future__ import annotations

import time
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import needs_lspci, rows_of
from importing.machines import Record, domain, listing, server
from peerlane import Simulation
from peerlane.importing import Form, ListingError, Speed, machine_of, scenario_of, slow_links

if TYPE_CHECKING:
    from conftest import Run
    from peerlane.importing.machine import Machine


def listed(content: bytes, source: str = "machine.txt") -> Machine:
    return machine_of([(content, source)], Form.LSPCI)


def imported(records: list[Record], **options: Any) -> str:
    return scenario_of(listed(listing(records).encode()), **options)


def tables(records: list[Record], **options: Any) -> dict[str, Any]:
    return tomllib.loads(imported(records, **options))


POWER9 = [
    *domain("0000", 0, "Non-Volatile memory controller: Vendor SSD"),
    *domain("0004", 0, "3D controller: Vendor GPU"),
    *domain("0033", 8, "Infiniband controller: Vendor HCA"),
    *domain("0035", 8, "3D controller: Vendor GPU"),
]
ARM = [one for number in range(12) for one in domain(f"{number:04x}", 0, "Vendor: Card")]
VMD = [
    *(replace(one, slot=f"0000:{one.slot}") for one in server()),
    Record("0000:5d:05.5", "RAID bus controller: Vendor Volume Management Device", node=0),
    *domain("10000", 0, "Non-Volatile memory controller: Vendor SSD"),
]


@pytest.mark.parametrize("machine", [POWER9, ARM, VMD], ids=["POWER9", "Arm", "VMD"])
def test_all_domains_of_a_machine_are_root_ports_of_one_host(machine: list[Record]) -> None:
    found = tables(machine)
    assert list(found["hosts"]) == ["host"]
    ports = [device["upstream"]["port"] for device in found["devices"].values()]
    assert ports == list(range(len(found["devices"])))


def test_a_device_of_one_domain_writes_to_one_of_another() -> None:
    text = imported(POWER9).partition("[[flows]]")[0]
    devices = list(tables(POWER9)["devices"])
    text = text.replace('bar = "0 B"', 'bar = "1 MiB"')
    text += f'[[flows]]\nfrom = "{devices[0]}"\nto = "{devices[3]}"\nsize = "64 KiB"\n'
    result = Simulation(text).run()
    assert result.flows[0].intact


def many(count: int) -> list[Record]:
    return [one for number in range(count) for one in domain(f"{number:04x}", 0, "Vendor: Card")]


def test_a_host_has_as_many_root_ports_as_a_large_server() -> None:
    found = tables(many(120))
    assert [host["ports"] for host in found["hosts"].values()] == [120]


def test_what_is_too_large_for_one_host_is_several_and_a_warning(peerlane: Run) -> None:
    found = tables(many(260))
    assert [host["ports"] for host in found["hosts"].values()] == [127, 127, 6]
    assert list(found["hosts"]) == ["host-0000", "host-007f", "host-00fe"]
    Path("machine.txt").write_text(listing(many(260)), encoding="utf-8")
    ran = peerlane("import", "lspci", "machine.txt", "-o", "m.toml").succeeds()
    assert ran.err.startswith("warning: a host here has at most 127 root ports and 255 buses")
    assert "3 hosts, which share no memory" in ran.err


def test_the_time_of_an_import_is_linear_in_domains() -> None:
    def seconds(count: int) -> float:
        text = listing([one for n in range(count) for one in domain(f"{n:04x}", None, "V: Card")])
        began = time.process_time()
        slow_links(listed(text.encode()))
        return time.process_time() - began

    seconds(100)
    assert seconds(4000) < 16 * seconds(500) + 1


def test_numa_nodes_are_sockets() -> None:
    found = tables(server())
    assert found["hosts"]["host"]["sockets"] == 2
    assert [one["upstream"]["socket"] for one in found["devices"].values()] == [0, 1]
    found = tables(POWER9)
    assert [one["upstream"]["socket"] for one in found["devices"].values()] == [0, 0, 1, 1]
    assert "sockets" not in tables([replace(one, node=0) for one in server()])["hosts"]["host"]


def test_a_device_below_a_switch_has_the_socket_of_its_root_port() -> None:
    machine = [
        Record("00:01.0", "PCI bridge: Vendor", "Root Port", (0, 1, 3), node=0),
        Record("01:00.0", "PCI bridge: Vendor", "Upstream Port", (1, 2, 3), node=0),
        Record("02:00.0", "PCI bridge: Vendor", "Downstream Port", (2, 3, 3), node=0),
        Record("03:00.0", "Vendor: Card", "Endpoint", node=0),
        *server()[4:],
    ]
    found = tables(machine)
    assert found["switches"]["sw-01-00.0"]["upstream"]["socket"] == 0
    assert "socket" not in found["devices"]["dev-03-00.0"]["upstream"]
    assert found["devices"]["dev-81-00.0"]["upstream"]["socket"] == 1


def test_more_numa_nodes_than_sockets_are_parts_of_sockets() -> None:
    machine = [one for n in range(16) for one in domain(f"{n:04x}", n, "Vendor: Card")]
    found = tables(machine)
    assert found["hosts"]["host"]["sockets"] == 8
    sockets = [one["upstream"]["socket"] for one in found["devices"].values()]
    assert sockets == [number // 2 for number in range(16)]


IDLE = [replace(one, trained=1) if one.slot.startswith("8") else one for one in server()]


class TestSpeed:
    """A link of an idle device is slower than its ends can be."""

    def generation(self, **options: Any) -> int:
        generation: int = tables(IDLE, **options)["devices"]["dev-81-00.0"]["upstream"][
            "generation"
        ]
        return generation

    def test_a_link_has_the_speed_that_is_asked_for(self) -> None:
        assert self.generation() == self.generation(speed=Speed.TRAINED) == 1
        assert self.generation(speed=Speed.CAPABLE) == 4
        assert "# trained at Gen1" in imported(IDLE, speed=Speed.CAPABLE)

    def test_the_slower_end_has_the_last_word(self) -> None:
        slower = [replace(one, capable=3) if one.slot == "80:01.0" else one for one in IDLE]
        found = tables(slower, speed=Speed.CAPABLE)
        assert found["devices"]["dev-81-00.0"]["upstream"]["generation"] == 3

    def test_a_slow_link_is_a_warning_unless_the_speed_is_chosen(self, peerlane: Run) -> None:
        Path("machine.txt").write_text(listing(IDLE), encoding="utf-8")
        ran = peerlane("import", "lspci", "machine.txt").succeeds()
        assert ran.err.startswith("warning: ")
        assert "81:00.0 at Gen1 of Gen4" in ran.err
        assert "--speed capable" in ran.err
        for speed in ("trained", "capable"):
            assert peerlane("import", "lspci", "machine.txt", "--speed", speed).err == ""
        peerlane("import", "lspci", "machine.txt", "--speed", "fast").refuses("fast", "capable")


def changed(slot: str, **fields: Any) -> list[Record]:
    return [replace(one, **fields) if one.slot == slot else one for one in server()]


def test_services_of_root_ports_are_kept() -> None:
    control = "\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd- EgressCtrl-"
    more = ("Capabilities: [148 v1] Access Control Services", control)
    host = tables(changed("00:01.0", more=more))["hosts"]["host"]
    keys = {key: value for key, value in host.items() if key.startswith("acs_")}
    assert keys == {
        "acs_source_validation": True,
        "acs_redirect": True,
        "acs_upstream_forwarding": False,
    }
    assert not [key for key in tables(server())["hosts"]["host"] if key.startswith("acs_")]


def test_the_attributes_of_requests_are_kept() -> None:
    off = "RlxdOrd- ExtTag+ PhantFunc- AuxPwr- NoSnoop-"
    device = tables(changed("01:00.0", control=off, control2="IDOReq+ IDOCompl+"))["devices"]
    assert device["dev-01-00.0"]["relaxed_ordering_enable"] is False
    assert device["dev-01-00.0"]["no_snoop_enable"] is False
    assert device["dev-01-00.0"]["id_ordering_enable"] is True
    assert device["dev-01-00.0"]["id_ordering_completion_enable"] is True
    assert "no_snoop_enable" not in device["dev-81-00.0"]


def test_power_states_are_those_that_both_ends_have_enabled() -> None:
    both = [
        replace(one, power="L0s L1 Enabled") if one.slot in {"00:01.0", "01:00.0"} else one
        for one in changed("81:00.0", power="L1 Enabled")
    ]
    found = tables(both)
    assert found["hosts"]["host"]["aspm_l0s"] is found["hosts"]["host"]["aspm_l1"] is True
    assert found["hosts"]["host"]["l1_exit_latency"] == "16000 ns"
    assert found["devices"]["dev-01-00.0"]["l0s_exit_latency"] == "512 ns"
    assert "l1_exit_latency" not in found["devices"]["dev-81-00.0"]
    assert "aspm_l1" not in tables(changed("01:00.0", power="L1 Enabled"))["hosts"]["host"]


def test_error_messages_are_kept() -> None:
    """They are enabled for all functions of a host where any function of the machine has them."""
    off = [replace(one, errors="CorrErr- NonFatalErr- FatalErr- UnsupReq-") for one in server()]
    assert "error_reporting" not in tables(off)["hosts"]["host"]
    for errors in ("NonFatalErr+", "Report errors: Correctable- Non-Fatal+ Fatal-"):
        some = [replace(one, errors=errors) if one.slot == "01:00.0" else one for one in off]
        assert tables(some)["hosts"]["host"]["error_reporting"] is True
        assert "error_reporting = true  # only by 1 of 4 functions" in imported(some)
    assert tables(server())["hosts"]["host"]["error_reporting"] is True


def test_ecrc_is_kept_and_masks_are_counted() -> None:
    more = (
        "Capabilities: [100 v2] Advanced Error Reporting",
        "\tUEMsk:\tDLP- SDES- TLP- FCP- CmpltTO+ CmpltAbrt- UnxCmplt- RxOF- MalfTLP-",
        "\t\tECRC- UnsupReq+ ACSViol- UncorrIntErr+ BlockedTLP- AtomicOpBlocked-",
        "\tCEMsk:\tRxErr- BadTLP- BadDLLP- Rollover- Timeout- AdvNonFatalErr+",
        "\tAERCap:\tFirst Error Pointer: 00, ECRCGenCap+ ECRCGenEn+ ECRCChkCap+ ECRCChkEn+",
    )
    text = imported(changed("01:00.0", more=more))
    assert tomllib.loads(text)["hosts"]["host"]["ecrc"] is True
    assert "2 error masks" in text
    whole = imported(changed("01:00.0", more=more), with_left_out=True)
    assert "UEMsk: CmpltTO of 01:00.0: not here" in whole
    assert "UEMsk: UnsupReq of 01:00.0: not here" in whole
    assert "ecrc" not in tables(server())["hosts"]["host"]


def test_the_trigger_of_containment_is_kept() -> None:
    def host(trigger: int) -> dict[str, Any]:
        control = f"\tDpcCtl:\tTrigger:{trigger} Cmpl- INT+ ErrCor- PoisonedTLP- SwTrigger-"
        more = ("Capabilities: [1f0 v1] Downstream Port Containment", control)
        found: dict[str, Any] = tables(changed("00:01.0", more=more))["hosts"]["host"]
        return found

    assert host(1)["containment"] == "fatal"
    assert host(2)["containment"] == "non-fatal"
    assert "containment" not in host(0)


def sriov(count: int, *, enabled: bool = True) -> list[Record]:
    more = (
        "Capabilities: [180 v1] Single Root I/O Virtualization (SR-IOV)",
        f"\tIOVCtl:\tEnable{'+' if enabled else '-'} Migration- Interrupt- MSE+ ARIHierarchy+",
        f"\tInitial VFs: 64, Total VFs: 64, Number of VFs: {count}, Function Dependency Link: 00",
        "\tVF offset: 128, stride: 2, Device ID: 101e",
    )
    numbers = range(128, 128 + 2 * count, 2) if enabled else ()
    virtual = [
        Record(f"{1 + (n >> 8):02x}:{n >> 3 & 31:02x}.{n & 7}", "Ethernet controller: Vendor VF")
        for n in numbers
    ]
    machine = server(*virtual)
    machine[1] = replace(machine[1], buses=(0, 1, 2))
    machine[2] = replace(machine[2], more=more)
    return machine


def test_virtual_functions_are_those_of_their_device() -> None:
    assert tables(sriov(8))["devices"]["dev-01-00.0"]["virtual_functions"] == 8
    assert "virtual_functions" not in tables(sriov(8, enabled=False))["devices"]["dev-01-00.0"]
    assert "VF" not in imported(sriov(8), with_left_out=True)


def test_virtual_functions_may_have_a_further_bus() -> None:
    assert tables(sriov(100))["devices"]["dev-01-00.0"]["virtual_functions"] == 100


def test_what_is_left_out_is_one_line_or_a_list() -> None:
    more = [Record(f"00:1f.{number}", "SMBus: Vendor") for number in range(6)]
    brief = imported([*server(), *more])
    whole = imported([*server(), *more], with_left_out=True)
    assert brief.count("not here") == 0
    assert "# Left out: 8 functions; the option `--left-out`" in brief
    assert whole.count("# not here: ") == 8
    assert tomllib.loads(brief) == tomllib.loads(whole)


class TestPasted:
    """A listing that was copied from a terminal or an issue."""

    TEXT = listing(server())

    @pytest.mark.parametrize(("before", "after"), rows_of(__file__, "listings.toml", "pasted"))
    def test_what_is_around_it_changes_nothing(self, before: str, after: str) -> None:
        expected = imported(server())
        for text in (self.TEXT, self.TEXT.rstrip() + "\n"):
            pasted = before + text + after
            assert scenario_of(listed(pasted.encode())) == expected

    @pytest.mark.parametrize("mark", ["> ", "    ", "\t"])
    def test_a_mark_before_each_line_changes_nothing(self, mark: str) -> None:
        text = "".join(f"{mark}{line}\n" for line in self.TEXT.splitlines())
        assert scenario_of(listed(text.encode())) == imported(server())

    def test_a_damaged_head_is_no_text_around_the_listing(self) -> None:
        for slot in ("00:00.0", "01:00.0", "81:00.0"):
            text = self.TEXT.replace(f"{slot} ", f"{slot[:-1]}x ")
            with pytest.raises(ListingError, match="not a line of lspci"):
                listed(text.encode())

    def test_a_capability_bit_without_a_list_is_no_cut(self) -> None:
        assert "Cap+" in self.TEXT.partition("\n\n")[0]
        assert "Capabilities" not in self.TEXT.partition("\n\n")[0]


class TestOtherForms:
    """If a listing is not from `lspci -vvv`, the message says how to write one."""

    def refusal(self, content: bytes) -> str:
        with pytest.raises(ListingError) as raised:
            listed(content, "machine")
        return str(raised.value)

    def test_the_listing_of_v_is_named(self) -> None:
        text = "00:00.0 Host bridge: Vendor\n\tFlags: bus master, fast devsel\n\n"
        assert "made with -v, without -vvv" in self.refusal(text.encode())

    def test_bytes_are_read_by_lspci_itself(self) -> None:
        text = "00:00.0 Host bridge: Vendor\n00: 86 80 00 0c 06 00 90 20\n10: 00 00\n\n"
        assert "lspci -F FILE -vvv" in self.refusal(text.encode())

    @pytest.mark.parametrize("size", [64, 256, 4096])
    def test_a_configuration_space_is_named(self, size: int) -> None:
        content = bytes.fromhex("86801910060010000200040600000100").ljust(size, b"\0")
        assert "sudo lspci -vvv" in self.refusal(content)
        assert "in binary" in self.refusal(content)

    @needs_lspci
    def test_what_lspci_makes_of_bytes_is_read(self, peerlane: Run, tmp_path: Path) -> None:
        shown = peerlane("lspci", "pair", "--", "-vvv")
        (tmp_path / "machine.txt").write_text(shown.out, encoding="utf-8")
        assert peerlane("import", "lspci", "machine.txt").status == 0
