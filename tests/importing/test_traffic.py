"""Recorded traffic becomes flows that make the same requests again."""

from __future__ import annotations

import io
import json
import sys
import tomllib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from peerlane import Fabric

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run

BLOCKS = ("--from", "drive", "--to", "server")
MACHINE = """\
links = { generation = 3, lanes = 8 }
hosts.h = { ports = 2, peer_to_peer = "all" }
switches.s = { upstream = { to = "h" }, acs_redirect = true }
devices.a.upstream.to = "s"
devices.b-c = { bar = "1 MiB", upstream = { to = "s" } }
hosts.other = {}
switches.t.upstream.to = "other"
devices.e.upstream.to = "t"
devices.d = { bar = "1 MiB", upstream = { to = "h", lanes = 4, bit_error_rate = 1e-5 } }
"""


@pytest.fixture
def flows(peerlane: Run, tmp_path: Path) -> Any:
    """Writes a file and imports its traffic; returns the comments and the flows."""

    def imported(name: str, text: str | bytes, *options: str) -> tuple[list[str], dict[str, Any]]:
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        out = peerlane("import", "traffic", name, *options).succeeds().out
        found = {flow.pop("id"): flow for flow in tomllib.loads(out).get("flows", [])}
        return [line for line in out.splitlines() if line.startswith("#")], found

    return imported


def requests(flow: dict[str, Any]) -> list[str]:
    lines: list[str] = flow["requests"].strip().splitlines()
    return lines


def test_the_flows_of_a_trace_are_those_that_were_simulated(peerlane: Run, tmp_path: Path) -> None:
    """Switches, redirected requests, replays, devices with several targets: each request once."""
    fabric = Fabric.from_toml(MACHINE)
    fabric.flow("a", "b-c", id="a-to-b-c-writes", size="64 KiB", interval="1 us")
    fabric.flow("a", "d", id="a-to-d-reads", direction="read", size="64 KiB", interval="2 us")
    fabric.flow("d", "h", id="d-to-h-writes", size="64 KiB", interval="2 us")
    fabric.flow("h", "b-c", id="h-to-b-c-writes", size="4 KiB")
    # Devices with one requester ID, which write to one address of two hosts.
    fabric.flow("a", "h", id="a-to-h-writes", size="4 KiB", offset=0)
    fabric.flow("e", "other", id="e-to-other-writes", size="4 KiB", offset=0)
    once = fabric.run(trace=tmp_path / "trace.jsonl")
    assert any(link.replays for link in once.links)
    assert len({node.id for node in fabric.tree().nodes if node.name in {"a", "e"}}) == 1
    (tmp_path / "machine.toml").write_text(MACHINE, encoding="utf-8")
    command = ("import", "traffic", "trace.jsonl", "--fabric", "machine.toml", "-o", "again.toml")
    peerlane(*command).succeeds()
    again = Fabric.load(tmp_path / "again.toml").run()
    assert sorted(flow.id for flow in again.flows) == sorted(flow.id for flow in once.flows)
    for flow in again.flows:
        before = once.flows[flow.id]
        assert flow.intact
        assert (flow.source, flow.target, flow.bytes) == (
            before.source,
            before.target,
            before.bytes,
        )
        # A trace has the times at the wire, after the latency of the requester.
        assert flow.last_byte_ns == pytest.approx(before.last_byte_ns, rel=0.01, abs=120)


def test_interrupts_and_other_packets_of_a_trace_are_no_requests(flows: Any) -> None:
    def line(tlp: str, **fields: Any) -> dict[str, Any]:
        return {
            "ns": 100.5,
            "link": "h-a",
            "direction": "up",
            "tlp": tlp,
            "requester": "1",
        } | fields

    lines = [
        line("MWr", address="0x1040", length=64, ns=3.5),
        line("MRd", address="0x2000", length=512, ns=4.25, replay=True),
        line("MWr", address="0x1000", length=4, ns=10.000001),
        line("MWr", address="0xfee00000", length=4),
        line("MWr", address="0x1000", length=4, nullified=True),
        line("MRd", address="0x1000", length=8, address_type="translation request"),
        line("CplD", completer="2"),
        {"ns": 1, "link": "h-a", "direction": "up", "arrival": "dllp", "node": "h"},
    ]
    comments, found = flows("trace.jsonl", "\n".join(map(json.dumps, lines)))
    assert requests(found.pop("a-to-h-writes")) == ["0, 64, 64", "6.500001, 0, 4"]
    assert not found
    assert comments[1] == "# Left out: interrupt (1)."


TABLE = """\
time,from,to,direction,address,size
2 us,a,h,read,0x1200,4 KiB
1 us,a,h,MWr,0x2000,64
1500 ns,a,h,R,4096,512
"""


def test_the_columns_of_a_table_have_units_and_other_names(flows: Any) -> None:
    _, found = flows("table.csv", TABLE)
    assert requests(found["a-to-h-reads"]) == ["500, 0, 512", "1000, 512, 4096"]
    assert requests(found["a-to-h-writes"]) == ["0, 0, 64"]
    text = "time_ms,direction,offset,bytes\n1.5,w,64,128\n1,w,0x10,16\n"
    _, found = flows("other.csv", text, *BLOCKS)
    assert requests(found["drive-to-server-writes"]) == ["0, 16, 16", "500000, 64, 128"]
    _, found = flows("other.csv", text, *BLOCKS, "--unpaced")
    assert requests(found["drive-to-server-writes"]) == ["16, 16", "64, 128"]


def test_a_parquet_table_is_the_csv_table(flows: Any) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    content = pandas.read_csv(io.StringIO(TABLE)).to_parquet()
    assert flows("table.parquet", content) == flows("table.csv", TABLE)


IOLOG_2 = """\
fio version 2 iolog
/dev/nvme0n1 add
/dev/nvme0n1 open
/dev/nvme0n1 read 1048576 4096
/dev/nvme0n1 write 0 512
/dev/nvme0n1 trim 0 4096
/dev/nvme0n1 read 0 8192
/dev/nvme0n1 datasync 0 0
/dev/nvme0n1 close
"""
IOLOG_3 = """\
fio version 3 iolog
2 /dev/nvme0n1 add
872 /dev/nvme0n1 read 4096 4096
880 /dev/nvme0n1 write 0 512
891 /dev/nvme0n1 read 0 8192
"""
LATENCIES = (
    "7, 88000, 0, 4096, 40960\n8, 91000, 1, 512, 0, 0x0004\n9, 1, 0, 8192, 0\n9, 1, 2, 64, 0\n"
)
BLKPARSE = """\
  8,0    3        1     0.000000000   697  Q   R 223490 + 8 [kjournald]
  8,0    3        2     0.000001829   697  G   R 223490 + 8 [kjournald]
  8,0    3        3     0.000002197   697  P   N [kjournald]
  8,0    3        4     0.009507758   697  D   R 223490 + 8 [kjournald]
  8,0    3        5     0.009510000   697  D  WS 9 + 1 [kjournald]
  8,0    3        6     0.009511000   697  D  DS 9 + 1 [kjournald]
  8,0    3        7     0.009512000   697  D FWS [kjournald]
  8,0    3        8     0.009518000   697  D  RA 9 + 16 [kjournald]
  8,0    1        1     0.009697000     0  C   R 223490 + 8 [0]
CPU0 (8,0):
 Reads Queued:           1,        4KiB\t Writes Queued:           0,        0KiB
"""


@pytest.mark.parametrize(
    ("text", "times", "left_out"),
    [
        (IOLOG_2, None, "add (1), open (1), trim (1), datasync (1), close (1)"),
        (IOLOG_2.replace("trim 0 4096", "wait 250 0"), ("0", "0", "250000"), None),
        (IOLOG_3, ("0", "8000", "19000"), "add (1)"),
        (LATENCIES, ("0", "1000000", "2000000"), "trim (1)"),
        (BLKPARSE, ("0", "2242", "10242"), "trim (1), flush (1)"),
    ],
)
def test_a_read_of_a_program_is_a_write_of_the_drive_to_the_next_buffer(
    flows: Any, text: str, times: tuple[str, ...] | None, left_out: str | None
) -> None:
    comments, found = flows("log", text, *BLOCKS)
    writes, reads = (found[f"drive-to-server-{way}"] for way in ("writes", "reads"))
    assert (writes["from"], writes["to"], writes["direction"]) == ("drive", "server", "write")
    assert (reads["from"], reads["to"], reads["direction"]) == ("drive", "server", "read")
    assert "next bytes of a window of 16 MiB" in " ".join(comments)
    if left_out:
        assert comments[-1] == f"# Left out: {left_out}."
    wanted = ["0, 4096", "0, 512", "4096, 8192"]
    if times:
        wanted = [f"{time}, {place}" for time, place in zip(times, wanted, strict=True)]
    first, second = requests(writes)
    assert [first, *requests(reads), second] == wanted


def test_a_log_without_issued_requests_has_those_that_were_queued(flows: Any) -> None:
    queued = "\n".join(line for line in BLKPARSE.splitlines() if " D " not in line)
    _, found = flows("log", queued, *BLOCKS)
    assert [requests(flow) for flow in found.values()] == [["0, 0, 4096"]]


def test_a_buffer_that_does_not_fit_in_the_rest_of_the_window_is_at_its_beginning(
    flows: Any, peerlane: Run
) -> None:
    _, found = flows("log", IOLOG_2, *BLOCKS, "--window", "10 KiB")
    assert requests(found["drive-to-server-writes"]) == ["0, 4096", "0, 8192"]
    refused = peerlane("import", "traffic", "log", *BLOCKS, "--window", "4 KiB")
    refused.refuses("8 KiB", "4 KiB", "--window")


def test_the_times_of_several_files_have_one_beginning(
    flows: Any, peerlane: Run, tmp_path: Path
) -> None:
    (tmp_path / "other.csv").write_text("time_us,direction,offset,size\n870,r,0,64\n")
    _, found = flows("log", IOLOG_3, "other.csv", *BLOCKS)
    assert requests(found["drive-to-server-reads"]) == ["0, 0, 64", "10000, 0, 512"]
    (tmp_path / "order.csv").write_text("direction,offset,size\nr,0,64\n")
    refused = peerlane("import", "traffic", "log", "order.csv", *BLOCKS)
    refused.refuses("log has times", "order.csv has none")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("t.csv", TABLE.replace("512", "-512"), ["t.csv:4: size: '-512'", "4 KiB"]),
        ("t.csv", TABLE.replace("1500 ns", "1500"), ["t.csv:4: time: '1500'", "1.5 us"]),
        ("t.csv", TABLE.replace("MWr", "copy"), ["t.csv:3: direction: 'copy'", "read or write"]),
        ("t.csv", TABLE.replace("address", "place"), ["t.csv:2", "offset or address"]),
        ("t.csv", TABLE.replace("from", "source"), ["t.csv:2", "column from", "--from"]),
        ("t.csv", TABLE.replace("4 KiB", "0"), ["t.csv:2: size: 0 B", "1 B"]),
        ("t.csv", TABLE.replace("4 KiB", "64.5"), ["t.csv:2: size: '64.5' is not a whole number"]),
        ("t.csv", TABLE.replace("4 KiB", ""), ["t.csv:2: size: the cell is empty"]),
        ("log", IOLOG_2.replace("read 0 8192", "read 0"), ["log:7", "read 0 4096"]),
        ("log", IOLOG_3.replace("891", "x"), ["log:5: 'x' is not a time"]),
        ("log", LATENCIES.replace("8, 91000, 1,", "8, 91000, 3,"), ["log:2"]),
        ("log", BLKPARSE.replace("697  P   N", "P"), ["log:3", "blkparse"]),
        ("log", "fio version 1 iolog\n", ["log", "form", "blkparse"]),
        ("log", "fio version 2 iolog\nf open\n", ["log", "no reads and writes"]),
        ("t.jsonl", '{"ns": 1, "link": "a-b"}', ["t.jsonl:1"]),
        (
            "t.jsonl",
            '{"ns": 1, "link": "a-b", "direction": "up", "tlp": "MWr"}',
            ["t.jsonl", "a-b", "--window"],
        ),
        (
            "t.jsonl",
            '{"ns": 1, "link": "a-b", "direction": "up", "tlp": "MWr", "address": "x"}',
            ["t.jsonl:1", "'x' is no address", "0x1000"],
        ),
    ],
)
def test_bad_traffic_is_refused_with_its_line(
    peerlane: Run, tmp_path: Path, name: str, text: str, words: list[str]
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    ends = BLOCKS if name == "log" else ()
    peerlane("import", "traffic", name, *ends).refuses(*words)


PACKET = {"ns": 1, "link": "h-a", "direction": "up"}
TRACE = (
    f"{json.dumps(PACKET | {'tlp': 'MWr', 'address': '0x1000', 'length': 4})}\n"
    f"{json.dumps(PACKET | {'arrival': 'tlp', 'node': 'h'})}\n"
)


@pytest.mark.parametrize(("name", "text"), [("t.csv", TABLE), ("log", IOLOG_3), ("t.jsonl", TRACE)])
def test_standard_input_is_read_like_a_file(
    peerlane: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    def given(content: str) -> None:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content.encode())))

    command = ("import", "traffic", *BLOCKS)
    (tmp_path / name).write_text(text, encoding="utf-8")
    of_file = peerlane(*command, name).succeeds().out
    given(text)
    assert peerlane(*command, "-").succeeds().out == of_file
    given(text.replace("4096", "x").replace("0x1000", "x"))
    peerlane(*command, "-").refuses("standard input:", "'x'")


def test_a_log_of_a_drive_needs_both_ends(peerlane: Run, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(IOLOG_2, encoding="utf-8")
    for ends in (("--from", "drive"), ("--from", "", "--to", "server")):
        peerlane("import", "traffic", "log", *ends).refuses("log", "--from", "--to")


@pytest.mark.parametrize("output", ["log", "machine.toml"])
def test_an_output_is_no_input(peerlane: Run, tmp_path: Path, output: str) -> None:
    (tmp_path / "log").write_text(IOLOG_2, encoding="utf-8")
    (tmp_path / "machine.toml").write_text(MACHINE, encoding="utf-8")
    command = ("import", "traffic", "log", *BLOCKS, "--fabric", "machine.toml", "-o", output)
    peerlane(*command).refuses("--output", "reads")
    assert (tmp_path / "log").read_text(encoding="utf-8") == IOLOG_2


def test_packets_of_unaligned_requests_are_the_same_again(peerlane: Run, tmp_path: Path) -> None:
    fabric = Fabric.from_toml('hosts.h = {}\ndevices.a.upstream.to = "h"\n')
    text = fabric.to_toml()
    (tmp_path / "machine.toml").write_text(text, encoding="utf-8")
    fabric.flow("a", "h", requests=[(40 * number, 5 + 4096 * number, 4096) for number in range(99)])
    once = fabric.run(trace=tmp_path / "trace.jsonl")
    command = ("import", "traffic", "trace.jsonl", "--fabric", "machine.toml", "-o", "again.toml")
    peerlane(*command).succeeds()
    again = Fabric.load(tmp_path / "again.toml").run()
    up = ("h-a", "up")
    assert again.links[up].overhead_bytes == once.links[up].overhead_bytes


def test_a_long_recording_runs(flows: Any) -> None:
    rows = [f"{100 * number},a,h,write,{4096 * (number % 64)},512" for number in range(3000)]
    _, found = flows("t.csv", "\n".join(["time_ns,from,to,direction,offset,size", *rows]) + "\n\n")
    fabric = Fabric.from_toml('hosts.h = {}\ndevices.a.upstream.to = "h"\n')
    flow = found["a-to-h-writes"]
    fabric.flow("a", "h", id="again", requests=flow["requests"])
    assert fabric.run().flows["again"].bytes == 3000 * 512


def test_a_request_that_ends_at_a_switch_is_left_out(flows: Any) -> None:
    """The trace has one request to the host, and another one up to the switch only."""

    def lines(address: str, link: str, node: str) -> list[dict[str, Any]]:
        hop = {"ns": 1, "link": link, "direction": "up"}
        request = {"tlp": "MWr", "requester": "1", "address": address, "length": 4}
        return [hop | request, hop | {"arrival": "tlp", "node": node}]

    whole = lines("0x1000", "s-a", "s") + lines("0x1000", "h-s", "h")
    comments, found = flows(
        "trace.jsonl", "\n".join(map(json.dumps, whole + lines("0x2000", "s-a", "s")))
    )
    assert list(found) == ["a-to-h-writes"]
    assert comments[1] == "# Left out: request whose end is not in the trace (1)."


def test_flows_that_do_not_fit_the_fabric_are_named(peerlane: Run, tmp_path: Path) -> None:
    (tmp_path / "machine.toml").write_text('hosts.h = {}\ndevices.a.upstream.to = "h"\n')
    (tmp_path / "log").write_text(IOLOG_2, encoding="utf-8")
    command = ("import", "traffic", "log", "--from", "a", "--fabric", "machine.toml")
    assert 'there is no host or device "hh"' in peerlane(*command, "--to", "hh").succeeds().err
    assert peerlane(*command, "--to", "h").succeeds().err == ""
