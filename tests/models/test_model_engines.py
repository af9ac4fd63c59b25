"""The end of the engines of a device in Python: by a reset, and with a simulation."""

# ruff: noqa: ARG002 - device models as users write them

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from models.own_devices import MEMORY, Zeros, base, fabric
from peerlane import ModelError
from peerlane.testing import Bench

if TYPE_CHECKING:
    from collections.abc import Awaitable


class Ended(Zeros):
    """Asks for more while its engines are ended."""

    msix_vectors = 1
    virtual_functions = 1

    def on_reset(self) -> None:
        if self.function == 0:
            self.seen: list[object] = []

    def on_write(self, bar: int, offset: int, data: bytes) -> Awaitable[None]:
        return self.bare() if offset == 4 else self.work()

    async def work(self) -> None:
        try:
            await self.sleep(1e6)
        finally:
            self.seen += [self.function, self.now_ns]
            self.post(MEMORY + 0x5000, b"LATE")
            self.interrupt(0)
            self.start(self.more())
            await self.dma_write(MEMORY + 0x5004, b"LATE")
            self.seen.append("after the end")

    async def more(self) -> None:
        self.seen.append("started at the end")

    async def bare(self) -> None:
        while True:
            try:
                await self.sleep(1e6)
            except:  # noqa: E722 - as users write it
                self.seen.append("caught")


@pytest.mark.parametrize("function", [0, 1])
def test_what_an_engine_asks_for_while_a_reset_ends_it_is_dropped(function: int) -> None:
    device = Ended()
    begun = fabric(device, virtual_functions=1, virtual_bar="4 KiB").incident(
        "function-level-reset", "ssd", at="5 us", function=function
    )
    simulation = begun.simulation()
    bases = {region.what: region.base for region in simulation.tree().nodes["ssd"].regions}
    simulation.node("h0").write(bases["vf-bar0" if function else "bar0"], b"1234")
    simulation.run_until(3_000)
    seen = device.seen
    simulation.run_until(400e6)
    reset = simulation.result().incidents[0]
    assert seen == [function, pytest.approx(reset.at_ns)]
    assert simulation.node("h0").memory(MEMORY + 0x5000, 8) == bytes(8)
    assert simulation.node("h0").interrupts() == {}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of Python itself
def test_an_engine_that_does_not_end_is_told_with_its_line() -> None:
    bench = Bench(Ended)
    bench.write(0, 4, 1)
    line = Ended.bare.__code__.co_firstlineno + 3
    told = rf"engine Ended.bare goes on at line {line} after its end; let GeneratorExit pass, and"
    with pytest.raises(ModelError, match=told):
        bench.reset()


def test_engines_end_with_their_simulation_and_say_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    device = Ended()
    simulation = fabric(device).simulation()
    simulation.node("h0").write(base(simulation), b"1234")
    simulation.run_until(3_000)
    assert device.seen == []
    del simulation
    assert device.seen[0] == 0
    # A later simulation has engines of its own, which an earlier one leaves alone.
    first = fabric(device).simulation()
    second = fabric(device).simulation()
    second.node("h0").write(base(second), b"1234")
    second.run_until(3_000)
    del first
    assert device.seen == []
    del device, second
    gc.collect()
    assert capfd.readouterr().err == ""


def test_an_object_is_a_device_of_its_last_simulation_alone() -> None:
    device = Ended()
    first = fabric(device).simulation()
    second = fabric(device).simulation()
    assert second.node("h0").read(base(second), 1) == b"\0"
    with pytest.raises(ModelError, match="the device belongs to a later simulation; give each"):
        first.node("h0").read(base(first), 1)
    assert second.node("h0").read(base(second), 1) == b"\0"
