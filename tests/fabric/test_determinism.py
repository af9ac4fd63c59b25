"""The same scenario and seed come to the same end, byte for byte, however they are run."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, cast

import pytest

from conftest import beside
from peerlane import Fabric

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run, Write

BUSY = beside(__file__, "busy.toml")
"""Every kind of traffic that shares links, and errors that the seed decides."""


def run_here(folder: Path) -> tuple[bytes, bytes]:
    """Runs the scenario as a process of its own; its trace and its result."""
    folder.mkdir()
    (folder / "fabric.toml").write_text(BUSY, encoding="utf-8")
    command = [sys.executable, "-m", "peerlane", "run", "fabric.toml"]
    files = ["--trace", "trace", "--json", "result"]
    subprocess.run([*command, *files], cwd=folder, check=True, capture_output=True)
    return (folder / "trace").read_bytes(), (folder / "result").read_bytes()


def test_in_concurrent_processes(tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        outcomes = list(pool.map(run_here, [tmp_path / str(number) for number in range(3)]))
    assert len(set(outcomes)) == 1
    lines = [json.loads(line) for line in outcomes[0][0].splitlines()]
    assert any(line.get("replay") for line in lines)
    assert [line["ns"] for line in lines if "tlp" in line]


def test_with_and_without_probes(peerlane: Run, scenario: Write, tmp_path: Path) -> None:
    path = scenario(text=BUSY)
    plain = json.loads(peerlane("run", path, "--no-explain", "--json", "-").out)
    probes = {(): ["waits"], ("--trace", tmp_path / "trace"): ["waits"]}
    probes["--interval", "1 us"] = ["waits", "series"]
    for options, more in probes.items():
        probed = json.loads(peerlane("run", path, *options, "--json", "-").out)
        for key in ["command", *more]:
            assert probed.pop(key)
        assert probed == {key: value for key, value in plain.items() if key != "command"}


TORUS = """
[networks.t]
shape = "torus"
size = "4x4"

[[traffic]]
network = "t"
load = "1 GB/s"
message = "256 B"
from = "routers"
to = "routers"
duration = "20 us"
"""


def test_on_several_threads(peerlane: Run, scenario: Write, tmp_path: Path) -> None:
    path = scenario(text=TORUS.replace("4x4", "8x8").replace("20 us", "350 us"))
    told = set()
    for threads in ("", "1", "2", "3"):
        count = ("--threads", threads) if threads else ()
        run = peerlane("run", path, *count, "--trace", "trace", "--json", "json").succeeds()
        assert threads or not run.err
        assert "the run had" not in run.err
        document = json.loads((tmp_path / "json").read_text(encoding="utf-8"))
        del document["command"]
        told.add((json.dumps(document), (tmp_path / "trace").read_bytes()))
    assert len(told) == 1


def test_what_cannot_be_divided_says_so(peerlane: Run, scenario: Write) -> None:
    path = scenario(text=TORUS)
    run = peerlane("run", path, "--threads", "2", "--vcd", "waves.vcd").succeeds()
    assert "--perfetto, --vcd, --pcap and --address need one thread" in run.err
    run = peerlane("run", path, "--threads", "40").succeeds()
    assert "the run had 32 threads: the fabric falls into 32 regions" in run.err
    run = peerlane("run", path, "--threads", "0")
    assert run.status == 2
    assert "--threads" in run.err


def test_accesses_after_a_run_on_several_threads() -> None:
    ends = []
    for threads in (1, 2):
        simulation = Fabric.from_toml(BUSY).simulation()
        simulation.run(threads=threads)
        assert len(simulation.node("a").read(simulation.node("h0").allocate(4096), 64)) == 64
        ends.append((simulation.now_ns, simulation.result().to_json()))
    assert ends[0] == ends[1]


def test_the_number_of_threads_of_a_run() -> None:
    result = Fabric.from_toml(BUSY).run()
    assert Fabric.from_toml(BUSY).run(threads=1) == result
    assert Fabric.from_toml(BUSY).run(threads="auto") == result
    assert Fabric.from_toml(BUSY).run(threads=10**30) == result


@pytest.mark.parametrize("threads", ["two", 2.0, [2]])
def test_what_is_no_number_of_threads_says_so(threads: object) -> None:
    simulation = Fabric.from_toml(BUSY).simulation()
    with pytest.raises(TypeError, match="write a whole number of 1 or more, or"):
        simulation.run(threads=cast("int", threads))


def test_less_than_one_thread_is_an_error() -> None:
    with pytest.raises(ValueError, match="-1 threads cannot run anything; write 1 or more, or"):
        Fabric.from_toml(BUSY).run(threads=-1)


def test_the_measured_window_changes_nothing_else() -> None:
    measured = Fabric.from_toml(BUSY).run().to_json()
    plain = Fabric.from_toml(BUSY.split("[measure]")[0]).run().to_json()
    for result in (measured, plain):
        for key in ("measured_ns", "links", "fibres"):
            result.pop(key)
        for flow in result["flows"]:
            for one in [flow, *(flow["directions"] or [])]:
                one.pop("steady_bytes_per_second")
    assert measured == plain


def test_in_pieces(tmp_path: Path) -> None:
    traces = []
    for name in ("whole", "pieces"):
        simulation = Fabric.from_toml(BUSY).simulation()
        simulation.capture("trace", tmp_path / name)
        while name == "pieces" and any(not flow.completed for flow in simulation.result().flows):
            simulation.run_until(simulation.now_ns + 33.3)
        simulation.run()
        traces.append((tmp_path / name).read_bytes())
    assert traces[1].startswith(traces[0])
