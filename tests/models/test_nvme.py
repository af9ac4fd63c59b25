"""The model `nvme` under a driver that follows the specification, NVM Express 1.4."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import Any

import pytest

from models import nvme_driver as nvme
from models.nvme_driver import Drive, driven, pattern, run
from models.own_devices import function_level_reset
from peerlane import Fabric, ScenarioError, Simulation


@driven()
async def test_registers_after_power_on_and_the_handshake_of_enable(drive: Drive) -> None:
    cap = await drive.load(nvme.CAP, 8)
    assert cap & 0xFFFF == 1023
    assert cap >> 16 & 1 == 1, "contiguous queues"
    assert cap >> 24 & 0xFF >= 1
    assert cap >> 32 & 0xF == 0, "doorbells side by side"
    assert cap >> 37 & 0xFF == 1, "the NVM command set"
    assert cap >> 48 & 0xF == 0, "pages of 4 KiB"
    assert await drive.load(nvme.CAP) == cap & nvme.ALL
    assert await drive.load(nvme.CAP + 4) == cap >> 32
    assert await drive.load(nvme.VS) == 0x1_0400
    assert await drive.load(nvme.CC) == await drive.load(nvme.CSTS) == 0
    await drive.enable()
    assert await drive.load(nvme.CSTS) == nvme.READY
    assert await drive.load(nvme.CC) == nvme.ENTRY_SIZES | nvme.ENABLE
    assert await drive.load(nvme.AQA) == 31 << 16 | 31
    address = await drive.load(nvme.ASQ, 8)
    await drive.disable()
    assert await drive.load(nvme.CSTS) == 0
    assert await drive.load(nvme.ASQ, 8) == address, (
        "admin queues outlast a reset of the controller"
    )


@driven()
async def test_blocks_that_were_never_written_are_zero_and_a_reset_keeps_the_others(
    drive: Drive,
) -> None:
    await drive.bring_up()
    buffer = drive.memory(nvme.PAGE)
    drive.thread.set(buffer, pattern(1, nvme.PAGE))
    assert (await drive.write(0, 8, (buffer, 0))).status == 0
    await drive.bring_up()
    target = drive.memory(2 * nvme.PAGE)
    assert (await drive.read(0, 16, (target, target + nvme.PAGE))).status == 0
    assert drive.thread.look(target, nvme.PAGE) == pattern(1, nvme.PAGE)
    assert drive.thread.look(target + nvme.PAGE, nvme.PAGE) == bytes(nvme.PAGE)


@driven()
async def test_deep_queues_wrap_and_each_command_ends_once_with_its_own_data(drive: Drive) -> None:
    await drive.bring_up(queues=4, entries=16)
    buffers = {number: drive.memory(16 * nvme.PAGE) for number in range(1, 5)}
    for round_ in range(8):
        opcode = nvme.READ if round_ % 2 else nvme.WRITE
        ids: dict[int, list[int]] = {}
        for number, buffer in buffers.items():
            pair = drive.pairs[number]
            for slot in range(15):
                place = buffer + nvme.PAGE * slot
                seed = 100 * number + slot + round_ // 2
                data = bytes(nvme.PAGE) if opcode == nvme.READ else pattern(seed, nvme.PAGE)
                drive.thread.set(place, data)
                words = [1000 * number + 8 * slot, 0, 7]
                one = drive.submit(pair, opcode, namespace=1, prp=(place, 0), words=words)
                ids.setdefault(number, []).append(one)
            await drive.ring(pair)
        for number, buffer in buffers.items():
            ends = await drive.wait(drive.pairs[number], *ids[number])
            assert all((end.status, end.queue) == (0, number) for end in ends)
            for slot in range(15):
                seed = 100 * number + slot + round_ // 2
                assert drive.thread.look(buffer + nvme.PAGE * slot, nvme.PAGE) == pattern(
                    seed, nvme.PAGE
                )
    assert drive.pairs[1].ids == 120, "each queue was passed 7 times"


@driven()
async def test_a_full_completion_queue_holds_ends_back_until_software_has_taken_entries(
    drive: Drive,
) -> None:
    await drive.enable()
    pair = await drive.create(1, 8)
    few = drive.memory(nvme.PAGE)
    drive.thread.set(few, bytes(nvme.PAGE))
    words = [3 << 16 | 2, 1]
    done = await drive.admin(nvme.CREATE_CQ, prp=(few, 0), words=words)
    assert done.status == 0
    own = drive.memory(nvme.PAGE)
    done = await drive.admin(nvme.CREATE_SQ, prp=(own, 0), words=[7 << 16 | 2, 2 << 16 | 1])
    assert done.status == 0
    pair.number, pair.submissions, pair.completions = 2, own, few
    ids = [drive.submit(pair, nvme.FLUSH, namespace=1) for _ in range(7)]
    await drive.ring(pair, work_ns=100_000)
    pair.entries = 4
    taken = [drive.look(pair) for _ in range(4)]
    assert [one is not None for one in taken] == [True, True, True, False]
    await drive.store(nvme.DOORBELLS + 8 * 2 + 4, pair.head)
    await drive.thread.work(100_000)
    await drive.take(pair)
    await drive.thread.work(100_000)
    await drive.take(pair)
    assert sorted(pair.done) == ids


@driven(commands=4, media_read_latency="0 ns")
async def test_a_reset_in_the_middle_stops_all_transfers_before_ready_falls(drive: Drive) -> None:
    await drive.bring_up()
    pair, buffer = drive.pairs[1], drive.memory(32 * 2 * nvme.PAGE)
    for slot in range(32):
        place = buffer + 2 * nvme.PAGE * slot
        prp = (place, place + nvme.PAGE)
        drive.submit(pair, nvme.READ, namespace=1, prp=prp, words=[16 * slot, 0, 15])
    await drive.ring(pair, work_ns=15_000)
    await drive.disable()
    before = drive.thread.look(buffer, 64 * nvme.PAGE)
    written = before.count(0)
    assert 0 < written < len(before), "the reset came in the middle"
    await drive.thread.work(1_000_000)
    assert drive.thread.look(buffer, 64 * nvme.PAGE) == before
    await drive.bring_up()
    assert (await drive.read(0, 8, (buffer, 0))).status == 0


@driven(program_latency="2 ms")
async def test_shutdown_ends_after_the_write_cache_is_empty_and_a_reset_begins_anew(
    drive: Drive,
) -> None:
    await drive.bring_up()
    page = drive.memory(nvme.PAGE)
    began = drive.thread.now_ns
    assert (await drive.write(0, 8, (page, 0))).status == 0
    assert drive.thread.now_ns - began < 100_000, "in the cache"
    await drive.store(nvme.CC, await drive.load(nvme.CC) | nvme.NORMAL_SHUTDOWN)
    assert await drive.load(nvme.CSTS) >> 2 & 3 == 1
    await drive.shut_down()
    assert drive.thread.now_ns - began > 2_100_000, "program operation and shutdown time"
    pair = drive.pairs[1]
    drive.submit(pair, nvme.FLUSH, namespace=1)
    await drive.ring(pair, work_ns=100_000)
    assert drive.look(pair) is None, "no command after a shutdown"
    await drive.bring_up()
    assert await drive.load(nvme.CSTS) == nvme.READY
    assert (await drive.read(0, 8, (page, 0))).status == 0


@driven(program_latency="2 ms")
async def test_a_flush_waits_for_the_dies_and_a_write_through_too(drive: Drive) -> None:
    await drive.bring_up()
    page, pair = drive.memory(nvme.PAGE), drive.pairs[1]
    times = []
    for opcode, words in [
        (nvme.WRITE, [0, 0, 7]),
        (nvme.FLUSH, []),
        (nvme.WRITE, [64, 0, 1 << 30 | 7]),
    ]:
        began = drive.thread.now_ns
        done = await drive.command(pair, opcode, namespace=1, prp=(page, 0), words=words)
        assert done.status == 0
        times.append(drive.thread.now_ns - began)
    cached, flush, through = times
    assert cached < 100_000
    assert flush > 1_900_000 - cached
    assert through > 2_000_000


def test_media_times_latency_of_one_read_and_channels_side_by_side() -> None:
    def time(count: int, **settings: Any) -> float:
        taken: list[float] = []

        async def program(drive: Drive) -> None:
            await drive.bring_up(entries=128)
            pair, buffer = drive.pairs[1], drive.memory(64 * nvme.PAGE)
            began = drive.thread.now_ns
            ids = [
                drive.submit(
                    pair,
                    nvme.READ,
                    namespace=1,
                    prp=(buffer + nvme.PAGE * one, 0),
                    words=[32 * one, 0, 7],
                )
                for one in range(count)
            ]
            await drive.ring(pair)
            await drive.wait(pair, *ids)
            taken.append(drive.thread.now_ns - began)

        run(program, **settings)
        return taken[0]

    latency = 1_000_000
    settings = {"media_read_latency": "1 ms", "channels": 4, "dies": 1, "queue_entries": 128}
    assert latency < time(1, **settings) < 1.1 * latency
    assert latency < time(4, **settings) < 1.1 * latency
    assert 4 * latency < time(16, **settings) < 4.4 * latency
    assert latency < time(16, **settings | {"dies": 4}) < 1.1 * latency


@driven()
async def test_each_queue_interrupts_by_its_own_vector_and_a_mask_holds_it_back(
    drive: Drive,
) -> None:
    await drive.bring_up(queues=2)
    simulation = drive.simulation
    vectors = {number: simulation.node("ssd").vector(number) for number in (1, 2)}
    simulation.node("h0").interrupts()
    for number in (2, 2, 1):
        pair = drive.pairs[number]
        drive.submit(pair, nvme.FLUSH, namespace=1)
        await drive.ring(pair)
    await drive.thread.work(100_000)
    counts = {vectors[2].message: 2, vectors[1].message: 1}
    assert simulation.node("h0").interrupts() == counts
    await drive.thread.store(vectors[1].control, 1, 4)
    drive.submit(drive.pairs[1], nvme.FLUSH, namespace=1)
    await drive.ring(drive.pairs[1], work_ns=100_000)
    assert simulation.node("h0").interrupts() == {}
    assert await drive.thread.load(vectors[1].pending, 8) >> vectors[1].bit & 1
    await drive.thread.store(vectors[1].control, 0, 4)
    await drive.thread.work(10_000)
    assert simulation.node("h0").interrupts() == {vectors[1].message: 1}


@driven()
async def test_the_mask_registers_hold_interrupts_back_where_msi_is_used(drive: Drive) -> None:
    await drive.enable()
    drive.pairs[0].message = None
    drive.simulation.node("h0").interrupts()
    await drive.store(nvme.INTMS, 1)
    assert await drive.load(nvme.INTMC) == 1
    drive.submit(drive.pairs[0], nvme.GET_FEATURES, words=[1])
    await drive.ring(drive.pairs[0], work_ns=100_000)
    assert drive.simulation.node("h0").interrupts() == {}
    await drive.store(nvme.INTMC, 1)
    await drive.thread.work(10_000)
    assert sum(drive.simulation.node("h0").interrupts().values()) == 1


@driven()
async def test_coalescing_gives_one_interrupt_for_several_entries_or_after_its_time(
    drive: Drive,
) -> None:
    await drive.bring_up()
    pair, simulation = drive.pairs[1], drive.simulation
    message = simulation.node("ssd").vector(1).message
    assert (await drive.admin(nvme.SET_FEATURES, words=[8, 5 << 8 | 3])).status == 0
    simulation.node("h0").interrupts()
    for count, expected in [(4, 1), (3, 0)]:
        for _ in range(count):
            drive.submit(pair, nvme.FLUSH, namespace=1)
        await drive.ring(pair, work_ns=100_000)
        assert simulation.node("h0").interrupts().get(message, 0) == expected
    await drive.thread.work(500_000)
    assert simulation.node("h0").interrupts() == {message: 1}
    assert (await drive.admin(nvme.SET_FEATURES, words=[9, 1 << 16 | 1])).status == 0
    simulation.node("h0").interrupts()
    for _ in range(3):
        drive.submit(pair, nvme.FLUSH, namespace=1)
    await drive.ring(pair, work_ns=100_000)
    assert simulation.node("h0").interrupts() == {message: 3}


@driven()
async def test_wrong_settings_of_the_controller_are_fatal_until_it_is_reset(drive: Drive) -> None:
    await drive.disable()
    for configuration, attributes in [
        (1 << 4, 31 << 16 | 31),
        (5 << 7, 31 << 16 | 31),
        (1 << 11, 31 << 16 | 31),
        (0, 31 << 16),
        (0, 31),
    ]:
        await drive.store(nvme.AQA, attributes)
        await drive.store(nvme.ACQ, drive.page, 8)
        await drive.store(nvme.CC, nvme.ENTRY_SIZES | configuration | nvme.ENABLE)
        await drive.thread.work(200_000)
        assert await drive.load(nvme.CSTS) == nvme.FATAL
        await drive.store(nvme.CC, 0)
        await drive.thread.work(1000)
        assert await drive.load(nvme.CSTS) == 0
    await drive.enable()
    await drive.disable()
    await drive.store(nvme.ASQ, 1 << 40, 8)
    await drive.store(nvme.CC, nvme.ENTRY_SIZES | nvme.ENABLE)
    await drive.until(nvme.READY, nvme.READY)
    await drive.store(nvme.DOORBELLS, 1)
    await drive.thread.work(100_000)
    assert await drive.load(nvme.CSTS) & nvme.FATAL, "entries that cannot be read"
    await drive.bring_up()


@driven()
async def test_pages_of_64_kib_of_the_host(drive: Drive) -> None:
    await drive.enable()
    await drive.disable()
    drive.host_page = 1 << 16
    base = drive.memory(6 << 16)
    admin = drive.pair(0, 32, 0)
    admin.submissions, admin.completions = base, base + (1 << 16)
    drive.thread.set(base, bytes(2 << 16))
    await drive.store(nvme.ASQ, base, 8)
    await drive.store(nvme.ACQ, base + (1 << 16), 8)
    await drive.store(nvme.CC, nvme.ENTRY_SIZES | 4 << 7 | nvme.ENABLE)
    await drive.until(nvme.READY, nvme.READY)
    await drive.create(1, 1024)
    data = base + (3 << 16)
    drive.thread.set(data, pattern(3, 1 << 17))
    assert (await drive.write(0, 256, (data, data + (1 << 16)))).status == 0
    drive.thread.set(data, bytes(1 << 17))
    assert (await drive.read(0, 256, (data, data + (1 << 16)))).status == 0
    assert drive.thread.look(data, 1 << 17) == pattern(3, 1 << 17)


@driven()
async def test_a_function_level_reset_takes_all_but_the_blocks(drive: Drive) -> None:
    await drive.bring_up()
    page, pair = drive.memory(nvme.PAGE), drive.pairs[1]
    drive.thread.set(page, pattern(5, nvme.PAGE))
    assert (await drive.write(3, 8, (page, 0))).status == 0
    state = State.of(drive)
    for slot in range(8):
        drive.submit(pair, nvme.READ, namespace=1, prp=(page, 0), words=[800 + 8 * slot, 0, 7])
    await drive.ring(pair, work_ns=10_000)
    function_level_reset(drive.simulation, drive.function)
    assert drive.look(pair) is None, "the reset comes before the ends of the commands"
    await drive.thread.work(200_000)
    state.restore(drive)
    assert await drive.load(nvme.CC) == await drive.load(nvme.CSTS) == 0
    assert await drive.load(nvme.ASQ, 8) == await drive.load(nvme.AQA) == 0
    drive.thread.set(page, bytes(nvme.PAGE))
    await drive.thread.work(1_000_000)
    assert drive.thread.look(page, nvme.PAGE) == bytes(nvme.PAGE), (
        "no transfer from before the reset"
    )
    await drive.bring_up()
    assert (await drive.read(3, 8, (page, 0))).status == 0
    assert drive.thread.look(page, nvme.PAGE) == pattern(5, nvme.PAGE)


@dataclass(frozen=True)
class State:
    """The state that a driver keeps over a function level reset: configuration and MSI-X table."""

    configuration: dict[int, int]
    entries: list[tuple[int, bytes]]

    @classmethod
    def of(cls, drive: Drive) -> State:
        simulation = drive.simulation
        places = range(0, 256, 4)
        words = {at: simulation.node("h0").config_read(drive.function, at) for at in places}
        entries = [simulation.node(drive.name).vector(number).entry for number in range(2)]
        return cls(words, [(at, simulation.node("h0").read(at, 16)) for at in entries])

    def restore(self, drive: Drive) -> None:
        """Writes BARs, capabilities, the command register and the table as they were."""
        simulation = drive.simulation
        for at in (*range(0x10, 0x28, 4), *range(0x40, 256, 4)):
            simulation.node("h0").config_write(drive.function, at, self.configuration[at])
        command = self.configuration[4] & 0xFFFF
        simulation.node("h0").config_write(drive.function, 4, command, size=2)
        for at, entry in self.entries:
            simulation.node("h0").write(at, entry)


def test_scenarios_set_its_parameters_and_wrong_ones_get_a_message() -> None:
    def scenario(line: str) -> str:
        return f'[hosts.h0]\n[devices.d]\nupstream = "h0"\nmodel = "nvme"\n{line}\n'

    Simulation(scenario('max_transfer = "1 MiB"'))
    for line, message in [
        (
            "dies = 65",
            "<text>:5: devices.d.dies: 65 is out of range; write a value from 1 up to 64",
        ),
        ('strip = "4 KiB"', 'unknown key "strip" in devices.d; did you mean "stripe"'),
        ("ready_time = 3", "devices.d.ready_time"),
    ]:
        with pytest.raises(ScenarioError, match=re.escape(message)):
            Simulation(scenario(line))


def test_two_drives_have_serial_numbers_and_identifiers_of_their_own() -> None:
    fabric = Fabric("nvme").host("h0").switch("s0", "h0")
    for name in ("a", "b"):
        fabric.device(
            name, "s0", model="nvme", block_size="4 KiB", capacity="16 MiB", **nvme.MANY_QUEUES
        )
    simulation = fabric.simulation()
    found = []
    for name in ("a", "b"):
        drive = Drive(simulation, simulation.node("h0").thread(), name)

        async def program(drive: Drive = drive) -> tuple[bytes, bytes]:
            await drive.enable()
            namespace = await drive.identify(0, 1)
            assert namespace[:8] == struct.pack("<Q", 4096)
            assert namespace[130] == 12
            return (await drive.identify(1))[4:24], (await drive.identify(3, 1))[4:20]

        found.append(drive.thread.run(program()))
    assert found[0][0] != found[1][0]
    assert found[0][1] != found[1][1]
