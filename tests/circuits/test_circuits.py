"""Circuits in the place of device models.

`make test` builds one engine and two small circuits. The other tests need `make gateware`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from peerlane import Fabric, ScenarioError, Simulation
from peerlane.benchmark.circuits.ring import ring
from peerlane.reproduction.catalogue import folder_of
from peerlane.reproduction.circuits import require_circuits
from peerlane.reproduction.expected import Expected
from peerlane.systems.rosta import experiments

if TYPE_CHECKING:
    from conftest import Run, Write
    from peerlane import RunResult

NO_CIRCUIT = "there is no circuit"


def pair(*circuits: str, size: str = "16 KiB", **keys: str) -> Fabric:
    """Two engines below a switch; those named in `circuits` are circuits."""
    fabric = Fabric("pair")
    fabric.host("h0", memory="16 MiB")
    fabric.switch("s0", "h0", profile="plx")
    for name in ("a", "b"):
        fabric.device(name, "s0", model="sg-dma", bar="1 MiB", datapath="8 B")
        fabric.set(name, send_latency="260 ns", receive_latency="260 ns")
        if name in circuits:
            fabric.set(name, implementation="rtl", **keys)
    fabric.flow("a", "b", size=size, clock="sender")
    return fabric


def has_engine(user: str) -> bool:
    """Whether the engine with a user circuit is built."""
    try:
        pair("a", user=user).simulation()
    except ScenarioError as error:
        return NO_CIRCUIT not in str(error)
    return True


ALL = has_engine("reflector")
needs_all_circuits = pytest.mark.skipif(not ALL, reason="`make gateware` builds all circuits")


def received(fabric: Fabric, node: str, size: int) -> bytes:
    """The bytes at a node's memory after a run in which everything arrived intact."""
    simulation = fabric.simulation()
    result = simulation.run()
    assert result.failures == []
    assert all(flow.intact for flow in result.flows)
    (memory, *_) = simulation.tree().nodes[node].regions
    return simulation.node(node).memory(memory.base, size)


@pytest.mark.parametrize("circuits", [("a",), ("b",), ("a", "b")])
def test_a_circuit_writes_the_bytes_that_its_model_writes(circuits: tuple[str, ...]) -> None:
    size = 16 << 10
    assert received(pair(*circuits), "b", size) == received(pair(), "b", size)


@pytest.mark.parametrize("direction", ["write", "read"])
def test_a_circuit_moves_the_bytes_of_a_list_in_host_memory(direction: Any) -> None:
    fabric = pair("a").without_flows()
    fabric.flow("a", "h0", size="20000 B", direction=direction, offset="100 B", clock="sender")
    (flow,) = fabric.run().flows
    assert (flow.completed, flow.intact, flow.bytes) == (True, True, 20000)


def test_two_circuits_write_to_each_other() -> None:
    fabric = pair("a", "b").flow("b", "a", size="16 KiB", clock="sender")
    result = fabric.run()
    assert [flow.intact for flow in result.flows] == [True, True]
    assert result.failures == []


def test_a_run_with_circuits_is_the_same_each_time() -> None:
    assert pair("a", "b").run() == pair("a", "b").run()


@needs_all_circuits
def test_a_reflector_sends_back_what_a_circuit_writes_to_it() -> None:
    fabric = pair("a", "b").without_flows().set("b", user="reflector")
    fabric.flow("a", "b", size="8 B", direction="round-trip")
    (flow,) = fabric.run().flows
    assert (flow.completed, flow.intact) == (True, True)


@needs_all_circuits
def test_a_crossed_matrix_sends_what_it_reads_to_a_peer() -> None:
    fabric = pair("a").without_flows().set("a", user="matrix", crossed=True)
    fabric.flow("a", "h0", id="in", direction="read", size="8 KiB", offset="0 B")
    fabric.flow("a", "b", size="8 KiB", carries="in")
    assert [flow.intact for flow in fabric.run().flows] == [True, True]


def test_waveforms_of_a_window_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = pair("a", waves="5 us..6 us").run()
    assert result.failures == []
    assert (tmp_path / "a.vcd").stat().st_size > 1000
    assert not (tmp_path / "b.vcd").exists()


def test_waveforms_that_cannot_be_written_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.vcd").mkdir()
    result = pair("a", waves="5 us..6 us").run()
    (stopped,) = result.stopped_circuits
    assert stopped.startswith("a at ")
    assert "a.vcd cannot be written" in stopped
    assert result.failures[0] == stopped


def test_a_device_that_is_not_there_cannot_be_a_circuit(peerlane: Run) -> None:
    told = peerlane("run", "driver", "--rtl", "c9")
    told.refuses("there is no device 'c9' in the scenario", "its devices are")


def test_a_member_of_a_repeated_table_can_be_a_circuit(peerlane: Run, scenario: Write) -> None:
    repeated = """
[hosts.h]
[switches.s]
ports = 32
upstream = "h"
[devices."c.{i}"]
each = "i = 0..19"
model = "sg-dma"
datapath = "16 B"
upstream = "s"
[[flows]]
from = "c.1"
to = "h"
size = "4 KiB"
"""
    path = scenario(text=repeated)
    # What a circuit refuses shows that this device alone is one.
    peerlane("run", path, "--rtl", "c.1").refuses("c.1.datapath: the circuit's stream has 64 bits")
    peerlane("run", path, "--rtl", "c.{i}").refuses("c.0.datapath: the circuit's stream has 64")
    told = peerlane("run", path, "--rtl", "c.99")
    told.refuses("no device 'c.99' in the scenario", "its devices are c.0, c.1, ", "c.11, and ")


def test_no_device_at_all_cannot_be_a_circuit(peerlane: Run) -> None:
    peerlane("run", "driver", "--rtl", " ,").refuses("--rtl", "names of devices")


@pytest.mark.parametrize("window", ["12 us..10 us", "10 us..10 us", "10 us", "10..12", ".."])
def test_a_window_of_waves_has_two_times_in_order(window: str) -> None:
    with pytest.raises(ScenarioError, match=r"a\.waves: "):
        pair("a", waves=window).simulation()


def test_a_clock_with_another_completion_timeout_says_what_the_circuit_waits() -> None:
    with pytest.raises(
        ScenarioError, match=r"a\.completion_timeout: .* 2,500,000 cycles of `clock`"
    ):
        pair("a", clock="200 MHz").simulation()


def test_a_model_without_a_circuit_says_so() -> None:
    text = """
[hosts.h0]
[devices.d0]
model = "dma"
upstream = "h0"
implementation = "rtl"
"""
    with pytest.raises(ScenarioError, match=r'6: .*model = "dma" has no circuit'):
        Simulation(text, source="wrong.toml")


def test_a_parameter_that_the_circuit_cannot_have_is_named() -> None:
    with pytest.raises(ScenarioError, match=r"a\.fifo: each FIFO of the circuit has 4 KiB"):
        pair("a", fifo="64 KiB").simulation()


def test_a_system_without_circuits_cannot_be_reproduced_with_them(peerlane: Run) -> None:
    told = peerlane("reproduce", "ccix", "--implementation", "rtl")
    told.refuses("no circuit")


def test_an_implementation_that_does_not_exist_is_refused(peerlane: Run) -> None:
    told = peerlane("reproduce", "rosta", "--implementation", "vhdl")
    told.refuses("vhdl", "rtl")


def test_a_device_whose_model_has_no_circuit_cannot_be_one(peerlane: Run, tmp_path: Path) -> None:
    scenario = tmp_path / "plain.toml"
    scenario.write_text('[hosts.h0]\n[devices.d0]\nmodel = "dma"\nupstream = "h0"\n')
    peerlane("run", scenario, "--rtl", "d0").refuses('model = "dma" has no circuit')


@needs_all_circuits
def test_lists_are_fetched_from_host_memory() -> None:
    fabric = pair("a").without_flows().set("a", descriptor_fetch=True)
    fabric.flow("a", "h0", size="300000 B", offset="100 B", clock="sender")
    fabric.flow(
        "a", "h0", id="in", direction="read", size="300000 B", offset="1 MiB", clock="sender"
    )
    assert [flow.intact for flow in fabric.run().flows] == [True, True]


@needs_all_circuits
def test_waveforms_of_eight_engines_have_a_file_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fabric = ring(4000)
    for number in range(8):
        fabric.set(f"c{number}", waves="20 us..21 us")
    assert fabric.run().failures == []
    sizes = [(tmp_path / f"c{number}.vcd").stat().st_size for number in range(8)]
    assert min(sizes) > 1000


RULES = [
    "label 1",
    "$finish",
    "a TLP without tx_first_o",
    "tx_bytes_o is no number of bytes of a beat",
    "a beat before the last one is not full",
]
"""Why the circuit `broken` stops at a packet of the first flow, of the second one, and so on."""


@pytest.mark.parametrize("flow", range(len(RULES)))
def test_a_circuit_that_breaks_a_rule_ends_the_run(
    flow: int, peerlane: Run, tmp_path: Path
) -> None:
    scenario = tmp_path / "fabric.toml"
    fabric = Fabric("pair").host("h0", memory="16 MiB").switch("s0", "h0")
    fabric.device("a", "s0").device("b", "s0", bar="1 MiB", datapath="8 B", circuit="broken")
    for _ in range(flow):
        fabric.flow("a", "h0", size="64 B")
    fabric.flow("a", "b", size="1 KiB", start="2 us")
    scenario.write_text(fabric.to_toml(), encoding="utf-8")
    model = peerlane("run", scenario, "--set", "devices.b.implementation=model")
    assert model.status == 0, "the model breaks no rule"
    told = peerlane("run", scenario)
    assert told.status == 1
    assert "Traceback" not in told.err
    (stopped,) = [line for line in told.err.splitlines() if "broken" in line]
    found = re.search(r"b at ([\d.]+) ns: the circuit 'broken' has stopped in cycle (\d+)", stopped)
    assert found, stopped
    assert RULES[flow] in told.err
    assert 2000 < float(found[1]) < 4000
    assert float(found[1]) == 4 * int(found[2]), "at 250 MHz"


def test_a_circuit_of_ones_own_has_no_part_of_the_model() -> None:
    fabric = Fabric("pair").host("h0", memory="16 MiB").switch("s0", "h0")
    fabric.device("a", "s0").device(
        "b", "s0", bar="1 MiB", implementation="rtl", circuit="loopback"
    )
    fabric.flow("a", "b", size="4 KiB")
    (flow,) = fabric.run().flows
    assert flow.intact


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("circuit", "loopbak", "no circuit 'loopbak'; there are: broken"),
        ("datapath", "64 B", "512 bits"),
    ],
)
def test_a_circuit_that_is_not_built_is_named(key: str, value: str, says: str) -> None:
    fabric = pair("a", circuit="loopback").set("a", **{key: value})
    with pytest.raises(ScenarioError, match=rf"a\.{key}: .*{says}"):
        fabric.simulation()


def test_reads_of_a_circuit_time_out_where_a_link_with_bit_errors_fails() -> None:
    fabric = Fabric("lost").links(bit_error_rate=1e-6).host("h0", memory="16 MiB")
    fabric.switch("s0", "h0", profile="plx", fails_at="30 us")
    fabric.device("a", "s0", model="sg-dma", datapath="8 B", implementation="rtl")
    result = fabric.flow("a", "h0", size="64 KiB", direction="read").run()
    (flow,) = result.flows
    ((offset, lost),) = flow.missing
    assert (flow.completed, flow.bytes) == (False, offset)
    logged = result.incidents["a", "Completion Timeout"]
    assert logged.count == result.errors["a", "completion timeout"].count > 1
    assert logged.severity == "non-fatal"
    # The first read that is lost left before the link failed, and timed out 10 ms later.
    assert 10_000_000 < logged.at_ns < 10_030_000
    assert lost == 512 * logged.count, "each read is of MRRS"


ERROR, COUNT = 0x64, 0x258
"""Registers of the engine in BAR 2: the error of the reading unit, and its completion timeouts."""

TIMEOUT = 6
"""RESULT_TIMEOUT in `ERROR`."""


def test_the_sizes_in_the_docs_are_those_that_were_measured() -> None:
    ran = subprocess.run(
        [sys.executable, "gateware/synth.py", "--check"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("figure", [(), ("--figure", "chain")])
def test_a_system_whose_circuits_are_not_all_there_is_refused_at_once(
    figure: tuple[str, ...], peerlane: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiments, "CIRCUITS", {"chain": {"circuit": "none-such"}})
    told = peerlane("reproduce", "rosta", "--implementation", "rtl", *figure)
    told.refuses("a1.circuit", "no circuit 'none-such'", "make gateware")


def test_a_figure_needs_its_own_circuits_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "CIRCUITS", {"chain": {"circuit": "none-such"}})
    require_circuits("rosta", "fig4")


def test_circuits_are_chosen_for_figures_that_there_are() -> None:
    figures = Expected.load(folder_of("rosta")).by_figure()
    assert set(experiments.CIRCUITS) <= set(figures)


def errors_of(fabric: Fabric) -> list[tuple[str, str, str | None, int]]:
    """The log of errors after a run: where, what, the severity, and how often."""
    return logged(fabric.run())


def logged(result: RunResult) -> list[tuple[str, str, str | None, int]]:
    """The log of errors in a result."""
    assert result.stopped_circuits == ()
    found = [(one.where, one.what, one.severity, one.count) for one in result.incidents]
    return sorted(found, key=str)


def to_user(user: str, implementation: str) -> Fabric:
    """Writes of a peer to an engine with this user circuit, whose host hears of errors."""
    fabric = pair(size="64 KiB").set("b", user=user, implementation=implementation)
    return fabric.set("h0", error_reporting=True)


@needs_all_circuits
def test_writes_that_no_part_takes_are_the_same_errors_of_circuit_and_model() -> None:
    logs = [errors_of(to_user("loopback", one)) for one in ("model", "rtl")]
    assert logs[0] == logs[1]
    assert ("b", "Unsupported Request", "non-fatal", 128) in logs[0]


@needs_all_circuits
def test_writes_that_are_dropped_are_errors_of_circuit_and_model() -> None:
    counts = []
    for one in ("model", "rtl"):
        result = to_user("matrix", one).run()
        (flow,) = result.flows
        dropped = result.incidents["b", "Completer Abort"]
        assert dropped.severity == "non-fatal"
        assert result.errors["b", "completer abort"].count == dropped.count
        assert sum(size for _, size in flow.missing) == 512 * dropped.count
        counts.append(dropped.count)
    assert counts[0] == counts[1] > 100


def test_a_read_of_bar_0_of_the_engine_is_refused_before_the_run() -> None:
    fabric = Fabric("read").host("h0", memory="16 MiB").switch("s0", "h0")
    fabric.device("a", "s0").device("b", "s0", model="sg-dma", bar="1 MiB", datapath="8 B")
    for direction in ("read", "both"):
        fabric.without_flows().flow("a", "b", size="4 KiB", direction=direction)
        assert all(flow.completed for flow in fabric.set("b", implementation="model").run().flows)
        with pytest.raises(ScenarioError, match=r"direction: the circuit of b .* Unsupported"):
            fabric.set("b", implementation="rtl").run()


DEVICE_STATUS = 0x7A
"""The register of the configuration space."""


def test_a_request_that_the_circuit_does_not_serve_is_an_error_of_its_function() -> None:
    simulation = pair("b").simulation()
    simulation.run()
    node = simulation.tree().nodes["b"]
    window, *_ = node.regions
    assert simulation.node("h0").config_read(node.id, DEVICE_STATUS, size=2) & 0xF == 0
    with pytest.raises(RuntimeError, match="unsupported request"):
        simulation.node("h0").read(window.base, 4)
    # Correctable, because the completion informs the requester (PCIe Base 6.2.3.2.4.1).
    assert simulation.node("h0").config_read(node.id, DEVICE_STATUS, size=2) & 0xF == 0b1001


def test_lost_completions_are_the_same_errors_of_circuit_and_model() -> None:
    """And the circuit counts in its registers the timeouts that its result has."""
    logs = []
    for one in ("model", "rtl"):
        fabric = Fabric("lost").host("h0", memory="16 MiB", ecrc=True, max_payload="512 B")
        fabric.switch("s0", "h0", profile="plx", max_payload="512 B").set(
            "h0", error_reporting=True
        )
        fabric.device("b", "s0", model="sg-dma", datapath="8 B", max_payload="512 B")
        fabric.flow("b", "h0", size="64 KiB", direction="read").set("b", implementation=one)
        # A completion whose ECRC is wrong is dropped.
        simulation = fabric.incident("damage", "s0", at="12 us").simulation()
        result = simulation.run()
        assert result.errors["b", "completion timeout"].count == 1
        logs.append(logged(result))
    assert logs[0] == logs[1]
    assert ("b", "Completion Timeout", "non-fatal", 1) in logs[0]

    registers = simulation.tree().nodes["b"].regions[-1]
    assert registers.what == "bar2"

    def register(at: int) -> int:
        return int.from_bytes(simulation.node("h0").read(registers.base + at, 4), "little")

    assert (register(ERROR), register(COUNT)) == (TIMEOUT, 1)


def with_reset(direction: Any, at: str, implementation: Any) -> Fabric:
    """A transfer during which the function is reset, and another one after that."""
    fabric = Fabric("reset").host("h0", memory="16 MiB").switch("s0", "h0", profile="plx")
    fabric.device("a", "s0", model="sg-dma", datapath="8 B", implementation=implementation)
    fabric.flow("a", "h0", id="first", size="256 KiB", direction=direction)
    fabric.flow(
        "a", "h0", id="again", size="64 KiB", direction=direction, offset="1 MiB", start="101 ms"
    )
    return fabric.incident("function-level-reset", "a", at=at, drivers=True)


@pytest.mark.parametrize("direction", ["write", "read"])
@pytest.mark.parametrize("at", ["20 us", "61 us", "100 us", "133 us"])
def test_a_transfer_that_a_function_level_reset_ends_is_whole_when_it_is_done_again(
    direction: str, at: str
) -> None:
    logs = []
    for one in ("model", "rtl"):
        result = with_reset(direction, at, one).run()
        assert [flow.completed and flow.intact for flow in result.flows] == [True, True]
        assert result.stopped_circuits == ()
        assert result.incidents["a", "Function Level Reset"].count == 1
        logs.append([one.what for one in result.incidents if one.severity])
    assert logs == [[], []]
    assert result.flows["first"].restarts == 1, "the circuit was reset within the transfer"
