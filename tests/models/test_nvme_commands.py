"""The commands of the model `nvme`: PRPs, queues, logs, features, events and errors."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from models import nvme_driver as nvme
from models.nvme_driver import Drive, driven, pattern, run
from peerlane import Fabric


@driven()
async def test_identify_has_what_a_driver_needs(drive: Drive) -> None:
    await drive.enable()
    controller = await drive.identify(1)
    assert controller[4:24] == b"ssd".ljust(20)
    assert controller[24:64].startswith(b"Peerlane NVMe drive ")
    assert controller[77] == 5, "128 KiB"
    assert controller[80:84] == struct.pack("<I", 0x1_0400)
    assert controller[111] == 1, "an I/O controller"
    assert controller[256:258] == bytes(2), "no optional admin commands"
    assert controller[512:514] == b"\x66\x44"
    assert controller[516:520] == struct.pack("<I", 1)
    assert controller[520:522] == bytes(2), "no optional NVM commands"
    assert controller[525] == 0b111
    assert controller[768:1024].startswith(b"nqn.2014-08.org.nvmexpress:uuid:")
    namespace = await drive.identify(0, 1)
    assert struct.unpack("<3Q", namespace[:24]) == (1 << 21,) * 3
    assert namespace[25:27] == bytes(2), "format 0 of one"
    assert namespace[128:132] == struct.pack("<I", 9 << 16)
    assert await drive.identify(2, 0) == struct.pack("<I", 1).ljust(nvme.PAGE, b"\0")
    assert await drive.identify(2, 1) == bytes(nvme.PAGE)
    descriptors = await drive.identify(3, 1)
    assert descriptors[:4] == bytes([3, 16, 0, 0])
    assert any(descriptors[4:20])
    assert not any(descriptors[20:])
    for structure, name, status in [
        (0, 2, nvme.INVALID_NAMESPACE),
        (0, nvme.ALL, nvme.INVALID_NAMESPACE),
        (2, nvme.ALL, nvme.INVALID_NAMESPACE),
        (3, 0, nvme.INVALID_NAMESPACE),
        (0x10, 1, nvme.INVALID_FIELD),
    ]:
        done = await drive.admin(
            nvme.IDENTIFY, namespace=name, prp=(drive.page, 0), words=[structure]
        )
        assert (done.status, done.do_not_retry, done.more) == (status, True, True)


SHAPES = {
    "one page": (8, 0, "none"),
    "one page with an offset": (7, 512, "none"),
    "an offset of a dword": (1, 4, "none"),
    "two pages": (16, 0, "page"),
    "two pages with an offset": (8, 2048, "page"),
    "a list": (32, 0, "list"),
    "a list after an offset": (33, 1024, "list"),
    "the largest transfer": (256, 0, "list"),
    "the largest transfer with an offset": (256, 3584, "list"),
    "a list from the middle of its page": (64, 0, "middle"),
    "a chained list": (256, 0, "chain"),
    "a list that ends with its page": (40, 0, "exact"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_data_comes_back_by_every_shape_of_prps(shape: str) -> None:
    blocks, offset, how = SHAPES[shape]

    async def program(drive: Drive) -> None:
        await drive.bring_up()
        size = 512 * blocks
        source, source_prp = pages(drive, size, offset, how)
        target, target_prp = pages(drive, size, offset, how)
        data = pattern(blocks, size)
        scatter(drive, source, data)
        assert (await drive.write(1000, blocks, source_prp)).status == 0
        assert (await drive.read(1000, blocks, target_prp)).status == 0
        assert gather(drive, target) == data
        before, after = target[0][0] - offset, target[-1][0] + target[-1][1]
        assert set(drive.thread.look(before, offset)) <= {0xA5}
        assert set(drive.thread.look(after, -after % nvme.PAGE)) <= {0xA5}, (
            "nothing beyond the data"
        )

    run(program)


Ranges = list[tuple[int, int]]


def pages(drive: Drive, size: int, offset: int, how: str) -> tuple[Ranges, tuple[int, int]]:
    """Scattered pages for data, and their PRP entries."""
    count = -(-(offset + size) // nvme.PAGE)
    block = drive.memory(2 * nvme.PAGE * count)
    places = [block + 2 * nvme.PAGE * ((5 * number + 3) % count) for number in range(count)]
    if count % 5 == 0:
        places = [block + 2 * nvme.PAGE * number for number in reversed(range(count))]
    ranges: Ranges = [(places[0] + offset, min(size, nvme.PAGE - offset))]
    for place in places[1:]:
        ranges.append((place, min(nvme.PAGE, size - sum(length for _, length in ranges))))
    rest = places[1:]
    if how == "none":
        return ranges, (ranges[0][0], 0)
    if how == "page":
        return ranges, (ranges[0][0], rest[0])
    first, second = drive.memory(nvme.PAGE), drive.memory(nvme.PAGE)
    at = first + {"list": 0, "middle": 1024}.get(how, nvme.PAGE - 8 * 4)
    if how == "chain":
        drive.thread.set(at, struct.pack("<4Q", *rest[:3], second))
        drive.thread.set(second, struct.pack(f"<{len(rest) - 3}Q", *rest[3:]))
    else:
        drive.thread.set(at, struct.pack(f"<{len(rest)}Q", *rest))
    return ranges, (ranges[0][0], at)


def scatter(drive: Drive, ranges: Ranges, data: bytes) -> None:
    at = 0
    for address, length in ranges:
        drive.thread.set(address, data[at : at + length])
        at += length


def gather(drive: Drive, ranges: Ranges) -> bytes:
    return b"".join(drive.thread.look(address, length) for address, length in ranges)


@driven()
async def test_wrong_queues_get_the_status_codes_of_the_specification(drive: Drive) -> None:
    await drive.bring_up(queues=2, entries=8)
    page = drive.memory(nvme.PAGE)
    for opcode, size, number, word, prp, status in [
        (nvme.CREATE_CQ, 7, 0, 1, page, nvme.QUEUE_ID),
        (nvme.CREATE_CQ, 7, 1, 1, page, nvme.QUEUE_ID),
        (nvme.CREATE_CQ, 7, 3, 1, page, nvme.QUEUE_ID),
        (nvme.CREATE_SQ, 7, 0, 1 << 16 | 1, page, nvme.QUEUE_ID),
        (nvme.CREATE_SQ, 7, 2, 1 << 16 | 1, page, nvme.QUEUE_ID),
        (nvme.DELETE_SQ, 0, 0, 0, 0, nvme.QUEUE_ID),
        (nvme.DELETE_SQ, 0, 3, 0, 0, nvme.QUEUE_ID),
        (nvme.DELETE_CQ, 0, 0, 0, 0, nvme.QUEUE_ID),
        (nvme.DELETE_CQ, 0, 9, 0, 0, nvme.QUEUE_ID),
        (nvme.DELETE_CQ, 0, 2, 0, 0, nvme.QUEUE_DELETION),
        (nvme.DELETE_SQ, 0, 2, 0, 0, 0),
        (nvme.CREATE_SQ, 7, 2, 0 << 16 | 1, page, nvme.CQ_INVALID),
        (nvme.CREATE_SQ, 7, 2, 9 << 16 | 1, page, nvme.CQ_INVALID),
        (nvme.DELETE_CQ, 0, 2, 0, 0, 0),
        (nvme.CREATE_SQ, 7, 2, 2 << 16 | 1, page, nvme.CQ_INVALID),
        (nvme.CREATE_CQ, 0, 2, 1, page, nvme.QUEUE_SIZE),
        (nvme.CREATE_CQ, 1024, 2, 1, page, nvme.QUEUE_SIZE),
        (nvme.CREATE_CQ, 7, 2, 65 << 16 | 3, page, nvme.VECTOR),
        (nvme.CREATE_CQ, 7, 2, 0, page, nvme.INVALID_FIELD),
        (nvme.CREATE_CQ, 7, 2, 1, page + 512, nvme.INVALID_PRP),
        (nvme.CREATE_CQ, 1023, 2, 1, page, 0),
    ]:
        words = [size << 16 | number, word]
        done = await drive.admin(opcode, prp=(prp, 0), words=words)
        assert done.status == status, (opcode, size, number, word)


@driven()
async def test_wrong_commands_get_the_status_codes_of_the_specification(drive: Drive) -> None:
    await drive.bring_up()
    page = drive.memory(2 * nvme.PAGE)
    pair = drive.pairs[1]
    cases: list[tuple[int, dict[str, Any], int]] = [
        (0x05, {}, nvme.INVALID_OPCODE),
        (0x09, {}, nvme.INVALID_OPCODE),
        (nvme.READ, {"namespace": 2}, nvme.INVALID_NAMESPACE),
        (nvme.READ, {"namespace": nvme.ALL}, nvme.INVALID_NAMESPACE),
        (nvme.READ, {"words": [0, 0, 256], "prp": (page, page)}, nvme.INVALID_FIELD),
        (nvme.READ, {"words": [1 << 21, 0, 0]}, nvme.OUT_OF_RANGE),
        (nvme.READ, {"words": [(1 << 21) - 1, 0, 1]}, nvme.OUT_OF_RANGE),
        (nvme.WRITE, {"words": [nvme.ALL, nvme.ALL, 0]}, nvme.OUT_OF_RANGE),
        (nvme.READ, {"prp": (page + 2, 0)}, nvme.INVALID_PRP),
        (nvme.READ, {"prp": (page, page + 512), "words": [0, 0, 15]}, nvme.INVALID_PRP),
        (nvme.READ, {"prp": (page, page + 4), "words": [0, 0, 31]}, nvme.INVALID_PRP),
        (nvme.READ, {"flags": 0x40}, nvme.INVALID_FIELD),
        (nvme.READ, {"flags": 0x01}, nvme.INVALID_FIELD),
        (nvme.FLUSH, {"namespace": 2}, nvme.INVALID_NAMESPACE),
        (nvme.FLUSH, {"namespace": nvme.ALL}, 0),
        (nvme.READ, {}, 0),
    ]
    for opcode, fields, status in cases:
        given: dict[str, Any] = {"namespace": 1, "prp": (page, 0), **fields}
        done = await drive.command(pair, opcode, **given)
        assert (done.status, done.do_not_retry) == (status, status != 0), (opcode, fields)
    drive.thread.set(page, struct.pack("<2Q", page + nvme.PAGE, page + nvme.PAGE + 8))
    done = await drive.read(0, 24, (page, page))
    assert done.status == nvme.INVALID_PRP, "an entry of a list has an offset"
    for opcode in [0x10, 0x0D, 0x80, 0xC0]:
        assert (await drive.admin(opcode)).status == nvme.INVALID_OPCODE


@driven()
async def test_data_where_no_memory_is_ends_with_a_transfer_error_and_the_drive_goes_on(
    drive: Drive,
) -> None:
    await drive.bring_up()
    page = drive.memory(nvme.PAGE)
    done = await drive.write(0, 8, (1 << 40, 0))
    assert (done.status, done.do_not_retry) == (nvme.TRANSFER_ERROR, False)
    done = await drive.read(0, 64, (page, 1 << 40))
    assert done.status == nvme.TRANSFER_ERROR, "a list that cannot be read"
    assert (await drive.read(0, 8, (page, 0))).status == 0
    assert await drive.load(nvme.CSTS) == nvme.READY


@pytest.mark.parametrize("reserved", [1, 2, 0xFFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF])
def test_reserved_dwords_that_name_a_flow_or_none_change_no_data(reserved: int) -> None:
    async def program(drive: Drive) -> None:
        await drive.bring_up()
        pair, page = drive.pairs[1], drive.memory(nvme.PAGE)
        drive.thread.set(page, pattern(1, nvme.PAGE))
        for opcode in (nvme.WRITE, nvme.READ):
            done = await drive.command(
                pair, opcode, namespace=1, prp=(page, 0), words=[0, 0, 7], reserved=reserved
            )
            assert done.status == 0
        assert drive.thread.look(page, nvme.PAGE) == pattern(1, nvme.PAGE)

    fabric = Fabric("nvme").host("h0", memory="64 MiB").switch("s0", "h0")
    fabric.device("ssd", "s0", model="nvme", **nvme.MANY_QUEUES).device("e", "s0")
    simulation = fabric.flow("e", "h0", size="4 KiB", offset="32 MiB").simulation()
    drive = Drive(simulation, simulation.node("h0").thread(), "ssd")
    drive.thread.run(program(drive))


@driven()
async def test_a_command_identifier_in_use_is_a_conflict(drive: Drive) -> None:
    await drive.bring_up()
    pair, page = drive.pairs[1], drive.memory(nvme.PAGE)
    for _ in range(2):
        drive.submit(pair, nvme.READ, namespace=1, prp=(page, 0), words=[0, 0, 7], id=9)
    await drive.ring(pair)
    assert (await drive.wait(pair, 9))[0].status == nvme.ID_CONFLICT
    assert (await drive.wait(pair, 9))[0].status == 0


@driven()
async def test_logs_have_errors_health_and_the_firmware_slot(drive: Drive) -> None:
    await drive.bring_up()
    page = drive.memory(nvme.PAGE)
    for block in range(3):
        assert (await drive.write(8 * block, 8, (page, 0))).status == 0
    assert (await drive.read(0, 8, (page, 0))).status == 0
    done = await drive.read(1 << 21, 1, (page, 0))
    log = await drive.log(1, 128)
    count, queue, id_, status, location, block, namespace = struct.unpack("<QHHHHQI", log[:28])
    assert (count, queue, id_, block, namespace) == (1, 1, done.id, 1 << 21, 1)
    assert (status >> 1 & 0x7FF, location) == (nvme.OUT_OF_RANGE, 0xFFFF)
    assert not any(log[64:])
    health = await drive.log(2, 512)
    assert (health[0], struct.unpack("<H", health[1:3])) == (0, (313,))
    numbers = [int.from_bytes(health[at : at + 16], "little") for at in range(32, 192, 16)]
    assert numbers[:4] == [1, 1, 1, 3], "units of 512,000 bytes, rounded up, and commands"
    assert numbers[9] == 1, "entries of the error log"
    firmware = await drive.log(3, 512)
    assert firmware[0] == 1
    assert firmware[8:16] == b"1.0     "
    assert await drive.log(3, 8, offset=8) == b"1.0     "
    for words, status in [([0x7F], nvme.LOG), ([3, 0, 2], nvme.INVALID_FIELD)]:
        done = await drive.admin(nvme.LOG_PAGE, namespace=nvme.ALL, prp=(page, 0), words=words)
        assert done.status == status


@driven()
async def test_features_are_set_and_read(drive: Drive) -> None:
    await drive.enable()

    async def get(feature: int, select: int = 0) -> int:
        done = await drive.admin(nvme.GET_FEATURES, words=[feature, select])
        assert done.status == 0, feature
        return done.result

    async def set_(feature: int, value: int) -> int:
        return (await drive.admin(nvme.SET_FEATURES, words=[feature, value])).status

    for feature, value in [(1, 0x0102_0302), (5, 100), (6, 0), (8, 0x0203), (0xA, 1), (0xB, 2)]:
        assert await set_(feature, value) == 0
        assert await get(feature) == value
    assert await get(2) == 0
    assert await set_(2, 0) == 0
    assert await get(4) == 343
    assert await set_(4, 1 << 20 | 270) == 0
    assert await get(4, 1 << 20) == 270
    assert await set_(9, 1 << 16 | 3) == 0
    assert (await get(9, 3), await get(9, 2)) == (1 << 16 | 3, 2)
    for feature, value in [(2, 1), (3, 0), (4, 1 << 16), (5, 1 << 16), (9, 65), (0x10, 0)]:
        assert await set_(feature, value) == nvme.INVALID_FIELD, feature
    assert await set_(7, 0xFFFF) == nvme.INVALID_FIELD
    assert (await drive.admin(nvme.SET_FEATURES, words=[7, 3 << 16 | 99])).result == 3 << 16 | 15
    assert await get(7) == 3 << 16 | 15
    assert await set_(1 << 31 | 1, 0) == nvme.NOT_SAVEABLE
    assert (await drive.admin(nvme.GET_FEATURES, words=[1 << 8 | 1])).status == nvme.INVALID_FIELD
    await drive.create(1, 8)
    assert await set_(7, 0) == nvme.SEQUENCE_ERROR


@driven(write_cache="0 B")
async def test_a_drive_without_a_cache_has_no_such_feature(drive: Drive) -> None:
    await drive.enable()
    assert (await drive.identify(1))[525] == 0
    assert (await drive.admin(nvme.GET_FEATURES, words=[6])).status == nvme.INVALID_FIELD


@driven()
async def test_events_end_their_requests_once_until_software_reads_the_log(drive: Drive) -> None:
    await drive.bring_up()
    admin = drive.pairs[0]
    ids = [drive.submit(admin, nvme.REQUEST_EVENT) for _ in range(5)]
    await drive.ring(admin)
    (last,) = await drive.wait(admin, ids[4])
    assert last.status == nvme.EVENT_LIMIT
    await drive.store(nvme.DOORBELLS + 8 * 1, 64)
    (event,) = await drive.wait(admin, ids[0])
    assert (event.status, event.result) == (0, 1 << 16 | 1 << 8), "a wrong value, log page 1"
    await drive.store(nvme.DOORBELLS + 8 * 9, 1)
    await drive.thread.work(10_000)
    assert drive.look(admin) is None, "masked until the log page is read"
    await drive.log(1, 64)
    (event,) = await drive.wait(admin, ids[1])
    assert event.result == 1 << 16, "a doorbell of no queue"
    await drive.log(1, 64)
    await drive.store(nvme.DOORBELLS + 8 * 1 + 4, 5)
    (event,) = await drive.wait(admin, ids[2])
    assert event.result == 1 << 16 | 1 << 8, "a head beyond the tail"
    assert (await drive.admin(nvme.SET_FEATURES, words=[0xB, 2])).status == 0
    assert (await drive.admin(nvme.SET_FEATURES, words=[4, 300])).status == 0
    (event,) = await drive.wait(admin, ids[3])
    assert event.result == 2 << 16 | 1 << 8 | 1, "a temperature threshold, log page 2"
    assert (await drive.log(2, 512))[0] == 2


@driven(media_read_latency="200 us")
async def test_commands_at_the_media_and_event_requests_are_aborted(drive: Drive) -> None:
    await drive.bring_up()
    admin, pair, page = drive.pairs[0], drive.pairs[1], drive.memory(nvme.PAGE)
    drive.thread.set(page, b"\xa5" * nvme.PAGE)
    read = drive.submit(pair, nvme.READ, namespace=1, prp=(page, 0), words=[0, 0, 7])
    await drive.ring(pair, work_ns=20_000)
    assert (await drive.admin(nvme.ABORT, words=[read << 16 | 1])).result == 0
    (end,) = await drive.wait(pair, read)
    assert (end.status, end.do_not_retry) == (nvme.ABORTED, False)
    await drive.thread.work(1_000_000)
    assert drive.look(pair) is None
    assert drive.thread.look(page, nvme.PAGE) == b"\xa5" * nvme.PAGE
    event = drive.submit(admin, nvme.REQUEST_EVENT)
    assert (await drive.admin(nvme.ABORT, words=[event << 16])).result == 0
    assert (await drive.wait(admin, event))[0].status == nvme.ABORTED
    assert (await drive.admin(nvme.ABORT, words=[99 << 16 | 1])).result == 1
