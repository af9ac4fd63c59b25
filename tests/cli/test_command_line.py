"""The command line's contracts: exit status, streams, JSON."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from rich.console import Console
from typer import BadParameter
from typer.main import get_command

from conftest import PAIR, needs_cocotbext, wait_until, without_progress
from peerlane import RunResult, ScenarioError, Simulation
from peerlane.cli.commands import app
from peerlane.cli.options import wrong_use
from peerlane.cli.tables.run import run as table

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run, Write

ROW = """
id figure what published published_range expected expected_range simulated unit error_percent
sensitivity tolerance_percent tolerance_reason kind derived_from same_as note
"""
"""The keys of a row of a report."""


def test_version_is_a_number(peerlane: Run) -> None:
    assert re.fullmatch(r"peerlane \d+\.\d+\.\d+\n", peerlane("--version").out)


def test_a_command_loads_what_it_needs_and_the_version_nothing() -> None:
    def loaded(*arguments: str) -> set[str]:
        command = [sys.executable, "-X", "importtime", "-m", "peerlane", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines()}

    assert not loaded("--version") & {"peerlane._core", "pydantic", "rich", "typer"}
    of_show = loaded("show", "pair")
    assert "peerlane.cli.tables.fabric" in of_show
    others = ("peerlane.benchmark", "peerlane.reproduction", "peerlane.cli.tables.sweep")
    assert not [name for name in of_show if name.startswith(others)]


@pytest.mark.parametrize("line", ["run --tr", "sweep --va", "reproduce --fi", "opae run --tr"])
def test_completion_of_options_loads_neither_tables_nor_the_simulator(line: str) -> None:
    asked = {"COMP_WORDS": f"peerlane {line}", "COMP_CWORD": str(len(line.split()))}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "peerlane"],
        env=os.environ | {"_PEERLANE_COMPLETE": "complete_bash"} | asked,
        capture_output=True,
        text=True,
        check=False,
    )
    beginning = line.rsplit(maxsplit=1)[1]
    assert done.stdout
    assert all(word.startswith(beginning) for word in done.stdout.split())
    loaded = {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines()}
    assert not loaded & {"peerlane._core", "peerlane.fabric.simulation", "rich.console"}


@pytest.mark.parametrize(
    "command",
    [[], ["run"], ["explain"], ["show"], ["sweep"], ["reproduce"], ["list"], ["bench"], ["import"]],
)
def test_every_command_explains_itself(peerlane: Run, command: list[str]) -> None:
    shown = peerlane(*command, "--help").succeeds()
    assert "Usage: peerlane" in shown.out
    assert shown.err == ""


def test_json_on_standard_output_is_alone_there(peerlane: Run, scenario: Write) -> None:
    ran = peerlane("run", scenario(), "--json", "-")
    document = json.loads(ran.out)
    assert ran.status == 0
    (flow,) = document["flows"]
    assert flow["bytes"] == 16 * 1024
    assert flow["last_byte_ns"] > flow["first_byte_ns"]
    for link in document["links"]:
        assert 0 <= link["utilisation"] <= 1


def test_samples_are_in_the_json(peerlane: Run, scenario: Write) -> None:
    ran = peerlane("run", scenario(), "--interval", "1us", "--json", "-")
    series = json.loads(ran.out)["series"]
    assert series["interval_ns"] == 1000
    assert len(series["links"]) == 6
    for one in (*series["flows"], *series["links"]):
        counted = [value for value in one.values() if isinstance(value, list)]
        assert all(len(values) == len(series["end_ns"]) for values in counted)
    peerlane("run", scenario(), "--interval", "1us").refuses("--interval", "--json FILE")
    wrong = peerlane("run", scenario(), "--interval", "soon", "--json", "-")
    wrong.refuses("--interval", "soon")


def test_json_begins_with_what_made_it(peerlane: Run, scenario: Write) -> None:
    path = scenario()
    digest = f"sha256:{sha256(path.read_bytes()).hexdigest()}"
    for command, schema in (("run", "peerlane-result/1"), ("show", "peerlane-fabric/1")):
        document = json.loads(peerlane(command, path, "--json", "-").out)
        assert list(document)[:4] == ["schema", "version", "scenario_digest", "command"]
        assert document["schema"] == schema
        assert document["version"] == peerlane("--version").out.split()[1]
        assert document["scenario_digest"] == digest
        assert document["command"] == ["peerlane", command, str(path), "--json", "-"]


def test_json_in_a_file_leaves_the_table(peerlane: Run, scenario: Write, tmp_path: Path) -> None:
    ran = peerlane("run", scenario(), "--json", tmp_path / "result.json")
    assert "a-to-b" in ran.out
    assert json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))["name"] == "pair"


MEASURE = ("[[flows]]", '[measure]\nfrom = "2 us"\nuntil = "4 us"\n\n[[flows]]')


def test_a_run_shows_the_steady_rate_where_there_is_one(peerlane: Run, scenario: Write) -> None:
    plain, measured = peerlane("run", scenario()), peerlane("run", scenario(MEASURE))
    assert "steady GB" not in plain.out
    assert "steady GB/s" in measured.out
    (flow,) = json.loads(peerlane("run", scenario(MEASURE), "--json", "-").out)["flows"]
    assert f" {flow['steady_bytes_per_second'] / 1e9:.4g} " in measured.out


WRITE = """
[[flows]]
id = "first"
from = "a"
to = "b"
size = "4 KiB"
offset = "32 KiB"
"""

READ = """
[[flows]]
id = "reads-it"
from = "h0"
to = "b"
direction = "read"
size = "4 KiB"
offset = "32 KiB"
"""


LATE = """
[hosts.h0]
memory_read_latency = "60 us"
[devices.a]
upstream = "h0"
tags = 1
completion_timeout = "50 us"
[[flows]]
from = "a"
to = "h0"
direction = "read"
count = 4
"""


def test_completions_that_come_too_late_are_warned_of(peerlane: Run, tmp_path: Path) -> None:
    (path := tmp_path / "late.toml").write_text(LATE, encoding="utf-8")
    ran = peerlane("run", path)
    assert ran.status == 1
    warning, error = ran.err.splitlines()
    assert warning == (
        "warning: a: 3 completions matched no outstanding request and were dropped, perhaps because"
        " they came after the completion timeout; write a longer completion_timeout there"
    )
    assert error.startswith("error: a: unexpected completion (3 times); a: completion timeout (4")


def test_data_that_was_lost_is_not_data_that_differs(peerlane: Run, scenario: Write) -> None:
    lost = peerlane("run", scenario(('to = "b"', 'to = "0xdead0000"')))
    assert re.search(r"a-to-b .* incomplete", lost.out)
    simulation = Simulation(PAIR + READ)
    simulation.run_until(1.0)
    bar = simulation.tree().nodes["b"].regions[0].base
    simulation.node("b").fill(bar + (32 << 10), bytes(4))
    console = Console(width=200)
    with console.capture() as wrong:
        console.print(table(simulation.run(), simulation.tree()))
    assert re.search(r"reads-it .* differs", wrong.get())
    assert "incomplete" not in wrong.get()


def test_what_flows_read_where_others_write_is_not_compared(peerlane: Run, scenario: Write) -> None:
    shared = peerlane("run", scenario(text=PAIR + WRITE + READ)).succeeds()
    assert re.search(r"reads-it .* not compared", shared.out)
    assert re.search(r"first .* intact", shared.out)
    assert 'fabric.toml:39: flow "reads-it", offset: flow "first" uses bytes' in shared.err


@pytest.mark.parametrize("how", ["trace", "perfetto", "vcd", "pcap"])
def test_a_filter_that_nothing_meets_is_told(peerlane: Run, scenario: Write, how: str) -> None:
    done = peerlane(
        "run", scenario(), f"--{how}", "t", "--kind", "Swap", "--window", "0us.."
    ).succeeds()
    assert (
        "warning: t has no records: nothing that took a wire matches --kind, --window" in done.err
    )
    assert "no records" not in peerlane("run", "fabric.toml", f"--{how}", "t", "--kind", "MWr").err


def test_a_trace_is_in_order_on_each_wire(peerlane: Run, scenario: Write, tmp_path: Path) -> None:
    assert peerlane("run", scenario(), "--trace", tmp_path / "trace").status == 0
    free: dict[tuple[str, str, bool], float] = {}
    for text in (tmp_path / "trace").read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        assert len({"tlp", "dllp", "ordered_set", "arrival"} & set(line)) == 1
        wire = line["link"], line["direction"], "arrival" in line
        assert line["ns"] >= free.get(wire, 0)
        free[wire] = line["ns"] + line.get("length_ns", 0) - 1e-5


def test_the_seed_of_the_command_line_counts(peerlane: Run, scenario: Write) -> None:
    document = json.loads(peerlane("run", scenario(), "--seed", "7", "--json", "-").out)
    assert document["seed"] == 7


def test_show_prints_the_tree(peerlane: Run, scenario: Write) -> None:
    shown = peerlane("show", scenario()).succeeds()
    for word in ("h0", "s0", "x4 Gen2", "MPS", "bar0"):
        assert word in shown.out


def test_show_tells_the_socket_of_a_port_where_there_are_several(
    peerlane: Run, scenario: Write
) -> None:
    assert "socket" not in peerlane("show", scenario()).out
    two = '[hosts.h0]\nsockets = 2\n[devices.a]\nupstream = { to = "h0", socket = 1 }\n'
    assert "port 0 of socket 1, x16 Gen3" in peerlane("show", scenario(text=two)).out


def test_show_as_json_has_every_node(peerlane: Run, scenario: Write) -> None:
    document = json.loads(peerlane("show", scenario(), "--json", "-").out)
    assert [node["name"] for node in document["nodes"]] == ["h0", "s0", "a", "b"]
    keys = {"name", "kind", "model", "id", "virtual_functions", "processor", "upstream"}
    keys |= {"max_payload", "max_read_request", "regions"}
    for node in document["nodes"]:
        assert node.keys() == keys


TYPED = {"sections", "model", "what", "kind", "choices", "lifts", "range"}


def test_list_describes_every_parameter(peerlane: Run) -> None:
    document = json.loads(peerlane("list", "--json", "-").out)
    assert document.keys() == {
        *("models", "profiles", "parameters", "systems", "scenarios", "recipes")
    }
    assert {"dma", "reflector"} <= {model["name"] for model in document["models"]}
    for parameter in document["parameters"]:
        assert parameter.keys() == {"where", "key", "unit", "default", "help", "source"} | TYPED
        assert parameter["help"]
        assert parameter["source"], parameter["key"]


def test_list_of_one_topic_is_only_that(peerlane: Run) -> None:
    assert json.loads(peerlane("list", "systems", "--json", "-").out).keys() == {"systems"}


def test_reproduce_of_the_analytic_tables_is_exact(peerlane: Run) -> None:
    ran = peerlane("reproduce", "rosta", "--figure", "table1", "--json", "-")
    document = json.loads(ran.out)
    assert ran.status == 0
    keys = {"schema", "version", "command", "system", "counts", "rows", "calibration"}
    assert document.keys() == keys
    assert document["counts"]["figures"] == {"analytic": {"within": 9, "missed": 0}, "gap": 0}
    for row in document["rows"]:
        assert row.keys() == set(ROW.split())
        assert row["simulated"] == row["published"]
        assert row["kind"] == "analytic"


def test_bench_reports_its_contract(peerlane: Run) -> None:
    ran = peerlane("bench", "fabric", "--endpoints", "1,2", "--tlps", "2000", "--json", "-")
    document = json.loads(ran.out)
    contract = {"tlp_per_second", "events_per_second", "peak_bytes", "tlps", "wall_seconds"}
    assert document.keys() == contract | {"peers", "endpoints", "every_wall_seconds", "runs"}
    assert document["tlps"] == 2000
    assert document["peers"] == {}
    assert [run["endpoints"] for run in document["runs"]] == [1, 2]


def test_bench_of_a_network_counts_hops(peerlane: Run) -> None:
    ran = peerlane("bench", "network", "--sides", "2,4", "--hops", "5000", "--json", "-").succeeds()
    runs = json.loads(ran.out)["runs"]
    assert [run["side"] for run in runs] == [2, 4]
    for run in runs:
        assert run["hops"] == pytest.approx(5000, rel=0.3)
        assert run["hops_per_second"] == pytest.approx(run["hops"] / run["wall_seconds"])
        assert len(run["every_wall_seconds"]) == 3


def test_bench_of_messages_counts_bytes(peerlane: Run) -> None:
    ran = peerlane(
        "bench", "messages", "--hosts", "2,3", "--size", "5000", "--json", "-"
    ).succeeds()
    runs = json.loads(ran.out)["runs"]
    assert [(run["hosts"], run["payload"]) for run in runs] == [(2, 10_000), (3, 30_000)]
    for run in runs:
        assert run["payload_per_second"] == pytest.approx(run["payload"] / run["wall_seconds"])


def test_bench_of_a_session_has_a_reference_for_each_access_and_transfer(peerlane: Run) -> None:
    options = ("--size", "1 MiB", "--accesses", "40", "--repeat", "1")
    ran = peerlane("bench", "session", *options, "--json", "-").succeeds()
    found = json.loads(ran.out)
    cores = len(os.sched_getaffinity(0))
    assert list(found["placements"]) == ["1 core", "2 cores"][:cores]
    for placement in found["placements"].values():
        assert placement["accesses"].keys() == {"read", "write", "load", "store"}
        for access in placement["accesses"].values():
            assert access["least_ratio"] == access["ratio"] == access["most_ratio"] > 0
            assert access["ns"] > 0 < placement["socket_ns"]
    assert found["size"] == 2**20
    for transfer in found["transfers"].values():
        rates = transfer["bytes_per_second"], transfer["run_bytes_per_second"]
        assert transfer["share"] == pytest.approx(rates[0] / rates[1])
        assert transfer["processor_share"] > 0
    assert found["fill_bytes_per_second"] > 0 < found["verify_bytes_per_second"]


def test_bench_reports_the_median_of_its_runs(peerlane: Run) -> None:
    ran = peerlane("bench", "fabric", "--tlps", "2000", "--repeat", "3", "--json", "-")
    document = json.loads(ran.out)
    assert len(document["every_wall_seconds"]) == 3
    assert sorted(document["every_wall_seconds"])[1] == document["wall_seconds"]
    rate = document["tlps"] / document["wall_seconds"]
    assert document["tlp_per_second"] == pytest.approx(rate)


def test_bench_does_as_much_for_a_packet_among_many_endpoints_as_among_few(peerlane: Run) -> None:
    """A link with few packets tells the credit of each by an UpdateFC of its own: an event more."""
    ran = peerlane("bench", "fabric", "--endpoints", "1,64,512", "--repeat", "1", "--json", "-")
    runs = json.loads(ran.out)["runs"]
    events = [run["events_per_second"] / run["tlp_per_second"] for run in runs]
    assert max(events) < 1.2 * min(events) + 1


@needs_cocotbext
def test_bench_lets_a_peer_do_the_same_job(peerlane: Run) -> None:
    ran = peerlane("bench", "fabric", "--tlps", "500", "--peer", "cocotbext", "--json", "-")
    peer = json.loads(ran.out)["peers"]["cocotbext-pcie"]
    assert peer["tlps"] == 500
    assert peer["tlp_per_second"] > 0


def test_bench_compares_with_several_peers(peerlane: Run) -> None:
    ran = peerlane("bench", "fabric", "--tlps", "500", "--peer", "simpy", "--json", "-").succeeds()
    found = json.loads(ran.out)
    peer = found["peers"]["SimPy"]
    assert peer["tlps"] == 500
    assert peer["ratio"] == pytest.approx(found["tlp_per_second"] / peer["tlp_per_second"])


def test_bench_compares_peers_with_the_run_of_as_many_endpoints(peerlane: Run) -> None:
    options = ("--endpoints", "16,1", "--tlps", "500", "--repeat", "1", "--peer", "simpy")
    ran = peerlane("bench", "fabric", *options, "--json", "-").succeeds()
    found = json.loads(ran.out)
    alike = found["runs"][1]
    assert alike["endpoints"] == 1
    ratio = alike["tlp_per_second"] / found["peers"]["SimPy"]["tlp_per_second"]
    assert found["peers"]["SimPy"]["ratio"] == pytest.approx(ratio)


def test_bench_says_why_a_simulator_is_no_peer(peerlane: Run) -> None:
    ran = peerlane("bench", "fabric", "--tlps", "500", "--peer", "sst", "--json", "-").succeeds()
    assert ran.err == (
        "skipping sst: SST is built from its source code, not installed as a package, and Peerlane"
        " has no program for it\n"
    )
    assert json.loads(ran.out)["peers"] == {}


def test_bench_names_the_peers_that_there_are(peerlane: Run) -> None:
    ran = peerlane("bench", "fabric", "--peer", "simpy,gem5")
    assert ran.status == 2
    assert "'gem5' is no simulator that can do this job; there are cocotbext, ns3, simpy" in ran.err


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["list", "systems"], 0),
        (["run", "fabric.toml"], 1),
        (["fly"], 2),
    ],
)
def test_a_process_ends_with_the_status_of_its_command(
    peerlane_process: Run, scenario: Write, command: list[str], status: int
) -> None:
    scenario(('to = "b"', 'to = "0xdead0000"'))
    ended = peerlane_process(*command)
    assert ended.status == status
    assert (ended.err == "") == (status == 0)
    assert (ended.out == "") == (status == 2)


def test_a_wrong_scenario_is_no_wrong_use_of_an_option() -> None:
    with pytest.raises(ScenarioError), wrong_use("--size"):
        Simulation("")
    with pytest.raises(BadParameter, match="too small") as told, wrong_use("--size"):
        raise ValueError("too small")
    assert told.value.param_hint == "--size"


ENDLESS = ('size = "16 KiB"', 'duration = "100 s"\nwindow = "16 KiB"')


@pytest.mark.parametrize(
    ("command", "printed", "number"),
    [
        (["run", "fabric.toml"], b"partial: stopped before its end", signal.SIGINT),
        (
            ["run", "fabric.toml", "--trace", "/dev/null", "--json", "-"],
            b'"partial": true',
            signal.SIGTERM,
        ),
        (["run", "fabric.toml", "--repeat", "2"], b"", signal.SIGTERM),
        (["explain", "fabric.toml"], b"", signal.SIGTERM),
        (["reproduce"], b"", signal.SIGTERM),
        (["bench", "fabric", "--tlps", "1000000", "--repeat", "100"], b"", signal.SIGINT),
    ],
)
def test_an_interrupt_is_one_line_after_what_is_there(
    scenario: Write, tmp_path: Path, command: list[str], printed: bytes, number: signal.Signals
) -> None:
    """A SIGTERM has another exit status, and is otherwise an interrupt."""
    scenario(ENDLESS)
    told = tmp_path / "told"
    with (
        told.open("wb") as err,
        subprocess.Popen(
            [sys.executable, "-m", "peerlane", *command],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=err,
        ) as process,
    ):
        has_begun = rb" %, " if printed else rb" %, | so far"
        wait_until(lambda: re.search(has_begun, told.read_bytes()), process)
        process.send_signal(number)
        out, _ = process.communicate(timeout=30)
    said = without_progress(told.read_text(encoding="utf-8"))
    done = " after 0 of 2 runs" if "2" in command else ""
    assert (process.returncode, said) == (128 + number, f"interrupted{done}\n")
    assert printed in out
    assert bool(out) == bool(printed)
    if "--json" in command:
        result = RunResult.from_json(out.decode())
        assert result.partial
        assert result.flows["a-to-b"].bytes > 0


def test_an_interrupted_bench_of_a_session_is_one_line(tmp_path: Path) -> None:
    told = tmp_path / "told"
    with (
        told.open("wb") as err,
        subprocess.Popen(
            [sys.executable, "-m", "peerlane", "bench", "session", "--accesses", "10000000"],
            stdout=subprocess.PIPE,
            stderr=err,
            start_new_session=True,
        ) as process,
    ):
        # Its program, which has the interrupt from the terminal too, makes accesses by then.
        wait_until(lambda: b" so far" in told.read_bytes(), process)
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    said = without_progress(told.read_text(encoding="utf-8"))
    assert (process.returncode, out, said) == (130, b"", "interrupted\n")


def test_an_option_that_can_do_nothing_is_refused_or_warned_of(
    peerlane: Run, scenario: Write
) -> None:
    refused = peerlane("run", scenario(), "--check-coherence", "10")
    refused.refuses("--check-coherence", "coherent = true")
    late = ("[[flows]]", '[measure]\nfrom = "2 s"\nuntil = "4 s"\n\n[[flows]]')
    ran = peerlane("run", scenario(late)).succeeds()
    assert ran.err.startswith("warning: [measure] begins after the run")
    assert not peerlane("run", scenario(MEASURE)).err


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_the_help_of_a_long_command_fits_two_screens(peerlane: Run, command: str) -> None:
    lines = peerlane(command, "--help").out.splitlines()
    assert len(lines) <= 48
    assert max(map(len, lines)) <= 80
    shown = [line.split()[0] for line in lines if line.startswith("  -")]
    made = get_command(app).commands[command]  # type: ignore[attr-defined]
    options = [one for one in made.params if one.param_type_name == "option"]
    assert {one.opts[0] for one in options} <= {one.rstrip(",") for one in shown}
    assert "docs/guide/commands.md" in lines[-1]
    full = peerlane(command, "--help-all").succeeds()
    assert len(full.out.splitlines()) > 100
