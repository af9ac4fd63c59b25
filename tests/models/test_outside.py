"""A simulation driven from outside with requests in flight, and a device that is the program."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from models.own_devices import MEMORY, function_level_reset
from peerlane import (
    Access,
    BarAccess,
    Device,
    Fabric,
    ModelError,
    OutsideDevice,
    RequestError,
    Simulation,
    run_programs,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from peerlane import SimulatedNode


class Card(OutsideDevice):
    """A card that the test is."""

    bars = {0: "4 KiB", 2: "64 KiB"}  # noqa: RUF012 - as users write it
    msix_vectors = 2


def pair() -> Simulation:
    fabric = Fabric("pair").links(generation=4, lanes=4).host("h0").switch("s0", "h0")
    return fabric.device("a", "s0", bar="1 MiB").device("b", "s0", bar="1 MiB").simulation()


def with_card() -> tuple[Simulation, Card, int]:
    card = Card()
    fabric = Fabric("card").links(generation=4, lanes=4).host("h0").switch("s0", "h0")
    simulation = fabric.device("card", "s0", model=card).simulation()
    return simulation, card, base(simulation, "card")


def base(simulation: Simulation, name: str, what: str = "bar0") -> int:
    return next(one.base for one in simulation.tree().nodes[name].regions if one.what == what)


def test_many_reads_are_in_flight_and_end_with_their_own_bytes() -> None:
    simulation = pair()
    data = bytes(range(256)) * 256
    bar = base(simulation, "b")
    simulation.node("b").fill(bar, data)
    simulation.run_until(10_000)
    began = simulation.now_ns
    alone = simulation.node("h0").begin_read(bar, 64)
    assert not alone.is_done
    assert simulation.now_ns == began, "no time passes"
    assert simulation.wait(alone)
    one = simulation.now_ns - began
    began = simulation.now_ns
    reads = [simulation.node("h0").begin_read(bar + 64 * number, 64) for number in range(200)]
    reads += [simulation.node("a").begin_read(bar + 64 * number, 64) for number in range(200)]
    assert simulation.wait(*reads)
    assert simulation.now_ns - began < 100 * one, "side by side"
    for number, read in enumerate(reads):
        at = 64 * (number % 200)
        assert read.result() == data[at : at + 64]
        assert read.ended_ns is not None
        assert began < read.ended_ns <= simulation.now_ns


def test_an_access_is_polled_while_time_advances_in_steps() -> None:
    simulation = pair()
    bar = base(simulation, "b")
    write = simulation.node("a").begin_write(bar, b"peerlane" * 100)
    steps = 0
    while not write.is_done:
        simulation.run_until(simulation.now_ns + 10)
        steps += 1
    assert steps > 10
    assert write.result() == b""
    assert simulation.node("b").memory(bar, 800) == b"peerlane" * 100
    assert write.ended_ns is not None
    assert write.ended_ns <= simulation.now_ns < write.ended_ns + 10


def test_a_wait_ends_at_its_time_and_the_first_end_is_told() -> None:
    simulation = pair()
    bar = base(simulation, "b")
    long = simulation.node("a").begin_read(bar, 1 << 20)
    short = simulation.node("h0").begin_read(bar, 4)
    soon = simulation.now_ns + 5
    assert not simulation.wait(long, short, until=soon)
    assert simulation.now_ns == soon
    assert simulation.wait_first(long, until=soon) == []
    assert simulation.wait_first(long, short) == [short]
    assert not long.is_done
    assert simulation.wait(long)


def test_an_access_that_nobody_answers_fails_and_others_do_not() -> None:
    simulation = pair()
    bad = simulation.node("a").begin_read(0xDEAD_0000_0000, 4)
    good = simulation.node("a").begin_read(base(simulation, "b"), 4)
    assert simulation.wait(bad, good)
    assert good.result() == bytes(4)
    with pytest.raises(RequestError, match="unsupported request: nobody answers at 0xdead00000000"):
        bad.result()


@pytest.mark.parametrize("write", [False, True])
def test_a_failed_access_has_ended_when_it_failed_and_not_when_somebody_looks(
    *, write: bool
) -> None:
    def begun(simulation: Simulation) -> Access[bytes]:
        nobody = 0xDEAD_0000_0000
        if write:
            return simulation.node("a").begin_write(nobody, b"lost")
        return simulation.node("a").begin_read(nobody, 4)

    waited, late = pair(), pair()
    waited.wait(first := begun(waited))
    second = begun(late)
    late.run_until(1e6)
    assert first.ended_ns == second.ended_ns == waited.now_ns


def test_the_reason_of_a_failed_read_is_one_of_the_documented_words() -> None:
    fabric = Fabric("pair").host("h0").device("b", "h0", bar="1 MiB")
    fabric = fabric.incident("completer-abort", "b", at="1 us", offset="0 B", size="64 B")
    fabric = fabric.incident("poison", "b", at="1 us", offset="128 B", size="64 B")
    simulation = fabric.simulation()
    bar = base(simulation, "b")
    simulation.run_until(3_000)
    whys = {0: "completer abort", 128: "poisoned data", 1 << 24: "unsupported request"}
    for offset, why in whys.items():
        read = simulation.node("h0").begin_read(bar + offset, 4)
        assert simulation.wait(read)
        with pytest.raises(RequestError, match=f"{why}: .*{bar + offset:#x}") as failed:
            read.result()
        assert failed.value.why == why
        with pytest.raises(RuntimeError, match=f"{why}: "):
            simulation.node("h0").read(bar + offset, 4)


def test_a_wait_for_what_is_not_of_this_simulation_or_for_nothing_is_refused() -> None:
    simulation, (other, card, _) = pair(), with_card()
    accesses = [other.node("h0").begin_read(base(other, "card"), 4), card.begin_read(0, 4)]
    for access in accesses:
        with pytest.raises(ValueError, match="belongs to another simulation"):
            simulation.wait(access)
        with pytest.raises(ValueError, match="belongs to another simulation"):
            simulation.wait_first(access)

        async def program(access: Access[bytes] = access) -> bytes:
            return await access

        with pytest.raises(ValueError, match="belongs to another simulation"):
            run_programs(simulation, [program()])
    with pytest.raises(ValueError, match="give at least one access"):
        simulation.wait_first()
    with pytest.raises(TypeError, match="is no access in flight; give what begin_read"):
        simulation.wait("x")  # type: ignore[arg-type]
    assert other.wait(accesses[1])


def test_a_time_is_a_text_with_its_unit_or_a_number_of_nanoseconds() -> None:
    one, other = pair(), pair()
    one.run_until("1.5 us")
    other.run_until(1500)
    assert one.now_ns == other.now_ns == 1500
    read = one.node("a").begin_read(base(one, "b"), 1 << 20)
    assert not one.wait(read, until="1505 ns")
    assert one.now_ns == 1505
    with pytest.raises(ValueError, match=r"'1 MB' is not a time; write one like .10 us., or a"):
        one.run_until("1 MB")


@pytest.mark.parametrize("ns", [-5, float("nan"), 1e30])
def test_a_time_that_cannot_be_slept_is_refused(ns: float) -> None:
    with pytest.raises(ValueError, match="not a possible time to sleep; give 0 to 1e13 ns"):
        pair().sleep(ns)


def test_memory_is_freed_once_and_as_it_was_allocated() -> None:
    simulation = pair()
    first, second = simulation.node("h0").allocate(8192), simulation.node("h0").allocate(100)
    with pytest.raises(ValueError, match=f"8192 bytes allocated at {first:#x}, not 4096; free all"):
        simulation.node("h0").free(first, 4096)
    with pytest.raises(ValueError, match=f"no memory allocated at {first + 4096:#x}; free what"):
        simulation.node("h0").free(first + 4096, 4096)
    simulation.node("h0").free(first, 8192)
    with pytest.raises(ValueError, match=f"no memory allocated at {first:#x}"):
        simulation.node("h0").free(first, 8192)
    assert simulation.node("h0").allocate(4096) == first
    assert simulation.node("h0").allocate(4096) not in (first, second)


def test_wrong_use_of_accesses_gives_one_clear_message() -> None:
    simulation = pair()
    with pytest.raises(ValueError, match='there is no node "c"'):
        simulation.node("c").begin_read(0, 4)
    with pytest.raises(ValueError, match="makes no requests of its own"):
        simulation.node("s0").begin_write(0, b"x")
    with pytest.raises(ValueError, match="at least one byte"):
        simulation.node("a").begin_write(0, b"")
    with pytest.raises(ValueError, match="ask for 1 GiB at most"):
        simulation.node("a").begin_read(0, 1 << 31)
    access = simulation.node("a").begin_read(base(simulation, "b"), 4)
    with pytest.raises(RuntimeError, match=r"the read of 4 bytes at 0x\w+ has not ended"):
        access.result()
    with pytest.raises(ValueError, match="not a possible time"):
        simulation.wait(access, until=1e20)


def test_programs_await_accesses_times_and_threads_side_by_side() -> None:
    simulation = pair()
    bar = base(simulation, "b")
    thread = simulation.node("h0").thread()
    began = simulation.now_ns
    order: list[str] = []

    async def reader() -> bytes:
        reads = [simulation.node("a").begin_read(bar + 4 * number, 4) for number in range(8)]
        data = b"".join([await read for read in reads])
        order.append("reader")
        return data

    async def sleeper() -> float:
        await simulation.sleep(1_000_000)
        order.append("sleeper")
        return simulation.now_ns

    async def driver() -> int:
        await thread.store(bar, 0x1234)
        value = await thread.load(bar)
        order.append("driver")
        return value

    read, woken, loaded = run_programs(simulation, [reader(), sleeper(), driver()])
    assert read == bytes(32)
    assert woken == pytest.approx(began + 1_000_000)
    assert loaded == 0x1234
    assert order[-1] == "sleeper"

    async def wrong() -> None:
        class Odd:
            def __await__(self) -> object:
                yield 7

        await Odd()  # type: ignore[misc]

    with pytest.raises(TypeError, match="a program awaits 7; await a HostThread"):
        run_programs(simulation, [wrong()])


def test_a_callback_answers_reads_and_sees_writes() -> None:
    simulation, card, bar = with_card()
    seen: list[tuple[str, int, int, int, bytes]] = []

    def on_access(access: BarAccess) -> None:
        seen.append((access.kind, access.bar, access.offset, access.length, access.data))
        if access.kind == "read":
            if access.offset == 0x80:
                access.refuse()
            else:
                access.answer(0x1122_3344 if access.length == 4 else b"8 bytes.")

    card.on_access = on_access
    assert simulation.node("h0").read(bar, 4) == bytes([0x44, 0x33, 0x22, 0x11])
    assert simulation.node("h0").read(bar + 8, 8) == b"8 bytes."
    simulation.node("h0").write(base(simulation, "card", "bar2") + 3, b"xy")
    with pytest.raises(RuntimeError, match="unsupported request"):
        simulation.node("h0").read(bar + 0x80, 4)
    assert seen == [
        ("read", 0, 0, 4, b""),
        ("read", 0, 8, 8, b""),
        ("write", 2, 3, 2, b"xy"),
        ("read", 0, 0x80, 4, b""),
    ]


def test_reads_are_answered_later_by_tag_in_any_order() -> None:
    simulation, card, bar = with_card()
    reads = [simulation.node("h0").begin_read(bar + 8 * number, 8) for number in range(4)]
    simulation.run_until(simulation.now_ns + 5_000)
    assert not any(read.is_done for read in reads)
    assert [one.offset for one in card.accesses] == [0, 8, 16, 24]
    for access in reversed(card.accesses):
        card.answer(access.tag, access.offset + 1)
        simulation.run_until(simulation.now_ns + 1_000)
    assert [read.result()[0] for read in reads] == [1, 9, 17, 25]
    ends = [read.ended_ns for read in reads]
    assert ends == sorted(ends, reverse=True)  # type: ignore[type-var]


def test_a_late_refusal_is_an_error_of_the_reader_and_no_answer_a_timeout() -> None:
    simulation, card, bar = with_card()
    refused, forgotten = (simulation.node("h0").begin_read(bar + at, 4) for at in (0, 4))
    simulation.run_until(simulation.now_ns + 2_000)
    card.accesses.popleft().refuse()
    assert simulation.wait(refused, forgotten)
    for read in (refused, forgotten):
        with pytest.raises(RequestError):
            read.result()


def test_the_device_has_requests_in_flight_and_interrupts_between_runs() -> None:
    simulation, card, _ = with_card()
    memory = simulation.node("h0").allocate(4096)
    simulation.node("h0").fill(memory, bytes(range(256)))
    reads = [card.begin_read(memory + 4 * number, 4) for number in range(32)]
    assert simulation.wait(*reads)
    assert b"".join(read.result() for read in reads) == bytes(range(128))
    write = card.begin_write(memory + 1024, b"outside")
    card.interrupt(1)
    assert simulation.wait(write)
    simulation.run_until(simulation.now_ns + 5_000)
    assert simulation.node("h0").memory(memory + 1024, 7) == b"outside"
    message = simulation.node("card").vector(1).message
    assert simulation.node("h0").interrupts() == {message: 1}
    simulation.node("h0").fill(memory, (5).to_bytes(8, "little"))
    added = card.begin_fetch_add(memory, 3)
    assert simulation.wait(added)
    swapped = card.begin_compare_and_swap(memory, 8, 100)
    assert simulation.wait(swapped)
    assert (added.result(), swapped.result()) == (5, 8)
    last = card.begin_swap(memory, 1, size=4)
    assert simulation.wait(last)
    assert last.result() == 100
    lost = card.begin_read(0xDEAD_0000_0000, 4)
    assert simulation.wait(lost)
    with pytest.raises(RequestError, match="unsupported request"):
        lost.result()


def test_a_program_is_a_device_that_serves_accesses_as_they_come() -> None:
    simulation, card, bar = with_card()
    thread = simulation.node("h0").thread()
    memory = simulation.node("h0").allocate(4096)

    async def device() -> None:
        for _ in range(3):
            access = await card.next_access()
            if access.kind == "write":
                await simulation.sleep(500)
                await card.begin_write(memory, access.data)
            else:
                access.answer(await card.begin_read(memory, access.length))

    async def driver() -> list[int]:
        await thread.store(bar, 0x55)
        first = await thread.load(bar)
        return [first, await thread.load(bar, 4)]

    _, loaded = run_programs(simulation, [device(), driver()])
    assert loaded == [0x55, 0x55]


def test_an_exception_in_a_callback_ends_the_run_with_its_cause(tmp_path: Path) -> None:
    simulation, card, bar = with_card()

    def broken(_: BarAccess) -> None:
        raise ZeroDivisionError("in the callback")

    card.on_access = broken
    access = simulation.node("h0").begin_write(bar, b"1234")
    with pytest.raises(ModelError, match="in the callback") as raised:
        simulation.run_until(simulation.now_ns + 10_000)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    with pytest.raises(ModelError):
        simulation.wait(simulation.node("h0").begin_read(bar, 4), access)
    program = tmp_path / "program.py"
    program.write_text(
        "from peerlane import Fabric, OutsideDevice\n"
        "class Card(OutsideDevice):\n"
        "    bars = {0: '4 KiB'}\n"
        "card = Card()\n"
        "fabric = Fabric('x').host('h0').device('card', 'h0', model=card)\n"
        "simulation = fabric.simulation()\n"
        "def broken(access):\n"
        "    raise ZeroDivisionError('in the callback')\n"
        "card.on_access = broken\n"
        "bar = simulation.tree().nodes['card'].regions[0].base\n"
        "simulation.wait(simulation.node('h0').begin_read(bar, 4))\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "in broken" in done.stderr
    assert "ZeroDivisionError: in the callback" in done.stderr


def test_wrong_use_of_a_device_outside_gives_one_clear_message() -> None:
    card = Card()
    with pytest.raises(RuntimeError, match="in no simulation yet"):
        card.begin_read(0, 4)
    simulation, card, bar = with_card()
    with pytest.raises(ValueError, match="1 byte to 16 MiB"):
        card.begin_read(0, 0)
    with pytest.raises(ValueError, match="vector 7: msix_vectors is"):
        card.interrupt(7)
    with pytest.raises(ValueError, match="operand of swap is out of range"):
        card.begin_swap(0, -1)
    with pytest.raises(ValueError, match="no read with tag 99 waits"):
        card.answer(99, 0)
    read = simulation.node("h0").begin_read(bar, 4)
    simulation.run_until(simulation.now_ns + 2_000)
    access = card.accesses.popleft()
    with pytest.raises(ValueError, match="4 bytes are read; give as many, not 3"):
        access.answer(b"abc")
    with pytest.raises(ValueError, match="out of range; give an unsigned number of 4 bytes"):
        access.answer(1 << 32)
    access.answer(7)
    with pytest.raises(ValueError, match="answer each read once"):
        access.answer(8)
    assert simulation.wait(read)
    assert read.result() == b"\7\0\0\0"

    def nested(access: BarAccess) -> None:
        simulation.node("h0").begin_read(bar, 4)
        access.refuse()

    card.on_access = nested
    with pytest.raises(ModelError, match="the simulation is running"):
        simulation.wait(simulation.node("h0").begin_read(bar, 4))


@pytest.mark.parametrize(
    ("ask", "error", "why"),
    [
        (lambda card: card.begin_read(-1, 4), ValueError, "address of a request is -1; give a"),
        (lambda card: card.begin_read("a", 4), TypeError, "address of a request is 'a'; give a"),
        (lambda card: card.begin_read(0, 1.5), TypeError, "length of a request is 1.5; give a"),
        (lambda card: card.begin_write(0, 5), TypeError, "the data is the number 5; give bytes"),
        (lambda card: card.begin_write(0, "ab"), TypeError, "the data is 'ab'; give bytes"),
        (lambda card: card.begin_write(None, b""), TypeError, "address of a request is None"),
        (lambda card: card.begin_swap("a", 1), TypeError, "address of a request is 'a'; give"),
        (lambda card: card.begin_fetch_add(0, 1.5), TypeError, "operand of fetch_add is 1.5;"),
        (lambda card: card.begin_fetch_add(2, 1), ValueError, "an atomic operation is on 4 or 8"),
        (lambda card: card.interrupt(-1), ValueError, "vector -1: msix_vectors is"),
        (lambda card: card.interrupt("a"), TypeError, "interrupt vector is 'a'; give a whole"),
        (lambda card: card.accesses[0].answer(None), TypeError, "answer is None; give a number"),
        (lambda card: card.accesses[0].answer("abcd"), TypeError, "answer is 'abcd'; give a num"),
        (lambda card: card.accesses[0].answer(1.5), TypeError, "answer is 1.5; give a number or"),
    ],
)
def test_a_wrong_call_of_the_program_is_told_and_the_simulation_goes_on(
    ask: Callable[[Any], object], error: type[Exception], why: str
) -> None:
    simulation, card, bar = with_card()
    read = simulation.node("h0").begin_read(bar, 4)
    simulation.run_until(simulation.now_ns + 2_000)
    with pytest.raises(error, match=why):
        ask(card)
    card.accesses[0].answer(7)
    assert simulation.wait(read, card.begin_read(0, 4))
    assert read.result() == b"\7\0\0\0"


def test_a_device_in_an_earlier_simulation_says_that_it_has_left() -> None:
    first, card, bar = with_card()
    fabric = Fabric("later").links(generation=4, lanes=4).host("h0").switch("s0", "h0")
    second = fabric.device("card", "s0", model=card).simulation()
    with pytest.raises(ModelError, match="the device belongs to a later simulation; give each"):
        first.wait(first.node("h0").begin_read(bar, 4))
    assert second.wait(card.begin_read(0, 4))


@pytest.mark.parametrize(
    "use",
    [
        lambda simulation: simulation.now_ns,
        lambda simulation: simulation.node("h0").read(0, 4),
        lambda simulation: simulation.run_until(1e6),
        lambda simulation: simulation.node("h0").memory(0, 4),
        lambda simulation: simulation.node("h0").config_read("03:00.0", 0),
        lambda simulation: simulation.tree(),
        lambda simulation: simulation.result(),
        lambda simulation: simulation.step(),
        lambda simulation: simulation.node("h0").thread(),
    ],
)
def test_every_call_says_why_a_callback_cannot_make_it(
    use: Callable[[Simulation], object],
) -> None:
    simulation, card, bar = with_card()
    said = []

    def uses(access: BarAccess) -> None:
        with pytest.raises(
            RuntimeError, match=r"the simulation is running.* the device itself"
        ) as why:
            use(simulation)
        said.append(why)
        access.answer(1)

    card.on_access = uses
    assert simulation.node("h0").read(bar, 4) == b"\1\0\0\0"
    assert len(said) == 1


def test_a_reset_ends_what_the_device_had_in_flight() -> None:
    simulation, card, bar = with_card()
    simulation.node("h0").begin_read(bar, 4)
    simulation.run_until(simulation.now_ns + 2_000)
    lost = card.begin_read(MEMORY, 1 << 20)
    function_level_reset(simulation, simulation.tree().nodes["card"].id)
    simulation.run_until(simulation.now_ns + 2_000)
    with pytest.raises(RequestError, match="the device was reset"):
        lost.result()
    assert not card.accesses


def test_a_reset_of_a_requester_ends_what_it_had_in_flight() -> None:
    simulation = pair()
    read = simulation.node("a").begin_read(base(simulation, "b"), 1 << 20)
    simulation.run_until(simulation.now_ns + 2_000)
    function_level_reset(simulation, simulation.tree().nodes["a"].id)
    assert simulation.wait(read)
    with pytest.raises(RequestError, match="the requester was reset") as failed:
        read.result()
    assert failed.value.why == "reset"


def test_a_class_may_have_its_callback_and_its_own_beginning() -> None:
    class Own(OutsideDevice):
        bars = {0: "4 KiB"}  # noqa: RUF012 - as users write it

        def __init__(self) -> None:
            self.count = 0

        def on_access(self, access: BarAccess) -> None:
            self.count += 1
            access.answer(self.count)

    own = Own()
    simulation = Fabric("own").host("h0").device("d", "h0", model=own).simulation()
    bar = base(simulation, "d")
    assert [simulation.node("h0").read(bar, 1)[0] for _ in range(3)] == [1, 2, 3]
    assert not own.accesses
    with pytest.raises(ValueError, match=r"Own is a device that is a program; give .*model=Own()"):
        Fabric("own").host("h0").device("d", "h0", model=Own).simulation()


def test_an_object_of_the_class_is_a_device_and_its_accesses_have_their_types() -> None:
    assert issubclass(OutsideDevice, Device)
    simulation, card, _ = with_card()
    assert isinstance(card.begin_read(0, 4), Access)
    assert repr(simulation.node("h0").begin_read(base(simulation, "card"), 4)).endswith(
        "in flight>"
    )


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda host: host.read(-1, 4), "-1 is not an address; give 0 to 0xffffffffffffffff"),
        (lambda host: host.read(0, -4), "-4 is not a number of bytes; give 0 to"),
        (lambda host: host.begin_read(1 << 64, 4), "18446744073709551616 is not an address"),
        (lambda host: host.memory(-1, 4), "-1 is not an address"),
        (lambda host: host.allocate(-1), "-1 is not a number of bytes"),
        (lambda host: host.free(-1, 4096), "-1 is not an address"),
        (lambda host: host.config_read("03:00.0", -4), "-4 is not the offset of a register"),
        (
            lambda host: host.config_write("03:00.0", 4, 1 << 32),
            "4294967296 is not the value of a register of 4 bytes; give 0 to 0xffffffff",
        ),
        (
            lambda host: host.config_write("03:00.0", 4, 0x1FF, size=1),
            "0x1ff is not a value of 1 bytes; give one without its upper bits",
        ),
    ],
)
def test_numbers_that_do_not_fit_are_refused_and_not_cut_off(
    use: Callable[[SimulatedNode], object], message: str
) -> None:
    host = pair().node("h0")
    command = host.config_read("03:00.0", 4)
    with pytest.raises(ValueError, match=message):
        use(host)
    assert host.config_read("03:00.0", 4) == command


@pytest.mark.parametrize(
    ("every", "message"), [(0, "give 1 or more"), (-1, "-1 is not a number of events")]
)
def test_caches_are_watched_after_one_event_or_more(every: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pair().watch_coherence(every=every)


def test_a_write_of_what_is_no_bytes_is_refused() -> None:
    simulation = pair()
    with pytest.raises(TypeError, match="'str'> has no bytes to write; give bytes"):
        simulation.node("h0").begin_write(base(simulation, "b"), "abc")  # type: ignore[arg-type]
