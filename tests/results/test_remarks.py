"""Sentences, columns and options without which a rate of a run may be read wrongly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conftest import beside
from peerlane import Fabric
from peerlane.fabric.variant import parsed, variant

if TYPE_CHECKING:
    from conftest import Run, Write

MIXED = beside(__file__, "mixed.toml")


def fabric() -> Fabric:
    return Fabric("pair").host("h").device("a", "h")


def test_a_flow_that_stopped_long_before_its_end_is_named_with_its_rate_over_the_duration() -> None:
    once = fabric().flow(
        "a", "h", id="f", request_size="8 KiB", interval="300 us", duration="200 us"
    )
    result = once.run()
    assert result.flows["f"].bytes_per_second == 8192 / 200e-6
    [remark] = result.remarks
    assert remark.startswith("f: nothing arrived after 745")
    assert remark.endswith("ns of its 200 us; its rate is over 200 us")


def test_flows_that_did_not_run_at_the_same_time_and_sockets_are_named(
    peerlane: Run, scenario: Write
) -> None:
    ran = peerlane("run", scenario(text=MIXED), "--no-explain").out
    assert "packets ended at" in ran
    assert "when blocks had moved 0 %" in ran
    assert "h, socket 0" in ran
    assert "full %" in ran
    shown = peerlane("show", scenario(text=MIXED)).out
    assert "memory of h at socket 0  flows packets, blocks" in shown


def test_in_the_steady_state_each_rate_has_its_interval(peerlane: Run, scenario: Write) -> None:
    file = scenario(text=MIXED)
    short = ("--set", "measure.limit=2 ms", "--steady", "--no-explain")
    ran = peerlane("run", file, *short).succeeds()
    assert "steady state" in ran.out
    assert "± %" in ran.out
    assert "packets ended at" not in ran.out
    tiny = peerlane("run", file, "--set", "measure.limit=20 us", "--steady", "--no-explain")
    assert "packets: not steady within 2" in tiny.out
    wrong = peerlane("run", file, "--set", "measure.limit=2 ms")
    assert wrong.status == 2
    assert "write steady = true" in wrong.err


def test_in_the_steady_state_accesses_and_locks_have_intervals_too(
    peerlane: Run, scenario: Write
) -> None:
    text = """
        [hosts.h]
        coherent = true
        [buffers.b]
        host = "h"
        size = "4 KiB"
        [[accesses]]
        by = "h"
        buffer = "b"
        interval = "500 ns"
        count = 1
        [[locks]]
        id = "rare"
        by = "h"
        buffer = "b"
        interval = "100 us"
        random_intervals = true
        count = 1
    """
    result = variant(
        parsed(text, "steady"), {"measure.steady": True, "measure.limit": "4 ms"}
    ).run()
    [accesses], [locks] = result.accesses, result.locks
    assert accesses.steady is not None
    assert accesses.bytes_per_second == accesses.steady.per_second
    assert 0 < accesses.steady.uncertainty < 0.05
    [remark] = result.remarks
    assert remark.startswith(f"rare: ±{100 * (locks.uncertainty or 0):.0f} % after 4")
    limited = ("--set", "measure.steady=true", "--set", "measure.limit=4 ms", "--no-explain")
    assert remark in peerlane("run", scenario(text=text), *limited).out


def test_an_amount_that_is_set_replaces_the_one_that_is_written() -> None:
    text = fabric().flow("a", "h", id="f", size="4 KiB").to_toml()
    result = variant(parsed(text, "pair"), {"flows.f.count": 2}).run()
    assert result.flows["f"].bytes == 2 * 512
    steady = fabric().flow("a", "h", id="f", size="4 KiB").measure("1 us", "2 us").steady("1 ms")
    assert steady.run().steady
