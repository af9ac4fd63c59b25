"""A simulation driven from outside, and results as Python and pandas see them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, dataclass
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from conftest import PAIR
from peerlane import Collection, RunResult, SimulatedNode, Simulation
from peerlane.fabric.moved import MOVED

if TYPE_CHECKING:
    from collections.abc import Callable


def bar_of(simulation: Simulation, name: str) -> int:
    return next(r.base for r in simulation.tree().nodes[name].regions if r.what == "bar0")


def test_a_write_arrives_where_it_was_sent() -> None:
    simulation = Simulation(PAIR.split("[[flows]]")[0])
    bar = bar_of(simulation, "b")
    simulation.node("a").write(bar + 5, b"peerlane")
    assert simulation.node("h0").read(bar + 5, 8) == b"peerlane"
    assert simulation.node("b").memory(bar + 5, 8) == b"peerlane"
    assert simulation.now_ns > 0


def test_memory_is_seen_without_simulating() -> None:
    simulation = Simulation(PAIR)
    assert simulation.node("h0").memory(1 << 32, 16) == bytes(16)
    assert simulation.now_ns == 0


def test_a_read_that_is_not_answered_in_time_is_told_as_that() -> None:
    slow = PAIR.split("[[flows]]")[0].replace("[hosts.h0]", '[hosts.h0]\nlatency = "60 us"')
    patient = slow.replace("[devices.a]", '[devices.a]\ncompletion_timeout = "50 us"')
    with pytest.raises(RuntimeError, match="no answer came from 0x100000000 in time"):
        Simulation(patient).node("a").read(1 << 32, 4)


def test_simulations_side_by_side_are_what_they_are_alone() -> None:
    alone = Simulation(PAIR).run()
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: Simulation(PAIR).run(), range(16)))
    assert all(result == alone for result in together)


def test_one_event_at_a_time_comes_to_the_same_end() -> None:
    whole, steps = Simulation(PAIR), Simulation(PAIR)
    while steps.step():
        pass
    assert steps.result().flows == whole.run().flows


def test_progress_is_a_fraction_that_grows() -> None:
    heard: list[float] = []
    Simulation(PAIR).run(heard.append)
    assert heard == sorted(heard)
    assert all(0 <= fraction <= 1 for fraction in heard)


def test_an_exception_in_progress_ends_the_run() -> None:
    def refuse(_fraction: float) -> None:
        raise LookupError

    long = PAIR.replace('"16 KiB"\n', '"16 MiB"\n').replace('bar = "64 KiB"', 'bar = "16 MiB"')
    with pytest.raises(LookupError):
        Simulation(long).run(refuse)


def test_results_become_frames() -> None:
    result = Simulation(PAIR).run()
    (flow,) = result.flows.to_pandas().to_dict("records")
    assert flow["latency_ns_p50"] > 0
    assert (flow["from"], flow["to"], flow["bytes"]) == ("a", "b", 16 * 1024)
    assert result.to_pandas().equals(result.flows.to_pandas())
    links = result.links.to_pandas()
    assert len(links) == len(result.links) == 6
    assert set(links["direction"]) == {link.direction for link in result.links}
    assert list(Simulation(PAIR).tree().to_pandas()["name"]) == ["h0", "s0", "a", "b"]


def test_latencies_spread_when_packets_queue() -> None:
    latency = Simulation(PAIR).run().flows[0].latency_ns
    assert latency is not None
    assert latency.min < latency.p50 <= latency.p99 <= latency.max
    assert latency.min < latency.mean < latency.max


def test_rows_are_found_by_position_and_by_id() -> None:
    flows = Simulation(PAIR).run().flows
    assert flows["a-to-b"] is flows[0]
    assert flows[:1] == flows
    with pytest.raises(KeyError, match="nothing"):
        flows["nothing"]


def test_an_empty_collection_is_an_empty_frame() -> None:
    assert len(Collection().to_pandas()) == 0


@dataclass
class SlowRow:
    """A row whose key takes a while to be read."""

    number: int

    @property
    def id(self) -> str:
        sleep(0.01)
        return f"row-{self.number}"


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda simulation: simulation.result(), id="result"),
        pytest.param(lambda simulation: simulation.now_ns, id="time"),
        pytest.param(lambda simulation: simulation.run(), id="run"),
    ],
)
def test_a_callback_that_uses_its_simulation_is_told_why_it_cannot(
    use: Callable[[Simulation], object],
) -> None:
    longer = 'size = "4 MiB"\nwindow = "64 KiB"'
    simulation = Simulation(PAIR.replace('size = "16 KiB"', longer))
    with pytest.raises(RuntimeError, match=r"the simulation is running.*run_while"):
        simulation.run(lambda _share: use(simulation))
    assert simulation.run().flows[0].completed


def test_several_threads_find_rows_at_the_same_time() -> None:
    rows = Collection(map(SlowRow, range(4)))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda number: rows[f"row-{number}"].number, range(4)))
    assert found == [0, 1, 2, 3]


def test_a_result_is_what_the_simulator_writes_and_stays_so() -> None:
    result = Simulation(PAIR).run()
    document = result.to_json()
    with pytest.raises(ValidationError, match="colour"):
        RunResult.from_json(json.dumps(document | {"colour": "red"}))
    del document["flows"][0]["intact"]
    with pytest.raises(ValidationError, match="intact"):
        RunResult.from_json(json.dumps(document))
    with pytest.raises(FrozenInstanceError):
        result.name = "another"  # type: ignore[misc]


def test_a_run_in_pieces_is_the_run() -> None:
    text = PAIR.replace('"16 KiB"', '"8 MiB"\nwindow = "16 KiB"')
    whole, pieces = Simulation(text), Simulation(text)
    shares: list[float] = []

    def stops(share: float) -> bool:
        shares.append(share)
        return False

    while not pieces.run_while(stops):
        wires = pieces.wires()
        names = [(link.id, link.direction) for link in pieces.result().links]
        assert [(link.id, link.direction) for link in wires.links] == names
        assert wires.links[names.index(("s0-a", "up"))].waiting_tlps
    assert len(shares) > 1
    assert shares == sorted(shares)
    result = whole.run()
    assert pieces.result() == result
    carried = [(link.payload_bytes, link.replays) for link in result.links]
    assert [(link.payload_bytes, link.replays) for link in whole.wires().links] == carried


def test_a_node_that_is_not_there_is_offered_the_nearest() -> None:
    simulation = Simulation(PAIR.replace("h0", "host"))
    for access in (
        lambda: simulation.node("hots").memory(0, 4),
        lambda: simulation.node("hots").write(0, b"1234"),
        lambda: simulation.node("hots").thread(),
        lambda: simulation.node("hots").config_read("00:00.0", 0),
    ):
        with pytest.raises(ValueError, match=r'no node "hots" .*; did you mean "host"'):
            access()


def test_a_seed_has_the_range_that_it_has_in_a_scenario() -> None:
    assert Simulation(PAIR, seed=2**63 - 1).result().seed == 2**63 - 1
    for seed in (-1, 2**63):
        with pytest.raises(ValueError, match=f"{seed} is not a seed; give 0 to 0x7fffffffffffffff"):
            Simulation(PAIR, seed=seed)
    with pytest.raises(TypeError, match="'7' is not a seed; give a whole number"):
        Simulation(PAIR, seed="7")  # type: ignore[arg-type]


def test_a_method_that_nodes_have_now_is_found_by_its_former_name() -> None:
    simulation: Any = Simulation(PAIR)
    for former, now in MOVED.items():
        assert callable(getattr(SimulatedNode, now)), former
    with pytest.warns(DeprecationWarning, match=r"write Simulation.node\(NODE\).allocate\(...\)"):
        former_method = simulation.allocate
    assert former_method("h0", 4096) == Simulation(PAIR).node("h0").allocate(4096)
    with pytest.raises(AttributeError, match="a Simulation has no attribute 'alocate'"):
        simulation.alocate("h0", 4096)


def test_a_path_is_no_text_of_a_scenario() -> None:
    with pytest.raises(ValueError, match=r"'pair.toml' is the name of a file; .* Simulation.open"):
        Simulation("pair.toml")
    with pytest.raises(TypeError, match=r"PosixPath\('pair.toml'\) is no scenario; give its text"):
        Simulation(Path("pair.toml"))  # type: ignore[arg-type]


def test_a_capture_has_a_path() -> None:
    with pytest.raises(TypeError, match=r"expected str, bytes or os.PathLike object"):
        Simulation(PAIR).capture("pcap", None)  # type: ignore[arg-type]
