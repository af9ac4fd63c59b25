"""Device models of one's own in Python: in a fabric, and what goes wrong."""

# ruff: noqa: ARG002, RUF012 - device models as users write them

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING, get_args

import pytest

from conftest import rows_of
from models.own_devices import MEMORY, base, fabric, function_level_reset
from peerlane import (
    Device,
    Fabric,
    HostThread,
    Malformed,
    ModelError,
    Parameter,
    RequestError,
    ScenarioError,
    Simulation,
    registered_models,
)
from peerlane.models.device import Defect, declaration
from peerlane.testing import Bench

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator


DOORBELL, STATUS = 0x10, 0x18
SOURCE, TARGET, LENGTH = 0x00, 0x08, 0x14


class MySsd(Device):
    """Copies host memory when its doorbell rings, and says so by an interrupt."""

    vendor_id = 0x1234
    device_id = 0x5678
    class_code = 0x01_0802
    bars = {0: "4 KiB"}
    msix_vectors = 2

    latency = Parameter.time("1 us", help="Time from the doorbell to the first read.")
    depth = Parameter(4, help="Commands at once.", least=1, most=16)

    def on_reset(self) -> None:
        self.registers = bytearray(4096)
        self.copies = 0

    def on_read(self, bar: int, offset: int, length: int) -> bytes:
        return bytes(self.registers[offset : offset + length])

    def on_write(self, bar: int, offset: int, data: bytes) -> Awaitable[None] | None:
        self.registers[offset : offset + len(data)] = data
        return self.copy() if offset == DOORBELL else None

    def number(self, offset: int, length: int = 8) -> int:
        return int.from_bytes(self.registers[offset : offset + length], "little")

    async def copy(self) -> None:
        await self.sleep(self.latency)
        data = await self.dma_read(self.number(SOURCE), self.number(LENGTH, 4))
        await self.dma_write(self.number(TARGET), data)
        self.copies += 1
        self.registers[STATUS] = self.copies
        self.interrupt(1)


async def command(thread: HostThread, registers: int, source: int, target: int, size: int) -> None:
    await thread.store(registers + SOURCE, source)
    await thread.store(registers + TARGET, target)
    await thread.store(registers + LENGTH, size, 4)
    await thread.store(registers + DOORBELL, 1, 4)


def test_a_device_copies_memory_and_signals_an_interrupt() -> None:
    simulation = fabric(MySsd, latency="3 us").simulation()
    data = bytes(range(251)) * 40
    source, target = (simulation.node("h0").allocate(1 << 16) for _ in range(2))
    simulation.node("h0").fill(source + 5, data)
    thread = simulation.node("h0").thread()

    async def program() -> float:
        await command(thread, base(simulation), source + 5, target + 3, len(data))
        began = thread.now_ns
        message = simulation.node("ssd").vector(1).message
        await thread.interrupt(message)
        return thread.now_ns - began

    took = thread.run(program())
    assert simulation.node("h0").memory(target + 3, len(data)) == data
    assert took > 3000
    assert simulation.node("h0").read(base(simulation) + STATUS, 1) == b"\1"


def test_a_class_makes_a_device_of_its_own_for_each_name_and_an_object_is_one_device() -> None:
    begun = Fabric("two").host("h0").switch("s0", "h0")
    begun = begun.device("a", "s0", model=MySsd, depth=2).device("b", "s0", model=MySsd)
    assert begun.to_toml().count('model = "my-ssd"') == 2
    own = MySsd(depth=7)
    one = fabric(own)
    assert "depth = 7" in one.to_toml()
    one.simulation()
    assert own.depth == 7
    with pytest.raises(ValueError, match="another device of the fabric already; give each"):
        one.device("again", "s0", model=own)
    other = one.copy().device("more", "s0", model=MySsd())
    assert 'model = "my-ssd-2"' in other.to_toml()
    with pytest.raises(ValueError, match="one device, and many are simulated; give the class"):
        one.sweep({"devices.ssd.depth": [1, 2]})


def test_an_object_keeps_its_own_settings_wherever_it_is_used() -> None:
    class Rated(MySsd):
        rate = Parameter.bandwidth("1 GB/s")
        buffer = Parameter.size("4 KiB")
        engine_clock = Parameter.frequency("100 MHz")

    own = Rated(latency="2 us", rate="3 GB/s", buffer="8 KiB", engine_clock="250 MHz", depth=7)
    wanted = {
        "latency": 2000.0,
        "rate": 3 * 10**9,
        "buffer": 8192,
        "engine_clock": 250 * 10**6,
        "depth": 7,
    }
    assert 'latency = "2 us"' in fabric(own).to_toml()

    def has() -> dict[str, float]:
        return {key: getattr(own, key) for key in wanted}

    fabric(own).simulation()
    assert has() == wanted
    Bench(own, depth=3)
    assert has() == wanted | {"depth": 3}
    Bench(own)
    assert has() == wanted
    own.latency, own.rate, own.buffer, own.engine_clock = 1500.25, 7, 4096, 50
    wanted |= {"latency": 1500.25, "rate": 7, "buffer": 4096, "engine_clock": 50}
    fabric(own).simulation()
    assert has() == wanted
    Simulation(fabric(MySsd).to_toml().replace("my-ssd", "c"), models={"c": own})
    assert has() == wanted


def test_engines_wait_for_each_other_for_signals_and_for_failures() -> None:
    order: list[str] = []

    class Engines(Device):
        bars = {0: "4 KiB"}

        def on_reset(self) -> None:
            self.bell = self.signal()
            self.start(self.worker())

        async def worker(self) -> None:
            while True:
                await self.bell
                order.append("rung")

        async def on_read(self, bar: int, offset: int, length: int) -> int:
            first = self.start(self.dma_read(MEMORY + 0x1000, 8))
            second = self.start(self.dma_read(MEMORY + 0x2000, 8))
            await self.sleep(500)
            both = await second + await first
            self.bell.set()
            try:
                await self.dma_read(1 << 60, 4)
            except RequestError as error:
                order.append(str(error))
            old = await self.fetch_add(MEMORY + 0x1000, 5)
            assert await self.compare_and_swap(MEMORY + 0x1000, old + 5, 1) == old + 5
            return sum(both) + await self.swap(MEMORY + 0x1000, 0)

    simulation = fabric(Engines()).simulation()
    simulation.node("h0").fill(MEMORY + 0x1000, bytes([1] * 8))
    simulation.node("h0").fill(MEMORY + 0x2000, bytes([2] * 8))
    assert simulation.node("h0").read(base(simulation), 8) == (24 + 1).to_bytes(8, "little")
    assert order == ["rung", "unsupported request: read of 4 bytes at 0x1000000000000000"]


def test_a_reset_ends_the_engines_and_comes_before_what_follows() -> None:
    class Sleeper(Device):
        bars = {0: "4 KiB"}
        resets = 0

        def on_reset(self) -> None:
            self.resets += 1
            self.woken = 0

        async def on_write(self, bar: int, offset: int, data: bytes) -> None:
            await self.sleep(10_000)
            self.woken += 1

        def on_read(self, bar: int, offset: int, length: int) -> int:
            return self.resets << 8 | self.woken

    device = Sleeper()
    simulation = fabric(device).simulation()
    simulation.node("h0").write(base(simulation), b"\1\0\0\0")
    simulation.run_until(simulation.now_ns + 3_000)
    function_level_reset(simulation, simulation.tree().nodes["ssd"].id)
    simulation.run_until(simulation.now_ns + 300_000)
    assert (device.resets, device.woken) == (2, 0)


class _Strange:
    def __await__(self) -> Iterator[str]:
        yield "strange"


LATER = {0x38: -1, 0x40: 1 << 40, 0x48: b"a", 0x50: "abcd", 0x58: _Strange(), 0x60: None}
"""What an `async` method has in the end, by the register."""


class Broken(Device):
    """Fails in as many ways as it has registers."""

    bars = {0: "4 KiB"}

    def on_read(self, bar: int, offset: int, length: int) -> object:  # type: ignore[override]  # noqa: PLR0911
        if offset in LATER:
            return self.later(LATER[offset])
        match offset:
            case 0x00:
                return 1 // 0
            case 0x08:
                return 1 << 40
            case 0x10:
                return b"too long"
            case 0x18:
                return "text"
            case 0x20:
                self.interrupt(3)
            case 0x28:
                return self.forever()
            case 0x30:
                return self.wrong()
            case _:
                return None
        return 0

    async def forever(self) -> int:
        while True:
            await self.sleep(0)

    async def later(self, value: object) -> object:
        return value

    async def wrong(self) -> int:
        await _Strange()  # type: ignore[misc]
        return 0


@pytest.mark.parametrize(("offset", "why"), rows_of(__file__, "wrong.toml", "registers"))
def test_a_model_that_fails_ends_the_run_with_its_name(offset: int, why: str) -> None:
    simulation = fabric(Broken()).simulation()
    place = base(simulation)
    with pytest.raises(ModelError, match=r"the model broken of device ssd failed at \d") as raised:
        simulation.node("h0").read(place + offset, 4)
    assert why in str(raised.value)
    with pytest.raises(ModelError):
        simulation.run()


def test_an_exception_at_an_access_is_the_cause_of_the_error_at_the_time_of_the_model() -> None:
    simulation = fabric(Broken()).simulation()
    with pytest.raises(ModelError) as raised:
        simulation.node("h0").read(base(simulation), 4)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    assert f"failed at {simulation.now_ns} ns" in str(raised.value)


def test_what_no_register_answers_has_no_data() -> None:
    simulation = fabric(Broken()).simulation()
    with pytest.raises(RuntimeError, match=r"[Uu]nsupported"):
        simulation.node("h0").read(base(simulation) + 0x100, 4)
    with pytest.raises(RuntimeError, match=r"[Uu]nsupported"):
        simulation.node("h0").read(base(simulation) + 4094, 4)
    with pytest.raises(RuntimeError, match="completer abort: the completer at"):
        simulation.node("h0").read(base(simulation) + 0x60, 4)
    assert [one.what for one in simulation.result().incidents][-1] == "Completer Abort"


def test_a_device_asks_only_while_it_is_called() -> None:
    device = MySsd()
    with pytest.raises(RuntimeError, match="in no simulation and on no bench yet"):
        device.interrupt()
    fabric(device).simulation()
    with pytest.raises(RuntimeError, match="only while the simulation or a bench calls it"):
        device.interrupt()


@pytest.mark.parametrize(("body", "why"), rows_of(__file__, "wrong.toml", "classes"))
def test_a_class_that_is_no_model_is_refused_with_one_message(body: str, why: str) -> None:
    names: dict[str, type[Device]] = {}
    text = f"class Wrong(Device):\n{indent(body, '    ')}\n"
    exec(text, {"Device": Device, "Parameter": Parameter}, names)  # noqa: S102
    with pytest.raises(ValueError, match=why):
        fabric(names["Wrong"])


def test_parameters_are_checked_where_they_are_set() -> None:
    with pytest.raises(TypeError, match=r"MySsd has no parameter 'depht'; did you mean .depth"):
        MySsd(depht=1)
    with pytest.raises(ValueError, match="the parameter latency"):
        MySsd(latency="1 parsec")
    with pytest.raises(
        ValueError, match="the parameter depth: 17 is out of range; write a value from 1"
    ):
        MySsd(depth=17)
    with pytest.raises(ModelError, match="the parameter depth: 17 is out of range"):
        Bench(MySsd, depth=17)
    with pytest.raises(ValueError, match=r"the parameter depth: .* is out of range; write"):
        MySsd(depth=1 << 64)
    with pytest.raises(ScenarioError, match="is out of range; write a value from 1 up to 16"):
        fabric(MySsd, depth=17).simulation()
    with pytest.raises(ScenarioError, match="depth"):
        fabric(MySsd, depth="deep").simulation()
    with pytest.raises(ScenarioError, match="devices have no key 'depht'; did you mean 'depth'"):
        fabric(MySsd, depht=1)
    with pytest.raises(ValueError, match=r'my-ssd has no parameter "depht"; did you mean "depth"'):
        Bench(MySsd, depht=1)
    with pytest.raises(ValueError, match='"dma" is the name of a built-in model'):
        Simulation(fabric(MySsd).to_toml(), models={"dma": MySsd})


def test_the_help_of_a_model_is_of_its_own_class_or_of_a_model_that_it_is_derived_from() -> None:
    class Bare(Device):
        pass

    class Faster(MySsd):
        pass

    assert declaration(Bare)["help"] == "Bare"
    assert declaration(Faster)["help"] == declaration(MySsd)["help"]
    assert declaration(MySsd)["help"].startswith("Copies host memory")


def test_registers_may_be_a_bytearray_in_a_fabric_and_on_a_bench() -> None:
    class Plain(Device):
        bars = {0: 4096}

        def on_reset(self) -> None:
            self.registers = bytearray(4096)
            self.read = bytearray()

        def on_read(self, bar: int, offset: int, length: int) -> bytearray | Awaitable[bytearray]:
            found = self.registers[offset : offset + length]
            return self.later(found) if offset >= 64 else found

        async def later(self, found: bytearray) -> bytearray:
            await self.sleep(1)
            return found

        def on_write(self, bar: int, offset: int, data: bytes) -> Awaitable[None]:
            self.registers[offset : offset + len(data)] = data
            return self.fetch()

        async def fetch(self) -> None:
            self.read[:] = await self.dma_read(MEMORY + 0x1000, 3)

    device = Plain()
    bench = Bench(device)
    bench.write(0, 8, bytearray(b"12345678"))
    asked = bench.take()
    assert asked is not None
    bench.complete(asked, bytearray(b"abc"))
    assert bench.read_bytes(0, 8, 8) == b"12345678"
    assert bytes(device.read) == b"abc"
    assert bench.read_bytes(0, 64, 2) == bytes(2)
    simulation = fabric(Plain).simulation()
    simulation.node("h0").write(base(simulation) + 8, b"12345678")
    assert simulation.node("h0").read(base(simulation) + 8, 8) == b"12345678"
    assert simulation.node("h0").read(base(simulation) + 64, 8) == bytes(8)


def test_what_is_no_model_has_no_bench_and_a_parameter_no_other_property() -> None:
    for wrong in (None, int, 5):
        with pytest.raises(TypeError, match="is no device model; give a class derived from"):
            Bench(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="hlep"):
        Parameter.time("5 ns", hlep="x")  # type: ignore[call-arg]


def test_a_device_that_cannot_be_made_is_told_with_its_cause() -> None:
    class Fragile(MySsd):
        def __init__(self) -> None:
            raise OSError("no such flash")

    with pytest.raises(ModelError, match="fragile of device ssd cannot be made: OSError: no such"):
        fabric(Fragile).simulation()


def test_registered_models_are_known_for_a_while() -> None:
    text = '[hosts.h0]\n[devices.ssd]\nupstream = "h0"\nmodel = "ssd"\n'
    with registered_models({"ssd": MySsd}):
        assert Simulation(text).run().failures == []
    with pytest.raises(ScenarioError, match="unknown model"):
        Simulation(text)


def test_a_bar_of_the_class_is_not_that_of_a_scenario() -> None:
    assert fabric(MySsd, bar="4 KiB").simulation().tree().nodes["ssd"].regions[0].size == 4096
    with pytest.raises(ScenarioError, match=r'ssd\.bar: .* "my-ssd" has a BAR 0 of 4 KiB; leave'):
        fabric(MySsd, bar="1 MiB").simulation()


def test_a_run_goes_on_until_the_models_are_quiet_and_no_longer() -> None:
    class Late(Device):
        bars = {0: "4 KiB"}
        done = 0.0

        async def on_write(self, bar: int, offset: int, data: bytes) -> None:
            await self.sleep(400_000)
            await self.dma_write(MEMORY + 0x8000, data)
            self.done = self.now_ns
            while True:
                await self.sleep(100_000)

    late = Late()
    result = fabric(late).flow("h0", "ssd", size="8 B").run()
    assert result.failures == []
    assert late.done > 400_000
    assert result.simulated_ns < late.done + 1.2e6


def test_registers_of_a_model_are_not_in_a_memory_of_the_simulator() -> None:
    simulation = fabric(MySsd).simulation()
    with pytest.raises(ValueError, match=r"holds|belong to its model"):
        simulation.node("ssd").memory(base(simulation), 4)


class Wrong(Device):
    """Answers its registers by completions with a defect."""

    bars = {0: "4 KiB"}
    defect = Parameter("tag", help="The defect.")

    def on_read(self, bar: int, offset: int, length: int) -> Malformed | Awaitable[Malformed]:
        wrong = Malformed(0x55, self.defect)  # type: ignore[arg-type]
        return self.later(wrong) if offset else wrong

    async def later(self, wrong: Malformed) -> Malformed:
        await self.sleep(10)
        return wrong


@pytest.mark.parametrize("offset", [0, 8])
@pytest.mark.parametrize("defect", get_args(Defect))
def test_a_bench_names_the_defect_of_a_completion(defect: str, offset: int) -> None:
    bench = Bench(Wrong, defect=defect)
    said = rf"malformed completion on purpose \({defect}\): read of 4 bytes at {offset:#x}"
    with pytest.raises(RuntimeError, match=said):
        bench.read(0, offset)


def test_a_defect_that_does_not_exist_is_an_error_with_those_that_do() -> None:
    with pytest.raises(ModelError, match='"crc" is no defect of a completion; write one of byte'):
        Bench(Wrong, defect="crc").read(0, 0)


def test_software_gets_all_ones_for_a_completion_with_another_tag() -> None:
    simulation = fabric(Wrong).simulation()
    thread = simulation.node("h0").thread()

    async def driver() -> int:
        return await thread.load(base(simulation), 4)

    assert thread.run(driver()) == 0xFFFFFFFF
    found = [error.what for error in simulation.result().errors]
    assert found == ["unexpected completion", "completion timeout"]
