"""Numbers that measuring tools wrote, and measured points of our own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from measured import files
from peerlane.measured.point import Point, of_rows
from peerlane.measured.reading import measured, rows_of
from peerlane.results.reading import FileError

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run, Write

RATE = "bytes_per_second"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            files.NVBANDWIDTH,
            {
                ("host_to_device_memcpy_ce 0-0", RATE): 24.13e9,
                ("host_device_latency_sm 0-0", "latency_ns.mean"): 771.25,
                ("host_device_latency_sm 0-1", "latency_ns.mean"): 802.5,
            },
        ),
        (files.NVBANDWIDTH_JSON, {("device_to_host_memcpy_ce 0-0", RATE): 25.5e9}),
        (
            files.P2P,
            {
                ("Unidirectional P2P=Enabled Bandwidth (P2P Writes) 0-1", RATE): 19.75e9,
                ("P2P=Enabled Latency (P2P Writes) 1-0", "latency_ns.mean"): 1520.0,
                ("P2P=Enabled Latency (P2P Writes) CPU 1-0", "latency_ns.mean"): 1950.0,
            },
        ),
        (
            files.NCCL,
            {
                ("all_reduce_perf 1048576 B out-of-place", "time_ns"): 91250.0,
                ("all_reduce_perf 1048576 B in-place", RATE): 11.55e9,
            },
        ),
        (files.PERFTEST, {("RDMA_Write BW 65536 B", RATE): 11520.5 * 2**20}),
        (
            files.PERFTEST_LATENCY,
            {
                ("RDMA_Read Latency 64 B", "latency_ns.p50"): 1660.0,
                ("RDMA_Read Latency 64 B", "latency_ns.p99"): 1810.0,
            },
        ),
        (files.PERFTEST_DURATION, {("RDMA_Write Latency 2 B", "latency_ns.mean"): 1020.0}),
        (
            files.FIO,
            {
                ("a-to-b", RATE): 2.95e9,
                ("a-to-b", "latency_ns.mean"): 70123.5,
                ("a-to-b", "latency_ns.p50"): 70144.0,
            },
        ),
    ],
)
def test_a_row_of_a_tool_has_its_number_in_bytes_a_second_or_nanoseconds(
    text: str, wanted: dict[tuple[str, str], float], tmp_path: Path
) -> None:
    (tmp_path / "x").write_text(text)
    found = {(row.name, row.field): row.value for row in rows_of(str(tmp_path / "x"))}
    assert {key: found.get(key) for key in wanted} == pytest.approx(wanted)


def test_a_row_says_what_was_transferred(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(files.FIO)
    row = rows_of(str(tmp_path / "x"))[0]
    assert (row.size, row.direction, row.quantity) == (4096, "read", "rate")
    assert row.labels == {"rw": "randread", "iodepth": "32"}


@pytest.mark.parametrize(
    ("text", "end", "message"),
    [
        pytest.param(text, end, message, id=f"{number}")
        for number, (text, end, message) in enumerate(
            [
                (files.NVBANDWIDTH, "SUM host_device", "host_device_latency_sm has no SUM"),
                (files.NVBANDWIDTH_JSON, "Waived", "is not JSON: line 5"),
                (files.P2P, "802.25", "1 numbers for 2 columns; the file is cut off"),
                (files.P2P, "     1   1.95", "the matrix has 1 of 2 rows; the file is cut off"),
                (files.P2P, "   GPU", "no matrix follows .*; the file is cut off"),
                (files.NCCL, "0    90.75", "a size and twice time, .*; the file is cut off"),
                (files.NCCL, "# Avg", "no line '# Avg bus bandwidth' ends the table"),
                (files.PERFTEST, "11520.50", "3 cells for 5 columns; the file is cut off"),
                (files.PERFTEST_LATENCY, "4.02", "8 cells for 9 columns; the file is cut off"),
                (files.FIO, "percentile", "is not JSON"),
                (files.FIO.replace("bw_bytes", "bw"), "", "job 1 is not as fio 3 writes it"),
                ("x", "x", "is empty; write a table"),
                ("some text", "", "has no form that is known; write a table"),
            ]
        )
    ],
)
def test_a_file_that_is_cut_off_empty_or_unknown_is_refused(
    text: str, end: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "x").write_text(text.partition(end)[0] if end else text)
    with pytest.raises(FileError, match=message):
        measured(tmp_path / "x")


def test_a_table_without_its_last_line_is_cut_off(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(files.PERFTEST[:-88])
    with pytest.raises(FileError, match="no line of dashes ends the table"):
        measured(tmp_path / "x")


def test_the_table_of_a_sweep_is_a_file_of_measured_points(peerlane: Run, scenario: Write) -> None:
    file, key = scenario(), "flows.a-to-b.request_size"
    out = ("--json", "s.json", "--out", "s.csv")
    assert peerlane("sweep", file, "--vary", f"{key}=64B,128B", *out).status == 0
    assert [point.settings for point in measured("s.csv")] == [{key: "64 B"}, {key: "128 B"}]  # type: ignore[union-attr]
    outcome = peerlane("compare", "s.json", "--measured", "s.csv", "--json", "-")
    pairs = json.loads(outcome.out)["pairs"]
    assert [pair["error_percent"] for pair in pairs] == [0.0, 0.0]


def test_a_point_in_toml_is_a_number_or_a_row_of_a_tool(
    peerlane: Run, scenario: Write, tmp_path: Path
) -> None:
    (tmp_path / "fio.json").write_text(files.FIO)
    metric = "flows.a-to-b.bytes_per_second"
    points = f"""
        [[points]]
        metric = "a-to-b GB/s"
        value = 1.5
        [[points]]
        metric = "{metric}"
        value = "1400 MB/s"
        held_back = true
        [[points]]
        metric = "a-to-b GB/s"
        file = "fio.json"
        row = "a-to-b"
    """
    (tmp_path / "m.toml").write_text(points)
    peerlane("run", scenario(), "--json", "r.json")
    outcome = peerlane("compare", "r.json", "--measured", "m.toml", "--json", "-")
    pairs = json.loads(outcome.out)["pairs"]
    assert [pair["measured"] for pair in pairs] == [1.5e9, 1.4e9, 2.95e9]
    assert {pair["metric"] for pair in pairs} == {metric}
    (tmp_path / "m.toml").write_text(points.replace('row = "a-to-b"', 'row = "a"'))
    peerlane("compare", "r.json", "--measured", "m.toml").refuses(
        "m.toml: points: 3: fio.json has no row 'a'; there are a-to-b"
    )


def test_a_row_of_a_tool_stands_beside_the_workload_of_its_name(
    peerlane: Run, scenario: Write, tmp_path: Path
) -> None:
    peerlane("run", scenario(), "--json", "r.json")
    (tmp_path / "fio.json").write_text(files.FIO)
    outcome = peerlane("compare", "r.json", "--measured", "fio.json")
    assert "a-to-b GB/s      2.95" in outcome.out
    (tmp_path / "p2p.txt").write_text(files.P2P)
    outcome = peerlane("compare", "r.json", "--measured", "p2p.txt")
    assert "12 of 12 have no simulated number" in outcome.out


@pytest.mark.parametrize(
    ("point", "message"),
    [
        (Point("flows.f.rate", 1.0, where="m: 1"), "m: 1: 'flows.f.rate' is no metric of results"),
        (Point("f GB/s", "1 ns", where="m: 1"), "'1 ns' is no value of flows.f.bytes_per_second"),
        (Point("f GB/s", 0, where="m: 1"), "write a number above 0 in B/s, or with a unit"),
    ],
)
def test_a_point_without_a_metric_or_a_value_is_refused(point: Point, message: str) -> None:
    with pytest.raises(FileError, match=message):
        of_rows([point], [f"flows.f.{RATE}"], "m")
