"""Mistakes of a first device model in programs: each has one message."""

# ruff: noqa: ARG002, RUF012 - device models as users write them

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from peerlane import Device, Fabric, ModelError, ModelWarning, OutsideDevice, Parameter
from peerlane.models.device import INTERFACE
from peerlane.opae import configure
from peerlane.testing import Bench

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda one: one.dma_read("0x10", 4), "address of a request is '0x10'; give a whole"),
        (lambda one: one.dma_read(-1, 4), "address of a request is -1; give a whole number from 0"),
        (lambda one: one.dma_read(0, 1.5), "length of a request is 1.5; give a whole number"),
        # bytes(5) would be five zeros
        (lambda one: one.dma_write(0, 5), "the data is the number 5; give bytes, such as value"),
        (lambda one: one.dma_write(0, "text"), "the data is 'text'; give bytes"),
        (lambda one: one.dma_write(None, b"x"), "address of a request is None; give a whole"),
        (lambda one: one.fetch_add(1 << 64, 1), "give a whole number from 0 to 2\\*\\*64 - 1"),
        (lambda one: one.swap(0, -1), "operand of swap is out of range; give unsigned .* 8 bytes"),
        (lambda one: one.swap(0, 1, size=3), "size of swap is 3; give 4 or 8"),
        (lambda one: one.fetch_add(0, 1.5), "operand of fetch_add is 1.5; give a whole number"),
        (lambda one: one.fetch_add(0, 1, size="8"), "size of fetch_add is '8'; give 4 or 8"),
        (lambda one: one.compare_and_swap(0, "a", 2), "compare_and_swap is 'a'; give a whole"),
        (lambda one: one.compare_and_swap(0, 1, 2, size=2), "is 2; give 4 or 8 or 16"),
        (lambda one: one.interrupt(-1), "ValueError: vector -1: msix_vectors is 2; use 0 to 1"),
        (lambda one: one.interrupt(2), "ValueError: vector 2: msix_vectors is 2; use 0 to 1"),
        (lambda one: one.interrupt(1 << 40), "vector 1099511627776: msix_vectors is 2; use 0 to 1"),
        (lambda one: one.dma_read(0, 0), "a request is for 1 byte to 16 MiB, not for 0 bytes"),
        (lambda one: one.post(0, b""), "a request is for 1 byte to 16 MiB, not for 0 bytes"),
        (lambda one: one.interrupt("0"), "interrupt vector is '0'; give a whole number"),
        (lambda one: one.report_error(None), "None is no severity; write .correctable., "),
        (lambda one: one.sleep("1 MB"), "'1 MB' is not a time; write one like .10 us., or a"),
        (lambda one: one.sleep(None), "time to sleep is None; give a number of nanoseconds"),
        (lambda one: one.dma_read(1 << 60, 4), "unsupported request: read of 4 bytes at 0x1000"),
        (lambda one: one.swap(1 << 60, 4), "unsupported request: swap at 0x1000"),
        (lambda _: True, "on_write returned True; it must be the call of an async method"),
        (lambda one: one.go, "on_write returned the method go; .* such as self.go()"),
    ],
)
def test_a_call_with_a_wrong_value_says_what_to_give(
    ask: Callable[[Device], Any], why: str
) -> None:
    class Asking(Device):
        bars = {0: "4 KiB"}
        msix_vectors = 2

        def on_write(self, bar: int, offset: int, data: bytes) -> Any:
            return ask(self)

        async def go(self) -> None: ...

    bench = Bench(Asking, memory=bytearray(16))

    def use() -> None:
        bench.write(0, 0, 1)
        bench.run()

    with pytest.raises(ModelError, match=why):
        use()


@pytest.mark.parametrize(
    ("base", "parts", "why"),
    [
        (Device, {"on_wirte": print}, "Own.on_wirte is no part of a device; .* 'on_write'"),
        (Device, {"onRead": print}, "Own.onRead is no part of a device; did you mean 'on_read'"),
        (Device, {"bar": {0: "4 KiB"}}, "Own.bar is no part of a device; did you mean 'bars'"),
        (Device, {"msix_vector": 2}, "did you mean 'msix_vectors'. If not, begin the name with _"),
        (Device, {"vender_id": 2}, "did you mean 'vendor_id'"),
        (OutsideDevice, {"on_acess": print}, "did you mean 'on_access'"),
    ],
)
def test_a_name_that_is_almost_one_of_a_device_is_refused_when_the_class_is_made(
    base: type, parts: dict[str, Any], why: str
) -> None:
    with pytest.raises(TypeError, match=why):
        type("Own", (base,), parts)


def test_names_of_ones_own_are_not_refused() -> None:
    own: dict[str, Any] = {
        "_bar": 1,
        "device_id": 1,
        "on_send": print,
        "state": 0,
        "base": 2,
        "on_work": print,
    }
    type("Own", (Device,), own | {"bars": {0: "4 KiB"}, "bar": 0, "tag": Parameter(3)})
    type("Own", (Device,), {name: getattr(Device, name) for name in INTERFACE})  # as inherited


def test_a_write_to_a_model_without_on_write_is_a_warning_once() -> None:
    class Deaf(Device):
        bars = {0: "4 KiB"}

        def on_read(self, bar: int, offset: int, length: int) -> int:
            return 0

    simulation = Fabric("own").host("h0").device("ears", "h0", model=Deaf).simulation()
    at = simulation.tree().nodes["ears"].regions[0].base
    for _ in range(2):
        simulation.node("h0").write(at + 8, bytes(4))
    right = r"write def on_write\(self, bar, offset, data\) in Deaf"
    what = "ears: a write of 4 bytes at 0x8 of BAR 0 is dropped, because Deaf has no on_write"
    with pytest.warns(ModelWarning, match=f"{what}; {right}") as warned:
        simulation.run()
    assert [one.filename for one in warned] == [__file__], "the line that ran the simulation"


def test_the_data_of_a_write_may_be_any_buffer() -> None:
    class Buffers(Device):
        bars = {0: "4 KiB"}

        async def on_write(self, bar: int, offset: int, data: bytes) -> None:
            await self.dma_write(0, bytearray(b"ab"))
            self.post(2, memoryview(b"cd"))

    bench = Bench(Buffers, memory=bytearray(4))
    bench.write(0, 0, 1)
    bench.run()
    assert bench.memory == b"abcd"


def test_names_of_a_model_of_its_own_do_not_disturb_its_engines() -> None:
    class Hiding(Device):
        bars = {0: "4 KiB"}
        function = 9

        def on_write(self, bar: int, offset: int, data: bytes) -> Awaitable[object]:
            return self.start()

        async def start(self) -> None:  # type: ignore[override]
            await self.dma_write(0, b"x")

    bench = Bench(Hiding, memory=bytearray(1))
    bench.write(0, 0, 1)
    assert [asked.function for asked in bench.run()] == [0]


def test_a_file_is_no_name_of_a_model() -> None:
    fabric = Fabric("own").host("h0")
    for file, right in (("ssd.py", "the class itself"), ("a.so", r"peerlane.Library\('a.so'\)")):
        with pytest.raises(TypeError, match=f"'{file}' is a file, and no name .*; give {right}"):
            fabric.device("ssd", "h0", model=file)  # type: ignore[call-overload]


def test_a_bench_names_the_access_that_is_refused() -> None:
    class Silent(Device):
        bars = {0: "4 KiB"}

        async def on_write(self, bar: int, offset: int, data: bytes) -> None:
            await self.dma_read(0, 8)

    bench = Bench(Silent)
    with pytest.raises(RuntimeError, match="unsupported request: read of 4 bytes at 0x8 of BAR 0"):
        bench.read(0, 8)
    with pytest.raises(RuntimeError, match="unsupported request: write of 2 bytes at 0x0 of BAR 1"):
        bench.write(1, 0, b"ab")
    with pytest.raises(ValueError, match="0x100 is not a number of 1 bytes; give a larger length"):
        bench.write(0, 0, 256, 1)
    bench.write(0, 0, 1)
    read = bench.take()
    assert read is not None
    with pytest.raises(ValueError, match=r"the read is given 3 bytes; .* as it requests, 8"):
        bench.complete(read, bytes(3))
    with pytest.raises(TypeError, match="the memory of a bench is bytes; give a bytearray"):
        Bench(Silent, memory=bytes(4))  # type: ignore[arg-type]


def test_a_bench_goes_on_after_an_access_that_cannot_be() -> None:
    class Echo(Device):
        bars = {0: "4 KiB"}

        def on_read(self, bar: int, offset: int, length: int) -> int:
            return offset

    bench = Bench(Echo)
    for length in (0, -1):
        with pytest.raises(ValueError, match=f"a read of {length} bytes is none; give 1 byte or"):
            bench.read(0, 16, length)
    with pytest.raises(ValueError, match="a write of 0 bytes is none; give 1 byte or more"):
        bench.write(0, 16, b"")
    with pytest.raises(TypeError, match="the data is 'ab'; give bytes"):
        bench.write(0, 16, "ab")  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="unsupported request: read of 4 bytes at 0x0 of BAR -1"):
        bench.read(-1, 0)
    assert bench.read(0, 16) == 16


def test_a_class_is_no_image_of_a_card() -> None:
    simulation = Fabric("card").host("h0").device("c", "h0", model="fpga-card").simulation()
    with pytest.raises(TypeError, match=r"is no image of an accelerator; give a built-in name, a"):
        configure(simulation, "c", Device)  # type: ignore[arg-type]
