"""Captures in pcapng: tshark, with the dissector, reads from them each line of the trace."""

from __future__ import annotations

import json
import re
import resource
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from conformance.mutations import GOOD
from conftest import PAIR, SCENARIOS, beside
from peerlane import Fabric, Filter, Simulation
from results.tshark import AGGREGATOR, Frame, frames, needs_tshark, tshark

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run, Write

Line = dict[str, Any]
Way = tuple[str, str]
"""A link and a direction."""


FIRST_NS, LAST_NS = 100.0, 1_000_000.0
LINES = 2_000
"""A scenario runs until its trace has so many lines, or to the last time."""

VERDICTS = ["", "accepted", "duplicate", "nak", "nullified", "discarded", "unframed", "link-down"]
STATUSES = {
    0: "successful",
    1: "unsupported-request",
    2: "configuration-retry",
    4: "completer-abort",
}
ADDRESS_TYPES = [None, "translation request", "translated"]
CLASSES = ["posted", "non-posted", "completion"]
FACTORS = [None, 1, 4, 16]
CONTENTS = ["tlp", "message", "sum"]
BLOCKS = ["", "freed", "sent", "acknowledge", "refuse", "pause", "resume"]

_FIELDS = {
    "": """
        link direction kind time_fs length_fs arrival_fs verdict wrong_bits flow replay
        nullified damaged
    """,
    "tlp": """
        name sequence class fmt tc ro ido ns ep requester tag address at bytes target register
        completer status byte_count lower_address length header lcrc_status
    """,
    "dllp": """
        name sequence class vc hdr_fc data_fc hdr_scale data_scale feature_ack scaled_fc raw
        crc_status
    """,
    "ordered_sets": "count bytes eds_bytes interval_fs",
    "fibre": """
        content sequence channel source destination port address length crc_status
    """,
    "block": "type channel cycles next",
    "network": "address bytes",
    "coherence": "message source target transaction address",
}
"""The fields of records, and those of each kind of packet by its name."""

FIELDS = [f"{kind}.{name}".lstrip(".") for kind, names in _FIELDS.items() for name in names.split()]


NOISY = GOOD.replace("2e-6", "1e-4")
"""Replays, Naks, damaged DLLPs, and packets that a switch nullifies."""

FAILING = beside(__file__, "failing.toml")

TRANSLATING = beside(__file__, "translating.toml")


def cable() -> str:
    """Messages of each kind from one crossbar to another."""
    fabric = Fabric("cable").links(generation=2, lanes=8).controller("c").controller("d")
    fabric.cable("c", "d", lanes=4).host("near").host("far")
    fabric.device("n0", "near", model="nic", controller="c")
    fabric.device("n9", "far", model="nic", controller="d")
    for primitive in ("nap-immediate", "nap-indirect", "put", "get"):
        fabric.flow("n0", "n9", size="1001 B", primitive=primitive)
    return fabric.to_toml()


def sums() -> str:
    """Routers that add to words in each other's memory."""
    fabric = Fabric("sums").network("n", shape="ring", size="4")
    return fabric.collective("n", "all-reduce", size="1 KiB").to_toml()


OTHERS = [
    pytest.param(cable(), id="cable"),
    pytest.param(sums(), id="sums"),
    pytest.param(NOISY, id="noisy"),
    pytest.param(FAILING, id="failing"),
    pytest.param(TRANSLATING, id="translating"),
]


@needs_tshark
@pytest.mark.parametrize(
    "text",
    [
        *(pytest.param(path.read_text(encoding="utf-8"), id=path.stem) for path in SCENARIOS),
        *OTHERS,
    ],
)
def test_tshark_reads_every_line_of_the_trace(text: str, tmp_path: Path) -> None:
    compare(*captured(text, tmp_path))


@needs_tshark
def test_tshark_reads_configuration_requests_and_failed_requests(tmp_path: Path) -> None:
    trace, capture = tmp_path / "trace", tmp_path / "capture.pcapng"
    simulation = Simulation(PAIR)
    simulation.capture("trace", trace)
    simulation.capture("pcap", capture)
    device = simulation.tree().nodes["b"]
    simulation.node("h0").config_read(device.id, 0x10)
    simulation.node("h0").config_write(device.id, 0x3C, 1, size=1)
    with pytest.raises(RuntimeError, match="unsupported request"):
        simulation.node("a").read(device.regions[0].base + (1 << 30), 4)
    simulation.run_until(simulation.now_ns + 10_000)
    lines = lines_of(trace)
    names = {line.get("tlp") for way in lines.values() for line in way}
    assert names >= {"CfgRd0", "CfgRd1", "CfgWr0", "CfgWr1", "Cpl", "CplD", "MRd"}
    compare(lines, capture)


@needs_tshark
def test_damage_and_its_consequences_are_in_the_capture(tmp_path: Path) -> None:
    _, capture = captured(NOISY, tmp_path)
    verdicts = {VERDICTS[int(frame["verdict"])] for frame in frames(capture, ["verdict"]) if frame}
    assert verdicts >= {"accepted", "nak", "discarded", "unframed"}
    fields = ["expert.damaged", "expert.replay", "expert.nak", "expert.rejected"]
    assert {name for frame in frames(capture, fields) for name in frame} == set(fields)


@needs_tshark
def test_completions_point_to_their_requests(tmp_path: Path) -> None:
    """On each link, requests and completions are those of the trace, by their transaction IDs."""
    capture = tmp_path / "reads.pcapng"
    simulation = Simulation(PAIR.replace('to = "b"', 'to = "h0"\ndirection = "read"'))
    simulation.capture("pcap", capture)
    simulation.run()
    fields = ["link", "time_fs", "tlp.name", "tlp.tag", "response_to", "response_in"]
    found = frames(capture, [*fields, "response_time_fs"], "-2")
    asked = {
        str(number): frame
        for number, frame in enumerate(found, 1)
        if frame.get("tlp.name") == "MRd"
    }
    answers = [frame for frame in found if frame.get("tlp.name") == "CplD"]
    assert len(asked) == 2 * 32
    assert len(answers) >= len(asked)
    for answer in answers:
        request = asked[answer["response_to"]]
        assert (request["link"], request["tlp.tag"]) == (answer["link"], answer["tlp.tag"])
        took = int(answer["time_fs"]) - int(request["time_fs"])
        assert int(answer["response_time_fs"]) == took > 0
    pointed = [
        number for frame in asked.values() for number in frame["response_in"].split(AGGREGATOR)
    ]
    assert len(pointed) == len(answers)


@needs_tshark
def test_the_file_is_well_formed_and_in_order(tmp_path: Path) -> None:
    """As capinfos, which shares nothing with our writer, sees it."""
    capture = tmp_path / "pair.pcapng"
    simulation = Simulation(PAIR)
    simulation.capture("pcap", capture, only=Filter(kind=["tlp", "dllp"]))
    simulation.run()
    told = tshark(capture, "-M", str(capture), program="capinfos")
    (count,) = re.findall(r"Number of packets: +(\d+)\n", told)
    assert int(count) == len(frames(capture, ["kind"]))
    names = re.findall(r"Name = (.*)", told)
    assert names == [
        f"{link} {way}" for link in ("h0-s0", "s0-a", "s0-b") for way in ("down", "up")
    ]
    assert set(re.findall(r"Time precision = (.*)", told)) == {"nanoseconds (9)"}
    assert "Strict time order:   True" in told


def test_a_capture_has_the_same_bytes_each_time_and_changes_no_result(tmp_path: Path) -> None:
    plain = Simulation(NOISY).run()
    files = []
    for name in ("one", "two"):
        simulation = Simulation(NOISY)
        simulation.capture("pcap", tmp_path / name)
        assert simulation.run().to_json() == plain.to_json()
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1]
    with pytest.raises(ValueError, match="'png' is no form of captures; write trace, perfetto, "):
        Simulation(NOISY).capture("png", tmp_path / "x")  # type: ignore[arg-type]


@needs_tshark
def test_a_capture_of_a_run_that_is_interrupted_is_whole(tmp_path: Path) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    simulation = Simulation(PAIR.replace('"16 KiB"', '"64 MiB"\nwindow = "16 KiB"'))
    simulation.capture("pcap", tmp_path / "cut.pcapng")
    with pytest.raises(KeyboardInterrupt):
        simulation.run(interrupt)
    assert len(frames(tmp_path / "cut.pcapng", ["kind"])) > 100


@needs_tshark
@pytest.mark.parametrize(
    ("size", "disk"), [('"16 KiB"', 10_000), ('"4 MiB"\nwindow = "16 KiB"', 300_000)]
)
def test_what_a_full_disk_took_can_be_read(
    peerlane_process: Run, scenario: Write, tmp_path: Path, size: str, disk: int
) -> None:
    """The run goes on, and its result is printed. A long capture is written in several pieces."""
    scenario(('"16 KiB"', size))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (disk, limits[1]))
    try:
        done = peerlane_process("run", "fabric.toml", "--pcap", "cut.pcapng")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert done.status == 1
    assert "cut.pcapng: file too large; the file is incomplete" in done.err
    assert "intact" in done.out
    assert len(frames(tmp_path / "cut.pcapng", ["kind"])) > disk / 500


def captured(text: str, folder: Path) -> tuple[dict[Way, list[Line]], Path]:
    """What leaves in each direction, with its arrival, as the trace has it; and the capture."""
    trace, capture = folder / "trace", folder / "capture.pcapng"
    until = long_enough(text, trace)
    simulation = Simulation(text)
    simulation.capture("trace", trace)
    simulation.capture("pcap", capture)
    simulation.run_until(until)
    return lines_of(trace), capture


def compare(expected: dict[Way, list[Line]], capture: Path) -> None:
    """Compares the lines of a trace with those that are made of a capture."""
    found: dict[Way, list[Line]] = defaultdict(list)
    for frame in frames(capture, FIELDS):
        found[frame["link"], frame["direction"]].append(line_of(frame))
    assert set(found) == set(expected)
    for way, lines in expected.items():
        assert found[way] == lines


def lines_of(trace: Path) -> dict[Way, list[Line]]:
    """What leaves in each direction, each with its arrival."""
    ways: dict[Way, list[Line]] = defaultdict(list)
    under_way: dict[Way, list[Line]] = defaultdict(list)
    for line in map(json.loads, trace.read_text(encoding="utf-8").splitlines()):
        way = line["link"], line["direction"]
        if "training" in line:
            continue  # A capture has no training ordered sets.
        if "arrival" in line:
            shared = {"ns", "verdict", "wrong_bits"}
            under_way[way].pop(0)["arrives"] = {key: line[key] for key in shared & set(line)}
            continue
        ways[way].append(line)
        if "tlp" in line or "dllp" in line:
            under_way[way].append(line)
    return ways


def long_enough(text: str, trace: Path) -> float:
    """A time at which the trace of a scenario has enough lines, if it ever has."""
    simulation = Simulation(text)
    simulation.capture("trace", trace)
    until = FIRST_NS
    while simulation.run_until(until) and until < LAST_NS:
        if trace.read_bytes().count(b"\n") > LINES:
            break
        until *= 1.5
    return until


def line_of(frame: Frame) -> Line:
    """The line of the trace that a packet should have, with its arrival."""
    head = {"ns": ns(frame["time_fs"]), "link": frame["link"], "direction": frame["direction"]}
    line = head | READ[frame["kind"]](frame)
    if "arrival_fs" in frame:
        line["arrives"] = given(
            ns=ns(frame["arrival_fs"]),
            verdict=VERDICTS[int(frame["verdict"])],
            wrong_bits=int(frame["wrong_bits"]) or None,
        )
    return line


def given(**values: Any) -> Line:
    """The values that are there."""
    return {key: value for key, value in values.items() if value is not None}


def ns(fs: str) -> float:
    return int(fs) / 1e6


def flag(frame: Frame, field: str) -> bool:
    return frame[field] == "1"


def number(frame: Frame, field: str) -> int | None:
    return int(frame[field], 0) if field in frame else None


def address(frame: Frame, field: str) -> str | None:
    return hex(int(frame[field], 0)) if field in frame else None


def tlp(frame: Frame) -> Line:
    assert frame["tlp.lcrc_status"] == ("3" if flag(frame, "nullified") else "1")
    is_coherence = frame["tlp.name"] == "coherence"
    has_data = int(frame["tlp.fmt"]) & 2
    attributes = [name for name in ("RO", "IDO", "NS") if frame.get(f"tlp.{name.lower()}") == "1"]
    is_message = "coherence.message" in frame or "tlp.tag" not in frame
    register = address(frame, "tlp.register")
    status = number(frame, "tlp.status")
    return given(
        tlp=frame["tlp.name"],
        sequence=int(frame["tlp.sequence"]),
        replay=flag(frame, "replay"),
        nullified=flag(frame, "nullified"),
        **{"class": frame["tlp.class"]},
        tc=int(frame["tlp.tc"]),
        attributes=attributes or None,
        poisoned=flag(frame, "tlp.ep") or None,
        requester="00:00.0" if is_coherence else frame["tlp.requester"],
        tag=0 if is_message else int(frame["tlp.tag"]),
        address=address(frame, "tlp.address") or address(frame, "network.address"),
        address_type=ADDRESS_TYPES[int(frame.get("tlp.at", 0))],
        length=number(frame, "tlp.bytes") or number(frame, "network.bytes"),
        completer=frame.get("tlp.completer"),
        target=frame.get("tlp.target"),
        register=register,
        status=None if status is None else STATUSES[status],
        messages=messages(frame) or None,
        byte_count=number(frame, "tlp.byte_count"),
        lower_address=number(frame, "tlp.lower_address"),
        bytes=int(frame["tlp.length"]) * 4 if has_data else 0,
        length_ns=ns(frame["length_fs"]),
        flow=frame.get("flow"),
        header=frame["tlp.header"],
    )


def messages(frame: Frame) -> list[Line]:
    """The coherence messages; only requests and snoops have an address."""
    if "coherence.message" not in frame:
        return []
    fields = ("message", "source", "target", "transaction")
    columns = [frame[f"coherence.{field}"].split(AGGREGATOR) for field in fields]
    addresses = iter(frame.get("coherence.address", "").split(AGGREGATOR))
    found = []
    for name, *numbers in zip(*columns, strict=True):
        source, target, transaction = map(int, numbers)
        line = given(message=name, source=source, target=target, transaction=transaction)
        if not name.startswith(("Comp", "SnpResp")):
            line["address"] = hex(int(next(addresses), 0))
        found.append(line)
    return found


def dllp(frame: Frame) -> Line:
    assert frame["dllp.crc_status"] == "1"
    factors = [FACTORS[int(frame.get(f"dllp.{one}_scale", 0))] for one in ("hdr", "data")]
    is_feature = frame["dllp.name"] == "Feature"
    return given(
        dllp=frame["dllp.name"],
        sequence=number(frame, "dllp.sequence"),
        **given(**{"class": CLASSES[int(frame["dllp.class"])] if "dllp.class" in frame else None}),
        channel=number(frame, "dllp.vc"),
        headers=number(frame, "dllp.hdr_fc"),
        data=number(frame, "dllp.data_fc"),
        scale=None if factors[0] is None else factors,
        acknowledges=flag(frame, "dllp.feature_ack") if is_feature else None,
        scaled_flow_control=flag(frame, "dllp.scaled_fc") if is_feature else None,
        raw=frame["dllp.raw"],
    )


def ordered_sets(frame: Frame) -> Line:
    count = int(frame["ordered_sets.count"])
    several = {"count": count, "interval_ns": ns(frame["ordered_sets.interval_fs"])}
    return given(
        ordered_set="SKP",
        eds=int(frame["ordered_sets.eds_bytes"]) > 0,
        bytes=int(frame["ordered_sets.bytes"]),
        length_ns=ns(frame["length_fs"]),
        **(several if count > 1 else {}),
    )


def fibre_frame(frame: Frame) -> Line:
    assert frame["fibre.crc_status"] == "1"
    kind = CONTENTS[int(frame["fibre.content"])]
    is_write = kind != "tlp" or frame["tlp.name"] == "MWr"
    inside = int(frame["fibre.length"])
    place = address(frame, "tlp.address" if kind == "tlp" else "fibre.address")
    length = number(frame, "tlp.bytes") if kind == "tlp" else inside
    envelope = 20
    return {
        "frame": given(
            kind=kind,
            sequence=int(frame["fibre.sequence"]),
            replay=flag(frame, "replay"),
            damaged=flag(frame, "damaged"),
            channel=int(frame["fibre.channel"]),
            source=int(frame["fibre.source"]),
            destination=int(frame["fibre.destination"]),
            port=int(frame["fibre.port"]),
            address=place if is_write else None,
            length=length if is_write else None,
            bytes=inside + envelope,
            length_ns=ns(frame["length_fs"]),
            flow=frame.get("flow"),
        )
    }


def block(frame: Frame) -> Line:
    return {
        "block": given(
            kind=BLOCKS[int(frame["block.type"])],
            channel=number(frame, "block.channel"),
            cycles=number(frame, "block.cycles"),
            next=number(frame, "block.next"),
        )
    }


READ = {"1": tlp, "2": dllp, "3": ordered_sets, "4": fibre_frame, "5": block, "6": tlp}
"""By the kind of record."""
