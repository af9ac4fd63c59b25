"""A device in Python as software sees it: functions, permissions, tags, vectors and errors."""

# ruff: noqa: ARG002, RUF012 - device models as users write them

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest

from models.own_devices import MEMORY, Zeros, base, express, extended, fabric, function_level_reset
from peerlane import Device, Fabric, RequestError, ScenarioError, Simulation

if TYPE_CHECKING:
    from collections.abc import Awaitable


def test_virtual_functions_of_a_device_are_told_apart() -> None:
    class Many(Device):
        bars = {0: "4 KiB"}
        virtual_functions = 3
        msix_vectors = 1

        def on_reset(self) -> None:
            self.written: dict[int, bytes] = {}

        def on_read(self, bar: int, offset: int, length: int) -> int:
            return self.function << 8 | bar << 4 | len(self.written)

        def on_write(self, bar: int, offset: int, data: bytes) -> Awaitable[None]:
            self.written[self.function] = data
            return self.tell()

        async def tell(self) -> None:
            await self.dma_write(MEMORY + 0x4000 + 8 * self.function, bytes([self.function]) * 8)

    many = fabric(Many, virtual_functions=2)
    simulation = many.simulation()
    bases = {region.what: region.base for region in simulation.tree().nodes["ssd"].regions}
    places = (bases["bar0"], bases["vf-bar0"], bases["vf-bar0"] + 4096)
    for number, place in enumerate(places):
        simulation.node("h0").write(place, b"\1\0\0\0")
        read = simulation.node("h0").read(place, 4)
        assert read == (number << 8 | number + 1).to_bytes(4, "little")
    simulation.run()
    told = simulation.node("h0").memory(MEMORY + 0x4000, 24)
    assert told == bytes([0] * 8 + [1] * 8 + [2] * 8)
    with pytest.raises(ScenarioError, match="virtual_functions"):
        fabric(Many, virtual_functions=4).simulation()


def test_virtual_functions_that_software_ends_are_reset_and_their_engines_end() -> None:
    class Reader(Device):
        bars = {0: "4 KiB"}
        virtual_functions = 2
        log: list[tuple[int, str]] = []

        def on_reset(self) -> None:
            self.log.append((self.function, "reset"))
            self.start(self.beat())

        def on_read(self, bar: int, offset: int, length: int) -> int:
            return self.function

        def on_write(self, bar: int, offset: int, data: bytes) -> Awaitable[None]:
            return self.copy()

        async def beat(self) -> None:
            await self.sleep(1_000)
            self.log.append((self.function, "beat"))

        async def copy(self) -> None:
            try:
                await self.dma_read(MEMORY + 0x10_0000, 1 << 20)
                self.log.append((self.function, "read"))
            finally:
                self.log.append((self.function, "ended"))

    device = Reader()
    device.log = []
    simulation = fabric(device, virtual_functions=2).simulation()
    node = simulation.tree().nodes["ssd"]
    bases = {region.what: region.base for region in node.regions}
    control = extended(simulation, node.id, 0x10) + 8
    simulation.node("h0").write(bases["bar0"], b"1234")
    simulation.node("h0").write(bases["vf-bar0"], b"1234")
    simulation.run_until(simulation.now_ns + 20_000)
    assert device.log == [(0, "reset"), (0, "beat")]
    enabled = simulation.node("h0").config_read(node.id, control, size=2)
    simulation.node("h0").config_write(node.id, control, enabled & ~1, size=2)
    simulation.run_until(simulation.now_ns + 10_000)
    # A function that is gone begins nothing.
    assert device.log[2:] == [(1, "ended"), (1, "reset"), (2, "reset")]
    simulation.node("h0").config_write(node.id, control, enabled, size=2)
    assert simulation.node("h0").read(bases["vf-bar0"], 1) == b"\1"
    simulation.run_until(simulation.now_ns + 1_000_000)
    assert device.log[5:] == [(0, "read"), (0, "ended")]


def test_a_function_that_may_not_send_holds_up_no_other_one() -> None:
    class Senders(Zeros):
        virtual_functions = 1

        def on_reset(self) -> None:
            self.done: list[str] = []

        def on_write(self, bar: int, offset: int, data: bytes) -> Awaitable[None]:
            return self.send()

        async def send(self) -> None:
            own = self.function
            at = MEMORY + 0x4000 + 8 * own
            await self.dma_write(at, bytes([own + 1]) * 8)
            self.done.append(f"write {own}")
            await self.fetch_add(at, 1)
            self.done.append(f"atomic {own}")
            await self.dma_read(at, 8)
            self.done.append(f"read {own}")

    def master(may: tuple[bool, bool]) -> None:
        for number, one in zip((function, virtual), may, strict=True):
            simulation.node("h0").config_write(number, 4, 2 | 4 * one, size=2)

    device = Senders()
    simulation = fabric(device, virtual_functions=1).simulation()
    node = simulation.tree().nodes["ssd"]
    bases = {region.what: region.base for region in node.regions}
    function = node.id
    (virtual,) = node.virtual_functions
    own = ["write {}", "atomic {}", "read {}"]
    for blocked in (1, 0):
        device.done = []
        master((blocked != 0, blocked != 1))
        places = (bases["bar0"], bases["vf-bar0"])
        simulation.node("h0").write(places[blocked], b"\1\0\0\0")
        simulation.node("h0").write(places[1 - blocked], b"\1\0\0\0")
        simulation.run()
        assert device.done == [step.format(1 - blocked) for step in own]
        master((True, True))
        simulation.run()
        assert device.done[3:] == [step.format(blocked) for step in own]


def test_the_host_writes_the_first_32_vectors_of_the_physical_function() -> None:
    class Vectors(Device):
        msix_vectors = 33
        virtual_functions = 1

    simulation = fabric(Vectors, virtual_functions=1).simulation()
    simulation.run_until(20_000)

    def is_masked(vector: int, function: int) -> bool:
        place = simulation.node("ssd").vector(vector, function)
        return simulation.node("h0").read(place.control, 4) == b"\1\0\0\0"

    asked = [(0, 0), (31, 0), (32, 0), (0, 1)]
    assert [is_masked(*one) for one in asked] == [False, False, True, True]


def test_an_atomic_without_permission_fails_and_reads_go_on() -> None:
    class Adder(Zeros):
        log: list[str] = []

        async def on_write(self, bar: int, offset: int, data: bytes) -> None:
            adding = self.start(self.add())
            read = await self.dma_read(MEMORY + 0x1000, 4)
            self.log.append(f"read {int.from_bytes(read, 'little')}")
            await adding

        async def add(self) -> None:
            try:
                self.log.append(f"added to {await self.fetch_add(MEMORY + 0x1000, 1)}")
            except RequestError as error:
                self.log.append(error.why)

    device = Adder()
    device.log = []
    simulation = fabric(device).simulation()
    function = simulation.tree().nodes["ssd"].id
    control = express(simulation, function) + 0x28
    enabled = simulation.node("h0").config_read(function, control, size=2)
    steps = {
        enabled & ~(1 << 6): ["atomic operations not enabled", "read 0"],
        enabled: ["added to 0", "read 1"],
    }
    for value, log in steps.items():
        device.log.clear()
        simulation.node("h0").config_write(function, control, value, size=2)
        simulation.node("h0").write(base(simulation), b"1234")
        simulation.run()
        assert device.log == log


def test_the_tags_of_a_function_that_is_reset_are_no_others() -> None:
    class Readers(Zeros):
        virtual_functions = 2
        tags = 4
        ended: list[int] = []

        async def on_write(self, bar: int, offset: int, data: bytes) -> None:
            await self.dma_read(MEMORY + 0x10_0000, int.from_bytes(data, "little"))
            self.ended.append(self.function)

    device = Readers()
    device.ended = []
    simulation = fabric(device, virtual_functions=2).simulation()
    node = simulation.tree().nodes["ssd"]
    first = next(region.base for region in node.regions if region.what == "vf-bar0")

    def ask(number: int, length: int) -> None:
        simulation.node("h0").write(first + number * 4096, length.to_bytes(4, "little"))
        simulation.run_until(simulation.now_ns + 10_000)

    # The first function has all of its tags in use, for longer than the other one needs.
    ask(0, 1 << 20)
    ask(1, 4096)
    assert device.ended == [2]
    function_level_reset(simulation, node.virtual_functions[0])
    ask(1, 4096)
    assert device.ended == [2, 2]


@pytest.mark.parametrize(
    ("severity", "name", "registers", "recovery"),
    [
        ("correctable", "Corrected Internal Error", (0, 1 << 14), []),
        ("non-fatal", "Uncorrectable Internal Error", (1 << 22, 0), []),
        (
            "fatal",
            "Uncorrectable Internal Error",
            (1 << 22, 0),
            ["link reset after a fatal error", "Secondary Bus Reset", "link down", "hot reset"],
        ),
    ],
)
def test_an_error_of_a_device_is_in_its_registers_and_in_the_log_and_a_host_recovers(
    severity: Literal["correctable", "non-fatal", "fatal"],
    name: str,
    registers: tuple[int, int],
    recovery: list[str],
) -> None:
    class Ill(Zeros):
        def on_write(self, bar: int, offset: int, data: bytes) -> None:
            self.report_error(severity)

    def run(**host: Any) -> Simulation:
        begun = Fabric("own").host("h0", **host).switch("s0", "h0")
        simulation = begun.device("ssd", "s0", model=Ill).simulation()
        simulation.node("h0").write(base(simulation), b"1234")
        simulation.run_until(simulation.now_ns + 400e6)
        return simulation

    quiet = run()
    function = quiet.tree().nodes["ssd"].id
    aer = extended(quiet, function, 1)
    read = tuple(quiet.node("h0").config_read(function, aer + at) for at in (0x4, 0x10))
    assert read == registers
    status = quiet.node("h0").config_read(function, express(quiet, function) + 0xA, size=2)
    assert status & 0xF == {"correctable": 1, "non-fatal": 2, "fatal": 4}[severity]
    assert [one.what for one in quiet.result().incidents] == [name]
    served = run(error_reporting=True, driver_recovery=True)
    message = {"correctable": "ERR_COR", "non-fatal": "ERR_NONFATAL", "fatal": "ERR_FATAL"}
    log = [one.what for one in served.result().incidents]
    expected = [name, f"served {message[severity]} of {function}, {name}", *recovery]
    assert log[: len(expected)] == expected
    assert ("set up again" in log) == bool(recovery)
    assert served.result().incidents[0].reported_to is not None
