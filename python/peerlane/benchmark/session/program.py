"""The program of the session benchmark, which runs in a session with the DMA accelerator.

Usage: `python -m peerlane.benchmark.session.program FILE BYTES ACCESSES`. The program writes its
times to the file, in nanoseconds of real time. It does not use the usual clocks, because a session
with virtual time replaces them.
"""

from __future__ import annotations

import ctypes
import json
import random
import signal
import struct
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from peerlane import _core
from peerlane.benchmark.session.cores import Cores, Echo, server_time
from peerlane.opae import dma
from peerlane.opae.session import library_folder

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 20
"""The number of rounds. Each round has every measurement, so that the load of the machine affects
all measurements equally."""

CHUNK = 1 << 20
"""The most bytes that one descriptor moves."""

SCRATCH = 0x200
"""The offset of the register that is accessed, which selects the page of a window and stores any
value."""

INTERRUPTED = 128 + signal.SIGINT
"""The exit status of the program after Ctrl-C: 128 plus the number of the signal, as in shells."""

ACCELERATOR = 1
"""The value of FPGA_ACCELERATOR, the type of the object that the program opens."""


class Card:
    """The first accelerator of the session."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(library_folder() / "libopae-c.so.2"))
        wanted, token, self.handle = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        found, registers = ctypes.c_uint32(), ctypes.c_void_p()
        ref = ctypes.byref
        self.call("fpgaGetProperties", None, ref(wanted))
        self.call("fpgaPropertiesSetObjectType", wanted, ACCELERATOR)
        self.call("fpgaEnumerate", ref(wanted), 1, ref(token), 1, ref(found))
        self.call("fpgaOpen", token, ref(self.handle), 0)
        self.call("fpgaMapMMIO", self.handle, 0, ref(registers))
        self.registers = registers.value or 0
        self.base = self._feature()

    def call(self, name: str, *arguments: object) -> None:
        """Calls a function of the library.

        Raises:
            RuntimeError: The function returned an error.
        """
        if result := getattr(self.library, name)(*arguments):
            raise RuntimeError(f"{name} returned {result}")

    def function(self, name: str) -> int:
        """The address of a function of the library."""
        return ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value or 0

    def word(self, offset: int) -> memoryview:
        """The register at `offset`, as item 0: reading the item is a load, assigning it a store."""
        return _word(self.registers + offset)

    def pin(self, size: int) -> tuple[int, int]:
        """Pins a buffer; returns its address in this program, and its address for the card."""
        place, number = ctypes.c_void_p(), ctypes.c_uint64()
        address = ctypes.c_uint64()
        ref, length = ctypes.byref, ctypes.c_uint64(size)
        self.call("fpgaPrepareBuffer", self.handle, length, ref(place), ref(number), 0)
        self.call("fpgaGetIOAddress", self.handle, number, ref(address))
        return place.value or 0, address.value

    def _feature(self) -> int:
        """The offset of the DMA engine in the list of features."""
        offset = 0
        while True:
            header = self.word(offset)[0]
            identity = self.word(offset + 16)[0], self.word(offset + 8)[0]
            if header >> 60 == 2 and identity == dma.UUID:  # noqa: PLR2004 - a basic building block
                return offset
            step = header >> 16 & 0xFFFFFF
            if header >> 40 & 1 or not step:
                raise RuntimeError("the card has no memory-mapped DMA loaded")
            offset += step


def accesses(card: Card, count: int) -> dict[str, dict[str, dict[str, float]]]:
    """Real times of accesses to a register, and of packets over a bare socket, by placement.

    Compiled code makes the accesses and the packets, as in a program in C. The program and the
    session's server are on the same cores as the two processes at the ends of the socket. Each
    round measures packets and all kinds of accesses; a ratio is the median of the ratios of all
    rounds.
    """
    at = card.base + SCRATCH
    access, handle = _core.bench_access, card.handle.value or 0
    read, write = (card.function(name) for name in ("fpgaReadMMIO64", "fpgaWriteMMIO64"))
    kinds: dict[str, Callable[[int], list[int]]] = {
        "read": lambda count: access("read", count, at, read, handle),
        "write": lambda count: access("write", count, at, write, handle),
        "load": lambda count: access("load", count, card.registers + at),
        "store": lambda count: access("store", count, card.registers + at),
    }
    batch = max(count // ROUNDS, 1)
    with tempfile.TemporaryDirectory() as folder, Echo(Path(folder) / "socket") as echo:
        cores = Cores(echo.process)
        found = {}
        for placement in cores.placements():
            cores.place(placement)
            found[placement] = _turns(echo, kinds, batch)
        cores.free()
    return found


def _turns(
    echo: Echo, kinds: dict[str, Callable[[int], list[int]]], batch: int
) -> dict[str, dict[str, float]]:
    """The median time of a packet and of each kind of access, and the ratio to a packet."""
    times: dict[str, list[float]] = {name: [] for name in ("socket", *kinds)}
    for _ in range(ROUNDS):
        times["socket"].append(median(_core.bench_socket(str(echo.path), batch)))
        for name, access in kinds.items():
            # The first access and the first packet of the socket are not measured.
            times[name].append(median(access(1 + batch)[1:]))
    return {
        name: {
            "ns": median(all_),
            "ratio": median(a / b for a, b in zip(all_, times["socket"], strict=True)),
        }
        for name, all_ in times.items()
    }


def transfers(card: Card, size: int) -> dict[str, int]:
    """The real times of transfers of `size` bytes to the card and back, without checks of the data.

    At the second transfer in each direction, the card's memory is already allocated, and the
    simulation has already mapped the buffer. The result also has the processor time of the server
    for each transfer.
    """
    buffer, address = card.pin(size)
    word, end = card.pin(4096)
    sent = random.Random(size).randbytes(size)  # noqa: S311 - any bytes
    host = address | dma.HOST

    def move(to_card: bool) -> None:  # noqa: FBT001 - a direction
        last = _word(word)
        last[0] = 0
        for at in range(0, size, CHUNK):
            places = (host + at, at) if to_card else (at, host + at)
            _descriptor(card, *places, min(CHUNK, size - at), dma.BURST)
        _descriptor(card, dma.MAGIC_ROM, end | dma.HOST_FENCED, dma.LINE, 1)
        while last[0] != dma.MAGIC:
            pass

    def verify() -> None:
        if ctypes.string_at(buffer, size) != sent:
            raise RuntimeError("other bytes came back than were sent")

    times = {"fill_ns": _took(lambda: ctypes.memmove(buffer, sent, size))}

    def measure(name: str, *, to_card: bool) -> None:
        worked = server_time()
        times[f"{name}_ns"] = _took(lambda: move(to_card=to_card))
        times[f"{name}_server_ns"] = server_time() - worked

    for again in ("", "_again"):
        measure(f"to_card{again}", to_card=True)
        ctypes.memset(buffer, 0, size)
        measure(f"from_card{again}", to_card=False)
        times["verify_ns"] = _took(verify)
    return times


def _descriptor(card: Card, source: int, target: int, size: int, burst: int) -> None:
    while card.word(card.base + dma.STATUS)[0] & dma.FULL:
        pass
    low, high = (source & dma.WORD, target & dma.WORD), (source >> 32, target >> 32)
    packed = struct.pack(dma.DESCRIPTOR_LAYOUT, *low, size, 0, burst, burst, 1, 1, *high, dma.GO)
    for number, word in enumerate(struct.unpack("<4Q", packed)):
        card.word(card.base + dma.DESCRIPTOR + 8 * number)[0] = word


def _word(address: int) -> memoryview:
    """A word of 8 bytes, to which an assignment is one store; a `c_uint64` would also load it."""
    return memoryview((ctypes.c_uint64 * 1).from_address(address)).cast("B").cast("Q")


def _took(what: Callable[[], object]) -> int:
    began = _core.real_time()
    what()
    return _core.real_time() - began


if __name__ == "__main__":
    path, size, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    try:
        card = Card()
        found = {"accesses": accesses(card, count), "transfers": transfers(card, size)}
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    Path(path).write_text(json.dumps(found), encoding="utf-8")
