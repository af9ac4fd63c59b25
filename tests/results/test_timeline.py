"""Perfetto traces and value change dumps: what they show is what the packet trace has."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto
from vcd.reader import TokenKind, tokenize

from conftest import wait_until, without_progress
from peerlane import Fabric, Filter, Simulation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Write

FIBRE = Path(__file__).parents[2] / "scenarios" / "fibre.toml"

Line = dict[str, Any]

CAPTURED_NS = 100
"""A transmitter chooses a packet at most so long before its first bit is on the wire."""


MOST_OTHERS = 8
"""Perfetto's trace processor takes no event with more counters beside its own."""


class Slice(NamedTuple):
    """A slice of a track."""

    start: int
    end: int
    name: str
    fields: dict[str, Any]
    flows: tuple[int, ...]


class Timeline:
    """A Perfetto trace, read by Perfetto's own classes."""

    def __init__(self, path: Path) -> None:
        self.trace = proto.Trace()
        self.trace.ParseFromString(path.read_bytes())
        self.tracks: dict[int, Any] = {}
        self.slices: dict[str, list[Slice]] = defaultdict(list)
        self.counters: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._texts: dict[str, dict[int, str]] = defaultdict(dict)
        open_slices: dict[int, Any] = {}
        for packet in self.trace.packet:
            for kind, texts in packet.interned_data.ListFields():
                for one in texts:
                    text = one.str.decode() if hasattr(one, "str") else one.name
                    self._texts[kind.name][one.iid] = text
            if packet.HasField("track_descriptor"):
                self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            if not packet.HasField("track_event"):
                continue
            event = packet.track_event
            if event.type == proto.TrackEvent.TYPE_COUNTER:
                self._count(packet)
            elif event.type == proto.TrackEvent.TYPE_SLICE_BEGIN:
                assert event.track_uuid not in open_slices
                open_slices[event.track_uuid] = packet
            else:
                begun = open_slices.pop(event.track_uuid)
                name = self.tracks[event.track_uuid].name
                self.slices[name].append(self._slice(begun, packet.timestamp))
        assert not open_slices

    def _count(self, packet: Any) -> None:
        """Takes the counters of an event, which has one of its own and others beside it."""
        event = packet.track_event
        others = list(event.extra_counter_track_uuids)
        values = [event.counter_value, *event.extra_counter_values]
        assert len(others) <= MOST_OTHERS
        for uuid, value in zip([event.track_uuid, *others], values, strict=True):
            self.counters[self.tracks[uuid].name].append((packet.timestamp, value))

    def _slice(self, begun: Any, end: int) -> Slice:
        event = begun.track_event
        fields = {}
        for one in event.debug_annotations:
            kind = one.WhichOneof("value")
            value = getattr(one, kind)
            if kind == "string_value_iid":
                value = self._texts["debug_annotation_string_values"][value]
            fields[self._texts["debug_annotation_names"][one.name_iid]] = value
        name = self._texts["event_names"][event.name_iid]
        return Slice(begun.timestamp, end, name, fields, tuple(event.flow_ids))

    def arrows(self) -> list[list[tuple[str, int]]]:
        """The tracks and the beginnings of the slices that each arrow joins."""
        joined: dict[int, set[tuple[str, int]]] = defaultdict(set)
        for track, slices in self.slices.items():
            for one in slices:
                for flow in one.flows:
                    joined[flow].add((track, one.start))
        return sorted(map(sorted, joined.values()))

    def within(self) -> set[str]:
        """The names of all tracks."""
        return {track.name for track in self.tracks.values()}


def ticks(ns: float) -> int:
    """Whole picoseconds; a time in femtoseconds has at most six digits after the point."""
    return round(ns * 1e6) // 1000


def transmissions(lines: list[Line]) -> Iterator[tuple[str, int, int, str, Line]]:
    """Track, first and last tick, kind and line of all that takes a wire, of ordered sets each."""
    for line in lines:
        kind = line.get("tlp") or line.get("dllp") or line.get("ordered_set")
        if kind is None or "arrival" in line:
            continue
        length = line["length_ns"] if "length_ns" in line else 8 / BYTES_PER_NS[line["link"]]
        for number in range(line.get("count", 1)):
            start = line["ns"] + number * line.get("interval_ns", 0.0)
            track = f"{line['link']} {line['direction']}"
            yield track, ticks(start), ticks(start + length), kind, line


LANE = 128 / 130 * 15625 / 15664
"""Bytes in a nanosecond on a lane of Gen3: 8 GT/s, in blocks of 130 bits that carry 128, and with
the mean rate of a spread clock."""

BYTES_PER_NS = {"h0-s0": 16 * LANE, "s0-a": 4 * LANE, "s0-b": 2 * LANE}
"""By the widths of the links; a DLLP has 8 bytes."""


def fabric(**links: Any) -> Fabric:
    built = Fabric("timeline").links(**{"generation": 3, **links}).host("h0")
    built = built.switch("s0", "h0", lanes=16).device("a", "s0", lanes=4)
    return built.device("b", "s0", lanes=2, bar="1 MiB")


def busy(**links: float | str) -> Fabric:
    """Reads, peer-to-peer writes and accesses of configuration that share links."""
    both = fabric(**links).flow("a", "h0", size="16 KiB", direction="both", id="host")
    return both.flow("a", "b", size="16 KiB", id="peer", start="3 us")


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Line], Timeline, Path]:
    """The packet trace, the timeline and the value change dump of one run."""
    folder = tmp_path_factory.mktemp("timeline")
    trace, timeline, dump = (folder / name for name in ("trace", "timeline", "dump.vcd"))
    busy().run(trace=trace, perfetto=timeline, vcd=dump)
    return read(trace), Timeline(timeline), dump


def read(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


Captured = tuple[list[Line], Timeline, "Path"]


def test_one_tick_is_a_picosecond_and_the_trace_says_so(captured: Captured) -> None:
    _, timeline, _ = captured
    packets = timeline.trace.packet
    clocks = {c.clock_id: c.timestamp for p in packets for c in p.clock_snapshot.clocks}
    assert clocks == {64: 0, proto.BUILTIN_CLOCK_BOOTTIME: 0}
    defaults = [p.trace_packet_defaults for p in packets if p.HasField("trace_packet_defaults")]
    assert [one.timestamp_clock_id for one in defaults] == [64]
    said = {a.key: a.string_value for p in packets for a in p.trace_attributes.attribute}
    assert said["timestamp_unit"] == "1 ps"
    roots = [track.name for track in timeline.tracks.values() if not track.parent_uuid]
    assert roots == ["links (1 ns of this trace is 1 ps of simulated time)"]
    assert len({packet.trusted_packet_sequence_id for packet in packets}) == 1


def test_a_track_has_a_slice_for_each_transmission(captured: Captured) -> None:
    lines, timeline, _ = captured
    expected: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for track, start, end, kind, _ in transmissions(lines):
        expected[track].append((start, end, kind))
    assert set(timeline.slices) == set(expected) >= {"h0-s0 up", "s0-a down", "s0-b down"}
    for track, slices in timeline.slices.items():
        assert len(slices) == len(expected[track]) > 10
        for one, (start, end, kind) in zip(slices, sorted(expected[track]), strict=True):
            # The time of a DLLP is rounded to a femtosecond on its way here.
            assert (one.name, one.start) == (kind, start)
            assert abs(one.end - end) <= 1
        assert all(one.start < one.end for one in slices)
        assert all(one.end <= other.start for one, other in pairwise(slices))


def test_a_slice_has_the_fields_of_its_header(captured: Captured) -> None:
    lines, timeline, _ = captured
    found = {(track, one.start): one for track, slices in timeline.slices.items() for one in slices}
    names = set()
    for track, start, _, _, line in transmissions(lines):
        fields = found[track, start].fields
        names |= set(fields)
        for name, value in fields.items():
            if name in {"address", "register"}:
                assert value == int(line[name], 16)
            else:
                assert value == line[name]
        wanted = set(line) & {"tag", "address", "requester", "completer", "status", "flow"}
        assert wanted <= set(fields)
    assert {"sequence", "length", "byte_count", "headers", "data", "class", "eds"} <= names


def test_arrows_follow_a_packet_over_its_hops(captured: Captured) -> None:
    lines, timeline, _ = captured
    # Nothing overtakes its like: the n-th packet with a header on one link is the n-th on another.
    seen: dict[tuple[str, str], int] = defaultdict(int)
    hops: dict[tuple[str, int], set[tuple[str, int]]] = defaultdict(set)
    for track, start, _, _, line in transmissions(lines):
        if header := line.get("header"):
            hops[header, seen[track, header]].add((track, start))
            seen[track, header] += 1
    assert timeline.arrows() == sorted(map(sorted, hops.values()))
    assert {len(one) for one in hops.values()} == {2}


def test_an_arrow_leads_to_a_packet_that_is_sent_again(tmp_path: Path) -> None:
    damaged = fabric(bit_error_rate=1e-5).flow("a", "b", size="64 KiB")
    damaged.run(trace=tmp_path / "trace", perfetto=tmp_path / "timeline")
    lines, timeline = read(tmp_path / "trace"), Timeline(tmp_path / "timeline")
    hops: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for track, start, _, _, line in transmissions(lines):
        if "header" in line:
            hops[line["header"]].add((track, start))
    assert timeline.arrows() == sorted(map(sorted, hops.values()))
    assert any(line.get("replay") for line in lines)
    assert any(one.fields.get("replay") for one in timeline.slices["s0-a up"])


def test_arrows_lead_through_routers(tmp_path: Path) -> None:
    fibre = Fabric.load(FIBRE)
    fibre.run(perfetto=tmp_path / "timeline", only=Filter(window="..20us"))
    hops = Timeline(tmp_path / "timeline").arrows()
    ordered = (sorted(one, key=lambda hop: hop[1]) for one in hops if len(one) > 2)
    ways = {tuple(track for track, _ in one) for one in ordered}
    assert ways == {("a-ra down", "ra-rb ra-rb", "b-rb up")}


CLASSES = ("posted", "non-posted", "completion")


@pytest.mark.parametrize("generation", [3, 4])
def test_counters_are_the_credit_that_the_trace_gives(tmp_path: Path, generation: int) -> None:
    """Generation 4 scales its credit."""
    run = busy(generation=generation).override("devices.b.posted_data", "2 KiB")
    run.run(trace=tmp_path / "trace", perfetto=tmp_path / "timeline")
    lines, timeline = read(tmp_path / "trace"), Timeline(tmp_path / "timeline")
    checked = 0
    for link in BYTES_PER_NS:
        for way, back in (("up", "down"), ("down", "up")):
            for name in CLASSES:
                limits = list(updates(lines, (link, back), name))
                spent = [
                    (ticks(line["ns"]), -(-line["bytes"] // 16))
                    for line in lines
                    if (line["link"], line["direction"], line.get("class")) == (link, way, name)
                    and "tlp" in line
                ]
                for index, kind in enumerate(("header", "data")):
                    track = timeline.counters.get(f"{link} {way} {name} {kind} credits")
                    if limits[0][1][index] == 0:
                        assert track is None, "infinite credit has no counter"
                        continue
                    assert track
                    costs = [(at, (1, data)[index]) for at, data in spent]
                    follow(
                        track,
                        [(at, units[index], scale[index]) for at, units, scale in limits],
                        costs,
                        (8, 12)[index],
                    )
                    checked += 1
    assert checked > 8


def updates(
    lines: list[Line], way: tuple[str, str], name: str
) -> Iterator[tuple[int, tuple[int, int], tuple[int, int]]]:
    """When limits of credit arrive, the limits in units, and the credits of a unit."""
    sent = [li for li in lines if (li["link"], li["direction"]) == way and "dllp" in li]
    came = [
        li for li in lines if (li["link"], li["direction"]) == way and li.get("arrival") == "dllp"
    ]
    for left, there in zip(sent, came, strict=False):
        assert left["raw"] == there["raw"]
        if left.get("class") == name:
            scale = left.get("scale", [1, 1])
            yield ticks(there["ns"]), (left["headers"], left["data"]), (scale[0], scale[1])


def follow(
    track: list[tuple[int, int]],
    limits: list[tuple[int, int, int]],
    costs: list[tuple[int, int]],
    bits: int,
) -> None:
    """Asserts that each value is the last limit less what was spent, and that all is spent."""
    coming, spent, consumed = iter([*limits, None]), 0, 0
    following, limit, scale = next(coming), 0, 1
    for at, value in track:
        while following is not None and following[0] <= at:
            _, limit, scale = following
            following = next(coming)
        size = scale << bits
        left = (limit * scale - consumed) % size
        while left != value:
            assert spent < len(costs), f"{value} credits at {at} ps are not explained"
            when, cost = costs[spent]
            assert at <= when <= at + CAPTURED_NS * 1000
            consumed, spent = consumed + cost, spent + 1
            left = (limit * scale - consumed) % size
    # What costs nothing, such as data of a read, leaves no trace in the counter.
    assert all(cost == 0 for _, cost in costs[spent:])


def test_queues_are_those_of_the_samples(tmp_path: Path) -> None:
    simulation = busy().simulation()
    simulation.capture("perfetto", tmp_path / "timeline")
    simulation.sample(every="500 ns")
    result = simulation.run()
    assert result.series is not None
    timeline = Timeline(tmp_path / "timeline")
    for link in result.series.links:
        name = f"{link.id} {link.direction}"
        for what, samples in (
            ("waiting TLPs", link.waiting_tlps),
            ("replay buffer", link.replay_buffer_bytes),
        ):
            track = timeline.counters[f"{name} {what}"]
            for ns, value in zip(result.series.end_ns, samples, strict=True):
                # A sample is taken before the events of its time.
                before = [counted for at, counted in track if at < ticks(ns)]
                assert (before or [0])[-1] == value
    assert any(max(link.waiting_tlps) > 2 for link in result.series.links)


def test_a_filter_leaves_out_tracks_and_times(tmp_path: Path) -> None:
    only = Filter(at=["s0-b"], window="4us..5us", kind=["MWr", "UpdateFC"])
    busy().run(perfetto=tmp_path / "timeline", vcd=tmp_path / "dump.vcd", only=only)
    timeline = Timeline(tmp_path / "timeline")
    assert set(timeline.slices) <= {"s0-b up", "s0-b down"}
    slices = [one for all_ in timeline.slices.values() for one in all_]
    assert {one.name for one in slices} == {"MWr", "UpdateFC"}
    assert all(4_000_000 <= one.start < 5_000_000 for one in slices)
    assert timeline.counters
    assert all(4_000_000 <= at < 5_000_000 for all_ in timeline.counters.values() for at, _ in all_)
    assert {name.split()[0] for name in timeline.within()} == {"links", "s0-b"}
    assert {scope for scope, _ in dump(tmp_path / "dump.vcd")} == {"s0-b_up", "s0-b_down"}


class Shown(NamedTuple):
    """What a dump shows on a wire from a time on."""

    at: int
    busy: str | int
    kind: str
    sequence: str | int
    tag: str | int


def dump(path: Path) -> dict[tuple[str, str], list[tuple[int, Any]]]:
    """The changes of each signal, by scope and name, as an independent reader has them."""
    changes: dict[tuple[str, str], list[tuple[int, Any]]] = {}
    signals: dict[str, tuple[str, str]] = {}
    scopes: list[str] = []
    now = 0
    with path.open("rb") as file:
        for token in tokenize(file):
            if token.kind is TokenKind.SCOPE:
                scopes.append(token.scope.ident)
            elif token.kind is TokenKind.UPSCOPE:
                scopes.pop()
            elif token.kind is TokenKind.VAR:
                signals[token.var.id_code] = scopes[-1], token.var.reference
                changes[signals[token.var.id_code]] = []
            elif token.kind is TokenKind.TIMESCALE:
                assert str(token.timescale) == "1 ps"
            elif token.kind is TokenKind.CHANGE_TIME:
                assert token.time_change >= now
                now = token.time_change
            elif token.kind is TokenKind.CHANGE_SCALAR:
                id_code, value = token.scalar_change
                changes[signals[id_code]].append((now, value))
            elif token.kind is TokenKind.CHANGE_VECTOR:
                id_code, number = token.vector_change
                changes[signals[id_code]].append((now, number))
            elif token.kind is TokenKind.CHANGE_STRING:
                id_code, text = token.string_change
                changes[signals[id_code]].append((now, text))
    return changes


def test_a_dump_shows_what_is_on_each_wire(captured: Captured) -> None:
    lines, timeline, path = captured
    changes = dump(path)
    assert len(changes) == 5 * len(timeline.slices)
    fields: dict[tuple[str, int], tuple[Any, Any]] = {
        (track, start): (line.get("sequence", "x" * 12), line.get("tag", "x" * 10))
        for track, start, _, _, line in transmissions(lines)
    }
    for track, slices in timeline.slices.items():
        scope = track.replace(" ", "_")
        signals = [dict(changes[scope, name]) for name in ("busy", "kind", "sequence", "tag")]
        found = sorted(set().union(*signals))
        now = [signal[0] for signal in signals]
        shown: dict[int, list[Any]] = {}
        for at in found:
            now = [signal.get(at, value) for signal, value in zip(signals, now, strict=True)]
            shown[at] = now
        starts = {one.start for one in slices}
        for one in slices:
            if one.name == "SKP" and one.start not in shown:
                continue
            sequence, tag = fields[track, one.start]
            assert shown[one.start] == ["1", one.name, sequence, tag]
            if one.end not in starts and one.end in shown:
                assert shown[one.end] == ["0", "idle", "x" * 12, "x" * 10]
        on_wire = [one for one in slices if one.name != "SKP"]
        assert on_wire
        idle = {at for at, (is_busy, *_) in shown.items() if is_busy == "0"}
        assert {one.end for one in on_wire} - starts <= idle
        assert set(shown) <= starts | {one.end for one in slices} | {0}


def test_captures_go_on_from_run_to_run(tmp_path: Path) -> None:
    simulation = busy().simulation()
    simulation.capture("perfetto", tmp_path / "timeline")
    simulation.capture("vcd", tmp_path / "dump.vcd")
    simulation.run_until(4000.0)
    halfway = Timeline(tmp_path / "timeline")
    simulation.run()
    busy().run(perfetto=tmp_path / "whole", vcd=tmp_path / "whole.vcd")
    assert (tmp_path / "timeline").read_bytes() == (tmp_path / "whole").read_bytes()
    assert len(halfway.slices["s0-a up"]) > 0
    assert dump(tmp_path / "dump.vcd") == dump(tmp_path / "whole.vcd")


def test_a_capture_may_begin_later(tmp_path: Path) -> None:
    simulation = busy().simulation()
    simulation.run_until(4000.0)
    simulation.capture("perfetto", tmp_path / "timeline")
    simulation.run()
    timeline = Timeline(tmp_path / "timeline")
    assert min(one.start for all_ in timeline.slices.values() for one in all_) >= 3_900_000
    simulation = Simulation(busy().to_toml())
    simulation.capture("perfetto", tmp_path / "whole")
    simulation.run()
    whole = Timeline(tmp_path / "whole")
    for track, values in timeline.counters.items():
        assert values[-1][1] == whole.counters[track][-1][1]


def test_what_was_captured_before_an_interrupt_can_be_read(scenario: Write, tmp_path: Path) -> None:
    scenario(('size = "16 KiB"', 'duration = "100 s"\nwindow = "16 KiB"'))
    command = [sys.executable, "-m", "peerlane", "run", "fabric.toml"]
    command += ["--perfetto", "timeline", "--vcd", "dump.vcd", "--trace", "trace"]
    command += ["--window", "..2ms"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        trace = tmp_path / "trace"
        wait_until(lambda: trace.exists() and trace.stat().st_size > 1 << 20, running)
        running.send_signal(signal.SIGINT)
        out, error = running.communicate(timeout=60)
    assert (running.returncode, without_progress(error)) == (130, "interrupted\n")
    assert "a-to-b" in out
    timeline = Timeline(tmp_path / "timeline")
    # A trace of one mebibyte tells of about 870 frames on this link.
    assert len(timeline.slices["s0-a up"]) > 500
    assert dump(tmp_path / "dump.vcd")
    assert read(trace)


def test_a_full_disk_leaves_whole_packets(scenario: Write, tmp_path: Path) -> None:
    scenario()
    options = "--perfetto timeline --vcd dump.vcd --json result"
    limited = f"ulimit -f 12; {sys.executable} -m peerlane run fabric.toml {options}"
    done = subprocess.run(  # noqa: S602 - the limit is one of the shell
        limited, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "timeline: file too large; the file is incomplete" in done.stderr
    assert "dump.vcd: file too large; the file is incomplete" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    timeline = Timeline(tmp_path / "timeline")
    assert timeline.tracks
    assert json.loads((tmp_path / "result").read_text(encoding="utf-8"))["flows"]
