"""Advice about GPUs: matrices, an all-reduce by each algorithm, and changes that matter."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len
from rich.console import Console

from conftest import FOUR_GPUS
from peerlane.advising.advise import advise
from peerlane.advising.collectives import Ranks, extrapolated, fastest, read_size, read_sizes
from peerlane.advising.machine import Machine
from peerlane.advising.ranges import Kinds
from peerlane.cli.tables.advise import advice
from peerlane.dotted import split_path
from peerlane.measured.reading import rows_of
from peerlane.report.advice import advice_page
from peerlane.report.page import Origin
from peerlane.results.advice import Advice, AllReduce, Fastest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run

APART = """\
hosts.h = { peer_to_peer = "none" }
hosts.other = {}
switches.s = { upstream = "h" }
devices.a = { model = "gpu", upstream = "s" }
devices.b = { model = "gpu", upstream = "s" }
devices.c = { model = "gpu", upstream = "h" }
devices.d = { model = "gpu", upstream = "other" }
"""
SIZES = (4 << 10, 256 << 10, 1 << 20)
SIMULATED = 256 << 10


@cache
def four(**settings: str | int) -> Advice:
    changed = {path.replace("__", "."): value for path, value in settings.items()}
    return advise(FOUR_GPUS, settings=changed, sizes=SIZES, simulate_to=SIMULATED)


@cache
def apart(*, acs: bool = False) -> Advice:
    return advise(APART, settings={"switches.s.acs_redirect": acs}, sizes=[1024])


def machine(text: str) -> Machine:
    return Machine(text, "s.toml", {}, None, None)


def test_a_pair_has_the_rate_of_its_packets() -> None:
    # 8 GT/s x4 by 128b/130b, spread by a quarter of a percent; 256 B in packets of 16 B of header,
    # and 8 B of framing, sequence number and LCRC.
    rate = 8e9 * 4 * 128 / 130 / 8 * 0.9975 * 256 / (256 + 16 + 8)
    for one in four().pairs:
        assert one.bytes_per_second == pytest.approx(rate, rel=0.005)
        assert one.both_bytes_per_second == pytest.approx(2 * rate, rel=0.05)


def test_both_directions_share_what_each_has_alone() -> None:
    narrow = four(devices__g0__upstream__lanes=1)
    there, elsewhere = narrow.pair("g0", "g3"), narrow.pair("g1", "g3")
    assert elsewhere.bytes_per_second == pytest.approx(4 * (there.bytes_per_second or 0), rel=0.02)
    assert narrow.slowest is not None
    assert "g0" in {narrow.slowest.source, narrow.slowest.target}


def test_a_latency_has_the_kernel_the_way_and_the_poll() -> None:
    usual = four().pair("g0", "g2").latency_ns
    later = four(devices__g0__kernel_latency="5 us", devices__g2__poll_latency="900 ns")
    # The defaults are 2 us and 500 ns.
    assert later.pair("g0", "g2").latency_ns == pytest.approx((usual or 0) + 3000 + 400, abs=20)
    assert later.peers[0].kernel_ns == 5000
    near = four().pair("g0", "g1").latency_ns
    assert near is not None
    assert 2500 < near < (usual or 0)


def test_a_pair_without_a_path_has_a_reason() -> None:
    found = dict(apart().reasons())
    connected = [(one.source, one.target) for one in apart().pairs if one.is_connected]
    assert connected == [("a", "b"), ("b", "a")]
    through = found['through h, with peer_to_peer = "none"']
    assert [(one.source, one.target) for one in through] == [
        *(("a", "c"), ("b", "c"), ("c", "a"), ("c", "b"))
    ]
    assert len(found["other host: below h and below other"]) == 3
    assert apart().pair("a", "c").bytes_per_second is None
    obstacle = apart().obstacle or ""
    assert obstacle.startswith("requests from a to c pass the host h, which forwards none")


def test_redirection_to_a_host_that_forwards_nothing_parts_a_pair() -> None:
    reason = apart(acs=True).pair("a", "b").reason
    assert reason == 'ACS of s redirects to h, with peer_to_peer = "none"'
    # The paths of these meet at the host, where ACS of the switch changes nothing.
    assert apart(acs=True).pair("a", "c").reason == 'through h, with peer_to_peer = "none"'


def test_a_host_that_sends_redirected_requests_nowhere_parts_a_pair() -> None:
    closed = {"switches.s.acs_redirect": True, "hosts.h.acs_upstream_forwarding": False}
    found = advise(APART, settings=closed, devices=["a", "b"], sizes=[1024])
    reasons = [one.reason for one in found.pairs]
    assert reasons == ["ACS of s redirects to h, and h has acs_upstream_forwarding = false"] * 2


def test_the_islands_are_the_gpus_of_each_switch() -> None:
    ranks = Ranks.of(machine(FOUR_GPUS), ["g0", "g2", "g1", "g3"])
    assert (ranks.grouped, ranks.island) == (("g0", "g1", "g2", "g3"), 2)
    assert four().ranks == ("g0", "g1", "g2", "g3")
    fields = ranks.job("islands", 1024).workloads[0][1]
    assert (fields["devices"], fields["island"]) == (["g0", "g1", "g2", "g3"], 2)
    assert ranks.job("ring", 1024).workloads[0][1]["devices"] == ["g0", "g2", "g1", "g3"]
    unequal = Ranks.of(machine(FOUR_GPUS), ["g0", "g1", "g2"])
    assert (unequal.island, "islands" in unequal.algorithms) == (None, False)
    assert Ranks.of(machine(FOUR_GPUS), ["g0", "g1"]).island is None


def test_rates_are_those_of_nccl_tests() -> None:
    for one in four().all_reduces:
        assert one.algorithm_bytes_per_second == pytest.approx(one.size / one.time_ns * 1e9)
        assert one.bus_bytes_per_second == pytest.approx(1.5 * one.algorithm_bytes_per_second)
        assert one.correct is (None if one.extrapolated else True)
        assert one.extrapolated == (one.size > SIMULATED)


def test_a_larger_size_is_on_the_line_through_two_sizes() -> None:
    assert extrapolated({2: 30.0, 4: 50.0}, 10) == 110.0
    assert extrapolated({2: None, 4: 50.0}, 10) is None
    ring = [one.time_ns for one in four().all_reduces if one.algorithm == "ring"]
    slope = (ring[1] - ring[0]) / (SIZES[1] - SIZES[0])
    assert ring[2] == pytest.approx(ring[1] + slope * (SIZES[2] - SIZES[1]))


def test_a_line_through_small_sizes_is_called_rough() -> None:
    def shown(least: int) -> str:
        found = replace(four(), chunk=least // 4)
        console = Console(width=80)
        with console.capture() as captured:
            console.print(advice(found))
        return captured.get()

    assert four().line == [4 << 10, SIMULATED]
    assert "# rough: the line should begin at 8 KiB or more" in shown(8 << 10)
    assert "# rough" not in shown(4 << 10)


def test_two_sizes_are_simulated_for_a_line() -> None:
    found = advise(FOUR_GPUS, devices=["g0", "g1"], sizes=[1 << 30], simulate_to=4096)
    assert sorted({one.size for one in found.all_reduces}) == [1024, 4096, 1 << 30]


def test_the_fastest_algorithm_changes_with_the_size() -> None:
    def row(size: int, algorithm: str, *, best: bool) -> AllReduce:
        return AllReduce(size, algorithm, 1.0, 1.0, 1.0, None, extrapolated=True, fastest=best)

    sizes = [(1, "two-shot"), (2, "two-shot"), (4, "ring"), (8, "two-shot")]
    rows = [row(size, one, best=one == way) for size, way in sizes for one in ("ring", "two-shot")]
    ranges = [Fastest("two-shot", 1, 2), Fastest("ring", 4, 4), Fastest("two-shot", 8, 8)]
    assert fastest(rows) == ranges


def test_a_wider_uplink_helps_where_it_is_the_limit() -> None:
    narrow = four(switches__s0__upstream__lanes=1, switches__s1__upstream__lanes=1)
    assert narrow.critical is not None
    assert narrow.critical.link in {"h-s0", "h-s1"}
    assert narrow.critical.utilisation is not None
    assert 0.7 < narrow.critical.utilisation <= 1.0
    both = {f"links.h-s{number}.lanes=2" for number in range(2)}
    wider = next(one for one in narrow.effects if {key.setting for key in one.settings} == both)
    assert wider.rate_gain == pytest.approx(1.0, rel=0.05)
    assert wider.time_gain is not None
    assert 0.6 < wider.time_gain < 1.0
    assert {one.schedule for one in narrow.effects} >= {"by=pull", "engine=copy"}


def test_changes_matter_and_the_best_one_is_first() -> None:
    effects = four().effects
    gains = [sum(one.gains) for one in effects]
    assert gains == sorted(gains, reverse=True)
    assert all(max(map(abs, one.gains)) >= 0.01 for one in effects)
    redirect = next(one for one in effects if "acs_redirect=true" in one.words)
    assert redirect.words == "switches.s0.acs_redirect=true, switches.s1.acs_redirect=true"
    assert redirect.time_gain is not None
    assert redirect.time_gain < -0.2
    assert not any("links.h-s" in one.words for one in effects)  # no uplink limits the ring


def test_the_matrices_are_read_as_those_of_the_tool(peerlane: Run, tmp_path: Path) -> None:
    (tmp_path / "four.toml").write_text(FOUR_GPUS)
    options = ("--devices", "g0,g2", "--sizes", "1KiB,64MiB", "--simulate-to", "4 KiB")
    printed = peerlane("advise", "four.toml", *options, "--json", "a.json").succeeds()
    (tmp_path / "matrix.txt").write_text(printed.out)
    rows = {one.name: one for one in rows_of(str(tmp_path / "matrix.txt"))}
    document = json.loads((tmp_path / "a.json").read_text())
    assert document["schema"] == "peerlane-advice/1"
    there = document["pairs"][0]
    one_way = rows["Unidirectional P2P=Enabled Bandwidth (P2P Writes) 0-1"]
    both = rows["Bidirectional P2P=Enabled Bandwidth 1-0"]
    late = rows["P2P=Enabled Latency (P2P Writes) 0-1"]
    assert one_way.value == pytest.approx(there["bytes_per_second"], abs=5e6)
    assert both.value == pytest.approx(there["both_bytes_per_second"], abs=5e6)
    assert late.value == pytest.approx(there["latency_ns"], abs=5)
    assert one_way.direction == "write"
    diagonal = rows["Unidirectional P2P=Enabled Bandwidth (P2P Writes) 1-1"]
    assert diagonal.value == 1000e9
    to_device = rows["Host to Device Bandwidth 0-1"].value
    assert to_device == pytest.approx(document["peers"][1]["to_device_bytes_per_second"], abs=5e6)
    assert "# extrapolated: a + b * size, from the times of 1 KiB and 4 KiB" in printed.out


@pytest.mark.parametrize(("width", "parts"), [(80, 1), (30, 2)])
def test_the_output_fits_its_terminal(width: int, parts: int) -> None:
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(advice(four()))
    shown = captured.get().splitlines()
    cells = shown if width == 80 else [line for line in shown if line[:6].strip().isdigit()]
    cells = cells if width == 80 else [line for line in cells if "int32" not in line]
    assert max(map(cell_len, cells)) <= width
    assert sum(line.startswith("   D\\D") for line in shown) == 2 + parts * 2 - parts % 2


@cache
def with_ranges() -> Advice:
    return advise(FOUR_GPUS, devices=["g0", "g2"], sizes=[1024, 4096], error_bars=True)


def test_each_measured_number_has_a_range() -> None:
    found = with_ranges()
    assert found.error_bars is not None
    assert found.error_bars.bars.keys() == found.numbers().keys()
    for path, value in found.numbers().items():
        bar = found.error_bars.bars[path]
        assert bar.value == value
        assert bar.low <= value <= bar.high, path
    moved = {
        key for bar in found.error_bars.bars.values() for key in (one.key for one in bar.causes)
    }
    assert {"devices.gpu.kernel_latency", "devices.gpu.store_payload"} <= moved


def test_a_range_is_that_of_runs_with_the_moved_default() -> None:
    found = with_ranges()
    late = {f"devices.{name}.kernel_latency": "5 us" for name in ("g0", "g2")}
    moved = advise(FOUR_GPUS, settings=late, devices=["g0", "g2"], sizes=[1024, 4096]).numbers()
    paths = [path for path in moved if path.endswith(("latency_ns", ".time_ns"))]
    assert len(paths) >= 8
    for path in paths:
        bar = found.range_of(*split_path(path))
        if bar is None or path.startswith("effects."):
            continue
        (kernel,) = (
            one for one in bar.causes if (one.key, one.to) == ("devices.gpu.kernel_latency", "5 us")
        )
        assert kernel.number == pytest.approx(moved[path]), path


def test_pairs_that_are_alike_are_measured_once_and_the_slowest_itself() -> None:
    found = four(devices__g0__upstream__lanes=1)
    kinds = Kinds(Machine(FOUR_GPUS, "s", {"devices.g0.upstream.lanes": 1}, None, None), found)
    assert found.slowest is not None
    assert kinds.pairs[found.slowest.source, found.slowest.target] == found.slowest
    # From g0, to g0, and among the others: below one switch or not.
    ends = {(one.source, one.target) for one in kinds.measured_pairs}
    assert (
        sorted((source == "g0", target == "g0") for source, target in ends).count((False, False))
        == 2
    )
    for pair, alike in kinds.pairs.items():
        one = found.pair(*pair)
        assert one.latency_ns == pytest.approx(alike.latency_ns, rel=0.01)
        assert one.bytes_per_second == pytest.approx(alike.bytes_per_second, rel=0.01)


def test_the_gain_of_a_change_has_a_range_with_a_sign() -> None:
    found = with_ranges()
    for number, one in enumerate(found.effects):
        bar = found.range_of("effects", str(number), "time_gain")
        assert bar is not None
        assert bar.low <= (one.time_gain or 0.0) <= bar.high
    assert any(one.time_gain is not None and one.time_gain < 0 for one in found.effects)


def test_the_ranges_are_printed_below_the_matrices(tmp_path: Path) -> None:
    console = Console(width=80, highlight=False)
    with console.capture() as captured:
        console.print(advice(with_ranges()))
    shown = captured.get()
    assert all(cell_len(line) <= 80 for line in shown.splitlines())
    first, _, last = shown.partition("Ranges of error: ")
    assert "kernel_latency = 5 us" in last
    without = replace(with_ranges(), error_bars=None)
    with console.capture() as captured:
        console.print(advice(without))
    assert captured.get().rstrip() == first.rstrip()
    (tmp_path / "printed.txt").write_text(shown)
    assert len(rows_of(str(tmp_path / "printed.txt"))) == 3 * 4 + 2 * 2


def test_a_pipe_that_nobody_reads_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "four.toml").write_text(FOUR_GPUS)
    command = f"{sys.executable} -m peerlane advise four.toml --devices g0,g1 --sizes 1KiB"
    for reader in ("true", "head -n 1"):
        shell = ["sh", "-c", f"{command} | {reader}"]
        done = subprocess.run(shell, cwd=tmp_path, capture_output=True, check=False)
        assert done.stderr == b""


def test_a_size_is_a_whole_number_of_bytes() -> None:
    assert read_size("1 MiB") == 1 << 20
    assert read_sizes("1 KiB..64 KiB*4,3 MiB") == [1 << 10, 4 << 10, 16 << 10, 64 << 10, 3 << 20]
    for wrong in ("3", "2 us", "x", "32 GiB"):
        with pytest.raises(ValueError, match="write a size from 4 B to 16 GiB"):
            read_size(wrong)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["none.toml"], "none.toml: there is no GPU, and advise compares pairs"),
        (["one.toml"], "one.toml: there is one GPU (g), and advise compares pairs"),
        (["one.toml", "--devices", "g,x"], "there is no device 'x'; write one of a, g"),
        (["one.toml", "--devices", "g"], "a pair has two devices"),
        (["one.toml", "--devices", "g,g"], "g is named twice"),
        (["one.toml", "--sizes", "1..4"], "sizes=1..4 has no step"),
        (["one.toml", "--simulate-to", "1 GiB"], "write a size from 4 B to 64 MiB"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    peerlane: Run, tmp_path: Path, options: list[str], words: str
) -> None:
    (tmp_path / "none.toml").write_text('hosts.h = {}\ndevices.a = { upstream = "h" }\n')
    one = 'hosts.h = {}\ndevices.a.upstream = "h"\ndevices.g = { model = "gpu", upstream = "h" }\n'
    (tmp_path / "one.toml").write_text(one)
    peerlane("advise", *options).refuses(words)


def test_a_page_has_the_pairs_as_cells_and_the_times_as_lines() -> None:
    page = advice_page(four(), Origin("peerlane advise four.toml", "0", "1"))
    pairs, times = page.charts
    rate = pairs.panels[0].spec["data"]["values"]
    assert len(rate) == 4 * 3
    assert rate[0]["value"] == pytest.approx((four().pairs[0].bytes_per_second or 0) / 1e9)
    drawn = times.panels[0].spec["data"]["values"]
    assert len(drawn) == len(four().all_reduces)
    assert page.verdict.startswith("Fastest: ")
